"""LlamaIndex: chat messages with citation blocks, and query responses with ``[n]`` into ``source_nodes``.

A citation block follows the text block that it is for; its offsets are of the source. Nodes of ``CitationQueryEngine``
begin with a line ``Source n:``, which is the engine's own and no part of the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from spancheck_pipeline.evidence.claim import marked_claims
from spancheck_pipeline.evidence.payloads.draft import Draft, in_source
from spancheck_pipeline.evidence.payloads.reading import filled, first, items, mapping, text
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.evidence.word import Span

_HEAD = re.compile(r"\ASource \d{1,4}:\n")


def fits(payload: Any) -> bool:
    """Say whether a payload is a query response, a chat response or a chat message."""
    body = mapping(payload)
    return ("source_nodes" in body and "response" in body) or isinstance(_message(body).get("blocks"), list)


def read(payload: Any, draft: Draft) -> Output:
    """Return the output of a query response, a chat response or a chat message."""
    body = mapping(payload)
    if "source_nodes" in body:
        _query(body, draft)
    else:
        _blocks(_message(body), draft)
    return draft.output(payload)


def _message(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(body.get("message")) or body


def _query(body: Mapping[str, Any], draft: Draft) -> None:
    answer = text(body.get("response")) or ""
    at = draft.add_text(answer)
    names = [_node(mapping(first(item, "node") or item), draft) for item in items(body.get("source_nodes"))]
    for marked in marked_claims(answer):
        span = Span(at.start + marked.claim.start, at.start + marked.claim.end)
        for marker_id in (name for marker in marked.markers for name in marker.ids if name.isdigit()):
            place = int(marker_id)
            named = names[place - 1] if 1 <= place <= len(names) else marker_id
            draft.cite(source_id=named, at=span)


def _node(node: Mapping[str, Any], draft: Draft) -> str:
    about = mapping(first(node, "metadata", "extra_info"))
    body = first(node, "text") or mapping(node.get("text_resource")).get("text")
    return draft.passage(
        text(first(node, "id_", "node_id")),
        _HEAD.sub("", body) if isinstance(body, str) else None,
        uri=text(first(about, "url", "file_path")),
        title=text(first(about, "title", "file_name")),
    )


def _blocks(message: Mapping[str, Any], draft: Draft) -> None:
    claim, at = "", Span(0, 0)
    for block in items(message.get("blocks")):
        kind = block.get("block_type")
        if kind == "text":
            claim = text(block.get("text")) or ""
            at = draft.add_text(claim)
        elif kind == "citation":
            _cite(block, claim, at, draft)


def _cite(block: Mapping[str, Any], claim: str, at: Span, draft: Draft) -> None:
    quote = filled(mapping(block.get("cited_content")).get("text"))
    name = draft.passage(text(block.get("source")), title=text(block.get("title")))
    about = mapping(block.get("additional_location_info"))
    placed = in_source(draft.text_of(name), about.get("start_char_index"), about.get("end_char_index"), quote)
    draft.cite(
        claim=filled(claim),
        quote=quote,
        source_id=name,
        at=at if claim else None,
        source=placed.span,
        flags=placed.flags,
    )
