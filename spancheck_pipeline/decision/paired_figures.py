"""What pairs of cases say: one grader's flips between two runs, and the differences of score, latency and cost.

Which cases are shared, and whether two runs can be compared at all, lives in ``comparison.py``; the formulas in
``stats/paired.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline import stats
from spancheck_pipeline.decision.scorecard import CaseOutcome, RowFacts, ScoreFacts, reduce_epochs
from spancheck_pipeline.grading.score import Outcome

CALL_FIGURES: Final = ("latency_ms", "latency_total_ms", "cost_usd")
"""Figures of an answered row that are compared as paired differences of a case's mean."""

Lost = Literal["left out", "passing", "failing"]
"""What is made of cases that the baseline measured and the candidate could not."""

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


class PairedUnit(BaseModel):
    """What independent units hold that hold the same: clusters; or all cases at once, where each stands for itself."""

    model_config = _FROZEN

    n_units: int = Field(default=1, ge=1)
    """Units that hold this."""
    n_both_pass: int = Field(default=0, ge=0)
    n_newly_failing: int = Field(default=0, ge=0)
    n_newly_passing: int = Field(default=0, ge=0)
    n_both_fail: int = Field(default=0, ge=0)
    n_lost_pass: int = Field(default=0, ge=0)
    """Cases that passed in the baseline and could not be measured in the candidate."""
    n_lost_fail: int = Field(default=0, ge=0)
    """Cases that failed in the baseline and could not be measured in the candidate."""

    def cells(self, lost: Lost) -> stats.Cells:
        """Return the cells of one unit, with what was lost left out or taken for one thing."""
        cells = stats.Cells(self.n_both_pass, self.n_newly_failing, self.n_newly_passing, self.n_both_fail)
        if lost == "passing":
            return cells._replace(
                both_pass=cells.both_pass + self.n_lost_pass, newly_passing=cells.newly_passing + self.n_lost_fail
            )
        if lost == "failing":
            return cells._replace(
                newly_failing=cells.newly_failing + self.n_lost_pass, both_fail=cells.both_fail + self.n_lost_fail
            )
        return cells


class PairedFigures(BaseModel):
    """What one grader says of the cases that both runs measured. A flaky case counts as failing."""

    model_config = _FROZEN

    grader: str
    n_pairs: int
    n_unpaired: int
    """Shared cases that are not measured in one of the two runs (or both)."""
    n_unmeasured: int = 0
    """Shared cases that the candidate could not measure, whatever the baseline said of them."""
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
    units: tuple[PairedUnit, ...]
    """The pairs unit by unit, and the newly unmeasured cases: what tests under other assumptions are made from."""
    newly_failing_case_ids: tuple[str, ...] = ()
    newly_passing_case_ids: tuple[str, ...] = ()
    flaky_flip_case_ids: tuple[str, ...] = ()
    """Those of them that disagree with themselves over epochs in one of the runs: the system's own variance."""
    judge_flip_case_ids: tuple[str, ...] = ()
    """Those of them about which a judge contradicts itself over repeats in one of the runs: the judge's variance."""

    @property
    def churn(self) -> float:
        """Estimated share of pairs that flip each way when nothing changes, half a flip added so that it is not 0."""
        return self.flips().churn

    def flips(self, lost: Lost = "left out") -> stats.Flips:
        """Return the pairs unit by unit, the newly unmeasured left out, or among them as passing or failing."""
        return _flips(self.units, lost, is_clustered=self.difference.n_clusters is not None)


class _Side:
    """One run's scores and call figures, for the shared cases."""

    def __init__(self, run: ComparedRun, shared: frozenset[str]) -> None:
        self.epochs = run.epochs
        self.unstable = run.unstable_cases
        self.outcomes: dict[str, dict[str, dict[int, Outcome]]] = {}
        self.values: dict[str, dict[str, list[float]]] = {}
        self._unsupported: set[tuple[str, str]] = set()
        for score in run.scores:
            if score.case_id in shared:
                if score.outcome.is_measured and score.n_unsupported:
                    self._unsupported.add((score.grader, score.case_id))
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

    def is_hallucinating(self, grader: str, case_id: str) -> bool | None:
        """Return whether any epoch asserts something unsupported; None where the case is not measured."""
        return (grader, case_id) in self._unsupported if self.outcome(grader, case_id).is_measured else None

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
    lost = tuple(c for c, (old, new) in reduced.items() if old.is_measured and new is CaseOutcome.UNMEASURED)
    units = _units(reduced, pairs)
    flips = _flips(units, "left out", is_clustered=pairs.has_clusters)
    n, total, interval = flips.n, flips.total, flips.interval
    means = [side.means(side.values.get(grader, {})) for side in (pairs.candidate, pairs.baseline)]
    return PairedFigures(
        grader=grader,
        n_pairs=n,
        n_unpaired=len(reduced) - n,
        n_unmeasured=sum(new is CaseOutcome.UNMEASURED for _, new in reduced.values()),
        newly_unmeasured_case_ids=lost,
        n_both_pass=total.both_pass,
        n_newly_failing=total.newly_failing,
        n_newly_passing=total.newly_passing,
        n_both_fail=total.both_fail,
        baseline_rate=(total.both_pass + total.newly_failing) / n if n else None,
        candidate_rate=(total.both_pass + total.newly_passing) / n if n else None,
        difference=Difference(
            value=flips.difference,
            low=interval.low if interval else None,
            high=interval.high if interval else None,
            n=n,
            n_clusters=flips.n_clusters,
        ),
        score_difference=pairs.difference(*({c: m for c, m in side.items() if c in both} for side in means)),
        p_value=flips.p_value,
        n_independent=flips.n_independent,
        units=units,
        newly_failing_case_ids=failing,
        newly_passing_case_ids=passing,
        flaky_flip_case_ids=tuple(c for c in (*failing, *passing) if CaseOutcome.FLAKY in both[c]),
        judge_flip_case_ids=tuple(c for c in (*failing, *passing) if pairs.is_unstable(grader, c)),
    )


def hallucination_difference(grader: str, pairs: Pairs) -> Difference:
    """Return the difference of the hallucination rates over the cases that both runs measured, by its grader."""
    cells: dict[Hashable, Counter[str]] = {}
    for case_id in pairs.shared:
        old, new = (side.is_hallucinating(grader, case_id) for side in (pairs.baseline, pairs.candidate))
        if old is not None and new is not None:
            unit = cells.setdefault(pairs.cluster(case_id) if pairs.has_clusters else None, Counter())
            unit[_CELL_OF[not old, not new]] += 1
    units = (PairedUnit(**unit) for unit in cells.values())
    flips = _flips(units, "left out", is_clustered=pairs.has_clusters)
    interval, kept = flips.interval, flips.difference
    if interval is None or kept is None:
        return Difference()
    # The formula is of the answers that do not hallucinate, as of those that pass.
    return Difference(value=-kept, low=-interval.high, high=-interval.low, n=flips.n, n_clusters=flips.n_clusters)


def _flips(units: Iterable[PairedUnit], lost: Lost, *, is_clustered: bool) -> stats.Flips:
    cells = (unit.cells(lost) for unit in units for _ in range(unit.n_units))
    return stats.Flips(units=tuple(unit for unit in cells if sum(unit)), is_clustered=is_clustered)


_CELL_OF: Final = {
    (True, True): "n_both_pass",
    (True, False): "n_newly_failing",
    (False, True): "n_newly_passing",
    (False, False): "n_both_fail",
}
"""Whether it passed before and passes now → where a pair is counted; a flaky case does not pass."""


def _units(reduced: Mapping[str, tuple[CaseOutcome, CaseOutcome]], pairs: Pairs) -> tuple[PairedUnit, ...]:
    """Return what independent units hold of the cases that the baseline measured, those that hold the same as one."""
    cells: dict[Hashable, Counter[str]] = {}
    for case_id, (old, new) in reduced.items():
        passed = old is CaseOutcome.PASS
        unit = cells.setdefault(pairs.cluster(case_id) if pairs.has_clusters else None, Counter())
        if old.is_measured and new.is_measured:
            unit[_CELL_OF[passed, new is CaseOutcome.PASS]] += 1
        elif old.is_measured and new is CaseOutcome.UNMEASURED:
            unit["n_lost_pass" if passed else "n_lost_fail"] += 1
    alike = Counter(PairedUnit(**unit) for unit in cells.values() if unit)
    ordered = sorted(alike.items(), key=lambda item: tuple(item[0].model_dump().values()))
    return tuple(unit.model_copy(update={"n_units": n}) for unit, n in ordered)
