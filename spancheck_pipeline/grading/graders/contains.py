"""Contains and not_contains: does the answer hold a given text?

A pattern instead of a text is ``regex_match.py``; the case's own expected answer is ``expected_contains.py``.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import ClassVar

from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.score import Score
from spancheck_pipeline.grading.shipped import ShippedGrader


@dataclass(frozen=True)
class Contains(ShippedGrader):
    """Pass when the answer holds ``substr``; case does not matter unless ``case_sensitive``."""

    measurement: ClassVar[str] = "contains"
    version: ClassVar[str] = "1"

    substr: str
    name: str = "contains"
    case_sensitive: bool = False

    def __post_init__(self) -> None:
        if not self.substr:
            raise ValueError("substr is empty: every answer holds an empty text")

    def grade(self, evidence: Evidence) -> Score:
        """Return pass or fail; this grader always measures."""
        present = _fold(self.substr, self.case_sensitive) in _fold(evidence.output.answer, self.case_sensitive)
        reason = f"The answer {'holds' if present else 'does not hold'} the text that was looked for."
        return Score.judged(present, float(present), reason=reason, reason_code="ok" if present else "missing")


@dataclass(frozen=True)
class NotContains(Contains):
    """Pass when the answer does not hold ``substr``; case does not matter unless ``case_sensitive``."""

    measurement: ClassVar[str] = "not_contains"
    version: ClassVar[str] = "1"

    name: str = "not_contains"

    def grade(self, evidence: Evidence) -> Score:
        """Return pass or fail; this grader always measures."""
        absent = _fold(self.substr, self.case_sensitive) not in _fold(evidence.output.answer, self.case_sensitive)
        reason = f"The answer {'does not hold' if absent else 'holds'} the text that must not stand there."
        return Score.judged(absent, float(absent), reason=reason, reason_code="ok" if absent else "present")


def _fold(text: str, case_sensitive: bool) -> str:
    """Return one form for a text's equivalent spellings in Unicode, and for its cases where they do not matter."""
    composed = unicodedata.normalize("NFC", text)
    return composed if case_sensitive else unicodedata.normalize("NFC", composed.casefold())
