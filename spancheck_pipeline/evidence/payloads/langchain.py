"""LangChain: messages whose content blocks have annotations, and the results of graphs and retrieval chains.

Offsets are into the block, half-open. Citations that an integration hands on in the form of Anthropic, OpenAI, Gemini,
Cohere or Perplexity are read as theirs. A graph's state holds all messages: what follows the last question is its turn.
A chain's result holds the documents that it retrieved and no citations: its inline markers are read by the grader, as
those of any answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.payloads.anthropic import cite_block
from spancheck_pipeline.evidence.payloads.cohere import cite_texts
from spancheck_pipeline.evidence.payloads.draft import Draft, in_piece
from spancheck_pipeline.evidence.payloads.gemini import cite_grounding
from spancheck_pipeline.evidence.payloads.openai import cite_annotation
from spancheck_pipeline.evidence.payloads.perplexity import cite_markers
from spancheck_pipeline.evidence.payloads.reading import filled, first, items, listed, mapping, text, whole
from spancheck_pipeline.evidence.run import Output, Usage
from spancheck_pipeline.evidence.word import Span

_TYPES = {"ai", "AIMessage", "AIMessageChunk"}
_ANNOTATIONS = {"citation", "non_standard_annotation"}
_QUESTIONS = {"human", "HumanMessage", "HumanMessageChunk"}
_ANSWERS = ("answer", "result", "output_text")
_DOCUMENTS = ("context", "source_documents", "input_documents")


def fits(payload: Any) -> bool:
    """Say whether a payload is an AI message, its serialized form, a list of its blocks, or a result that holds one."""
    if isinstance(payload, list):
        found = [note for block in items(payload) for note in items(block.get("annotations"))]
        return any(text(note.get("type")) in _ANNOTATIONS for note in found)
    return _is_message(payload) or fits_chain(payload) or bool(_turn(payload))


def fits_chain(payload: Any) -> bool:
    """Say whether a payload is a retrieval chain's result: an answer, and documents as LangChain has them.

    The answer may have the name that it has in canonical form; there the passages are ``contexts``.
    """
    body = mapping(payload)
    if first(body, *_ANSWERS) is None or "contexts" in body:
        return False
    documents = listed(first(body, *_DOCUMENTS))
    # The object of the library's own class is told without turning it into plain values.
    return any(
        "page_content" in item if isinstance(item, Mapping) else hasattr(item, "page_content") for item in documents
    ) or (isinstance(body.get("source_documents"), list) and not documents)


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of an AI message, or of a chain's result."""
    if not fits_chain(payload):
        turn = _turn(payload)
        return _read_turn(payload, turn, draft) if turn else draft.output(payload, **_read_message(payload, draft))
    body = mapping(payload)
    _add_documents(first(body, *_DOCUMENTS), draft)
    answer = first(body, *_ANSWERS)
    if _is_message(answer):
        return draft.output(payload, **_read_message(answer, draft))
    draft.add_text(text(answer) or "")
    return draft.output(payload)


def _add_documents(documents: Any, draft: Draft) -> None:
    for document in items(documents):
        if "page_content" not in document:
            continue
        about = mapping(document.get("metadata"))
        source = text(first(about, "source", "url", "file_path")) or text(document.get("id"))
        title = text(about.get("title"))
        draft.passage(source, text(document.get("page_content")), uri=text(first(about, "source", "url")), title=title)


def _turn(payload: Any) -> list[Mapping[str, Any]]:
    """Return the messages of a graph's state that follow the last question; empty where the last one is no answer."""
    messages = items(mapping(payload).get("messages"))
    if not messages or not _is_message(messages[-1]):
        return []
    asked = [at for at, message in enumerate(messages) if _message(message).get("type") in _QUESTIONS]
    return messages[asked[-1] + 1 :] if asked else messages[-1:]


def _read_turn(payload: Any, turn: list[Mapping[str, Any]], draft: Draft) -> Output:
    """Return the output of a turn: its last message, the documents that its tools returned, the tokens of all calls."""
    for message in turn:
        _add_documents(_message(message).get("artifact"), draft)
    said = _read_message(turn[-1], draft)
    usages = [_usage(mapping(_message(message).get("usage_metadata"))) for message in turn if _is_message(message)]
    return draft.output(payload, **{**said, "usage": _sum(usages)})


def _sum(usages: list[Usage]) -> Usage:
    """Return the tokens of several calls; of a kind that one of them does not report, None."""
    fields: dict[str, int | None] = {}
    for name in ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"):
        counts = [getattr(usage, name) for usage in usages]
        fields[name] = None if None in counts else sum(counts)
    return Usage(**fields)


def _is_message(payload: Any) -> bool:
    body = _message(payload)
    return text(body.get("type")) in _TYPES and "content" in body


def _read_message(payload: Any, draft: Draft) -> dict[str, Any]:
    """Add a message's text and citations, and return what else it says."""
    body = _message(payload)
    content = payload if isinstance(payload, list) else first(body, "content_blocks", "content")
    pieces: dict[int, tuple[str, Span]] = {}
    handed_on = False
    for index, block in enumerate([content] if isinstance(content, str) else listed(content)):
        fields = {"type": "text", "text": block} if isinstance(block, str) else mapping(block)
        if fields.get("type") != "text":
            continue
        piece = text(fields.get("text")) or ""
        at = draft.add_text(piece)
        pieces[index] = (piece, at)
        for annotation in items(fields.get("annotations")):
            handed_on = True
            _cite(annotation, piece, at, draft)
        # Blocks that the integration hands on as the provider made them.
        for citation in items(fields.get("citations")):
            handed_on = True
            cite_block(citation, piece, at, draft)
    about = mapping(body.get("response_metadata"))
    if not handed_on:
        _cite_beside({**mapping(body.get("additional_kwargs")), **about}, pieces, draft)
    return {
        "usage": _usage(mapping(body.get("usage_metadata"))),
        "finish_reason": text(first(about, "finish_reason", "stop_reason", "done_reason")),
        "served_model": text(first(about, "model_name", "model")),
    }


def _message(payload: Any) -> Mapping[str, Any]:
    """Return the message's fields; a serialized one keeps them under ``kwargs``."""
    body = mapping(payload)
    if body.get("type") != "constructor":
        return body
    name = (listed(body.get("id")) or ["AIMessage"])[-1]
    return {"type": name, **mapping(body.get("kwargs"))}


def _cite(annotation: Mapping[str, Any], piece: str, at: Span, draft: Draft) -> None:
    if annotation.get("type") != "citation":
        cite_annotation(annotation, piece, at, draft)
        return
    placed = in_piece(piece, at, annotation.get("start_index"), annotation.get("end_index"))
    url, title = text(annotation.get("url")), text(annotation.get("title"))
    name = draft.passage(url or title or text(annotation.get("id")), uri=url, title=title)
    # Without offsets the claim is the block, as with the producers that LangChain reads.
    claim_at = at if placed.span is None and not placed.flags else placed.span
    draft.cite(quote=filled(annotation.get("cited_text")), source_id=name, at=claim_at, flags=placed.flags)


def _cite_beside(about: Mapping[str, Any], pieces: Mapping[int, tuple[str, Span]], draft: Draft) -> None:
    """Add the citations that an integration leaves beside the content, in the form of the provider that made them."""
    grounding = mapping(first(about, "grounding_metadata", "groundingMetadata"))
    if grounding:
        cite_grounding(grounding, pieces, draft)
    elif items(about.get("citations")):
        cite_texts(about["citations"], pieces, draft, about.get("documents"))
    elif pieces and (listed(about.get("citations")) or listed(about.get("search_results"))):
        cite_markers(about, *pieces[min(pieces)], draft)


def _usage(usage: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=whole(usage.get("input_tokens")),
        output_tokens=whole(usage.get("output_tokens")),
        cached_input_tokens=whole(mapping(usage.get("input_token_details")).get("cache_read")),
        reasoning_tokens=whole(mapping(usage.get("output_token_details")).get("reasoning")),
    )
