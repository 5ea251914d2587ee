"""A captured row as a line of a journal, and a line as the row again, or as what is known of it.

Checksums and durable writes live in ``journal_lines.py``; what a journal knows of a row in ``journal.py``.
"""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spancheck_pipeline.errors import CorruptFileError
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.storage.journal import Key, RecordState
from spancheck_pipeline.storage.journal_lines import sealed, unsealed


class _Record(BaseModel):
    """One line of the file below its header."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    pass_number: int = Field(alias="pass", ge=1)
    row: CapturedRow


def recorded_line(row: CapturedRow, *, pass_number: int) -> bytes:
    """Return a row as a line of a journal."""
    return sealed(_Record(pass_number=pass_number, row=row).model_dump_json(by_alias=True).encode())


def read_record(line: bytes, where: str) -> CapturedRow:
    """Return the row that a line of a journal holds.

    Raises:
        CorruptFileError: when it is not what was written.
    """
    payload = unsealed(line)
    if payload is None:
        raise CorruptFileError(f"{where}: this record has changed since it was written")
    try:
        return _Record.model_validate_json(payload).row
    except ValidationError:
        raise CorruptFileError(f"{where}: this record is not a captured row") from None


def read_state(payload: bytes, where: str) -> tuple[Key, RecordState]:
    """Return key and state of a record's JSON, without reading its row.

    Raises:
        CorruptFileError: when it is not one.
    """
    try:
        record = json.loads(payload)
        row = record["row"]
        state = RecordState(
            pass_number=record["pass"],
            error_class=row["error_class"],
            attempts=row["attempts"],
            question_digest=row["question_digest"],
        )
        return (row["case_id"], row["epoch"]), state
    except (ValueError, LookupError, TypeError, RecursionError):
        raise CorruptFileError(f"{where}: this record is not a captured row; set the file aside") from None
