"""Expected contains: does the answer hold the expected answer of its case?

A fixed text for all cases is ``contains.py``.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any, ClassVar

from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.score import Score
from spancheck_pipeline.grading.shipped import ShippedGrader


@dataclass(frozen=True)
class ExpectedContains(ShippedGrader):
    """Pass when the answer holds the case's expected answer, or one of several where ``expected`` is a list.

    Case and runs of white space do not matter.
    """

    measurement: ClassVar[str] = "expected_contains"
    version: ClassVar[str] = "1"

    name: str = "expected_contains"

    def grade(self, evidence: Evidence) -> Score:
        """Return pass or fail, or not applicable where the case has no expected answer."""
        wanted = _alternatives(evidence.case.expected)
        if not wanted:
            return Score.not_applicable("no_expected", "The case has no expected answer.")
        answer = _fold(evidence.output.answer)
        found = any(alternative in answer for alternative in wanted)
        what = "the expected answer" if len(wanted) == 1 else f"one of the {len(wanted)} expected answers"
        reason = f"The answer holds {what}." if found else f"The answer does not hold {what}."
        return Score.judged(found, float(found), reason=reason, reason_code="ok" if found else "missing")


def _alternatives(expected: Any) -> tuple[str, ...]:
    """Return the folded texts any of which is enough; a structured value (an object, null) names none."""
    items = expected if isinstance(expected, list) else [expected]
    texts = (str(item) for item in items if isinstance(item, str | int | float) and not isinstance(item, bool))
    return tuple(folded for text in texts if (folded := _fold(text)))


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())
