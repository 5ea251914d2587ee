"""Words and numbers of the page, as people read them. Escaping is the template's: it escapes everything."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.tally import NOT_REPORTED
from spancheck_pipeline.report.visible import visible

NONE: Final = "–"
BASELINES: Final = {"release": "the release", "last_good": "the last good run", "given": "the baseline"}
ANSWERS: Final = {
    Answer.PASS: "pass",
    Answer.FAIL: "fail",
    Answer.NOT_MEASURED: "not measured",
    Answer.INCONCLUSIVE: "inconclusive",
}


def percent(value: float | None) -> str:
    """Return a share as a percentage.

    >>> percent(0.836), percent(None)
    ('83.6 %', '–')
    """
    return NONE if value is None else f"{value * 100:.1f} %"


def interval(low: float | None, high: float | None) -> str:
    """Return the bounds of a share's interval."""
    return NONE if low is None or high is None else f"{low * 100:.1f} – {high * 100:.1f} %"


def points(value: float | None) -> str:
    """Return a difference of shares in points, with its sign.

    >>> points(-0.0312), points(0.0)
    ('−3.1', '0.0')
    """
    if value is None:
        return NONE
    text = f"{abs(value) * 100:.1f}"
    return text if text == "0.0" else ("−" if value < 0 else "+") + text


def signed(value: float) -> str:
    """Return a difference of amounts with its sign and three significant digits, written out.

    >>> signed(-0.0000312), signed(12.0), signed(0.0)
    ('−0.0000312', '+12', '0')
    """
    text = format(Decimal(f"{abs(value):.3g}"), "f")
    return text if value == 0 else ("−" if value < 0 else "+") + text


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with a few significant digits."""
    return NONE if value is None else f"{value:.{digits}g}" if abs(value) < 1e5 else f"{value:,.0f}"  # noqa: PLR2004 - from there on every digit is written


def usd(value: float | None) -> str:
    """Return an amount in USD; free is 0."""
    return NONE if value is None else f"{value:.4g} USD"


def milliseconds(value: float | None) -> str:
    """Return a time."""
    return NONE if value is None else f"{value:,.0f} ms" if value >= 10 else f"{value:.2g} ms"  # noqa: PLR2004 - below it a digit more tells something


def count(n: int, what: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> count(1, "case"), count(2, "case")
    ('1 case', '2 cases')
    """
    return f"{n:,} {what if n == 1 else many or what + 's'}"


def model(name: str) -> str:
    """Return the name of a model as a part of a sentence.

    >>> model("gpt-9"), model("(not reported)")
    ('gpt-9', 'not reported')
    """
    return name.strip("()") if name == NOT_REPORTED else visible(name)


def _inconclusive(decision: GateDecision) -> str:
    """Return what inconclusive rules did: without a p-value nothing was tested (no baseline, or not applied)."""
    found = [rule for rule in decision.rules if rule.answer is Answer.INCONCLUSIVE]
    is_tested = all(rule.p_value is not None for rule in found)
    return "could not have seen a regression" if is_tested else "decided nothing"


def sentence(decision: GateDecision | None) -> str:
    """Return the decision in one sentence."""
    if decision is None:
        return "No gate was asked about this run."
    n = len(decision.rules)
    rules = {answer: sum(rule.answer is answer for rule in decision.rules) for answer in Answer}
    if decision.answer is Answer.PASS:
        return f"The gate lets this run pass: {'its one rule holds' if n == 1 else f'all {n} rules hold'}."
    whom = "lets this run pass" if decision.ok else "does not let this run pass"
    said = {
        Answer.FAIL: "fails" if rules[Answer.FAIL] == 1 else "fail",
        Answer.NOT_MEASURED: "could not be measured",
        Answer.INCONCLUSIVE: _inconclusive(decision),
    }
    grave = [
        f"{'its one rule' if n == 1 else f'{rules[answer]} of {n} rules'} {what}"
        for answer, what in said.items()
        if rules[answer]
    ]
    return f"The gate {whom}: {'; '.join(grave)}."
