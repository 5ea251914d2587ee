"""Building a scorecard: which scores enter which count, and which interval a rate carries.

The figures themselves are models in ``figures.py``; what they are made from is in ``facts.py``, what is kept on the way
in ``tally.py``; the formulas live in ``stats``; thresholds in ``gate.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from spancheck_pipeline import stats
from spancheck_pipeline.decision.criterion_figures import criteria_figures, pass_hat_k
from spancheck_pipeline.decision.facts import (
    CaseOutcome,
    GraderFacts,
    RowFacts,
    ScoreFacts,
    error_name,
    reduce_epochs,
    safe_name,
)
from spancheck_pipeline.decision.figures import (
    CategoryFigures,
    Cost,
    Counts,
    GraderFigures,
    Hallucination,
    Headline,
    JudgeFigures,
    Latency,
    LowerBound,
    Quantiles,
    Rate,
    ScorecardDocument,
    Tokens,
)
from spancheck_pipeline.decision.tally import TOKEN_KINDS, CallTally, RunTally, Stored

NO_CATEGORY: Final = "(none)"


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
    attributions: Iterable[tuple[str, str]] = (),
    criteria: Iterable[tuple[str, str]] = (),
    judges: Iterable[JudgeFigures] = (),
    inputs: Mapping[str, str] | None = None,
) -> ScorecardDocument:
    """Return the scorecard of one captured run.

    ``case_ids`` are the cases of the snapshot and ``epochs`` what the suite asks for: a case × epoch that has no row or
    no score is counted as unmeasured, not left out. ``attributions`` are case id and reason of answers that failed,
    ``criteria`` case id and criterion id of every criterion, so that those of a failed call are unmeasured too. The
    order of rows, scores, attributions and criteria plays no part.

    Raises:
        ValueError: for a second row or score of one case × epoch, or a score of a grader that is not in ``graders``.
    """
    run = RunTally(graders)
    for row in rows:
        run.add_row(row)
    for score in scores:
        run.add_score(score)
    run.complete(case_ids, epochs)
    run.expect_criteria(criteria)
    figures = {facts.name: _grader_figures(facts, run) for facts in graders}
    calls, completed = run.calls_made, _completed(graders, run)
    return ScorecardDocument(
        suite=suite,
        run_id=run_id,
        date=date,
        config=config,
        headline=_headline(graders, figures, run),
        n_cases=len(run.cases),
        epochs=run.epochs,
        n_rows=len(run.rows),
        n_answered=calls.n_answered,
        calls=_counts(completed),
        calls_lower_bound=_lower_bound(completed, run),
        graders=figures,
        errors=dict(sorted(calls.errors.items())),
        attempts=calls.attempts,
        retries=calls.retries,
        tokens=_tokens(calls),
        served_models=dict(sorted(calls.models.items())),
        judges={judge.name: judge for judge in judges},
        attributions=_by_reason(attributions),
        inputs=dict(sorted((inputs or {}).items())),
    )


def _by_reason(attributions: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    cases: dict[str, set[str]] = {}
    for case_id, reason in attributions:
        cases.setdefault(reason, set()).add(case_id)
    return {reason: tuple(sorted(cases[reason])) for reason in sorted(cases)}


def _grader_figures(facts: GraderFacts, run: RunTally) -> GraderFigures:
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
        lower_bound=_lower_bound(reduced, run),
        mean_score=everything.mean_score,
        by_category=_by_category(stored, reduced, run),
        reason_codes=dict(sorted(run.reasons[facts.name].items())),
        unmeasured_codes=dict(sorted(run.unmeasured[facts.name].items())),
        failing_case_ids=_ids(reduced, CaseOutcome.FAIL),
        flaky_case_ids=_ids(reduced, CaseOutcome.FLAKY),
        unmeasured_case_ids=_ids(reduced, CaseOutcome.UNMEASURED),
        pass_hat_k=pass_hat_k(
            ([score.outcome for score in stored[case_id]] for case_id in stored if reduced[case_id].is_measured),
            run.epochs,
        ),
        criteria=criteria_figures(run.criteria[facts.name], run.epochs),
        judges=facts.judges,
    )


def _completed(graders: Sequence[GraderFacts], run: RunTally) -> Mapping[str, CaseOutcome]:
    """Return what completion says of each case: the grader of that measurement where there is one, else the calls."""
    name = next((facts.name for facts in graders if facts.measurement.lower() == "completion"), None)
    if name is None:
        return run.calls()
    return {case_id: reduce_epochs(s.outcome for s in run.of_case(name, case_id)) for case_id in run.cases}


def _by_category(
    stored: Mapping[str, list[Stored]], reduced: Mapping[str, CaseOutcome], run: RunTally
) -> dict[str, CategoryFigures]:
    if not run.has_categories:
        return {}
    groups: dict[str, list[str]] = {}
    for case_id, place in run.cases.items():
        groups.setdefault(place.category or NO_CATEGORY, []).append(case_id)
    return {name: _category_figures(groups[name], stored, reduced, run) for name in sorted(groups)}


def _category_figures(
    case_ids: Sequence[str], stored: Mapping[str, list[Stored]], reduced: Mapping[str, CaseOutcome], run: RunTally
) -> CategoryFigures:
    outcomes = {case_id: reduced[case_id] for case_id in case_ids}
    passed = {case_id: o is CaseOutcome.PASS for case_id, o in outcomes.items() if o.is_measured}
    # A case that one epoch could not measure is in no rate, and so in no mean: both rest on the same cases.
    values = [(s.value, run.cluster(case_id)) for case_id in passed for s in stored[case_id] if s.value is not None]
    return CategoryFigures(counts=_counts(outcomes), pass_rate=_rate(passed, run), mean_score=_mean(values, run))


def _counts(reduced: Mapping[str, CaseOutcome]) -> Counts:
    n = Counter(reduced.values())
    return Counts(n_cases=len(reduced), **{f"n_{outcome.value}": n[outcome] for outcome in CaseOutcome})


def _ids(reduced: Mapping[str, CaseOutcome], outcome: CaseOutcome) -> tuple[str, ...]:
    return tuple(case_id for case_id, what in reduced.items() if what is outcome)


def _rate(flags: Mapping[str, bool], run: RunTally) -> Rate:
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


def _lower_bound(reduced: Mapping[str, CaseOutcome], run: RunTally) -> LowerBound | None:
    """Return the bound to decide by, over the applicable cases with the unmeasured taken as failed."""
    passed = {c: o is CaseOutcome.PASS for c, o in reduced.items() if o is not CaseOutcome.NOT_APPLICABLE}
    if not passed:
        return None
    if not run.has_clusters:
        interval = stats.wilson(sum(passed.values()), len(passed))
        assert interval is not None
        return LowerBound(value=interval.low)
    clusters: dict[tuple[bool, str], list[bool]] = {}
    for case_id, flag in passed.items():
        clusters.setdefault(run.cluster(case_id), []).append(flag)
    bound = stats.deciding_bound([sum(c) for c in clusters.values()], [len(c) for c in clusters.values()])
    assert bound is not None
    return LowerBound(value=bound.low, n_further_failures=bound.n_further, n_clusters=len(clusters))


def _mean(values: Sequence[tuple[float, tuple[bool, str]]], run: RunTally) -> Rate:
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


def _headline(graders: Sequence[GraderFacts], figures: Mapping[str, GraderFigures], run: RunTally) -> Headline:
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
        cost=_cost(run.calls_made),
        latency=_latency(run.calls_made),
    )


def _hallucination(grader: str, counts: Counts, run: RunTally) -> Hallucination:
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


def _cost(calls: CallTally) -> Cost:
    # As the decimals that are written: three answers of 0.1 USD cost 0.3, and 0.1 on average.
    known = sum((Decimal(repr(float(cost))) for cost in calls.costs), Decimal(0))
    is_known = bool(calls.costs) and not calls.unpriced
    return Cost(
        total_usd=float(known) if is_known else None,
        mean_usd=float(known / len(calls.costs)) if is_known else None,
        priced_total_usd=float(known),
        n_priced=len(calls.costs),
        n_unpriced=calls.unpriced.total(),
        n_without_usage=calls.unpriced.total() - calls.priceless.total(),
        unpriced_models=tuple(sorted(calls.unpriced)),
        models_without_price=tuple(sorted(calls.priceless)),
    )


def _latency(calls: CallTally) -> Latency:
    fast = slow = None
    if calls.latencies:
        fast = stats.quantile([*calls.latencies, *[0.0] * calls.n_untimed], 0.95)
        slow = stats.quantile([*calls.latencies, *[math.inf] * calls.n_untimed], 0.95)
    return Latency(
        answer=_quantiles(calls.latencies),
        total=_quantiles(calls.totals),
        n_unknown=calls.n_untimed,
        p95_if_unknown_fast_ms=fast,
        p95_if_unknown_slow_ms=None if slow is None or math.isinf(slow) else slow,
    )


def _tokens(calls: CallTally) -> dict[str, Tokens]:
    found = {kind: calls.tokens.get(kind, []) for kind in TOKEN_KINDS}
    return {kind: Tokens(total=sum(ns) if ns else None, n_reported=len(ns)) for kind, ns in found.items()}


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
