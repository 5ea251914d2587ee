"""OpenTelemetry spans: Phoenix / OpenInference, and the GenAI conventions. One reader, since traces mix them.

Passages come from retriever spans, answer, usage and model from the LLM spans, the question from the root span. Read
are OTLP JSON (``resourceSpans``), the SDK's console form, and Phoenix exports with flat ``attributes.…`` columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spancheck_pipeline.evidence.payloads.reading import items, listed, mapping
from spancheck_pipeline.importers.record import Record
from spancheck_pipeline.importers.traces import Span, Trace, instant, parsed, traces_of, unique_passages
from spancheck_pipeline.storage.case_rows import Report

_LISTS = ("retrieval.documents", "llm.input_messages", "llm.output_messages")
"""Attributes of OpenInference that are lists; some exports write them as JSON texts."""
_MOST_DIGITS = 9
_CALLS = ("chat", "text_completion", "generate_content")


def read(path: Path, report: Report) -> Iterator[Record]:
    """Yield one record a trace."""
    for trace in traces_of(path, report, _unpack, _document):
        yield _record(trace)


def _record(trace: Trace) -> Record:
    calls = [span for span in trace.spans if _is_call(span)]
    answer, reason = _answer(trace, calls)
    root = trace.root
    return Record(
        case={"id": trace.trace_id, "input": _question(trace, calls)},
        output=None
        if answer is None
        else {
            "answer": answer,
            "contexts": unique_passages([passage for span in trace.spans for passage in _passages(span)]),
            "usage": _usage(calls),
            "finish_reason": reason,
            "model": _first(calls[-1], "gen_ai.response.model", "llm.model_name", "gen_ai.request.model")
            if calls
            else None,
        },
        error=None if answer is not None else (root.error or "no span holds an answer"),
        error_class="RecordedError" if root.error else "NoRecordedAnswer",
        latency_ms=trace.latency_ms,
        started_at=root.started_at,
        finished_at=root.finished_at,
        where=f"trace {trace.trace_id[:40]}",
        line=trace.line,
        source={"attributes": root.attributes, **{f"span.{span.name}": span.attributes for span in trace.spans}},
    )


# -- what a trace says ----------------------------------------------------------------------------------------------


def _is_call(span: Span) -> bool:
    return span.attributes.get("openinference.span.kind") == "LLM" or _operation(span) in _CALLS


def _operation(span: Span) -> Any:
    return span.attributes.get("gen_ai.operation.name")


def _question(trace: Trace, calls: list[Span]) -> Any:
    """Return the root's input; else what was searched for; else the last words of the user in the last call."""
    root = trace.root
    for found in (_value(root, "input"), _said(root, "gen_ai.input.messages", "user")):
        if found is not None:
            return found
    for span in trace.spans:
        if (query := span.attributes.get("gen_ai.retrieval.query.text")) is not None:
            return query
    for span in reversed(calls):
        for found in (_said(span, "gen_ai.input.messages", "user"), _asked(span)):
            if found is not None:
                return found
    return None


def _answer(trace: Trace, calls: list[Span]) -> tuple[str | None, str | None]:
    """Return the text and finish reason of the last call; without a call, the root's output."""
    for span in reversed(calls):
        said = _said(span, "gen_ai.output.messages", None)
        for found in (
            said,
            _content(span, "llm.output_messages.0.message"),
            _first(span, "gen_ai.completion.0.content"),
            _value(span, "output"),
        ):
            if isinstance(found, str):
                return found, _finish(span)
    found = _value(trace.root, "output")
    return (found if isinstance(found, str) else None), None


def _passages(span: Span) -> Iterator[dict[str, Any]]:
    attributes = span.attributes
    if attributes.get("openinference.span.kind") == "RETRIEVER":
        for number in range(_length(attributes, "retrieval.documents")):
            at = f"retrieval.documents.{number}.document"
            about = mapping(parsed(attributes.get(f"{at}.metadata")))
            source = attributes.get(f"{at}.id") or about.get("source")
            yield {"source_id": _text(source), "text": _text(attributes.get(f"{at}.content"))}
    elif _operation(span) == "retrieval":
        documents = parsed(attributes.get("gen_ai.retrieval.documents"))
        for document in documents if isinstance(documents, list) else ():
            if isinstance(document, Mapping):
                yield {"source_id": _text(document.get("id")), "text": _text(document.get("content"))}


def _usage(calls: list[Span]) -> dict[str, Any]:
    """Return the sums over all calls of the trace; a kind that no call reports is None."""
    return {
        "input_tokens": _sum(
            calls, "gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.prompt_tokens"
        ),
        "output_tokens": _sum(
            calls, "gen_ai.usage.output_tokens", "llm.token_count.completion", "gen_ai.usage.completion_tokens"
        ),
        "cached_input_tokens": _sum(
            calls, "gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"
        ),
        "reasoning_tokens": _sum(
            calls, "gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"
        ),
        "cost_usd": _sum(calls, "llm.cost.total"),
    }


def _sum(calls: list[Span], *names: str) -> int | float | None:
    values = [_first(span, *names) for span in calls]
    known = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    # A trace's sum is known when each of its calls says its part.
    return sum(known) if known and len(known) == len(values) else None


def _finish(span: Span) -> str | None:
    messages = parsed(span.attributes.get("gen_ai.output.messages"))
    if isinstance(messages, list) and messages and isinstance(messages[-1], Mapping):
        reason = messages[-1].get("finish_reason")
        if isinstance(reason, str):
            return reason
    return _text(_first(span, "gen_ai.response.finish_reasons.0"))


def _said(span: Span, name: str, role: str | None) -> str | None:
    """Return the text of the last message of a role in a list of GenAI messages."""
    messages = parsed(span.attributes.get(name))
    for message in reversed(messages) if isinstance(messages, list) else ():
        if isinstance(message, Mapping) and role in {None, message.get("role")}:
            parts = items(message.get("parts"))
            texts = [str(part["content"]) for part in parts if part.get("type") == "text" and "content" in part]
            if texts:
                return "".join(texts)
    return None


def _asked(span: Span) -> str | None:
    """Return the last user message of an OpenInference call."""
    number = 0
    found = None
    while (role := span.attributes.get(f"llm.input_messages.{number}.message.role")) is not None:
        if role == "user":
            found = _content(span, f"llm.input_messages.{number}.message")
        number += 1
    return found


def _content(span: Span, message: str) -> str | None:
    """Return the text of an OpenInference message: one text, or the texts among its content items."""
    if (whole := span.attributes.get(f"{message}.content")) is not None:
        return _text(whole)
    texts: list[str] = []
    for number in range(_length(span.attributes, f"{message}.contents")):
        item = f"{message}.contents.{number}.message_content"
        part = span.attributes.get(f"{item}.text")
        if isinstance(part, str) and span.attributes.get(f"{item}.type") != "reasoning":
            texts.append(part)
    return "".join(texts) or None


def _length(attributes: Mapping[str, Any], name: str) -> int:
    """Return how many items of a list stand under flat names, which count from 0 without a gap."""
    rests = (key[len(name) + 1 :].partition(".")[0] for key in attributes if key.startswith(f"{name}."))
    found = {int(rest) for rest in rests if rest.isdecimal() and len(rest) <= _MOST_DIGITS}
    return next(number for number in range(len(found) + 1) if number not in found)


def _value(span: Span, side: str) -> Any:
    """Return a span's ``input.value`` or ``output.value``; an object where its type says that it is JSON."""
    value = span.attributes.get(f"{side}.value")
    if span.attributes.get(f"{side}.mime_type") == "application/json":
        return parsed(value)
    return value if value not in ("", None) else None


def _first(span: Span, *names: str) -> Any:
    return next((span.attributes[name] for name in names if span.attributes.get(name) is not None), None)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


# -- the forms in which spans are written ---------------------------------------------------------------------------


def _document(document: Any) -> list[Any] | None:
    if isinstance(document, Mapping):
        return [document]
    return document if isinstance(document, list) else None


def _unpack(item: Mapping[str, Any]) -> list[Span]:
    """Return the spans of a line: one span, or all that an OTLP request holds."""
    if isinstance(item.get("resourceSpans"), list):
        inner = [
            span
            for resource in items(item["resourceSpans"])
            for scope in items(resource.get("scopeSpans"))
            for span in items(scope.get("spans"))
        ]
        return [found for span in inner if (found := _span(span)) is not None]
    if isinstance(item.get("data"), list):  # a page of Phoenix's API
        return [found for span in items(item["data"]) if (found := _span(span)) is not None]
    found = _span(item)
    return [] if found is None else [found]


def _span(item: Mapping[str, Any]) -> Span | None:
    context = mapping(item.get("context"))
    trace_id = item.get("traceId") or context.get("trace_id") or item.get("context.trace_id") or item.get("trace_id")
    if not trace_id:
        return None
    status = mapping(item.get("status"))
    code = str(status.get("code") or status.get("status_code") or item.get("status_code") or "")
    message = status.get("message") or status.get("description") or item.get("status_message")
    span_id = item.get("spanId") or context.get("span_id") or item.get("context.span_id") or item.get("span_id")
    parent = item.get("parentSpanId") or item.get("parent_id") or item.get("parent_span_id")
    return Span(
        trace_id=str(trace_id),
        span_id=_text(span_id),
        parent_id=_text(parent) or None,
        name=str(item.get("name") or ""),
        attributes=_attributes(item),
        started_at=instant(item.get("startTimeUnixNano") or item.get("start_time")),
        finished_at=instant(item.get("endTimeUnixNano") or item.get("end_time")),
        error=str(message or "error") if code in {"2", "ERROR", "STATUS_CODE_ERROR"} else None,
        source=item,
    )


def _attributes(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a span's attributes under dotted names, whichever way they are nested."""
    found: dict[str, Any] = {}
    given = item.get("attributes")
    if isinstance(given, list):  # OTLP: [{"key": …, "value": {"stringValue": …}}]
        for pair in given:
            if isinstance(pair, Mapping):
                _flatten(str(pair.get("key")), _otlp(pair.get("value")), found)
    elif isinstance(given, Mapping):
        for key, value in given.items():
            _flatten(key, value, found)
    for key, value in item.items():
        if key.startswith("attributes.") and value is not None:
            _flatten(key.removeprefix("attributes."), value, found)
    for name in _LISTS:
        if isinstance(value := found.get(name), str):  # a table's cell, or an exporter that only knows texts
            _flatten(name, parsed(value), found)
    return found


def _otlp(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return None
    for kind, inner in value.items():
        if kind == "intValue":
            return int(inner) if str(inner).lstrip("-").isdigit() else None
        if kind == "arrayValue":
            return [_otlp(part) for part in listed(mapping(inner).get("values"))]
        if kind == "kvlistValue":
            return {str(part.get("key")): _otlp(part.get("value")) for part in items(mapping(inner).get("values"))}
        return inner
    return None


def _flatten(name: str, value: Any, found: dict[str, Any], depth: int = 0) -> None:
    found[name] = value
    if depth > 12:  # noqa: PLR2004 - deeper than any convention nests
        return
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        _flatten(f"{name}.{key}", inner, found, depth + 1)
