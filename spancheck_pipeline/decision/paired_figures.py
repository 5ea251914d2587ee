"""What pairs of cases say: one grader's flips between two runs, and the differences of score, latency and cost.

Which cases are shared, and whether two runs can be compared at all, lives in ``comparison.py``; the formulas in
``stats/paired.py``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline import stats
from spancheck_pipeline.decision.scorecard import CaseOutcome, RowFacts, ScoreFacts, reduce_epochs
from spancheck_pipeline.grading.score import Outcome

CALL_FIGURES: Final = ("latency_ms", "latency_total_ms", "cost_usd")
"""Figures of an answered row that are compared as paired differences of a case's mean."""

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCase:
    """What a comparison needs of one case of a run's snapshot."""

    question_digest: str
    label_digest: str = ""
    cluster: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """One side of a comparison, made by the caller from stored tables."""

    run_id: str
    date: str | None = None
    config: str | None = None
    target_version: str | None = None
    epochs: int = 1
    cases: Mapping[str, ComparedCase]
    rows: Iterable[RowFacts] = ()
    scores: Iterable[ScoreFacts]
    """Under today's graders and labels, on both sides."""
    prices_digest: str | None = None
    """Digest of the price table; costs are compared only where both sides have the same."""
    missing_verdicts: Mapping[str, int] = field(default_factory=dict)
    """Grader → verdicts that re-grading would need and that no judge call recorded."""
    unstable_cases: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Grader → cases about which a judge of it does not say the same when it is asked again."""


class Difference(BaseModel):
    """Candidate minus baseline over pairs, with its 95 % interval."""

    model_config = _FROZEN

    value: float | None = None
    """None without pairs."""
    low: float | None = None
    high: float | None = None
    """None also where the pairs show no spread to judge by."""
    n: int = 0
    n_clusters: int | None = None


class PairedFigures(BaseModel):
    """What one grader says of the cases that both runs measured. A flaky case counts as failing."""

    model_config = _FROZEN

    grader: str
    n_pairs: int
    n_unpaired: int
    """Shared cases that are not measured in one of the two runs (or both)."""
    newly_unmeasured_case_ids: tuple[str, ...] = ()
    """Those that the baseline measured and the candidate could not: failed calls, missing scores."""
    n_both_pass: int
    n_newly_failing: int
    n_newly_passing: int
    n_both_fail: int
    baseline_rate: float | None = None
    candidate_rate: float | None = None
    """Over the pairs, so that it may differ from the scorecard's."""
    difference: Difference
    score_difference: Difference
    """Of the mean values of a case's measured scores."""
    p_value: float = Field(ge=0, le=1)
    """One-sided: the chance of so many newly failing cases if nothing had changed; 1 without pairs."""
    n_independent: float
    """How many independent pairs the pairs are worth; fewer than ``n_pairs`` where cases share clusters."""
    newly_failing_case_ids: tuple[str, ...] = ()
    newly_passing_case_ids: tuple[str, ...] = ()
    flaky_flip_case_ids: tuple[str, ...] = ()
    """Those of them that disagree with themselves over epochs in one of the runs: the system's own variance."""
    judge_flip_case_ids: tuple[str, ...] = ()
    """Those of them about which a judge contradicts itself over repeats in one of the runs: the judge's variance."""

    @property
    def churn(self) -> float:
        """Estimated share of pairs that flip each way when nothing changes, half a flip added so that it is not 0."""
        return (self.n_newly_failing + self.n_newly_passing + 1) / (2 * (self.n_pairs + 1))


class _Side:
    """One run's scores and call figures, for the shared cases."""

    def __init__(self, run: ComparedRun, shared: frozenset[str]) -> None:
        self.epochs = run.epochs
        self.unstable = run.unstable_cases
        self.outcomes: dict[str, dict[str, dict[int, Outcome]]] = {}
        self.values: dict[str, dict[str, list[float]]] = {}
        for score in run.scores:
            if score.case_id in shared:
                self.outcomes.setdefault(score.grader, {}).setdefault(score.case_id, {})[score.epoch] = score.outcome
                if score.value is not None:
                    self.values.setdefault(score.grader, {}).setdefault(score.case_id, []).append(score.value)
        self.calls: dict[str, dict[str, list[float]]] = {name: {} for name in CALL_FIGURES}
        for row in run.rows:
            if row.case_id in shared and row.answered:
                for name, cases in self.calls.items():
                    number = getattr(row, name)
                    # An epoch without the figure is kept as NaN: its case has no mean then.
                    cases.setdefault(row.case_id, []).append(math.nan if number is None else number)

    def outcome(self, grader: str, case_id: str) -> CaseOutcome:
        known = self.outcomes.get(grader, {}).get(case_id, {})
        return reduce_epochs(known.get(epoch, Outcome.UNMEASURED) for epoch in range(self.epochs))

    def means(self, figures: Mapping[str, list[float]]) -> dict[str, float]:
        means = {case_id: math.fsum(numbers) / len(numbers) for case_id, numbers in figures.items()}
        return {case_id: mean for case_id, mean in means.items() if not math.isnan(mean)}


class Pairs:
    """Both sides of a comparison, and the clusters of the shared cases as the candidate has them."""

    def __init__(self, shared: Sequence[str], candidate: ComparedRun, baseline: ComparedRun) -> None:
        self.shared = shared
        self.candidate = _Side(candidate, frozenset(shared))
        self.baseline = _Side(baseline, frozenset(shared))
        self.same_prices = candidate.prices_digest == baseline.prices_digest
        self.has_clusters = any(candidate.cases[c].cluster is not None for c in shared)
        self._cases = candidate.cases

    def cluster(self, case_id: str) -> Hashable:
        """Return the case's cluster, or the case itself where it has none."""
        named = self._cases[case_id].cluster
        return (named is not None, case_id if named is None else named)

    def is_unstable(self, grader: str, case_id: str) -> bool:
        """Return whether a judge contradicts itself about a case in one of the runs."""
        return any(case_id in side.unstable.get(grader, ()) for side in (self.candidate, self.baseline))

    def difference(self, candidate: Mapping[str, float], baseline: Mapping[str, float]) -> Difference:
        """Return the mean paired difference of a figure per case, over the cases that have it on both sides."""
        case_ids = [c for c in self.shared if c in candidate and c in baseline]
        changes = [candidate[c] - baseline[c] for c in case_ids]
        clusters = [self.cluster(c) for c in case_ids] if self.has_clusters else None
        mean = stats.mean_interval(changes, clusters)
        if mean is None:
            return Difference()
        has_spread = len(set(changes)) > 1
        return Difference(
            value=mean.value,
            low=mean.low if has_spread else None,
            high=mean.high if has_spread else None,
            n=mean.n,
            n_clusters=mean.n_clusters if self.has_clusters else None,
        )


def paired_figures(grader: str, pairs: Pairs) -> PairedFigures:
    """Return what one grader says of the pairs."""
    reduced = {c: (pairs.baseline.outcome(grader, c), pairs.candidate.outcome(grader, c)) for c in pairs.shared}
    both = {c: (old, new) for c, (old, new) in reduced.items() if old.is_measured and new.is_measured}
    losses = {c: (old is CaseOutcome.PASS) - (new is CaseOutcome.PASS) for c, (old, new) in both.items()}
    failing = tuple(c for c, loss in losses.items() if loss > 0)
    passing = tuple(c for c, loss in losses.items() if loss < 0)
    n, n_old = len(both), sum(old is CaseOutcome.PASS for old, _ in both.values())
    n_both_pass = n_old - len(failing)
    clusters = _by_cluster(losses, pairs)
    n_independent = stats.independent_pairs(clusters)
    n_clusters = len(clusters) if pairs.has_clusters else None
    n_both_fail = n - n_both_pass - len(failing) - len(passing)
    interval = stats.paired_difference(
        n_both_pass,
        len(failing),
        len(passing),
        n_both_fail,
        n_independent=n_independent,
        n_clusters=n_clusters,
    )
    means = [side.means(side.values.get(grader, {})) for side in (pairs.candidate, pairs.baseline)]
    return PairedFigures(
        grader=grader,
        n_pairs=n,
        n_unpaired=len(reduced) - n,
        newly_unmeasured_case_ids=tuple(
            c for c, (old, new) in reduced.items() if old.is_measured and new is CaseOutcome.UNMEASURED
        ),
        n_both_pass=n_both_pass,
        n_newly_failing=len(failing),
        n_newly_passing=len(passing),
        n_both_fail=n_both_fail,
        baseline_rate=n_old / n if n else None,
        candidate_rate=(n_both_pass + len(passing)) / n if n else None,
        difference=Difference(
            value=(len(passing) - len(failing)) / n,
            low=interval.low,
            high=interval.high,
            n=n,
            n_clusters=n_clusters,
        )
        if interval
        else Difference(),
        score_difference=pairs.difference(*({c: m for c, m in side.items() if c in both} for side in means)),
        p_value=stats.worse_by_chance([sum(cluster) for cluster in clusters]),
        n_independent=n_independent,
        newly_failing_case_ids=failing,
        newly_passing_case_ids=passing,
        flaky_flip_case_ids=tuple(c for c in (*failing, *passing) if CaseOutcome.FLAKY in both[c]),
        judge_flip_case_ids=tuple(c for c in (*failing, *passing) if pairs.is_unstable(grader, c)),
    )


def _by_cluster(losses: Mapping[str, int], pairs: Pairs) -> list[list[int]]:
    """Return the losses of each independent unit: of a cluster where there are clusters, of a case otherwise."""
    if not pairs.has_clusters:
        return [[loss] for loss in losses.values()]
    clusters: dict[Hashable, list[int]] = {}
    for case_id, loss in losses.items():
        clusters.setdefault(pairs.cluster(case_id), []).append(loss)
    return list(clusters.values())
