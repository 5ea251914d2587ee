"""Gemini grounding: segments of the answer, in bytes of UTF-8, half-open, tied to grounding chunks.

Web chunks come without text. Fields are read in REST's spelling (``groundingMetadata``) and in the SDK's
(``grounding_metadata``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.payloads.draft import Draft, in_piece
from spancheck_pipeline.evidence.payloads.offsets import Placed
from spancheck_pipeline.evidence.payloads.reading import filled, first, items, listed, mapping, text, total, whole
from spancheck_pipeline.evidence.run import Output, Usage
from spancheck_pipeline.evidence.word import Span


def fits(payload: Any) -> bool:
    """Say whether a payload is a ``generateContent`` response; one of a blocked prompt has no candidates."""
    body = mapping(payload)
    return isinstance(body.get("candidates"), list) or bool(mapping(_field(body, "promptFeedback")))


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of a ``generateContent`` response: its first candidate."""
    body = mapping(payload)
    candidates = items(body.get("candidates"))
    candidate = candidates[0] if candidates else {}
    pieces: dict[int, tuple[str, Span]] = {}
    for index, part in enumerate(listed(mapping(candidate.get("content")).get("parts"))):
        piece = text(mapping(part).get("text"))
        if piece is not None and not mapping(part).get("thought"):
            pieces[index] = (piece, draft.add_text(piece))
    cite_grounding(mapping(_field(candidate, "groundingMetadata")), pieces, draft)
    blocked = text(_field(_field(body, "promptFeedback"), "blockReason"))
    return draft.output(
        payload,
        usage=_usage(mapping(_field(body, "usageMetadata"))),
        finish_reason=text(_field(candidate, "finishReason")) or blocked,
        served_model=text(_field(body, "modelVersion")),
    )


def cite_grounding(grounding: Mapping[str, Any], pieces: Mapping[int, tuple[str, Span]], draft: Draft) -> None:
    """Add the citations of a candidate's grounding; ``pieces`` are the parts of the answer by their index."""
    names = [_chunk(chunk, draft) for chunk in items(_field(grounding, "groundingChunks"))]
    for support in items(_field(grounding, "groundingSupports")):
        _cite(support, pieces, names, draft)


def _cite(
    support: Mapping[str, Any], pieces: Mapping[int, tuple[str, Span]], names: list[str | None], draft: Draft
) -> None:
    segment = mapping(support.get("segment"))
    claim = text(segment.get("text"))
    # A field that is 0 is left out by the producer.
    found = pieces.get(whole(_field(segment, "partIndex")) or 0)
    placed = Placed(None, ("offset_mismatch",))
    if found is not None:
        start = _field(segment, "startIndex")
        placed = in_piece(*found, 0 if start is None else start, _field(segment, "endIndex"), claim, unit="utf8")
    for index in listed(_field(support, "groundingChunkIndices")):
        known = whole(index)
        name = names[known] if known is not None and known < len(names) else f"chunk:{_number(index)}"
        if name is None:
            draft.unknown("grounding_chunk", claim=filled(claim), at=placed.span)
        else:
            draft.cite(claim=filled(claim), source_id=name, at=placed.span, flags=placed.flags)


def _chunk(chunk: Mapping[str, Any], draft: Draft) -> str | None:
    """Return the name of a grounding chunk's passage; None for a chunk of a kind that is not known here."""
    retrieved = mapping(_field(chunk, "retrievedContext"))
    rag = mapping(_field(retrieved, "ragChunk"))
    if retrieved:
        uri, title = text(retrieved.get("uri")), text(retrieved.get("title"))
        body = filled(rag.get("text")) or filled(retrieved.get("text"))
        page = whole(_field(_field(rag, "pageSpan"), "firstPage")) or whole(_field(retrieved, "pageNumber"))
        return draft.passage(uri or title, body, uri=uri, title=title, page=page)
    linked = mapping(chunk.get("web") or chunk.get("maps"))
    if linked:
        uri = text(linked.get("uri"))
        return draft.passage(uri, filled(linked.get("text")), uri=uri, title=text(linked.get("title")))
    return None


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Thinking tokens are counted beside the candidates', tool prompts beside the prompt; ours are all of them."""
    thoughts = whole(_field(usage, "thoughtsTokenCount"))
    return Usage(
        input_tokens=total(whole(_field(usage, "promptTokenCount")), whole(_field(usage, "toolUsePromptTokenCount"))),
        output_tokens=total(whole(_field(usage, "candidatesTokenCount")), thoughts),
        cached_input_tokens=whole(_field(usage, "cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


def _field(value: Any, name: str) -> Any:
    return first(value, name, re.sub(r"[A-Z]", lambda match: "_" + match.group().lower(), name))


def _number(index: Any) -> str:
    return str(whole(index)) if whole(index) is not None else "unreadable"
