"""The audit log: the record that a reviewer reads, as one versioned document.

It is put together from what was captured, graded and decided; it measures nothing itself and knows no clock. How its
records are chained lives in ``audit_chain.py``, what a copy may leave out in ``audit_redaction.py``, checking in
``audit_check.py``. Its Parquet form lives in ``storage/tables.py``, its files in ``storage/audit_files.py``; reading
the earlier library's 1.0 documents in ``importers``, writing them in ``audit_1_0.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from spancheck_pipeline.decision.adjudication import Disposition
from spancheck_pipeline.decision.audit_chain import Chain, HeaderChain, RecordChain, parted, rejoined
from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.scorecard import ScorecardDocument
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, Output
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


class AuditVerdict(BaseModel):
    """One recorded reply of a judge that graders of this answer read; what was asked stands under ``packet_digest``."""

    model_config = _FROZEN

    judge: str
    graders: tuple[str, ...] = ()
    """The graders whose findings rest on it."""
    served_model: str | None = None
    prompt: str
    prompt_digest: str
    packet_digest: str
    repeat: int = 0
    """0-based."""
    label: str | None = None
    """None where there is no verdict; then there is an error class."""
    score: float | None = None
    """In [0, 1]."""
    reason: str | None = None
    finish_reason: str | None = None
    latency_ms: float | None = None
    attempts: int = 1
    cost_usd: float | None = None
    """None where it is not known."""
    error_class: str | None = None


class AuditDisposition(BaseModel):
    """What a person signed of a finding of this answer before the decision: the latest word about each finding."""

    model_config = _FROZEN

    grader: str
    item: str
    """Of the finding; empty for the score as a whole."""
    finding_digest: str
    """Of the finding as it was signed."""
    disposition: Disposition
    reason: str
    author: str
    signed_at: datetime
    """UTC."""
    expires_at: datetime | None = None
    """UTC; None where it does not expire."""
    is_counted: bool
    """Whether the adjudicated rates of the decision count it: not where it had expired, or the finding says something
    else than what was signed."""


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
    verdicts: tuple[AuditVerdict, ...] = ()
    """What judges replied about this answer; empty where none was asked."""
    dispositions: tuple[AuditDisposition, ...] = ()
    """What people signed of its findings, as the decision saw it; empty where nobody did."""


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
    calibration: dict[str, JsonValue] = Field(default_factory=dict)
    """Judge → the calibration that the decision relied on; empty where no judge was asked."""
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    """Content digests of the files that the records were read from, and of each batch of dispositions that the
    decision saw (``adjudications/<batch>``)."""
    redacted: tuple[str, ...] = ()
    """What a redacted copy leaves out: ``pii``, ``contexts``, ``answers``, ``questions``; empty for the whole log."""
    chain: HeaderChain | None = None
    """The start of the chain that the records go on; None for a document that is not chained."""


class LoggedContext(BaseModel):
    """One passage as it stands in a document: its text is in ``texts``, once, under its digest."""

    model_config = _FROZEN

    source_id: str | None = None
    text_digest: str | None = None
    """Salted digest, a key of ``texts``; None where the producer gave no text."""
    uri: str | None = None
    title: str | None = None
    page: int | None = None
    rank: int | None = None


class LoggedCase(Case):
    """A case as it stands in a document."""

    contexts: tuple[LoggedContext, ...] = ()  # type: ignore[assignment]  # a passage by its digest
    """Known passages. They are never shown to the system."""


class LoggedOutput(Output):
    """An output as it stands in a document."""

    contexts: tuple[LoggedContext, ...] = ()  # type: ignore[assignment]  # a passage by its digest
    """Retrieved passages, in the retrieval's order."""


class LoggedCall(CapturedRow):
    """A call as it stands in a document."""

    output: LoggedOutput | None = None
    """None when the call failed for good."""


class LoggedRecord(AuditRecord):
    """One case × epoch as it stands in a document."""

    case: LoggedCase
    call: LoggedCall
    chain: RecordChain | None = None


class LoggedText(BaseModel):
    """The text of a passage, which many records may share; both None in a copy that leaves it out."""

    model_config = _FROZEN

    salt: str | None
    """32 bytes as hexadecimal digits; with them and the text anybody can make the digest again."""
    text: str | None


class AuditLog(AuditHead):
    """An audit log: its head, one record per case × epoch, and the texts of their passages."""

    records: tuple[LoggedRecord, ...]
    texts: dict[str, LoggedText] = Field(default_factory=dict)
    """Digest → the passage's text."""


def chained(head: AuditHead, chain: Chain) -> AuditHead:
    """Return a head with the start of its records' chain."""
    return head.model_copy(update={"chain": chain.start(head.model_dump(mode="json"))})


def entry_of(record: AuditRecord, chain: Chain) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the next record as it stands in a document, and the texts of its passages by their digests."""
    entry, texts = parted(record.model_dump(mode="json"), chain.key)
    return {**entry, "chain": chain.link(entry).model_dump(mode="json")}, texts


def record_of(entry: Mapping[str, Any], texts: Mapping[str, str | None]) -> AuditRecord:
    """Return the record of an entry of a document; a text that a redacted copy leaves out is None.

    Criteria whose targets are left out are not there: nothing could be measured by them.

    Raises:
        ValueError: (pydantic's) for an entry that is no record.
        KeyError: for a text that the document does not have.
    """
    return AuditRecord.model_validate(rejoined(entry, texts))


def as_document(head: AuditHead, records: Iterable[AuditRecord], *, key: bytes) -> dict[str, Any]:
    """Return an audit log as JSON-ready values, the head first; ``key`` is 32 random bytes that salt its digests."""
    chain = Chain(key)
    top = chained(head, chain).model_dump(mode="json")
    texts: dict[str, dict[str, str]] = {}

    def entries() -> Iterator[dict[str, Any]]:
        for record in records:
            entry, found = entry_of(record, chain)
            texts.update({name: {"salt": chain.text_salt(text), "text": text} for name, text in found.items()})
            yield entry

    return {**top, "records": list(entries()), "texts": texts}


def head_of(header: Mapping[str, Any]) -> AuditHead:
    """Return the head of a document; one without the log's key is a redacted copy, whether it says so or not.

    Raises:
        ValueError: (pydantic's) for a header that is none.
    """
    head = AuditHead.model_validate(header)
    if head.chain is not None and head.chain.key is None and not head.redacted:
        return head.model_copy(update={"redacted": ("texts, and does not say so",)})
    return head


def log_of(document: Mapping[str, Any]) -> tuple[AuditHead, tuple[AuditRecord, ...]]:
    """Return the head and the records of a document, as ``as_document`` or a file gives it. Its chain is not checked.

    Raises:
        ValueError: (pydantic's) for a document that is no audit log.
        KeyError, TypeError: for a record without what every record has.
    """
    fields = {name: item for name, item in document.items() if name not in {"records", "texts"}}
    head = head_of(fields)
    texts = {name: item["text"] for name, item in document.get("texts", {}).items()}
    return head, tuple(record_of(entry, texts) for entry in document["records"])


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of an audit log document."""
    return AuditLog.model_json_schema(mode="serialization")
