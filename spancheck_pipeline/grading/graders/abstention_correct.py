"""Abstention correctness: does the system decline exactly the questions that its corpus does not answer?

How declining is told from answering lives in ``grading/abstention.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from spancheck_pipeline.grading.abstention import Abstention, abstention_of, check_patterns
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.phrasebook import data_versions
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.grading.shipped import ShippedGrader

_DOES = {
    "abstained": "declines",
    "refused": "refuses",
    "hedged": "declines and then asserts, which counts as an answer",
    "partial": "answers in part, which counts as an answer",
    "answered": "answers",
}


@dataclass(frozen=True)
class AbstentionCorrect(ShippedGrader):
    """Pass when an unanswerable case is declined and an answerable one is answered."""

    measurement: ClassVar[str] = "abstention_correct"
    version: ClassVar[str] = "3"

    name: str = "abstention_correct"
    patterns: tuple[str, ...] = ()
    """Further declining phrases of a suite: RE2 regular expressions over lower-cased text."""

    def __post_init__(self) -> None:
        check_patterns(self.patterns)

    @property
    def data_versions(self) -> Mapping[str, str]:
        """Digests of the phrase files."""
        return data_versions()

    def grade(self, evidence: Evidence) -> Score:
        """Return pass or fail; not applicable where nobody said whether the case is answerable."""
        answerable = evidence.case.answerable
        if answerable is None:
            return Score.not_applicable("answerable_unknown", "Nobody said whether this case can be answered.")
        told = abstention_of(evidence.output, patterns=self.patterns)
        findings = _findings(told)
        if told.kind == "unknown":
            reason = f"The answer is in a language ({told.language}) whose ways of declining are not known."
            return Score.unmeasured("unknown_language", reason, findings=findings)
        passed = told.declines is not answerable
        code = "ok" if passed else ("wrongly_declined" if answerable else "wrongly_answered")
        reason = f"The case is {'answerable' if answerable else 'unanswerable'} and the answer {_DOES[told.kind]}."
        return Score.judged(passed, float(passed), reason=reason, reason_code=code, findings=findings)


def _findings(told: Abstention) -> tuple[Finding, ...]:
    """Return how the answer was read, and the system's own signal where the text contradicts it."""
    read = Finding(
        item="answer",
        kind="abstention",
        outcome=Outcome.NOT_APPLICABLE,
        grade=told.kind,
        reason=f"Read as {told.kind}" + (f" ({told.language})" if told.language else "") + f", by {told.signal}.",
        answer_start=told.cue_start,
        answer_end=told.cue_end,
    )
    if not told.contradicted:
        return (read,)
    flag = Finding(
        item="flag",
        kind="abstention_flag",
        outcome=Outcome.FAIL,
        grade="contradicted",
        reason="What the system says beside the answer (abstained, finish reason) is not what the answer does.",
    )
    return (read, flag)
