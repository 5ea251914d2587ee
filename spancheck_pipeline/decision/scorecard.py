"""Building a scorecard: which scores enter which count, how epochs reduce, which interval a rate carries.

The figures themselves are models in ``figures.py``; the formulas live in ``stats.py``; thresholds in ``gate.py``.
Callers make the facts from stored tables; nothing here reads one. Rows and scores are streamed: what is kept of a
score is its outcome and value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from spancheck_pipeline import stats
from spancheck_pipeline.decision.figures import (
    CategoryFigures,
    Cost,
    Counts,
    GraderFigures,
    Hallucination,
    Headline,
    Latency,
    PassHatK,
    Quantiles,
    Rate,
    ScorecardDocument,
    Tokens,
)
from spancheck_pipeline.grading.score import Outcome

NO_SCORE: Final = "no_score"
"""Reason code of a case × epoch that a grader has no score for; it counts as unmeasured."""
NOT_REPORTED: Final = "(not reported)"
NO_CATEGORY: Final = "(none)"
_MOST_K: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """What a scorecard needs of one captured row."""

    case_id: str
    epoch: int = 0
    category: str | None = None
    cluster: str | None = None
    answered: bool
    error_class: str | None = None
    latency_ms: float | None = None
    latency_total_ms: float | None = None
    cost_usd: float | None = None
    """None where the price or the usage is not known; free is 0.0."""
    served_model: str | None = None
    attempts: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFacts:
    """What a scorecard needs of one score."""

    grader: str
    case_id: str
    epoch: int = 0
    category: str | None = None
    cluster: str | None = None
    outcome: Outcome
    value: float | None = None
    reason_code: str = ""
    n_unsupported: int = 0
    """Findings whose outcome is fail; only read of a groundedness grader, for the hallucination rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderFacts:
    """Which grader made scores."""

    name: str
    measurement: str
    version: str = ""
    spec_digest: str = ""


class CaseOutcome(StrEnum):
    """What the epochs of one case come to."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    FLAKY = "flaky"
    """The measured epochs disagree: unreliable, which is not the same as partly right."""
    NOT_APPLICABLE = "not_applicable"
    UNMEASURED = "unmeasured"

    @property
    def is_measured(self) -> bool:
        """Whether the case counts in a rate."""
        return self in {CaseOutcome.PASS, CaseOutcome.FAIL, CaseOutcome.FLAKY}


def reduce_epochs(outcomes: Iterable[Outcome]) -> CaseOutcome:
    """Return what the outcomes of a case's epochs come to.

    Any unmeasured → unmeasured; nothing but not applicable → not applicable; the measured agree → that; else flaky.

    >>> reduce_epochs([Outcome.PASS, Outcome.FAIL, Outcome.PASS])
    <CaseOutcome.FLAKY: 'flaky'>
    """
    kinds = set(outcomes)
    if Outcome.UNMEASURED in kinds or not kinds:
        return CaseOutcome.UNMEASURED
    measured = kinds - {Outcome.NOT_APPLICABLE}
    if not measured:
        return CaseOutcome.NOT_APPLICABLE
    return CaseOutcome(measured.pop().value) if len(measured) == 1 else CaseOutcome.FLAKY


def build_scorecard(
    *,
    suite: str,
    run_id: str,
    date: str | None = None,
    config: str | None = None,
    rows: Iterable[RowFacts],
    scores: Iterable[ScoreFacts],
    graders: Sequence[GraderFacts],
    case_ids: Iterable[str] = (),
    epochs: int | None = None,
    inputs: Mapping[str, str] | None = None,
) -> ScorecardDocument:
    """Return the scorecard of one captured run.

    ``case_ids`` are the cases of the snapshot and ``epochs`` what the suite asks for: a case × epoch that has no row or
    no score is counted as unmeasured, not left out. The order of rows and scores plays no part.

    Raises:
        ValueError: for a second row or score of one case × epoch, or a score of a grader that is not in ``graders``.
    """
    run = _Run(graders)
    for row in rows:
        run.add_row(row)
    for score in scores:
        run.add_score(score)
    run.complete(case_ids, epochs)
    figures = {facts.name: _grader_figures(facts, run) for facts in graders}
    return ScorecardDocument(
        suite=suite,
        run_id=run_id,
        date=date,
        config=config,
        headline=_headline(graders, figures, run),
        n_cases=len(run.cases),
        epochs=run.epochs,
        n_rows=len(run.rows),
        n_answered=sum(run.rows.values()),
        calls=_counts(run.calls()),
        graders=figures,
        errors=dict(sorted(run.calls_made.errors.items())),
        attempts=run.calls_made.attempts,
        retries=run.calls_made.retries,
        tokens=run.calls_made.token_figures(),
        served_models=dict(sorted(run.calls_made.models.items())),
        inputs=dict(sorted((inputs or {}).items())),
    )


def safe_name(name: str | None, *, other: str, most: int = 100) -> str:
    """Return a name from foreign code where it looks like an identifier or a model's name, else ``other``.

    An error class, a reason code or a served model comes from the system under test, and a summary holds no text.
    """
    return name if name and len(name) <= most and re.fullmatch(r"[A-Za-z0-9_.:/@+-]+", name) else other


def error_name(name: str | None) -> str:
    """Return an error class's name where it is one (letters, digits, ``_`` and ``.``, at most 100), else ``Error``."""
    return name if name and re.fullmatch(r"[A-Za-z0-9_.]{1,100}", name) else "Error"


class _Stored(NamedTuple):
    outcome: Outcome
    value: float | None
    is_unsupported: bool


_MISSING: Final = _Stored(Outcome.UNMEASURED, None, False)  # noqa: FBT003 - the field's name says it


class _Place(NamedTuple):
    category: str | None
    cluster: str | None


@dataclass(slots=True)
class _Calls:
    """What the calls of a run took and cost."""

    errors: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    unpriced: Counter[str] = field(default_factory=Counter)
    costs: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    n_untimed: int = 0
    attempts: int = 0
    retries: int = 0
    tokens: dict[str, list[int]] = field(default_factory=dict)

    def add(self, row: RowFacts) -> None:
        self.attempts += row.attempts
        self.retries += max(0, row.attempts - 1)
        if not row.answered:
            self.errors[error_name(row.error_class)] += 1
            self.n_untimed += 1
            return
        model = safe_name(row.served_model, other="(unreadable name)") if row.served_model else NOT_REPORTED
        self.models[model] += 1
        if row.cost_usd is None:
            self.unpriced[model] += 1
        else:
            self.costs.append(row.cost_usd)
        if row.latency_ms is None:
            self.n_untimed += 1
        else:
            self.latencies.append(row.latency_ms)
        if row.latency_total_ms is not None:
            self.totals.append(row.latency_total_ms)
        for kind in ("input", "output", "cached_input", "reasoning"):
            n = getattr(row, f"{kind}_tokens")
            if n is not None:
                self.tokens.setdefault(kind, []).append(n)

    def token_figures(self) -> dict[str, Tokens]:
        kinds = ("input", "output", "cached_input", "reasoning")
        found = {kind: self.tokens.get(kind, []) for kind in kinds}
        return {kind: Tokens(total=sum(ns) if ns else None, n_reported=len(ns)) for kind, ns in found.items()}

    def cost(self) -> Cost:
        known = math.fsum(self.costs)
        is_known = bool(self.costs) and not self.unpriced
        return Cost(
            total_usd=known if is_known else None,
            mean_usd=known / len(self.costs) if is_known else None,
            priced_total_usd=known,
            n_priced=len(self.costs),
            n_unpriced=self.unpriced.total(),
            unpriced_models=tuple(sorted(self.unpriced)),
        )

    def latency(self) -> Latency:
        fast = slow = None
        if self.latencies:
            fast = stats.quantile([*self.latencies, *[0.0] * self.n_untimed], 0.95)
            slow = stats.quantile([*self.latencies, *[math.inf] * self.n_untimed], 0.95)
        return Latency(
            answer=_quantiles(self.latencies),
            total=_quantiles(self.totals),
            n_unknown=self.n_untimed,
            p95_if_unknown_fast_ms=fast,
            p95_if_unknown_slow_ms=None if slow is None or math.isinf(slow) else slow,
        )


class _Run:
    """Everything that is kept of a run's rows and scores while a scorecard is built."""

    def __init__(self, graders: Sequence[GraderFacts]) -> None:
        self.cases: dict[str, _Place] = {}
        self.rows: dict[tuple[str, int], bool] = {}
        self.scores: dict[str, dict[tuple[str, int], _Stored]] = {facts.name: {} for facts in graders}
        if len(self.scores) != len(graders):
            raise ValueError("two graders of one scorecard have the same name")
        self.reasons: dict[str, Counter[str]] = {facts.name: Counter() for facts in graders}
        self.calls_made = _Calls()
        self.epochs = 1

    def add_row(self, row: RowFacts) -> None:
        key = (row.case_id, row.epoch)
        if key in self.rows:
            raise ValueError(f"case {row.case_id!r} has two rows for epoch {row.epoch}")
        self.rows[key] = row.answered
        self._see(row)
        self.calls_made.add(row)

    def add_score(self, score: ScoreFacts) -> None:
        known = self.scores.get(score.grader)
        if known is None:
            raise ValueError(f"a score is of the grader {score.grader!r}, which is not among the scorecard's graders")
        key = (score.case_id, score.epoch)
        if key in known:
            raise ValueError(f"case {score.case_id!r} has two scores of {score.grader!r} for epoch {score.epoch}")
        known[key] = _Stored(score.outcome, score.value, score.n_unsupported > 0)
        self.reasons[score.grader][safe_name(score.reason_code, other="other", most=64)] += 1
        self._see(score)

    def _see(self, facts: RowFacts | ScoreFacts) -> None:
        self.cases.setdefault(facts.case_id, _Place(facts.category, facts.cluster))
        self.epochs = max(self.epochs, facts.epoch + 1)

    def complete(self, case_ids: Iterable[str], epochs: int | None) -> None:
        """Take in the cases and epochs that should be there, and count the scores that are missing."""
        for case_id in case_ids:
            self.cases.setdefault(case_id, _Place(None, None))
        self.cases = dict(sorted(self.cases.items()))
        self.epochs = max(self.epochs, epochs or 1)
        for name, known in self.scores.items():
            missing = len(self.cases) * self.epochs - len(known)
            if missing:
                self.reasons[name][NO_SCORE] += missing

    @property
    def has_clusters(self) -> bool:
        return any(place.cluster is not None for place in self.cases.values())

    @property
    def has_categories(self) -> bool:
        return any(place.category is not None for place in self.cases.values())

    def cluster(self, case_id: str) -> tuple[bool, str]:
        """Return the case's cluster, or the case itself where it has none; the flag keeps the two apart."""
        named = self.cases[case_id].cluster
        return (named is not None, case_id if named is None else named)

    def of_case(self, grader: str, case_id: str) -> list[_Stored]:
        known = self.scores[grader]
        return [known.get((case_id, epoch), _MISSING) for epoch in range(self.epochs)]

    def calls(self) -> dict[str, CaseOutcome]:
        says = {True: Outcome.PASS, False: Outcome.FAIL, None: Outcome.UNMEASURED}
        return {
            case_id: reduce_epochs(says[self.rows.get((case_id, epoch))] for epoch in range(self.epochs))
            for case_id in self.cases
        }


def _grader_figures(facts: GraderFacts, run: _Run) -> GraderFigures:
    stored = {case_id: run.of_case(facts.name, case_id) for case_id in run.cases}
    reduced = {case_id: reduce_epochs(s.outcome for s in scores) for case_id, scores in stored.items()}
    everything = _category_figures(list(run.cases), stored, reduced, run)
    return GraderFigures(
        name=facts.name,
        measurement=facts.measurement,
        version=facts.version,
        spec_digest=facts.spec_digest,
        counts=everything.counts,
        pass_rate=everything.pass_rate,
        mean_score=everything.mean_score,
        by_category=_by_category(stored, reduced, run),
        reason_codes=dict(sorted(run.reasons[facts.name].items())),
        failing_case_ids=_ids(reduced, CaseOutcome.FAIL),
        flaky_case_ids=_ids(reduced, CaseOutcome.FLAKY),
        unmeasured_case_ids=_ids(reduced, CaseOutcome.UNMEASURED),
        pass_hat_k=_pass_hat_k(stored, reduced, run.epochs) if run.epochs > 1 else (),
    )


def _by_category(
    stored: Mapping[str, list[_Stored]], reduced: Mapping[str, CaseOutcome], run: _Run
) -> dict[str, CategoryFigures]:
    if not run.has_categories:
        return {}
    groups: dict[str, list[str]] = {}
    for case_id, place in run.cases.items():
        groups.setdefault(place.category or NO_CATEGORY, []).append(case_id)
    return {name: _category_figures(groups[name], stored, reduced, run) for name in sorted(groups)}


def _category_figures(
    case_ids: Sequence[str], stored: Mapping[str, list[_Stored]], reduced: Mapping[str, CaseOutcome], run: _Run
) -> CategoryFigures:
    outcomes = {case_id: reduced[case_id] for case_id in case_ids}
    passed = {case_id: o is CaseOutcome.PASS for case_id, o in outcomes.items() if o.is_measured}
    values = [(s.value, run.cluster(case_id)) for case_id in case_ids for s in stored[case_id] if s.value is not None]
    return CategoryFigures(counts=_counts(outcomes), pass_rate=_rate(passed, run), mean_score=_mean(values, run))


def _counts(reduced: Mapping[str, CaseOutcome]) -> Counts:
    n = Counter(reduced.values())
    return Counts(n_cases=len(reduced), **{f"n_{outcome.value}": n[outcome] for outcome in CaseOutcome})


def _ids(reduced: Mapping[str, CaseOutcome], outcome: CaseOutcome) -> tuple[str, ...]:
    return tuple(case_id for case_id, what in reduced.items() if what is outcome)


def _rate(flags: Mapping[str, bool], run: _Run) -> Rate:
    """Return the share of cases with a true flag, with the interval that the cases' clusters ask for."""
    n, n_true = len(flags), sum(flags.values())
    if not n:
        return Rate()
    if not run.has_clusters:
        interval = stats.wilson(n_true, n)
        assert interval is not None
        return Rate(value=n_true / n, low=interval.low, high=interval.high, n=n)
    clusters: dict[tuple[bool, str], list[bool]] = {}
    for case_id, flag in flags.items():
        clusters.setdefault(run.cluster(case_id), []).append(flag)
    clustered = stats.wilson_clustered([sum(c) for c in clusters.values()], [len(c) for c in clusters.values()])
    assert clustered is not None
    return Rate(
        value=n_true / n,
        low=clustered.low,
        high=clustered.high,
        n=n,
        n_clusters=clustered.n_clusters,
        few_clusters=clustered.few_clusters,
    )


def _mean(values: Sequence[tuple[float, tuple[bool, str]]], run: _Run) -> Rate:
    """Return the mean of scores; where a case has several epochs and no cluster, the case is the cluster."""
    is_clustered = run.has_clusters or run.epochs > 1
    clusters = [cluster for _, cluster in values] if is_clustered else None
    mean = stats.mean_interval([value for value, _ in values], clusters, bounds=(0.0, 1.0))
    if mean is None:
        return Rate()
    return Rate(
        value=mean.value,
        low=mean.low,
        high=mean.high,
        n=mean.n,
        n_clusters=mean.n_clusters if is_clustered else None,
        few_clusters=is_clustered and mean.n_clusters < stats.FEW_CLUSTERS,
    )


def _pass_hat_k(
    stored: Mapping[str, list[_Stored]], reduced: Mapping[str, CaseOutcome], epochs: int
) -> tuple[PassHatK, ...]:
    pairs: list[tuple[int, int]] = []
    for case_id, scores in stored.items():
        if reduced[case_id].is_measured:
            outcomes = [s.outcome for s in scores if s.outcome.is_measured]
            pairs.append((len(outcomes), outcomes.count(Outcome.PASS)))
    found = []
    for k in sorted({*range(1, min(epochs, _MOST_K) + 1), epochs}):
        shares = [stats.pass_hat_k(n, c, k) for n, c in pairs if n >= k]
        if shares:
            found.append(PassHatK(k=k, value=math.fsum(shares) / len(shares), n_cases=len(shares)))
    return tuple(found)


def _headline(graders: Sequence[GraderFacts], figures: Mapping[str, GraderFigures], run: _Run) -> Headline:
    first: dict[str, str] = {}
    for facts in graders:
        # The class ``CitationAccuracy`` and the registered name ``citation_accuracy`` are one measurement.
        first.setdefault(facts.measurement.replace("_", "").lower(), facts.name)
    citation, abstention = first.get("citationaccuracy"), first.get("abstentioncorrect")
    grounded = first.get("groundedness")
    return Headline(
        citation_accuracy=figures[citation].pass_rate if citation else None,
        abstention_correctness=figures[abstention].pass_rate if abstention else None,
        hallucination=_hallucination(grounded, figures[grounded].counts, run) if grounded else None,
        cost=run.calls_made.cost(),
        latency=run.calls_made.latency(),
    )


def _hallucination(grader: str, counts: Counts, run: _Run) -> Hallucination:
    flags: dict[str, bool] = {}
    for case_id in run.cases:
        scores = run.of_case(grader, case_id)
        if reduce_epochs(s.outcome for s in scores).is_measured:
            flags[case_id] = any(s.is_unsupported for s in scores if s.outcome.is_measured)
    return Hallucination(
        grader=grader,
        rate=_rate(flags, run),
        n_hallucinating=sum(flags.values()),
        n_asserting=len(flags),
        n_not_applicable=counts.n_not_applicable,
        n_unmeasured=counts.n_unmeasured,
    )


def _quantiles(values: Sequence[float]) -> Quantiles:
    if not values:
        return Quantiles()
    return Quantiles(
        n=len(values),
        mean_ms=math.fsum(values) / len(values),
        p50_ms=stats.quantile(values, 0.5),
        p95_ms=stats.quantile(values, 0.95),
        p99_ms=stats.quantile(values, 0.99),
        max_ms=max(values),
    )


__all__ = [
    "CaseOutcome", "GraderFacts", "RowFacts", "ScoreFacts", "ScorecardDocument", "build_scorecard", "error_name",
    "reduce_epochs", "safe_name",
]  # fmt: skip
