"""What one case × epoch came to: its output and its grades, as graders make them and as a record holds them.

All of them together are a run (``run.py``); figures over them live in ``run_figures.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from spancheck_pipeline.decision.audit import AuditScore
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output, normalize
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, Verdicts
from spancheck_pipeline.grading.evaluate import grade_row
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.grading.score import Finding, GradeResult, Outcome, Score
from spancheck_pipeline.grading.shipped import result_of


@dataclass(slots=True)
class CaseResult:
    """What one case × epoch came to: the output, and one grade a grader."""

    case_id: str
    category: str
    output: Output | None
    """None when the call failed."""
    grades: list[GradeResult]
    error: str | None = None
    """Class of the error that the call ended with; None when it answered."""
    input: Any = None
    expected: Any = None
    meta: dict[str, Any] = field(default_factory=dict)
    case: Case | None = None
    row: CapturedRow | None = None

    def as_case(self) -> Case:
        """Return the case that was asked."""
        if self.case is None:
            self.case = Case(self.case_id, self.input, self.category, self.expected, self.meta)
        return self.case

    def captured(self) -> CapturedRow:
        """Return what was captured."""
        if self.row is None:
            output = None if self.error else normalize(self.output)
            self.row = CapturedRow(
                case_id=self.case_id,
                question_digest=self.as_case().question_digest,
                output=output,
                error_class=self.error if output is None else None,
                latency_ms=output.latency_ms if output else None,
            )
        return self.row

    @property
    def epoch(self) -> int:
        """0-based."""
        return self.captured().epoch

    def output_dict(self) -> dict[str, Any] | None:
        """Return the output as JSON-ready values."""
        return self.output.to_dict() if self.output is not None else None

    @classmethod
    def of(cls, case: Case, row: CapturedRow, grades: list[GradeResult]) -> CaseResult:
        """Return the result of a case and its captured row."""
        return cls(
            case_id=case.id,
            category=case.category,
            output=row.output,
            grades=grades,
            error=row.error_class,
            input=case.input,
            expected=case.expected,
            meta=dict(case.meta),
            case=case,
            row=row,
        )


def grade_cases(
    pairs: Iterable[tuple[Case, CapturedRow]], graders: Sequence[Grader], verdicts: Verdicts = NO_VERDICTS
) -> Iterator[CaseResult]:
    """Yield the result of each case and captured row, in order; each grader's spec is worked out once."""
    digests = [spec_of(grader).digest for grader in graders]
    for case, row in pairs:
        grades = [
            result_of(grader, grade_row(grader, case, row, verdicts=verdicts), spec_digest)
            for grader, spec_digest in zip(graders, digests, strict=True)
        ]
        yield CaseResult.of(case, row, grades)


def score_of(grade: GradeResult) -> Score:
    """Return the score that a grade hands out."""
    return Score(
        outcome=grade.outcome,
        value=grade.score if grade.outcome.is_measured else None,
        reason_code=grade.reason_code,
        reason=grade.detail,
        findings=grade.findings,
    )


def audit_score(grade: GradeResult) -> AuditScore:
    """Return a grade as a record holds it."""
    return AuditScore.of(
        score_of(grade),
        grader=grade.grader,
        grader_version=grade.grader_version,
        spec_digest=grade.spec_digest,
    )


def grade_from(score: AuditScore) -> GradeResult:
    """Return the grade that a record holds."""
    return GradeResult(
        grader=score.grader,
        score=score.value,
        passed=score.outcome is Outcome.PASS if score.outcome.is_measured else None,
        detail=score.reason,
        outcome=score.outcome,
        reason_code=score.reason_code,
        findings=tuple(Finding(**dict(item)) for item in score.findings),
        grader_version=score.grader_version,
        spec_digest=score.spec_digest,
    )
