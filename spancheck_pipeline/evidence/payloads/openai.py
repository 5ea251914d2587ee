"""OpenAI: Responses, Chat Completions and Assistants. No quotes; evidence text only in file search results.

Responses puts a file citation at an insertion point of the answer: its claim is the sentence before that point. The
end of a ``url_citation`` is documented as "the last character", and read half-open where it fits so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.payloads.draft import Draft, in_piece, sentence_before
from spancheck_pipeline.evidence.payloads.reading import filled, first, items, mapping, text, whole
from spancheck_pipeline.evidence.run import Output, Usage
from spancheck_pipeline.evidence.word import Span

_MARK = re.compile(
    r"!?\[[^\[\]\n]{0,500}\]\((?:[^()\s]|\([^()\s]{0,500}\)){0,2000}\)"
    r"|https?://[^\s()]{1,2000}|【[^【】\n]{1,200}】|\[\^?\d{1,3}\]"
)
"""A link, an address or a marker: what a search writes into the answer, and annotates in the claim's stead."""

# -- Responses ------------------------------------------------------------------------------------------------------


def fits_responses(payload: Any) -> bool:
    """Say whether a payload is a Responses object."""
    body = mapping(payload)
    return isinstance(body.get("output"), list) and ("object" not in body or body["object"] == "response")


def read_responses(payload: Any, draft: Draft) -> Output:
    """Return the output of a Responses object."""
    body = mapping(payload)
    refused = False
    for item in items(body.get("output")):
        if item.get("type") == "file_search_call":
            for result in items(item.get("results")):
                draft.passage(
                    text(result.get("file_id")),
                    text(result.get("text")),
                    title=text(result.get("filename")),
                    is_whole_source=True,
                )
    for item in items(body.get("output")):
        for content in items(item.get("content")) if item.get("type") == "message" else ():
            refused = refused or content.get("type") == "refusal"
            _responses_text(content, draft)
    reason = text(mapping(body.get("incomplete_details")).get("reason"))
    return draft.output(
        payload,
        usage=_usage(body.get("usage")),
        finish_reason="refusal" if refused else reason or text(body.get("status")),
        served_model=text(body.get("model")),
    )


def _responses_text(content: Mapping[str, Any], draft: Draft) -> None:
    if content.get("type") == "refusal":
        draft.add_text(text(content.get("refusal")) or "")
        return
    piece = text(content.get("text")) or ""
    at = draft.add_text(piece)
    for annotation in items(content.get("annotations")):
        cite_annotation(annotation, piece, at, draft)


def cite_annotation(annotation: Mapping[str, Any], piece: str, at: Span, draft: Draft) -> None:
    """Add one annotation of an output text, whose range in the answer is ``at``."""
    kind = annotation.get("type")
    if kind == "file_citation":
        _at_point(annotation, piece, at, draft)
    elif kind == "url_citation":
        _url(annotation, piece, at, draft)
    elif kind == "container_file_citation":
        name = draft.passage(text(annotation.get("file_id")), title=text(annotation.get("filename")))
        _in_range(annotation, name, piece, at, draft)
    elif kind != "file_path":  # a file that the system made is no citation
        draft.unknown(kind, at=at)


def _at_point(annotation: Mapping[str, Any], piece: str, at: Span, draft: Draft) -> None:
    name = draft.passage(text(annotation.get("file_id")), title=text(annotation.get("filename")))
    index = whole(annotation.get("index"))
    outside = annotation.get("index") is not None and (index is None or index > len(piece))
    span = None if index is None or outside else sentence_before(piece, index, at.start)
    draft.cite(source_id=name, at=span, flags=("offset_mismatch",) if outside else ())


def _url(annotation: Mapping[str, Any], piece: str, at: Span, draft: Draft) -> None:
    url = text(annotation.get("url"))
    _in_range(annotation, draft.passage(url, uri=url, title=text(annotation.get("title"))), piece, at, draft)


def _in_range(annotation: Mapping[str, Any], name: str, piece: str, at: Span, draft: Draft) -> None:
    """Add a citation of a range; one that holds nothing but a link or a marker is for the sentence before it."""
    placed = in_piece(piece, at, annotation.get("start_index"), annotation.get("end_index"), inclusive=None)
    span = placed.span
    if span is not None and _says_nothing(piece[span.start - at.start : span.end - at.start]):
        head = piece[max(0, span.start - at.start - 20) : span.start - at.start]
        before = span.start - at.start - (len(head) - len(head.rstrip(" \t\r\n(")))
        span = sentence_before(piece, before, at.start) or span
    draft.cite(source_id=name, at=span, flags=placed.flags)


def _says_nothing(words: str) -> bool:
    """Say whether a range holds no words but those of links and markers."""
    return not any(char.isalnum() for char in _MARK.sub("", words))


# -- Chat Completions -----------------------------------------------------------------------------------------------


def fits_chat(payload: Any) -> bool:
    """Say whether a payload is a plain Chat Completion: no search results and no retrieval context beside it."""
    body = mapping(payload)
    more = isinstance(body.get("search_results"), list) or isinstance(body.get("citations"), list)
    return has_choices(payload) and not more and "context" not in chat_message(payload)


def has_choices(payload: Any) -> bool:
    """Say whether a payload has the shape of a Chat Completion."""
    choices = mapping(payload).get("choices")
    return isinstance(choices, list) and all("message" in choice for choice in items(choices))


def chat_message(payload: Any) -> Mapping[str, Any]:
    """Return the message of the first choice."""
    choices = items(mapping(payload).get("choices"))
    return mapping(choices[0].get("message")) if choices else {}


def read_chat(payload: Any, draft: Draft) -> Output:
    """Return the output of a Chat Completion."""
    message = chat_message(payload)
    piece, at = add_chat_text(message, draft)
    for annotation in items(message.get("annotations")):
        if annotation.get("type") == "url_citation":
            _url(mapping(annotation.get("url_citation")), piece, at, draft)
        else:
            draft.unknown(annotation.get("type"), at=at)
    return chat_output(payload, draft)


def add_chat_text(message: Mapping[str, Any], draft: Draft) -> tuple[str, Span]:
    """Append a message's text, or its refusal, to the answer; return it with its range."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(text(part.get("text")) or "" for part in items(content))
    piece = filled(content) or text(message.get("refusal")) or text(content) or ""
    return piece, draft.add_text(piece)


def chat_output(payload: Any, draft: Draft, *, cost_usd: float | None = None) -> Output:
    """Return the draft with the usage, finish reason and model of a Chat Completion."""
    body = mapping(payload)
    choices = items(body.get("choices"))
    reason = text(choices[0].get("finish_reason")) if choices else None
    refused = filled(chat_message(payload).get("refusal")) is not None
    usage = _usage(body.get("usage"))
    return draft.output(
        payload,
        usage=usage if cost_usd is None else usage.model_copy(update={"cost_usd": cost_usd}),
        finish_reason="refusal" if refused else reason,
        served_model=text(body.get("model")),
    )


# -- Assistants -----------------------------------------------------------------------------------------------------


def fits_assistants(payload: Any) -> bool:
    """Say whether a payload is a thread's message, or a list of them."""
    body = mapping(payload)
    if body.get("object") == "list":
        return any(item.get("object") == "thread.message" for item in items(body.get("data")))
    first_text = [item.get("text") for item in items(body.get("content")) if item.get("type") == "text"][:1]
    return body.get("object") == "thread.message" or any("value" in mapping(item) for item in first_text)


def read_assistants(payload: Any, draft: Draft) -> Output:
    """Return the output of a thread's message; of a list, the newest one that the assistant wrote."""
    message = mapping(payload)
    if message.get("object") == "list":
        written = [item for item in items(message.get("data")) if item.get("role") == "assistant"]
        newest = [item for item in written if whole(item.get("created_at")) is not None]
        message = max(newest, key=lambda item: int(item["created_at"])) if newest else written[0] if written else {}
    for content in items(message.get("content")):
        body = mapping(content.get("text"))
        piece = text(body.get("value")) or ""
        at = draft.add_text(piece)
        for annotation in items(body.get("annotations")):
            _marked(annotation, piece, at, draft)
    reason = text(mapping(message.get("incomplete_details")).get("reason"))
    return draft.output(payload, finish_reason=reason or text(message.get("status")))


def _marked(annotation: Mapping[str, Any], piece: str, at: Span, draft: Draft) -> None:
    """Offsets are those of the marker; the claim is the sentence that the marker stands in or after."""
    kind = annotation.get("type")
    if kind == "file_path":
        return
    if kind != "file_citation":
        draft.unknown(kind, at=at)
        return
    cited = mapping(annotation.get("file_citation"))
    placed = in_piece(
        piece, at, annotation.get("start_index"), annotation.get("end_index"), text(annotation.get("text"))
    )
    span = None
    if placed.span is not None and not placed.flags:
        span = sentence_before(piece, placed.span.start - at.start, at.start)
    name = draft.passage(text(cited.get("file_id")))
    draft.cite(quote=filled(cited.get("quote")), source_id=name, at=span, flags=placed.flags)


def _usage(value: Any) -> Usage:
    usage = mapping(value)
    return Usage(
        input_tokens=whole(first(usage, "input_tokens", "prompt_tokens")),
        output_tokens=whole(first(usage, "output_tokens", "completion_tokens")),
        cached_input_tokens=whole(
            first(first(usage, "input_tokens_details", "prompt_tokens_details"), "cached_tokens")
        ),
        reasoning_tokens=whole(
            first(first(usage, "output_tokens_details", "completion_tokens_details"), "reasoning_tokens")
        ),
    )
