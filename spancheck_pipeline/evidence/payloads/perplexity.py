"""Perplexity: ``[n]`` markers, 1-based into the list of addresses. It gives snippets and no evidence text.

A snippet is a part of the page that a search found; what it does not say the page may still say. So it is no text to
check against: the sources come without text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.claim import marked_claims
from spancheck_pipeline.evidence.payloads.draft import Draft
from spancheck_pipeline.evidence.payloads.openai import add_chat_text, chat_message, chat_output, has_choices
from spancheck_pipeline.evidence.payloads.reading import amount, items, mapping, text
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.evidence.word import Span


def fits(payload: Any) -> bool:
    """Say whether a payload is a Chat Completion with addresses or search results at its top."""
    body = mapping(payload)
    return has_choices(payload) and (
        isinstance(body.get("citations"), list) or isinstance(body.get("search_results"), list)
    )


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of a Chat Completion with search results."""
    body = mapping(payload)
    answer, at = add_chat_text(chat_message(payload), draft)
    names = [draft.passage(url, uri=url, title=title) for url, title in _sources(body)]
    for marked in marked_claims(answer):
        span = Span(at.start + marked.claim.start, at.start + marked.claim.end)
        for marker_id in (name for marker in marked.markers for name in marker.ids if name.isdigit()):
            place = int(marker_id)
            named = names[place - 1] if 1 <= place <= len(names) else marker_id
            draft.cite(source_id=named, at=span)
    cost = amount(mapping(mapping(body.get("usage")).get("cost")).get("total_cost"))
    return chat_output(payload, draft, cost_usd=cost)


def _sources(body: Mapping[str, Any]) -> list[tuple[str | None, str | None]]:
    """Return address and title of each source, in the order that markers count."""
    results = {text(item.get("url")): text(item.get("title")) for item in items(body.get("search_results"))}
    cited = body.get("citations")
    urls = [text(url) for url in cited] if isinstance(cited, list) and cited else list(results)
    return [(url, results.get(url)) for url in urls]
