"""Langfuse exports: traces with their observations, or observations alone (JSON, JSONL, CSV; API or blob storage).

Passages come from observations of type RETRIEVER; the answer is the trace's output, else that of the last GENERATION.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spancheck_pipeline.evidence.payloads.reading import amount, items, mapping
from spancheck_pipeline.importers.record import Record
from spancheck_pipeline.importers.traces import Span, Trace, instant, parsed, traces_of, unique_passages
from spancheck_pipeline.storage.case_rows import Report

_TRACE = "TRACE"


def read(path: Path, report: Report) -> Iterator[Record]:
    """Yield one record a trace."""
    for trace in traces_of(path, report, _unpack, _document):
        yield _record(trace)


def _record(trace: Trace) -> Record:
    root = next((span for span in trace.spans if span.attributes.get("type") == _TRACE), trace.root)
    calls = [span for span in trace.spans if span.attributes.get("type") == "GENERATION"]
    output = next(
        (found for span in (root, *reversed(calls)) if (found := _said(span.attributes.get("output"))) is not None),
        None,
    )
    error = root.error or next((span.error for span in trace.spans if span.error), None)
    seconds = amount(root.attributes.get("latency"))
    return Record(
        case={"id": trace.trace_id, "input": _asked(root, calls)},
        output=None if output is None else _output(output, trace, root, calls),
        error=None if output is not None else (error or "neither the trace nor a generation holds an answer"),
        error_class="RecordedError" if error else "NoRecordedAnswer",
        latency_ms=trace.latency_ms if seconds is None else seconds * 1000,
        started_at=root.started_at,
        finished_at=root.finished_at,
        where=f"trace {trace.trace_id[:40]}",
        line=trace.line,
        source={**root.source, **{f"observation.{span.name}": span.source for span in trace.spans if span is not root}},
    )


def _output(output: Any, trace: Trace, root: Span, calls: list[Span]) -> Any:
    if not isinstance(output, str):
        return output
    passages = [passage for span in trace.spans for passage in _passages(span)]
    model = calls[-1].attributes.get("model") if calls else None
    return {"answer": output, "contexts": unique_passages(passages), "usage": _usage(root, calls), "model": model}


def _said(value: Any) -> Any:
    """Return what was said: a text, a message's content or blocks, the last message; or an object with ``answer``."""
    value = parsed(value)
    if isinstance(value, str):
        return value or None
    if isinstance(value, list):
        if texts := [block["text"] for block in items(value) if block.get("type") == "text" and "text" in block]:
            return "".join(str(text) for text in texts) or None
        return _said(value[-1]) if value else None
    if isinstance(value, Mapping):
        return dict(value) if isinstance(value.get("answer"), str) else _said(value.get("content"))
    return None


def _asked(root: Span, calls: list[Span]) -> Any:
    value = parsed(root.attributes.get("input"))
    if value in (None, "") and calls:
        value = parsed(calls[0].attributes.get("input"))
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, list):
        users = [turn for turn in value if isinstance(turn, Mapping) and turn.get("role") == "user"]
        asked = users[-1].get("content") if users else value
        return _said(asked) if users and isinstance(asked, list) else asked
    return None if value == "" else value


def _passages(span: Span) -> Iterator[dict[str, Any]]:
    if span.attributes.get("type") != "RETRIEVER":
        return
    output = parsed(span.attributes.get("output"))
    if isinstance(output, Mapping):
        output = output.get("documents")
    for document in output if isinstance(output, list) else ():
        if isinstance(document, str):
            yield {"text": document}
        elif isinstance(document, Mapping):
            about = mapping(document.get("metadata"))
            names = ("text", "content", "page_content", "pageContent")
            text = next((document[name] for name in names if isinstance(document.get(name), str)), None)
            source = document.get("id") or document.get("source") or about.get("source")
            yield {"source_id": None if source is None else str(source), "text": text}


def _usage(root: Span, calls: list[Span]) -> dict[str, Any]:
    """Langfuse counts kinds of tokens apart (``input``, ``input_cached_tokens`` …): all of a side are its sum."""
    kinds: dict[str, float] = {}
    for span in calls:
        usage = parsed(_field(span.attributes, "usageDetails")) or parsed(span.attributes.get("usage"))
        for name, value in usage.items() if isinstance(usage, Mapping) else ():
            if isinstance(value, int | float) and not isinstance(value, bool):
                kinds[name] = kinds.get(name, 0) + value
    total = _field(root.attributes, "totalCost")
    costs = [_cost(span) for span in calls]
    known = [cost for cost in costs if cost is not None]
    return {
        "input_tokens": _count(kinds, r"input|prompt"),
        "output_tokens": _count(kinds, r"output|completion"),
        "cached_input_tokens": _count(kinds, r"cached|cache_read"),
        "reasoning_tokens": _count(kinds, r"reasoning"),
        "cost_usd": total if total is not None else sum(known) if known and len(known) == len(costs) else None,
    }


def _count(kinds: Mapping[str, float], pattern: str) -> int | None:
    found = [value for name, value in kinds.items() if re.search(pattern, name, re.IGNORECASE) and "ost" not in name]
    return int(sum(found)) if found else None


def _cost(span: Span) -> float | None:
    details = parsed(_field(span.attributes, "costDetails"))
    total = details.get("total") if isinstance(details, Mapping) else None
    value = total if total is not None else _field(span.attributes, "calculatedTotalCost")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _document(document: Any) -> list[Any] | None:
    if isinstance(document, Mapping):
        return list(document["data"]) if isinstance(document.get("data"), list) else [document]
    return document if isinstance(document, list) else None


def _unpack(item: Mapping[str, Any]) -> list[Span]:
    """Return an observation, or a trace as a span of its own with its observations."""
    trace_id = _field(item, "traceId")
    if trace_id is not None:
        return [_span(item, str(trace_id))]
    if isinstance(item.get("data"), list):  # a page of the API
        return [span for inner in items(item["data"]) if "data" not in inner for span in _unpack(inner)]
    if item.get("id") is None:
        return []
    own = str(item["id"])
    observations = parsed(item.get("observations"))
    inner = (
        [_span(part, own) for part in observations if isinstance(part, Mapping)]
        if isinstance(observations, list)
        else []
    )
    return [_span({**item, "type": _TRACE, "observations": None}, own), *inner]


def _span(item: Mapping[str, Any], trace_id: str) -> Span:
    failed = item.get("level") == "ERROR"
    message = _field(item, "statusMessage")
    parent = _field(item, "parentObservationId")
    return Span(
        trace_id=trace_id,
        span_id=None if item.get("id") is None else str(item["id"]),
        parent_id=None if parent in (None, "") else str(parent),
        name=str(item.get("name") or ""),
        attributes=item,
        started_at=instant(_field(item, "startTime") or item.get("timestamp")),
        finished_at=instant(_field(item, "endTime")),
        error=str(message or "error") if failed else None,
        source=item,
    )


def _field(item: Mapping[str, Any], name: str) -> Any:
    """Return a field in the API's spelling, or in that of blob storage exports."""
    snake = re.sub(r"[A-Z]", lambda match: "_" + match.group().lower(), name)
    return item.get(name) if item.get(name) is not None else item.get(snake)
