"""A bucket in memory for tests of what stands on object storage, and the rows and headers to put there."""

import uuid
from datetime import UTC, datetime

import fsspec

from spancheck_pipeline.evidence.run import CapturedRow, Output, TargetFacts
from spancheck_pipeline.storage.journal import JournalHeader
from spancheck_pipeline.storage.object_files import ObjectFiles


def bucket() -> ObjectFiles:
    """Return an empty bucket of its own."""
    return ObjectFiles(fsspec.filesystem("memory"), f"/bucket-{uuid.uuid4().hex}")


def header(**changes) -> JournalHeader:
    facts = TargetFacts(kind="callable", reference="app:answer", version="1", settings_digest="0" * 64)
    fields = {
        "run_id": "run-1",
        "suite": "leases",
        "date": "2026-11-30",
        "dataset_digest": "d" * 64,
        "target": facts,
        "epochs": 1,
        "started_at": datetime(2026, 11, 30, 2, 0, tzinfo=UTC),
    }
    return JournalHeader(**{**fields, **changes})


def row(case_id, epoch=0, *, answer="It is three months.", **changes) -> CapturedRow:
    fields = {"case_id": case_id, "question_digest": "q" * 64, "epoch": epoch, "output": Output(answer=answer)}
    return CapturedRow(**{**fields, **changes})
