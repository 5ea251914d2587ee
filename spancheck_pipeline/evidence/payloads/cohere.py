"""Cohere Chat: citations with offsets into one content item of the answer, half-open, in code points.

Citations of thinking and plans are not of the answer, and are left out. A v1 response has one text, and its citations
name documents that stand beside it; what a citation calls ``text`` is the answer's in both versions, and no quote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.payloads.draft import Draft, in_piece
from spancheck_pipeline.evidence.payloads.offsets import Placed
from spancheck_pipeline.evidence.payloads.reading import filled, first, items, listed, mapping, plain, text, whole
from spancheck_pipeline.evidence.run import Output, Usage
from spancheck_pipeline.evidence.word import Span

_NOT_OF_THE_ANSWER = {"THINKING_CONTENT", "PLAN"}


def fits(payload: Any) -> bool:
    """Say whether a payload is a chat response; one that only calls tools has a plan, and no content."""
    message = mapping(mapping(payload).get("message"))
    plans = message.get("content") is None and isinstance(message.get("tool_plan"), str)
    is_v2 = (isinstance(message.get("content"), list) or plans) and "role" in message and "blocks" not in message
    return is_v2 or fits_v1(payload)


def fits_v1(payload: Any) -> bool:
    """Say whether a payload is a v1 chat response: its text has the name of an answer in canonical form."""
    body = mapping(payload)
    named = any("document_ids" in mapping(plain(item)) for item in listed(body.get("citations"))[:1])
    return isinstance(body.get("text"), str) and "answer" not in body and ("generation_id" in body or named)


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of a chat response."""
    body = mapping(payload)
    if fits_v1(payload):
        return _read_v1(body, draft)
    message = mapping(body.get("message"))
    pieces: dict[int, tuple[str, Span]] = {}
    for index, content in enumerate(listed(message.get("content"))):
        if mapping(content).get("type") == "text":
            piece = text(content.get("text")) or ""
            pieces[index] = (piece, draft.add_text(piece))
    cite_texts(message.get("citations"), pieces, draft)
    return _output(body, mapping(body.get("usage")), draft)


def _read_v1(body: Mapping[str, Any], draft: Draft) -> Output:
    answer = text(body.get("text")) or ""
    at = draft.add_text(answer)
    cite_texts(body.get("citations"), {0: (answer, at)}, draft, body.get("documents"))
    return _output(body, mapping(body.get("meta")), draft)


def _output(body: Mapping[str, Any], usage: Mapping[str, Any], draft: Draft) -> Output:
    return draft.output(
        dict(body),
        usage=_usage(usage),
        finish_reason=text(body.get("finish_reason")),
        served_model=text(body.get("model")),
    )


def cite_texts(citations: Any, pieces: Mapping[int, tuple[str, Span]], draft: Draft, documents: Any = None) -> None:
    """Add the citations of an answer; ``pieces`` are its texts by their index, ``documents`` those of a v1 response."""
    names = {text(document.get("id")): _v1_document(document, draft) for document in items(documents)}
    for citation in items(citations):
        kind = text(citation.get("type"))
        if kind == "TEXT_CONTENT" or citation.get("type") is None:
            _cite(citation, pieces, names, draft)
        elif kind not in _NOT_OF_THE_ANSWER:
            draft.unknown(kind)


def _cite(
    citation: Mapping[str, Any], pieces: Mapping[int, tuple[str, Span]], documents: Mapping[Any, str], draft: Draft
) -> None:
    claim = text(citation.get("text"))
    # An older response does not say which item: then there is one text.
    index = whole(citation.get("content_index"))
    found = pieces.get(min(pieces, default=0) if index is None else index)
    placed = Placed(None, ("offset_mismatch",))
    if found is not None:
        placed = in_piece(*found, citation.get("start"), citation.get("end"), claim, inclusive=None)
    names = [_source(source, draft) for source in items(citation.get("sources"))]
    ids = [name for item in listed(citation.get("document_ids")) if (name := text(item)) is not None]
    names += [documents.get(name) or draft.passage(name) for name in ids]
    for name in names or [draft.passage("source:none")]:
        draft.cite(claim=filled(claim), source_id=name, at=placed.span, flags=placed.flags)


def _v1_document(document: Mapping[str, Any], draft: Draft) -> str:
    body = filled(first(document, "text", "snippet"))
    return draft.passage(
        text(document.get("id")), body, uri=text(document.get("url")), title=text(document.get("title"))
    )


def _source(source: Mapping[str, Any], draft: Draft) -> str:
    content = mapping(first(source, "document", "tool_output"))
    body = filled(first(content, "text", "snippet", "content"))
    url = text(content.get("url"))
    return draft.passage(text(source.get("id")), body, uri=url, title=text(content.get("title")))


def _usage(usage: Mapping[str, Any]) -> Usage:
    tokens = mapping(usage.get("tokens"))
    return Usage(
        input_tokens=whole(tokens.get("input_tokens")),
        output_tokens=whole(tokens.get("output_tokens")),
        cached_input_tokens=whole(usage.get("cached_tokens")),
    )
