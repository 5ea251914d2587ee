"""Regex match: does a pattern occur in the answer?

The engine is RE2, which takes time in proportion to the answer whatever the pattern. What it cannot do (look-around,
back-references) is refused when the grader is built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import re2

from spancheck_pipeline.evidence.run import storable
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.grading.shipped import ShippedGrader

_SUPPORTED = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE


@dataclass(frozen=True)
class RegexMatch(ShippedGrader):
    """Pass when ``pattern`` occurs anywhere in the answer.

    ``flags`` are those of the standard library's ``re``, added: IGNORECASE (2, default), MULTILINE (8), DOTALL (16).
    """

    measurement: ClassVar[str] = "regex_match"
    version: ClassVar[str] = "1"

    pattern: str
    name: str = "regex_match"
    flags: int = int(re.IGNORECASE)

    def __post_init__(self) -> None:
        object.__setattr__(self, "flags", int(self.flags))
        _compiled(self.pattern, self.flags)

    def grade(self, evidence: Evidence) -> Score:
        """Return pass or fail; this grader always measures."""
        match = _compiled(self.pattern, self.flags).search(storable(evidence.output.answer))
        if match is None:
            reason = "The pattern does not occur in the answer."
            return Score.judged(passed=False, value=0.0, reason=reason, reason_code="no_match")
        start, end = match.span()
        finding = Finding(
            item="match[0]", kind="match", outcome=Outcome.PASS, value=1.0, answer_start=start, answer_end=end
        )
        reason = f"The pattern occurs in the answer at characters {start} to {end}."
        return Score.judged(passed=True, value=1.0, reason=reason, findings=(finding,))


@lru_cache(maxsize=256)
def _compiled(pattern: str, flags: int) -> Any:
    if unknown := flags & ~int(_SUPPORTED):
        raise ValueError(f"flags {unknown} are not supported: use IGNORECASE (2), MULTILINE (8), DOTALL (16), added")
    options = re2.Options()
    options.case_sensitive = not flags & re.IGNORECASE
    options.dot_nl = bool(flags & re.DOTALL)
    options.log_errors = False
    try:
        return re2.compile(("(?m)" if flags & re.MULTILINE else "") + pattern, options)
    except re2.error as error:
        detail = error.args[0] if error.args else "?"
        detail = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise ValueError(f"pattern cannot be used: {detail} (RE2 has no look-around and no back-references)") from None
