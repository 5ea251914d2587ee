"""One answered question of another tool's file, before it is a case and an output; and how it becomes them.

Which field of a tool's file means what lives in the tool's own module; writing a captured run in ``api/importing.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from spancheck_pipeline.clients.answer import OUTPUT_NAMES, output_of, pick
from spancheck_pipeline.decision.suite_target import Citations
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.storage.case_rows import RowError, parse_json

CASE_NAMES = (
    "id",
    "input",
    "history",
    "category",
    "expected",
    "answerable",
    "expected_sources",
    "criteria",
    "cluster",
    "meta",
)
"""Case fields that a file of answers may carry. Its ``contexts`` are what was retrieved, and belong to the output."""
COLUMN_NAMES = (*CASE_NAMES, *OUTPUT_NAMES, "error", "epoch")
"""What ``--column`` may map."""
MAX_EPOCHS = 1000
"""A file with more is none of a system that was asked several times."""
_STRUCTURED = frozenset(
    {
        "history",
        "expected_sources",
        "criteria",
        "meta",
        "contexts",
        "sources",
        "citations",
        "usage",
        "versions",
        "response",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One answered question. What the file does not carry is missing or None."""

    case: Mapping[str, Any]
    """Case fields; without an ``id`` the question's own digest is one."""
    output: Any = None
    """What the system returned: an output in canonical form, or a producer's payload."""
    error: str | None = None
    """Text of the error that the call ended with; None where it answered."""
    error_class: str = "RecordedError"
    latency_ms: float | None = None
    """Time of the call as the tool measured it."""
    epoch: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    where: str = ""
    """Place in the file, for a message: ``item 3``."""
    line: int | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
    """The item as the tool wrote it, into which column maps point."""


def with_columns(record: Record, columns: Mapping[str, str]) -> Record:
    """Return a record with what a column map (field → dotted path into the item) says in place of what was read."""
    if not columns:
        return record
    found = {name: _structured(name, value) for name, value in pick(record.source, columns).items()}
    case = {**record.case, **{name: value for name, value in found.items() if name in CASE_NAMES}}
    output = {name: value for name, value in found.items() if name in OUTPUT_NAMES}
    kept = record.output if isinstance(record.output, Mapping) else {}
    if isinstance(record.output, str):
        kept = {"answer": record.output}
    if isinstance(output.get("contexts"), str) and output["contexts"].strip():
        output["contexts"] = [output["contexts"]]  # a text that is said to be what was retrieved is one passage
    if "contexts" in output and isinstance(output["contexts"], list):
        # Sources that are cited and came without text stay sources.
        output["contexts"] = [*output["contexts"], *(c for c in kept.get("contexts") or () if not _has_text(c))]
    error = found.get("error", record.error)
    return replace(
        record,
        case=case,
        output={**kept, **output} if output else record.output,
        error=str(error) if error else None,
        epoch=epoch_of(found["epoch"]) if "epoch" in found else record.epoch,
    )


def case_of(record: Record) -> Case:
    """Return the case of a record.

    Raises:
        ValueError: (pydantic's) for a field of the wrong type; ``KeyError`` where there is no question.
    """
    fields = {name: value for name, value in record.case.items() if value is not None}
    if isinstance(fields.get("id"), int) and not isinstance(fields["id"], bool):
        fields["id"] = str(fields["id"])
    if "id" in fields:
        return Case(**fields)
    case = Case(**fields, id="unnamed")
    return Case(**{**fields, "id": f"q-{case.question_digest[:12]}"})


def row_of(record: Record, case: Case, citations: Citations) -> CapturedRow:
    """Return the captured row of a record.

    Raises:
        CallError: when what it holds is no output.
    """
    output = None if record.error is not None else read_output(record, citations)
    return CapturedRow(
        case_id=case.id,
        question_digest=case.question_digest,
        epoch=record.epoch,
        output=output,
        error_class=record.error_class if output is None else None,
        error_message=record.error if output is None else None,
        latency_ms=record.latency_ms,
        attempts=0,
        started_at=record.started_at,
        finished_at=record.finished_at,
    )


def epoch_of(value: Any) -> Any:
    """Return an epoch as a whole number, as which tables also write 1.0 and "1"; nothing is the first, 0.

    What is none stays a text, which a captured row refuses by its name.

    >>> epoch_of(None), epoch_of("2"), epoch_of("2.0"), epoch_of(2.0), epoch_of(True), epoch_of("second")
    (0, 2, 2, 2, 'True', 'second')
    """
    if value is None or value == "":
        return 0
    if isinstance(value, str):
        digits = value.strip().removesuffix(".0")
        return int(digits[:20]) if digits.isdecimal() else value[:20]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)[:20]


def read_output(record: Record, citations: Citations) -> Output:
    """Return a record's output in canonical form; a mapping's fields that are None count as not there."""
    value = record.output
    if isinstance(value, Mapping):
        value = {name: item for name, item in value.items() if item is not None}
    return output_of(value, citations=citations)


def structured_cells(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return flat cells with those that hold lists and objects as JSON text parsed; a cell that is no JSON stays."""
    return {name: _structured(name, value) for name, value in cells.items()}


def _has_text(context: Any) -> bool:
    return not isinstance(context, Mapping) or context.get("text") is not None


def _structured(name: str, value: Any) -> Any:
    if name not in _STRUCTURED or not isinstance(value, str) or value.lstrip()[:1] not in {"[", "{"}:
        return value
    try:
        return parse_json(value)
    except RowError:
        return value
