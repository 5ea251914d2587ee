"""Perplexity: ``[n]`` markers, 1-based into the list of addresses. It gives snippets and no evidence text.

A snippet is a part of the page that a search found; what it does not say the page may still say. So it is no text to
check against: the sources come without text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.claim import marked_claims
from spancheck_pipeline.evidence.payloads.draft import Draft
from spancheck_pipeline.evidence.payloads.openai import add_chat_text, chat_message, chat_output, has_choices
from spancheck_pipeline.evidence.payloads.reading import amount, items, listed, mapping, text
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.evidence.word import Span

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)
"""What the reasoning models write before the answer, in the same text; it is no part of the answer."""


def fits(payload: Any) -> bool:
    """Say whether a payload is a Chat Completion with addresses or search results at its top."""
    body = mapping(payload)
    return has_choices(payload) and (
        isinstance(body.get("citations"), list) or isinstance(body.get("search_results"), list)
    )


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of a Chat Completion with search results."""
    body = mapping(payload)
    message = chat_message(payload)
    if isinstance(message.get("content"), str):
        message = {**message, "content": _THOUGHT.sub("", message["content"])}
    answer, at = add_chat_text(message, draft)
    cite_markers(body, answer, at, draft)
    cost = amount(mapping(mapping(body.get("usage")).get("cost")).get("total_cost"))
    return chat_output(payload, draft, cost_usd=cost)


def cite_markers(body: Mapping[str, Any], answer: str, at: Span, draft: Draft) -> None:
    """Add the citations of an answer's markers; ``body`` holds the addresses that they count."""
    names = [draft.passage(url, uri=url, title=title) for url, title in _sources(body)]
    for marked in marked_claims(answer):
        span = Span(at.start + marked.claim.start, at.start + marked.claim.end)
        for marker_id in (name for marker in marked.markers for name in marker.ids if name.isdigit()):
            place = int(marker_id)
            named = names[place - 1] if 1 <= place <= len(names) else marker_id
            draft.cite(source_id=named, at=span)


def _sources(body: Mapping[str, Any]) -> list[tuple[str | None, str | None]]:
    """Return address and title of each source, in the order that markers count."""
    results = [(text(item.get("url")), text(item.get("title"))) for item in items(body.get("search_results"))]
    cited = listed(body.get("citations"))
    titles = dict(reversed(results))
    return [(text(url), titles.get(text(url))) for url in cited] if cited else results
