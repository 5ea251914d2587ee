"""Cohere Chat v2: citations with offsets into one content item of the answer, half-open, in code points.

Citations of thinking and plans are not of the answer, and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.payloads.draft import Draft, in_piece
from spancheck_pipeline.evidence.payloads.offsets import Placed
from spancheck_pipeline.evidence.payloads.reading import filled, first, items, listed, mapping, text, whole
from spancheck_pipeline.evidence.run import Output, Usage
from spancheck_pipeline.evidence.word import Span

_NOT_OF_THE_ANSWER = {"THINKING_CONTENT", "PLAN"}


def fits(payload: Any) -> bool:
    """Say whether a payload is a v2 chat response."""
    body = mapping(payload)
    message = mapping(body.get("message"))
    return isinstance(message.get("content"), list) and "role" in message and "blocks" not in message


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of a v2 chat response."""
    body = mapping(payload)
    message = mapping(body.get("message"))
    pieces: dict[int, tuple[str, Span]] = {}
    for index, content in enumerate(listed(message.get("content"))):
        if mapping(content).get("type") == "text":
            piece = text(content.get("text")) or ""
            pieces[index] = (piece, draft.add_text(piece))
    for citation in items(message.get("citations")):
        kind = text(citation.get("type"))
        if kind == "TEXT_CONTENT" or citation.get("type") is None:
            _cite(citation, pieces, draft)
        elif kind not in _NOT_OF_THE_ANSWER:
            draft.unknown(kind)
    return draft.output(
        payload,
        usage=_usage(mapping(body.get("usage"))),
        finish_reason=text(body.get("finish_reason")),
        served_model=text(body.get("model")),
    )


def _cite(citation: Mapping[str, Any], pieces: Mapping[int, tuple[str, Span]], draft: Draft) -> None:
    claim = text(citation.get("text"))
    # An older response does not say which item: then there is one text.
    index = whole(citation.get("content_index"))
    found = pieces.get(min(pieces, default=0) if index is None else index)
    placed = Placed(None, ("offset_mismatch",))
    if found is not None:
        placed = in_piece(*found, whole(citation.get("start")), whole(citation.get("end")), claim, inclusive=None)
    names = [_source(source, draft) for source in items(citation.get("sources"))]
    for name in names or [draft.passage("source:none")]:
        draft.cite(claim=filled(claim), source_id=name, at=placed.span, flags=placed.flags)


def _source(source: Mapping[str, Any], draft: Draft) -> str:
    content = mapping(first(source, "document", "tool_output"))
    body = filled(first(content, "text", "snippet", "content"))
    url = text(content.get("url"))
    return draft.passage(text(source.get("id")), body, uri=url, title=text(content.get("title")))


def _usage(usage: Mapping[str, Any]) -> Usage:
    tokens = mapping(usage.get("tokens"))
    return Usage(
        input_tokens=_count(tokens.get("input_tokens")),
        output_tokens=_count(tokens.get("output_tokens")),
        cached_input_tokens=_count(usage.get("cached_tokens")),
    )


def _count(value: Any) -> int | None:
    """The SDK gives token counts as floats."""
    return whole(int(value)) if isinstance(value, float) and value.is_integer() else whole(value)
