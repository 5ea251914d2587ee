"""The audit log: the record that a reviewer reads, as one versioned document.

It is put together from what was captured, graded and decided; it measures nothing itself and knows no clock. Its
Parquet form lives in ``storage/tables.py``; reading the earlier library's 1.0 documents in ``importers``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.scorecard import ScorecardDocument
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Manifest
from spancheck_pipeline.grading.score import Finding, Outcome, Score

SCHEMA_VERSION: Final = "2.0"

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class AuditFinding(BaseModel):
    """One checked item, as the grading found it."""

    model_config = _FROZEN

    item: str
    kind: str
    outcome: Outcome
    value: float | None = None
    grade: str | None = None
    reason: str = ""
    source_id: str | None = None
    source_start: int | None = None
    source_end: int | None = None
    """Half-open, in code points of the passage ``source_id``."""
    answer_start: int | None = None
    answer_end: int | None = None
    """Half-open, in code points of the answer."""

    def finding(self) -> Finding:
        """Return it as the grading's own noun."""
        return Finding(**dict(self))


class AuditScore(BaseModel):
    """One grader's score of one answer, with the spec that made it."""

    model_config = _FROZEN

    grader: str
    grader_version: str
    spec_digest: str
    outcome: Outcome
    value: float | None = None
    reason_code: str
    reason: str
    findings: tuple[AuditFinding, ...] = ()

    @classmethod
    def of(cls, score: Score, *, grader: str, grader_version: str, spec_digest: str) -> AuditScore:
        """Return a score as it stands in a record."""
        findings = tuple(
            AuditFinding(**{name: getattr(finding, name) for name in AuditFinding.model_fields})
            for finding in score.findings
        )
        return cls(
            grader=grader,
            grader_version=grader_version,
            spec_digest=spec_digest,
            outcome=score.outcome,
            value=score.value,
            reason_code=score.reason_code,
            reason=score.reason,
            findings=findings,
        )

    def score(self) -> Score:
        """Return it as the grading's own noun."""
        return Score(
            outcome=self.outcome,
            value=self.value,
            reason_code=self.reason_code,
            reason=self.reason,
            findings=tuple(item.finding() for item in self.findings),
        )


class AuditRecord(BaseModel):
    """One case × epoch: what was asked, answered, cited, measured, and what it cost."""

    model_config = _FROZEN

    case: Case
    question_digest: str
    label_digest: str
    call: CapturedRow
    """The answer with its passages and citations, or the error; latency, attempts, time stamps."""
    cost_usd: float | None = None
    """None where the price is not known."""
    scores: tuple[AuditScore, ...]


class AuditHead(BaseModel):
    """All of an audit log but its records: provenance, decision, rates, and what made the scores. It holds no text."""

    model_config = _FROZEN

    schema_version: Literal["2.0"] = SCHEMA_VERSION
    contract: Literal[1] = CONTRACT
    package_version: str
    run_id: str
    suite: str
    date: str | None = None
    config: str | None = None
    created_at: datetime | None = None
    """When this document was put together, UTC; None where the caller did not say."""
    contains_text: bool = True
    manifest: Manifest | None = None
    """None for a run that another tool captured."""
    decision: GateDecision | None = None
    """None where no gate was asked."""
    summary: ScorecardDocument
    """Counts, rates, latency and cost."""
    comparisons: tuple[ComparisonDocument, ...] = ()
    """With each baseline that the decision saw, or the reasons why that was not possible."""
    graders: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    """Grader → the whole readable spec that made its scores."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    """Content digests of the files that the records were read from."""


class AuditLog(AuditHead):
    """An audit log: its head, and one record per case × epoch."""

    records: tuple[AuditRecord, ...]


def as_document(head: AuditHead, records: Iterable[AuditRecord]) -> dict[str, Any]:
    """Return an audit log as JSON-ready values, the head first."""
    return {**head.model_dump(mode="json"), "records": [record.model_dump(mode="json") for record in records]}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an audit log document."""
    return AuditLog.model_json_schema(mode="serialization")
