"""Thresholds on pass rates, and caps on what may be flaky or unmeasured.

The counts come from ``figures.py``; ``gate.py`` joins these answers with regressions and budgets. That ten
cases may be too few to decide is said here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from spancheck_pipeline import stats
from spancheck_pipeline.decision.figures import AdjudicatedFigures, Counts, GraderFigures, ScorecardDocument
from spancheck_pipeline.decision.rule import Answer, RuleResult, ignored
from spancheck_pipeline.decision.suite import GateSettings

COMPLETION: Final = "completion"
DEFAULT_MIN_MEASURED: Final = 30
_FEWEST_MEASURED: Final = 10


def threshold_names(settings: GateSettings) -> list[str]:
    """Return the names of the threshold and cap rules that a suite's settings ask for."""
    caps = [f"{cap}_{name}" for name in settings.min_pass_rate for cap in _caps_of(settings)]
    return [f"min_pass_rate_{name}" for name in _thresholds_of(settings)] + caps


def threshold_rules(scorecard: ScorecardDocument, settings: GateSettings) -> Iterator[RuleResult]:
    """Yield what each threshold says, ``completion`` always among them."""
    for name, threshold in _thresholds_of(settings).items():
        counts = _counts_of(scorecard, name, settings)
        answer, reason = _threshold_answer(name, counts, threshold, settings.min_measured)
        if answer is Answer.PASS and settings.confidence == "lower":
            answer, reason = _lower_bound_answer(name, counts, threshold, _figures_of(scorecard, name, settings))
        raw = _raw_counts_of(scorecard, name)
        if counts != raw:
            reason += f"; this is with people's dispositions, without them {_passed(raw)}"
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
        counts = _counts_of(scorecard, name, settings)
        for cap, limit in _caps_of(settings).items():
            part, whole = _capped(cap, counts)
            is_within = part <= Fraction(str(limit)) * whole
            what = cap.removeprefix("max_")
            rule = RuleResult(
                rule=f"{cap}_{name}",
                kind="cap",
                subject=name,
                threshold=limit,
                observed=part / whole if whole else None,
                answer=Answer.PASS if is_within else Answer.FAIL if cap == "max_flaky" else Answer.NOT_MEASURED,
                reason=f"{name}: {part} of {_cases(whole)} {what}, at most {limit:g} may be"
                + ("" if is_within else "; look at these cases"),
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


def _counts_of(scorecard: ScorecardDocument, name: str, settings: GateSettings) -> Counts:
    """Return the counts of a grader that decide: the raw ones, unless the suite says that dispositions gate.

    A call that did not answer is nobody's to wave through: ``completion`` is always raw.
    """
    figures = _figures_of(scorecard, name, settings)
    if name == COMPLETION or figures is None or figures is scorecard.graders.get(name):
        return _raw_counts_of(scorecard, name)
    return figures.counts


def _figures_of(
    scorecard: ScorecardDocument, name: str, settings: GateSettings
) -> GraderFigures | AdjudicatedFigures | None:
    people = scorecard.adjudicated.graders if settings.adjudicated and scorecard.adjudicated else {}
    return people.get(name, scorecard.graders.get(name))


def _raw_counts_of(scorecard: ScorecardDocument, name: str) -> Counts:
    """Return a grader's own counts; completion is read off the calls where no grader measures it."""
    figures = scorecard.graders.get(name)
    if name == COMPLETION and (figures is None or figures.measurement.lower() != COMPLETION):
        return scorecard.calls
    assert figures is not None
    return figures.counts


def _threshold_answer(name: str, counts: Counts, threshold: float, min_measured: int | None) -> tuple[Answer, str]:
    wanted = Fraction(str(threshold))  # as written: 0.95 of 20 is 19, which no float product promises
    if not counts.n_applicable:
        return Answer.FAIL, (
            f"{name}: nothing was measured ({_cases(counts.n_not_applicable)} not applicable), so {threshold:g} is not "
            "reached; check that the grader fits the suite and that the system answers"
        )
    required = 1 if name == COMPLETION else required_measured(counts, min_measured)
    if counts.n_measured < required:
        return Answer.NOT_MEASURED, (
            f"{name}: {counts.n_measured} of {_cases(counts.n_cases)} measured ({counts.n_unmeasured} unmeasured, "
            f"{counts.n_not_applicable} not applicable), and the threshold must rest on {required}; "
            "quality is not what failed: measure more cases, or lower min_measured"
        )
    if_all_pass = Fraction(counts.n_pass + counts.n_unmeasured, counts.n_applicable) >= wanted
    if_all_fail = Fraction(counts.n_pass, counts.n_applicable) >= wanted
    figures = _passed(counts)
    if if_all_fail:
        return Answer.PASS, f"{name}: {figures}, at least {threshold:g} is wanted"
    if not if_all_pass:
        return Answer.FAIL, f"{name}: {figures}, below {threshold:g}; look at the failing cases"
    return Answer.NOT_MEASURED, (
        f"{name}: {figures}, and the unmeasured decide whether {threshold:g} is reached; "
        "quality is not what failed: retry the failed calls and verdicts"
    )


def _lower_bound_answer(
    name: str, counts: Counts, threshold: float, figures: GraderFigures | AdjudicatedFigures | None
) -> tuple[Answer, str]:
    """Decide by the lower bound of the interval, with the unmeasured taken as failed."""
    at_worst = stats.wilson(counts.n_pass, counts.n_applicable)
    assert at_worst is not None
    low = at_worst.low
    if figures is not None and figures.counts == counts and figures.pass_rate.low is not None:
        low = min(low, figures.pass_rate.low)
    seen = f"{name}: {_passed(counts)}, with the lower bound {low:.4g}"
    if low >= threshold:
        return Answer.PASS, f"{seen}, at least {threshold:g} is wanted"
    return Answer.FAIL, f"{seen}, below {threshold:g}; measure more cases, or decide by the count"


def _passed(counts: Counts) -> str:
    rate = f"{counts.n_pass} of {counts.n_measured} measured passed"
    more = {"flaky": counts.n_flaky, "unmeasured": counts.n_unmeasured}
    extra = ", ".join(f"{n} {what}" for what, n in more.items() if n)
    return rate + (f" ({extra})" if extra else "")


def _cases(n: int) -> str:
    return f"{n} case" if n == 1 else f"{n} cases"
