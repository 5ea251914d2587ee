"""What each rule of a gate demands, in a sentence: for whoever meets the rule before there is a night to decide on.

What a rule answers lives in ``threshold.py``, ``regression.py`` and ``budget.py``; the names come from there too.
"""

from __future__ import annotations

from collections.abc import Iterable

from spancheck_pipeline.decision.budget import budget_names
from spancheck_pipeline.decision.gate import COMPLETION, rule_names
from spancheck_pipeline.decision.gate_settings import GateSettings, Regression
from spancheck_pipeline.decision.numerals import percent, stated
from spancheck_pipeline.decision.regression import regression_name
from spancheck_pipeline.decision.threshold import DEFAULT_MIN_MEASURED


def demands(settings: GateSettings, grader_names: Iterable[str]) -> dict[str, str]:
    """Return rule → what it demands, in the order of ``rule_names``.

    >>> demands(GateSettings(blocking=False), ["no_pii"])
    {'min_pass_rate_completion': 'Every call must be answered. A failure is a warning and holds nothing back.'}
    """
    names = list(grader_names)
    graders = dict.fromkeys([COMPLETION, *settings.min_pass_rate, *names])
    said = {f"min_pass_rate_{name}": _threshold(name, settings) for name in graders}
    if settings.max_flaky is not None:
        limit = percent(settings.max_flaky)
        said |= {
            f"max_flaky_{name}": f"At most {limit} of the measured cases of {name} may be flaky." for name in graders
        }
    if settings.max_unmeasured is not None:
        limit = percent(settings.max_unmeasured)
        said |= {
            f"max_unmeasured_{name}": f"At most {limit} of the applicable cases of {name} may be unmeasured."
            for name in graders
        }
    if settings.regression is not None:
        said |= {regression_name(name): _regression(name, settings.regression) for name in graders}
    said |= {name: _budget(name, settings) for name in budget_names(settings)}
    then = (
        "A failure holds back the promotion to the last good run."
        if settings.blocking
        else "A failure is a warning and holds nothing back."
    )
    return {name: f"{said[name]} {then}" for name in rule_names(settings, names)}


def _threshold(grader: str, settings: GateSettings) -> str:
    threshold = settings.min_pass_rate.get(grader, 1.0)
    if grader == COMPLETION:
        return (
            "Every call must be answered."
            if threshold == 1
            else f"At least {percent(threshold)} of the calls must be answered."
        )
    fewest = settings.min_measured or DEFAULT_MIN_MEASURED
    rests = f"the rate must rest on {fewest} cases, or in a small suite on half of the applicable ones"
    counted = ", with people's signed-off dispositions" if settings.adjudicated else ""
    share = percent(threshold)
    if settings.confidence == "lower" and threshold < 1:
        return f"The 95 % interval of the pass rate of {grader} must begin at {share} or above{counted}; {rests}."
    return f"At least {share} of the measured cases must pass {grader}{counted}; {rests}."


def _regression(grader: str, settings: Regression) -> str:
    against = "the release baseline and the last good run"
    if settings.margin is not None:
        return (
            f"A drop of {grader} by {percent(settings.margin)} of the cases against {against} must be excluded by the "
            "interval of the difference."
        )
    return (
        f"{grader} must not be worse than in {against}: no significant drop by the one-sided exact test over paired "
        f"cases, at level {settings.alpha:g} over all graders that gate. A night that could not have seen a drop of "
        f"{percent(settings.detect)} of the cases is inconclusive, which is no failure."
    )


def _budget(name: str, settings: GateSettings) -> str:
    limit = stated(getattr(settings.budget, name.removeprefix("budget_")))
    if name == "budget_mean_cost_usd":
        return f"An answer may cost at most {limit} USD on average."
    return f"95 % of the answers must come within {limit} ms."
