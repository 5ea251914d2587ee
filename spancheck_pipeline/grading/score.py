"""The score: one grader's result for one output, with what it found.

Rates over many scores live in ``decision/scorecard.py``; the columns of a score file in ``storage/tables.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """What a grader says of one output. Only ``PASS`` and ``FAIL`` are measured."""

    PASS = "pass"  # noqa: S105 - an outcome
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    """There is nothing for this grader to say."""
    UNMEASURED = "unmeasured"
    """There was something to measure, and it could not be measured."""

    @property
    def is_measured(self) -> bool:
        """Whether the outcome counts in a rate."""
        return self in {Outcome.PASS, Outcome.FAIL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One checked item inside a score: a citation, a sentence, a criterion, a pattern."""

    item: str
    """Which one: ``citation[0]``, ``sentence[3]``, a criterion's id."""
    kind: str
    """What sort of item: ``citation``, ``sentence``, ``pii`` …"""
    outcome: Outcome
    value: float | None = None
    """In [0, 1]; None where the item has no degree."""
    grade: str | None = None
    """The grader's own word for it, for example ``altered``."""
    reason: str = ""
    """One sentence that a reviewer can check. It may quote, so it stays in record files."""
    source_id: str | None = None
    source_start: int | None = None
    source_end: int | None = None
    """Half-open, in code points of the passage ``source_id``."""
    answer_start: int | None = None
    answer_end: int | None = None
    """Half-open, in code points of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One grader's result for one output."""

    outcome: Outcome
    reason_code: str
    """A short stable word for summaries: ``ok``, ``below_threshold``, ``call_failed`` … No text of the case."""
    reason: str
    """One sentence that a reviewer can check against the evidence."""
    value: float | None = None
    """In [0, 1]; None where nothing was measured."""
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        if self.value is not None and not 0.0 <= self.value <= 1.0:
            raise ValueError(f"a score's value must be in [0, 1], not {self.value}")
        if self.outcome.is_measured and self.value is None:
            raise ValueError("a measured score has a value")
        if not self.outcome.is_measured and self.value is not None:
            raise ValueError(f"a score that is {self.outcome} has no value")

    @classmethod
    def judged(
        cls,
        passed: bool,
        value: float,
        *,
        reason: str,
        reason_code: str | None = None,
        findings: tuple[Finding, ...] = (),
    ) -> Score:
        """Return a measured score; ``reason_code`` defaults to ``ok`` or ``failed``."""
        code = reason_code or ("ok" if passed else "failed")
        outcome = Outcome.PASS if passed else Outcome.FAIL
        return cls(outcome=outcome, value=value, reason_code=code, reason=reason, findings=findings)

    @classmethod
    def not_applicable(cls, reason_code: str, reason: str) -> Score:
        """Return a score that says that there is nothing for this grader to say."""
        return cls(outcome=Outcome.NOT_APPLICABLE, reason_code=reason_code, reason=reason)

    @classmethod
    def unmeasured(cls, reason_code: str, reason: str, *, findings: tuple[Finding, ...] = ()) -> Score:
        """Return a score that says that something could not be measured, and why."""
        return cls(outcome=Outcome.UNMEASURED, reason_code=reason_code, reason=reason, findings=findings)


@dataclass(frozen=True, slots=True)
class GradeResult:
    """One grader's result as the library's front hands it out, under the earlier library's name and field order."""

    grader: str
    score: float | None
    """The value in [0, 1]; None where nothing was measured."""
    passed: bool | None
    """True or False where measured, else None."""
    detail: str = ""
    """The reason."""
    outcome: Outcome = Outcome.UNMEASURED
    reason_code: str = ""
    findings: tuple[Finding, ...] = field(default=())
    grader_version: str = ""
    spec_digest: str = ""

    def __post_init__(self) -> None:
        if self.passed is not None and not self.outcome.is_measured:
            object.__setattr__(self, "outcome", Outcome.PASS if self.passed else Outcome.FAIL)
