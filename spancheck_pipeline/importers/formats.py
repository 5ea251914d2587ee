"""The formats that can be imported: who reads each, and what its tool must be told to export for what it may lack.

What a format's fields mean lives in its own module; a format is added here by one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from spancheck_pipeline.importers import deepeval, inspect_ai, langfuse, promptfoo, ragas, spans, tabular
from spancheck_pipeline.importers.documents import first_object, read_document
from spancheck_pipeline.importers.record import Record
from spancheck_pipeline.importers.spancheck_1_0 import read_earlier_document
from spancheck_pipeline.storage.case_rows import Report

Read = Callable[..., Iterator[Record]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format of files."""

    read: Read
    title: str
    contexts_hint: str
    """What to export so that passages come with the answers."""
    has_choice: bool = False
    """Whether a file may hold answers of several systems, of which ``only`` chooses one."""


def _spancheck(path: Path, report: Report) -> Iterator[Record]:
    if _is_own(first_object(path) or {}):
        # As JSON lines its header stands alone in the first one, and the file is no document.
        _refuse_own(path, report)
        return
    document = read_document(path, report)
    if not isinstance(document, Mapping):
        if document is not None:
            report.add("is no audit log of schema 1.0 and no saved run")
        return
    if _is_own(document):
        _refuse_own(path, report)
        return
    for number, found in enumerate(read_earlier_document(document, str(path)), start=1):
        row = found.row
        yield Record(
            case=_case_fields(found.case),
            output=row.output,
            error=row.error_message or row.error_class if row.output is None else None,
            error_class=row.error_class or "RecordedError",
            latency_ms=row.latency_ms,
            where=f"item {number}",
        )


def _is_own(document: Mapping[str, Any]) -> bool:
    return str(document.get("schema_version")).startswith("2.")


def _refuse_own(path: Path, report: Report) -> None:
    report.add(
        "is an audit log of this package, and the format 'spancheck' is that of the earlier library (schema 1.0)",
        fix=f"nothing has to be imported: spancheck score {path.name} shows it, --regrade grades it again",
    )


def _case_fields(case: Any) -> dict[str, Any]:
    return dict(case.model_dump(exclude={"contexts"}))


_RETRIEVER = "trace the retrieval step too, with its documents"

FORMATS: Final[Mapping[str, Format]] = {
    "jsonl": Format(
        read=partial(tabular.read_rows, suffix=".jsonl"),
        title="one JSON object a line",
        contexts_hint="write a `contexts` field: [{source_id, text}]",
    ),
    "csv": Format(
        read=partial(tabular.read_rows, suffix=".csv"),
        title="comma-separated, with a header",
        contexts_hint="write a `contexts` column with a JSON list",
    ),
    "parquet": Format(
        read=partial(tabular.read_rows, suffix=".parquet"),
        title="one row an answer",
        contexts_hint="write a `contexts` column",
    ),
    "spancheck": Format(
        read=_spancheck,
        title="audit logs (schema 1.0) and saved runs of the earlier library",
        contexts_hint="return `contexts` from the adapter, and run again",
    ),
    "ragas": Format(read=ragas.read, title="evaluation datasets", contexts_hint="fill `retrieved_contexts`"),
    "deepeval": Format(
        read=deepeval.read, title="datasets of test cases, saved test runs", contexts_hint="fill `retrieval_context`"
    ),
    "promptfoo": Format(
        read=promptfoo.read,
        title="results.json",
        contexts_hint="return {answer, contexts} from the provider, or map them: --column contexts=vars.context",
        has_choice=True,
    ),
    "inspect_ai": Format(
        read=inspect_ai.read,
        title="evaluation logs in JSON",
        contexts_hint="keep the passages in the sample's metadata, and map them: --column contexts=metadata.contexts",
    ),
    "langfuse": Format(read=langfuse.read, title="exports of traces or observations", contexts_hint=_RETRIEVER),
    "openinference": Format(read=spans.read, title="Phoenix / OpenInference spans", contexts_hint=_RETRIEVER),
    "otel_genai": Format(read=spans.read, title="OpenTelemetry GenAI spans", contexts_hint=_RETRIEVER),
}
