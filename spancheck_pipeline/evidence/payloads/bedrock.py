"""Amazon Bedrock: RetrieveAndGenerate (spans of the answer) and Converse (citations blocks).

Whether the end of a RetrieveAndGenerate span belongs to it is not documented: the reading that agrees with the part's
own text is taken, and a span that agrees in neither is flagged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.payloads.draft import Draft, in_piece, in_source
from spancheck_pipeline.evidence.payloads.offsets import Placed
from spancheck_pipeline.evidence.payloads.reading import amount, filled, first, items, mapping, text, total, whole
from spancheck_pipeline.evidence.run import Output, Usage
from spancheck_pipeline.evidence.word import Span

_PAGE = "x-amz-bedrock-kb-document-page-number"

# -- RetrieveAndGenerate --------------------------------------------------------------------------------------------


def fits_rag(payload: Any) -> bool:
    """Say whether a payload is a RetrieveAndGenerate response."""
    body = mapping(payload)
    return "text" in mapping(body.get("output")) and ("citations" in body or "sessionId" in body)


def read_rag(payload: Any, draft: Draft) -> Output:
    """Return the output of a RetrieveAndGenerate response."""
    body = mapping(payload)
    answer = text(mapping(body.get("output")).get("text")) or ""
    at = draft.add_text(answer)
    for citation in items(body.get("citations")):
        part = mapping(mapping(citation.get("generatedResponsePart")).get("textResponsePart"))
        span, claim = mapping(part.get("span")), text(part.get("text"))
        placed = in_piece(answer, at, span.get("start"), span.get("end"), claim, inclusive=None)
        for reference in items(citation.get("retrievedReferences")):
            name = _reference(reference, draft)
            draft.cite(claim=filled(claim), source_id=name, at=placed.span, flags=placed.flags)
    action = text(body.get("guardrailAction"))
    return draft.output(payload, finish_reason="guardrail_intervened" if action == "INTERVENED" else None)


def _reference(reference: Mapping[str, Any], draft: Draft) -> str:
    """Return a reference's passage. The whole chunk is its evidence; there is no quote in it."""
    content = mapping(reference.get("content"))
    body = filled(content.get("text")) if content.get("type", "TEXT") == "TEXT" else None
    address = _address(mapping(reference.get("location")))
    page = whole(mapping(reference.get("metadata")).get(_PAGE))
    return draft.passage(address, body, uri=address, page=page)


def _address(location: Mapping[str, Any]) -> str | None:
    """Return where a reference lies: each kind of location has one part that holds an address or an id."""
    for part in location.values():
        found = text(first(part, "uri", "url", "id", "query"))
        if found is not None:
            return found
    return None


# -- Converse -------------------------------------------------------------------------------------------------------

_OF_DOCUMENTS = {"documentChar", "documentPage", "documentChunk"}


def fits_converse(payload: Any) -> bool:
    """Say whether a payload is a Converse response."""
    return isinstance(mapping(mapping(payload).get("output")).get("message"), Mapping)


def read_converse(payload: Any, draft: Draft) -> Output:
    """Return the output of a Converse response."""
    body = mapping(payload)
    message = mapping(mapping(body.get("output")).get("message"))
    for block in items(message.get("content")):
        cited = mapping(block.get("citationsContent"))
        if not cited:
            draft.add_text(text(block.get("text")) or "")
            continue
        claim = "".join(text(part.get("text")) or "" for part in items(cited.get("content")))
        at = draft.add_text(claim)
        for citation in items(cited.get("citations")):
            _cite(citation, claim, at, draft)
    return draft.output(
        payload,
        usage=_usage(mapping(body.get("usage"))),
        finish_reason=text(body.get("stopReason")),
        latency_ms=amount(mapping(body.get("metrics")).get("latencyMs")),
    )


def _cite(citation: Mapping[str, Any], claim: str, at: Span, draft: Draft) -> None:
    parts = [text(part.get("text")) for part in items(citation.get("sourceContent"))]
    quote = "".join(part for part in parts if part) or None
    locations = list(mapping(citation.get("location")).items())
    kind, place = (locations[0][0], mapping(locations[0][1])) if locations else ("", {})
    title, source = text(citation.get("title")), text(citation.get("source"))
    placed = Placed(None, ())
    if kind in _OF_DOCUMENTS:
        name, body = _document(whole(place.get("documentIndex")), source, title, draft)
        if kind == "documentChar":
            placed = in_source(body, place.get("start"), place.get("end"), quote)
    elif kind == "searchResultLocation":
        name = draft.passage(source or f"search_result:{place.get('searchResultIndex')}", title=title)
    elif kind == "web":
        url = text(place.get("url"))
        name = draft.passage(url, uri=url, title=title)
    elif kind:
        draft.unknown(kind, claim=claim, at=at)
        return
    else:
        name = draft.passage(source, title=title)
    draft.cite(claim=claim, quote=quote, source_id=name, at=at, source=placed.span, flags=placed.flags)


def _document(index: int | None, source: str | None, title: str | None, draft: Draft) -> tuple[str, str | None]:
    given = draft.given_at(index)
    if given is not None:
        return given[1], given[0].text
    return draft.passage(source or f"document:{index if index is not None else 'unnumbered'}", title=title), None


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Converse counts cached tokens beside ``inputTokens``; ours are all that were read."""
    cached = whole(usage.get("cacheReadInputTokens"))
    return Usage(
        input_tokens=total(whole(usage.get("inputTokens")), cached, whole(usage.get("cacheWriteInputTokens"))),
        output_tokens=whole(usage.get("outputTokens")),
        cached_input_tokens=cached,
    )
