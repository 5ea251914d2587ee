"""Thresholds on pass rates, and caps on what may be flaky or unmeasured.

The counts come from ``figures.py``; ``gate.py`` joins these answers with regressions and budgets. That ten
cases may be too few to decide is said here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from spancheck_pipeline import stats
from spancheck_pipeline.decision.figures import (
    AdjudicatedFigures,
    Counts,
    GraderFigures,
    LowerBound,
    Rate,
    ScorecardDocument,
)
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.decision.numerals import beside, cases, in_clusters, stated
from spancheck_pipeline.decision.remedies import remedy
from spancheck_pipeline.decision.rule import Answer, RuleResult, ignored

COMPLETION: Final = "completion"
DEFAULT_MIN_MEASURED: Final = 30
_FEWEST_MEASURED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """What a rule is decided by: one grader's figures, or those of the calls."""

    counts: Counts
    lower_bound: LowerBound | None
    rate: Rate = field(default_factory=Rate)
    """As it is shown."""
    unmeasured_codes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def by(cls, figures: GraderFigures | AdjudicatedFigures, codes: Mapping[str, int]) -> _Measured:
        return cls(
            counts=figures.counts,
            lower_bound=figures.lower_bound,
            rate=figures.pass_rate,
            unmeasured_codes=codes,
        )


def threshold_names(settings: GateSettings) -> list[str]:
    """Return the names of the threshold and cap rules that a suite's settings ask for."""
    caps = [f"{cap}_{name}" for name in settings.min_pass_rate for cap in _caps_of(settings)]
    return [f"min_pass_rate_{name}" for name in _thresholds_of(settings)] + caps


def threshold_rules(scorecard: ScorecardDocument, settings: GateSettings) -> Iterator[RuleResult]:
    """Yield what each threshold says, ``completion`` always among them."""
    for name, threshold in _thresholds_of(settings).items():
        found, raw = _deciding(scorecard, name, settings), _raw(scorecard, name)
        counts = found.counts
        answer, reason = _threshold_answer(name, found, threshold, settings.min_measured)
        if answer is Answer.PASS and settings.confidence == "lower":
            answer, reason = _lower_bound_answer(name, found, threshold, reason)
        if counts != raw.counts:
            reason += f"; this is with people's dispositions, without them {_passed(raw.counts)}"
        rule = RuleResult(
            rule=f"min_pass_rate_{name}",
            kind="threshold",
            subject=name,
            threshold=threshold,
            observed=counts.n_pass / counts.n_measured if counts.n_measured else None,
            answer=answer,
            reason=reason,
            counts=counts,
            is_blocking=settings.blocking,
        )
        yield ignored(rule, scorecard)


def cap_rules(scorecard: ScorecardDocument, settings: GateSettings) -> Iterator[RuleResult]:
    """Yield what the caps on flaky and unmeasured shares say of each grader with a threshold."""
    for name in settings.min_pass_rate:
        found = _deciding(scorecard, name, settings)
        counts = found.counts
        for cap, limit in _caps_of(settings).items():
            part, whole = _capped(cap, counts)
            is_within = part <= Fraction(str(limit)) * whole
            what = cap.removeprefix("max_")
            helps = "look at these cases" if cap == "max_flaky" else remedy(found.unmeasured_codes)
            rule = RuleResult(
                rule=f"{cap}_{name}",
                kind="cap",
                subject=name,
                threshold=limit,
                observed=part / whole if whole else None,
                answer=Answer.PASS if is_within else Answer.FAIL if cap == "max_flaky" else Answer.NOT_MEASURED,
                reason=f"{name}: {part} of {cases(whole)} {what}, at most {stated(limit)} may be"
                + ("" if is_within else f"; {helps}"),
                counts=counts,
                is_blocking=settings.blocking,
            )
            yield ignored(rule, scorecard)


def required_measured(counts: Counts, min_measured: int | None) -> int:
    """Return how many cases a threshold must rest on (docs/decisions/0010).

    min(min_measured or 30, max(⌈applicable/2⌉, min(10, ⌈cases/2⌉))): half of the applicable cases are enough in a small
    suite, but one cited answer among 300 cases is not.

    >>> required_measured(Counts(n_cases=300, n_pass=1, n_not_applicable=299), None)
    10
    """
    floor = min(_FEWEST_MEASURED, math.ceil(counts.n_cases / 2))
    return min(min_measured or DEFAULT_MIN_MEASURED, max(math.ceil(counts.n_applicable / 2), floor))


def _caps_of(settings: GateSettings) -> dict[str, float]:
    caps = {"max_flaky": settings.max_flaky, "max_unmeasured": settings.max_unmeasured}
    return {name: limit for name, limit in caps.items() if limit is not None}


def _capped(cap: str, counts: Counts) -> tuple[int, int]:
    if cap == "max_flaky":
        return counts.n_flaky, counts.n_measured
    return counts.n_unmeasured, counts.n_applicable


def _thresholds_of(settings: GateSettings) -> dict[str, float]:
    return {COMPLETION: 1.0, **settings.min_pass_rate}


def _deciding(scorecard: ScorecardDocument, name: str, settings: GateSettings) -> _Measured:
    """Return what decides about a grader: its own figures, unless the suite says that dispositions gate.

    A call that did not answer is nobody's to wave through: ``completion`` is always raw.
    """
    raw = _raw(scorecard, name)
    people = scorecard.adjudicated.graders if settings.adjudicated and scorecard.adjudicated else {}
    if name == COMPLETION or name not in people:
        return raw
    return _Measured.by(people[name], raw.unmeasured_codes)


def _raw(scorecard: ScorecardDocument, name: str) -> _Measured:
    """Return a grader's own figures; completion is read off the calls where no grader measures it."""
    figures = scorecard.graders.get(name)
    if name == COMPLETION and (figures is None or figures.measurement.lower() != COMPLETION):
        return _Measured(counts=scorecard.calls, lower_bound=scorecard.calls_lower_bound)
    assert figures is not None
    return _Measured.by(figures, figures.unmeasured_codes)


def _threshold_answer(name: str, found: _Measured, threshold: float, min_measured: int | None) -> tuple[Answer, str]:
    counts, wanted = found.counts, Fraction(str(threshold))  # as written: 0.95 of 20 is 19, which no product promises
    if not counts.n_applicable:
        return Answer.FAIL, (
            f"{name}: nothing was measured ({cases(counts.n_not_applicable)} not applicable), so {stated(threshold)} "
            "is not reached; check that the grader fits the suite and that the system answers"
        )
    required = 1 if name == COMPLETION else required_measured(counts, min_measured)
    if counts.n_measured < required:
        helps = remedy(found.unmeasured_codes) if counts.n_unmeasured else "measure more cases, or lower min_measured"
        return Answer.NOT_MEASURED, (
            f"{name}: {counts.n_measured} of {cases(counts.n_cases)} measured ({counts.n_unmeasured} unmeasured, "
            f"{counts.n_not_applicable} not applicable), and the threshold must rest on {required}; "
            f"quality is not what failed: {helps}"
        )
    if_all_pass = Fraction(counts.n_pass + counts.n_unmeasured, counts.n_applicable) >= wanted
    if_all_fail = Fraction(counts.n_pass, counts.n_applicable) >= wanted
    figures = _passed(counts) + in_clusters(found.rate.n_clusters)
    if if_all_fail:
        return Answer.PASS, f"{name}: {figures}, at least {stated(threshold)} is wanted"
    if not if_all_pass:
        return Answer.FAIL, f"{name}: {figures}, below {stated(threshold)}; look at the failing cases"
    return Answer.NOT_MEASURED, (
        f"{name}: {figures}, and the unmeasured decide whether {stated(threshold)} is reached; "
        f"quality is not what failed: {remedy(found.unmeasured_codes)}"
    )


def _lower_bound_answer(name: str, found: _Measured, threshold: float, by_count: str) -> tuple[Answer, str]:
    """Decide by the lower bound, with the unmeasured taken as failed; the count has reached the threshold already."""
    if threshold >= 1:
        return Answer.PASS, f"{by_count}; a threshold of 1 is decided by the count, since no interval begins at 1"
    bound = found.lower_bound or _bound_without_clusters(found)
    figures = _passed(found.counts) + in_clusters(found.rate.n_clusters)
    seen = f"{name}: {figures}, with the lower bound {beside(bound.value, threshold)}{_whose(bound, found)}"
    if bound.value >= threshold:
        return Answer.PASS, f"{seen}, at least {stated(threshold)} is wanted"
    more = "cases" if bound.n_clusters is None else "documents"
    has_lost = bool(found.counts.n_unmeasured)
    lost = f"the unmeasured count as failed in it ({remedy(found.unmeasured_codes)}); " * has_lost
    return Answer.FAIL, f"{seen}, below {stated(threshold)}; {lost}measure more {more}, or decide by the count"


def _bound_without_clusters(found: _Measured) -> LowerBound:
    """Return the bound of figures that were kept without one."""
    at_worst = stats.wilson(found.counts.n_pass, found.counts.n_applicable)
    assert at_worst is not None
    low = at_worst.low if found.rate.low is None else min(at_worst.low, found.rate.low)
    return LowerBound(value=low, n_clusters=found.rate.n_clusters)


def _whose(bound: LowerBound, found: _Measured) -> str:
    """Return, where the bound is another one than the interval shows, whose it is."""
    n = bound.n_further_failures
    if not n:
        return ""
    further = "1 further failure" if n == 1 else f"{n} further failures"
    low = found.rate.low
    shown = "its own interval begins lower" if low is None else f"its interval begins at {low:.4g}"
    return (
        f", which it would have with {further} ({shown}, since too few documents hold a failure to tell how far their "
        "cases go together; no run is judged worse for failing less)"
    )


def _passed(counts: Counts) -> str:
    rate = f"{counts.n_pass} of {counts.n_measured} measured passed"
    more = {"flaky": counts.n_flaky, "unmeasured": counts.n_unmeasured}
    extra = ", ".join(f"{n} {what}" for what, n in more.items() if n)
    return rate + (f" ({extra})" if extra else "")
