"""Anthropic Messages: text blocks, each with the citations that carry it.

The claim is the text block. Offsets are of the source document, half-open; documents and search results are counted
apart. The response does not hold the documents: without passages from the caller the sources come without text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.payloads.draft import Draft, in_source
from spancheck_pipeline.evidence.payloads.offsets import Placed
from spancheck_pipeline.evidence.payloads.reading import first, items, mapping, text, total, whole
from spancheck_pipeline.evidence.run import Output, Usage
from spancheck_pipeline.evidence.word import Span

_OF_DOCUMENTS = {"char_location", "page_location", "content_block_location"}


def fits(payload: Any) -> bool:
    """Say whether a payload is a Messages response, or its list of blocks.

    An answer without a citation is such a list too: its text blocks have nothing of another producer.
    """
    if isinstance(payload, list):
        texts = [block for block in items(payload) if block.get("type") == "text"]
        cited = any(isinstance(block.get("citations"), list) for block in texts)
        typed = len(items(payload)) == len(payload) and all(isinstance(item.get("type"), str) for item in payload)
        return cited or (bool(texts) and typed and all(_is_plain_text(block) for block in texts))
    body = mapping(payload)
    return body.get("type") == "message" and isinstance(body.get("content"), list)


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of a Messages response."""
    body = mapping(payload)
    for block in items(payload if isinstance(payload, list) else body.get("content")):
        if block.get("type") != "text":
            continue
        piece = text(block.get("text")) or ""
        at = draft.add_text(piece)
        for citation in items(block.get("citations")):
            cite_block(citation, piece, at, draft)
    return draft.output(
        payload,
        usage=_usage(mapping(body.get("usage"))),
        finish_reason=text(body.get("stop_reason")),
        served_model=text(body.get("model")),
    )


def _is_plain_text(block: Mapping[str, Any]) -> bool:
    return isinstance(block.get("text"), str) and block.get("citations") is None and "annotations" not in block


def cite_block(citation: Mapping[str, Any], claim: str, at: Span, draft: Draft) -> None:
    """Add one citation of a text block, whose range in the answer is ``at``."""
    kind = text(citation.get("type"))
    quote = text(citation.get("cited_text"))
    placed = Placed(None, ())
    flags: tuple[str, ...] = ()
    if kind in _OF_DOCUMENTS:
        name, source, flags = _document(citation, draft)
        if kind == "char_location":
            placed = in_source(source, citation.get("start_char_index"), citation.get("end_char_index"), quote)
    elif kind == "search_result_location":
        name = draft.passage(
            text(citation.get("source")) or f"search_result:{citation.get('search_result_index')}",
            title=text(citation.get("title")),
        )
    elif kind == "web_search_result_location":
        url = text(citation.get("url"))
        name = draft.passage(url, uri=url, title=text(citation.get("title")))
    else:
        draft.unknown(kind, claim=claim, at=at)
        return
    draft.cite(claim=claim, quote=quote, source_id=name, at=at, source=placed.span, flags=(*flags, *placed.flags))


def _document(citation: Mapping[str, Any], draft: Draft) -> tuple[str, str | None, tuple[str, ...]]:
    """Return a cited document's name, its text where the caller captured it, and a flag where the titles differ."""
    index, title = whole(citation.get("document_index")), text(citation.get("document_title"))
    given = draft.given_at(index)
    if given is not None:
        context, name = given
        differs = title is not None and context.title is not None and title != context.title
        return name, context.text, ("source_mismatch",) if differs else ()
    name = text(citation.get("file_id")) or f"document:{index if index is not None else 'unnumbered'}"
    return draft.passage(name, title=title), None, ()


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Anthropic counts cached tokens beside ``input_tokens``; ours are all that were read."""
    cached = whole(usage.get("cache_read_input_tokens"))
    return Usage(
        input_tokens=total(whole(usage.get("input_tokens")), whole(usage.get("cache_creation_input_tokens")), cached),
        output_tokens=whole(usage.get("output_tokens")),
        cached_input_tokens=cached,
        reasoning_tokens=whole(first(usage.get("output_tokens_details"), "thinking_tokens", "reasoning_tokens")),
    )
