"""Which format a file looks like, told by field names that only one tool writes; for a message, never for reading.

How each format is read lives in its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from spancheck_pipeline.importers.documents import is_jsonl, read_document
from spancheck_pipeline.storage.case_rows import READERS, Report

_MAX_BYTES = 64 * 1024 * 1024
"""A larger JSON document is not read again for a guess."""
_LOOKED_AT = 20
"""Items that a guess rests on."""

Item = Mapping[str, Any]


def likely_format(path: Path) -> str | None:
    """Return the format that a file looks like, or None where it looks like none, or like several."""
    items = [item for item in _items(path) if isinstance(item, Mapping)]
    found = {name for name, fits in _SIGNS.items() if any(fits(item) for item in items)}
    if "otel_genai" in found and "openinference" in found:
        found.discard("otel_genai")  # Phoenix writes both names
    if not found and any(_is_plain(item) for item in items):
        suffix = path.suffix.lower().removeprefix(".").replace("ndjson", "jsonl")
        return suffix if f".{suffix}" in READERS else None
    return found.pop() if len(found) == 1 else None


def _items(path: Path) -> Iterator[Any]:
    """Yield the first items of a file: a document and what lies in its lists, or rows."""
    report = Report(file=str(path))
    suffix = path.suffix.lower()
    is_rows = suffix in READERS and not (suffix in {".jsonl", ".ndjson"} and not is_jsonl(path))
    if is_rows or is_jsonl(path):
        reader = READERS[suffix if is_rows else ".jsonl"]
        yield from (row.cells for row in islice(reader(path, report), _LOOKED_AT))
        return
    try:
        if path.stat().st_size > _MAX_BYTES:
            return
    except OSError:
        return
    document = read_document(path, report)
    yield document
    inner = [document] if isinstance(document, list) else list(document.values()) if isinstance(document, dict) else []
    for value in inner:
        yield from value[:_LOOKED_AT] if isinstance(value, list) else ()


def _has(*names: str) -> Callable[[Item], bool]:
    return lambda item: any(item.get(name) is not None for name in names)


def _is_spancheck(item: Item) -> bool:
    """Tell an audit log 1.x by its version, and a saved run by its results."""
    version = item.get("schema_version")
    is_log = isinstance(version, str) and version.startswith("1.") and isinstance(item.get("cases"), list)
    return is_log or {"case_id", "output", "grades"} <= item.keys()


def _is_promptfoo(item: Item) -> bool:
    results = item.get("results")
    return (isinstance(results, Mapping) and "results" in results) or ("promptIdx" in item and "provider" in item)


def _is_inspect(item: Item) -> bool:
    return isinstance(item.get("eval"), Mapping) and ("samples" in item or "status" in item)


def _is_ragas(item: Item) -> bool:
    older = {"question", "answer"} <= item.keys() and ("contexts" in item or "ground_truth" in item)
    return "user_input" in item or older


def _is_langfuse(item: Item) -> bool:
    if isinstance(item.get("observations"), list | str):
        return True
    kinds = {"GENERATION", "RETRIEVER", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "EMBEDDING"}
    return ("traceId" in item or "trace_id" in item) and item.get("type") in kinds


def _names_of_spans(item: Item) -> str:
    """Return the names of a span's attributes as one text; of an OTLP request, all of it."""
    if "resourceSpans" in item:
        return str(item)
    attributes = item.get("attributes")
    return " ".join([*item, *(attributes if isinstance(attributes, Mapping) else ())])


def _is_span_of(convention: str) -> Callable[[Item], bool]:
    def fits(item: Item) -> bool:
        context = item.get("context")
        traced = ("resourceSpans", "context.trace_id", "trace_id", "traceId")
        is_span = any(name in item for name in traced) or (isinstance(context, Mapping) and "trace_id" in context)
        return is_span and convention in _names_of_spans(item)

    return fits


def _is_plain(item: Item) -> bool:
    return bool(item.keys() & {"id", "case_id", "input"}) and bool(item.keys() & {"answer", "response", "text"})


_SIGNS: Final[Mapping[str, Callable[[Item], bool]]] = {
    "spancheck": _is_spancheck,
    "ragas": _is_ragas,
    "deepeval": _has("actual_output", "actualOutput", "testRunData"),
    "promptfoo": _is_promptfoo,
    "inspect_ai": _is_inspect,
    "langfuse": _is_langfuse,
    "openinference": _is_span_of("openinference."),
    "otel_genai": _is_span_of("gen_ai."),
}
"""Format → what only its files have."""
