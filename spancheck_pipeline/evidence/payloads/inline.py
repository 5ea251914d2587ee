"""Inline markers of an answer as citations: ``[1]``, ``[doc1]``, ``【4:0†file】``, ``¹`` and the other styles.

How a marker is read in a text, and where it is none, lives in ``evidence/citation.py``; the words that it is for in
``evidence/claim.py``. This module ties its id to a passage, 1-based or 0-based as declared, or to the answer's legend.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from spancheck_pipeline.evidence.citation import Marker, markers, names_of, resolve_marker, source_name
from spancheck_pipeline.evidence.claim import marked_claims
from spancheck_pipeline.evidence.legend import Legend, legend_of
from spancheck_pipeline.evidence.payloads.draft import Draft
from spancheck_pipeline.evidence.payloads.reading import PayloadError, mapping
from spancheck_pipeline.evidence.run import Context, Output, normalize
from spancheck_pipeline.evidence.word import Span

_URL = re.compile(r"https?://[^\s<>\[\]()\"]{1,2000}")
_ROUND = re.compile(r"(?<=[\w.,;:!?'\"”’)])[ ]?\((?P<ids>\d{1,3}(?:[ ]?,[ ]?\d{1,3}){0,10})\)")
Resolve = Callable[[str], str | None]


def read(payload: Any, contexts: Sequence[Context] = (), *, base: int = 1) -> Output:
    """Return an output in canonical form (a text, or a mapping with ``answer``) with its markers as citations.

    Citations that the output itself states are kept, and the markers are then not read.
    """
    if isinstance(payload, dict) and not ("answer" in payload or "text" in payload):
        raise PayloadError("markers are read in a text, or in an object with 'answer' and 'contexts'")
    output = normalize(payload)
    if contexts and not output.contexts:
        output = output.model_copy(update={"contexts": tuple(contexts)})
    if output.citations or mapping(payload).get("citations"):
        return output
    return with_markers(output, base=base)


def with_markers(output: Output, *, base: int = 1) -> Output:
    """Return an output with a citation per marker and id. An id that names no passage stays as written, and dangles.

    Brackets count as markers where at least one of the answer names a passage: an answer with a lone ``[3]`` of two
    passages may speak of an array. Without passages the entries of the answer's legend are the passages; or else every
    number is one that was not captured, where the first is among them or there are two. Such passages have no text.
    """
    legend = legend_of(output.answer)
    draft = Draft(output.contexts)
    marked = [
        (name, span)
        for marker, span in _marked(output, legend)
        if legend is None or marker.start < legend.start
        for name in marker.ids
    ]
    resolve = _resolver(output.contexts, legend, draft, base=base)
    numbers = {_number(name) for name, _ in marked} - {None}
    if not output.contexts and legend is None and (base in numbers or len(numbers) > 1):
        resolve = _uncaptured(draft)
    found = [(name, resolve(name), span) for name, span in marked]
    if not any(resolved for _, resolved, _ in found):
        return output
    for name, resolved, span in found:
        draft.cite(source_id=resolved or name, at=span)
    done = draft.output(None)
    return output.model_copy(update={"citations": done.citations, "contexts": done.contexts})


def _resolver(contexts: Sequence[Context], legend: Legend | None, draft: Draft, *, base: int) -> Resolve:
    names = [source_name(context, index) for index, context in enumerate(contexts)]
    stated = {name for context in contexts for name in (context.source_id, context.uri, context.title) if name}

    def resolve(marker_id: str) -> str | None:
        number = _number(marker_id)
        if contexts and (base == 1 or number is None or marker_id in stated):
            return resolve_marker(marker_id, contexts)
        if contexts and number is not None:
            return names[number] if number < len(names) else None
        if legend is not None and number is not None and (entry := legend.entries.get(str(number))):
            url = _URL.search(entry)
            return draft.passage(str(number), uri=url.group().rstrip(".,;") if url else None, title=entry[:200])
        return None

    return resolve


def _uncaptured(draft: Draft) -> Resolve:
    """Resolve numbers to passages of which nothing is known, so that what they carry is unmeasured and not missing."""

    def resolve(marker_id: str) -> str | None:
        number = _number(marker_id)
        return None if number is None else draft.passage(str(number))

    return resolve


def _number(marker_id: str) -> int | None:
    found = re.fullmatch(r"\^?(?:[A-Za-z]{2,12}[ _-]?)?(\d{1,4})", marker_id)
    return int(found[1]) if found else None


def _marked(output: Output, legend: Legend | None) -> list[tuple[Marker, Span]]:
    """Return each marker with the words that it is for; ``(1)`` too, where a legend says what it is."""
    answer = output.answer
    known = names_of(output.contexts)
    found = [(marker, marked.claim) for marked in marked_claims(answer, known) for marker in marked.markers]
    if legend is None or markers(answer[: legend.start]):
        return found
    # The answer has no other markers: its round ones are written as square ones, which keeps every place.
    squared = _ROUND.sub(lambda m: m.group().replace("(", "[").replace(")", "]"), answer[: legend.start])
    return [(marker, marked.claim) for marked in marked_claims(squared) for marker in marked.markers]
