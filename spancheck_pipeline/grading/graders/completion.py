"""Completion: did the system answer at all?

Whether the answer is any good is for every other grader; for those a failed call is unmeasured (``evaluate.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.score import Score
from spancheck_pipeline.grading.shipped import ShippedGrader


def is_empty(answer: str) -> bool:
    """Return whether nothing in an answer is printed: it is blank, or holds control characters alone."""
    return not any(character.isprintable() and not character.isspace() for character in answer)


@dataclass(frozen=True)
class Completion(ShippedGrader):
    """Pass when the call returned an answer with something printed in it; a failed call or an empty answer fails."""

    measurement: ClassVar[str] = "completion"
    version: ClassVar[str] = "1"
    grades_failed_calls: ClassVar[bool] = True

    name: str = "completion"

    def grade(self, evidence: Evidence) -> Score:
        """Return pass or fail; this grader always measures."""
        if not evidence.row.answered:
            reason = f"The call failed ({evidence.row.error_class})."
            return Score.judged(passed=False, value=0.0, reason=reason, reason_code="call_failed")
        if is_empty(evidence.output.answer):
            return Score.judged(passed=False, value=0.0, reason="The answer is empty.", reason_code="empty_answer")
        return Score.judged(passed=True, value=1.0, reason="The system answered.")
