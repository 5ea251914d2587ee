"""Words and numbers of the page, as people read them. Escaping is the template's: it escapes everything."""

from __future__ import annotations

import re
from typing import Final

from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.tally import NOT_REPORTED

NONE: Final = "–"
BASELINES: Final = {"release": "the release", "last_good": "the last good run", "given": "the baseline"}
ANSWERS: Final = {
    Answer.PASS: "pass",
    Answer.FAIL: "fail",
    Answer.NOT_MEASURED: "not measured",
    Answer.INCONCLUSIVE: "inconclusive",
}
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What has no shape of its own, or reorders what stands beside it."""


def visible(text: object) -> str:
    r"""Return an id or a name on one line, with characters that are not seen written as escapes.

    >>> visible("a\u202eb")
    'a\\u202eb'
    """
    return _UNSEEN.sub(lambda match: match.group().encode("unicode_escape").decode(), str(text))


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
        Answer.INCONCLUSIVE: "could not have seen a regression",
    }
    grave = [
        f"{'its one rule' if n == 1 else f'{rules[answer]} of {n} rules'} {what}"
        for answer, what in said.items()
        if rules[answer]
    ]
    return f"The gate {whom}: {'; '.join(grave)}."
