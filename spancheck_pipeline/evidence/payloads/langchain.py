"""LangChain messages: content blocks whose annotations are citations, with offsets into the block, half-open.

Citations that an integration hands on in the form of Anthropic or OpenAI are read as theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.payloads.anthropic import cite_block
from spancheck_pipeline.evidence.payloads.draft import Draft, in_piece
from spancheck_pipeline.evidence.payloads.openai import cite_annotation
from spancheck_pipeline.evidence.payloads.reading import filled, first, items, mapping, text, whole
from spancheck_pipeline.evidence.run import Output, Usage
from spancheck_pipeline.evidence.word import Span

_TYPES = {"ai", "AIMessage", "AIMessageChunk"}
_ANNOTATIONS = {"citation", "non_standard_annotation"}


def fits(payload: Any) -> bool:
    """Say whether a payload is an AI message, its serialized form, or a list of content blocks with its annotations."""
    if isinstance(payload, list):
        found = [note for block in items(payload) for note in items(block.get("annotations"))]
        return any(text(note.get("type")) in _ANNOTATIONS for note in found)
    body = _message(payload)
    return text(body.get("type")) in _TYPES and "content" in body


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of an AI message."""
    body = _message(payload)
    content = payload if isinstance(payload, list) else first(body, "content_blocks", "content")
    if isinstance(content, str):
        draft.add_text(content)
    for block in items(content):
        if block.get("type") == "text":
            piece = text(block.get("text")) or ""
            at = draft.add_text(piece)
            for annotation in items(block.get("annotations")):
                _cite(annotation, piece, at, draft)
            # Blocks that the integration hands on as the provider made them.
            for citation in items(block.get("citations")):
                cite_block(citation, piece, at, draft)
    about = mapping(body.get("response_metadata"))
    return draft.output(
        payload,
        usage=_usage(mapping(body.get("usage_metadata"))),
        finish_reason=text(first(about, "finish_reason", "stop_reason", "done_reason")),
        served_model=text(first(about, "model_name", "model")),
    )


def _message(payload: Any) -> Mapping[str, Any]:
    """Return the message's fields; a serialized one keeps them under ``kwargs``."""
    body = mapping(payload)
    return {**mapping(body.get("kwargs")), "type": "ai"} if body.get("type") == "constructor" else body


def _cite(annotation: Mapping[str, Any], piece: str, at: Span, draft: Draft) -> None:
    if annotation.get("type") != "citation":
        cite_annotation(annotation, piece, at, draft)
        return
    placed = in_piece(piece, at, whole(annotation.get("start_index")), whole(annotation.get("end_index")))
    url, title = text(annotation.get("url")), text(annotation.get("title"))
    name = draft.passage(url or title or text(annotation.get("id")), uri=url, title=title)
    # Without offsets the claim is the block, as with the producers that LangChain reads.
    claim_at = at if placed.span is None and not placed.flags else placed.span
    draft.cite(quote=filled(annotation.get("cited_text")), source_id=name, at=claim_at, flags=placed.flags)


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=whole(usage.get("input_tokens")),
        output_tokens=whole(usage.get("output_tokens")),
        cached_input_tokens=whole(mapping(usage.get("input_token_details")).get("cache_read")),
        reasoning_tokens=whole(mapping(usage.get("output_token_details")).get("reasoning")),
    )
