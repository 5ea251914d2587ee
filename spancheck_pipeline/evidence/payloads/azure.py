"""Azure OpenAI On Your Data: ``[docN]`` markers, 1-based into ``message.context.citations`` with the chunks' text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.claim import marked_claims
from spancheck_pipeline.evidence.payloads.draft import Draft
from spancheck_pipeline.evidence.payloads.openai import add_chat_text, chat_message, chat_output, has_choices
from spancheck_pipeline.evidence.payloads.reading import PayloadError, filled, items, mapping, text
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.evidence.word import Span

_DOC = re.compile(r"doc(\d{1,3})")


def fits(payload: Any) -> bool:
    """Say whether a payload is a Chat Completion with a retrieval context."""
    return has_choices(payload) and "context" in chat_message(payload)


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of a Chat Completion with a retrieval context."""
    message = chat_message(payload)
    context = _context(message.get("context"))
    answer, at = add_chat_text(message, draft)
    names = [_passage(item, draft) for item in items(context.get("citations"))]
    for item in items(context.get("all_retrieved_documents")):
        _passage(item, draft)
    for marked in marked_claims(answer):
        span = Span(at.start + marked.claim.start, at.start + marked.claim.end)
        for marker_id in (name for marker in marked.markers for name in marker.ids):
            number = _DOC.fullmatch(marker_id)
            if number is not None:
                place = int(number[1])
                named = names[place - 1] if 1 <= place <= len(names) else marker_id
                draft.cite(source_id=named, at=span)
    return chat_output(payload, draft)


def _context(value: Any) -> Mapping[str, Any]:
    """Return the context, which also arrives as a JSON text, or as the JSON text of a tool's message."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise PayloadError("message.context is a text that is not JSON") from None
    context = mapping(value)
    for message in items(context.get("messages")):
        if message.get("role") == "tool" and isinstance(message.get("content"), str):
            return _context(message["content"])
    return context


def _passage(item: Mapping[str, Any], draft: Draft) -> str:
    """Return a chunk's name: its file, and the chunk's number where the producer gives one."""
    source = text(item.get("filepath")) or text(item.get("url")) or text(item.get("title"))
    return draft.passage(source, filled(item.get("content")), uri=text(item.get("url")), title=text(item.get("title")))
