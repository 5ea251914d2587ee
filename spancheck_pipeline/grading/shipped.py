"""What the shipped graders share: each can also be called as ``grader(case, output)``, as in the earlier library.

What each one measures lives in ``graders/``; how settings become a grader lives in ``settings.py``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, normalize
from spancheck_pipeline.grading.grader import Evidence, Grader, spec_of
from spancheck_pipeline.grading.score import GradeResult, Outcome, Score


class ShippedGrader:
    """A grader of this package: a frozen dataclass of its settings that names its measurement."""

    name: str
    """Name of this instance in a suite."""
    measurement: ClassVar[str]
    """Name under which a suite file finds the measurement."""
    version: ClassVar[str]
    """Bumped whenever any score can move."""

    def grade(self, evidence: Evidence) -> Score:
        """Return the score of one output."""
        raise NotImplementedError

    def __call__(self, case: Case, output: Any) -> GradeResult:
        """Grade what a system returned for a case: a text, a mapping or an ``Output``.

        Latency is the one that the output itself reports.
        """
        out = normalize(output)
        row = CapturedRow(
            case_id=case.id, question_digest=case.question_digest, output=out, latency_ms=out.latency_ms, attempts=0
        )
        return result_of(self, self.grade(Evidence(case=case, output=out, row=row)), spec_of(self).digest)


def result_of(grader: Grader, score: Score, spec_digest: str) -> GradeResult:
    """Return a score as the library's front hands it out, with the name, version and spec digest of its maker."""
    return GradeResult(
        grader=grader.name,
        score=score.value,
        passed=score.outcome is Outcome.PASS if score.outcome.is_measured else None,
        detail=score.reason,
        outcome=score.outcome,
        reason_code=score.reason_code,
        findings=score.findings,
        grader_version=grader.version,
        spec_digest=spec_digest,
    )
