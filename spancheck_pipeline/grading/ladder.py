"""The ladder: how a citation's quote stands in the passages, which passage counts, and in which order grades are given.

How a quote stands in one passage lives in ``provenance.py``; whether the place carries the claim is asked in
``verified.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spancheck_pipeline.evidence.citation import Citation, source_name
from spancheck_pipeline.evidence.packet import evidence_around
from spancheck_pipeline.evidence.run import Context
from spancheck_pipeline.evidence.text import Span
from spancheck_pipeline.grading.cuts import cut_warnings
from spancheck_pipeline.grading.provenance import Match, Provenance, Quote, locate, match_at, nearest


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved passage, by what citations may call it."""

    name: str
    text: str | None
    """None where it came without text."""
    aliases: frozenset[str]
    """Its name, address and title."""

    @property
    def called(self) -> str:
        """What a reason calls it, so that a number or word is not misread."""
        return f"passage {self.name}" if self.name.isdigit() else f"source {self.name}"


@dataclass(frozen=True, slots=True)
class Place:
    """A grade with the passage that it rests on."""

    grade: Provenance
    reason: str
    passage: Passage | None = None
    match: Match | None = None


def passages_of(contexts: Sequence[Context]) -> tuple[Passage, ...]:
    """Return the retrieved passages of an output."""
    return tuple(_passage(context, index) for index, context in enumerate(contexts))


def named_by(citation: Citation, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages that a citation names."""
    # By its own name first: two passages of one address are told apart by their names.
    source = citation.source_id
    return [passage for passage in passages if passage.name == source] or [
        passage for passage in passages if source is not None and source in passage.aliases
    ]


def place_of(  # noqa: PLR0911 - one return a rung
    citation: Citation, passages: Sequence[Passage], named: Sequence[Passage], *, min_words: int
) -> Place:
    """Return the citation's grade and the passage that it rests on, in the documented order."""
    text = citation.quote if citation.quote and citation.quote.strip() else None
    source = citation.source_id
    if text is None:
        return _place_of_passage(source, passages, named)
    quote = Quote.of(text)
    if quote.is_too_short(min_words):
        return Place(Provenance.TOO_SHORT, f"The quote has fewer than {min_words} words, which prove nothing.")
    if not passages:
        return Place(Provenance.NO_EVIDENCE_TEXT, _NONE_RECORDED)
    if named and not any(passage.text for passage in named):
        return Place(Provenance.NO_EVIDENCE_TEXT, "The source that it names came without text.", named[0])
    if source is None:
        return _told(citation, _place_anywhere(quote, passages))
    if found := _best_of(quote, named):
        return _told(citation, found)
    others = [passage for passage in passages if passage not in named]
    elsewhere = _best_of(quote, others)
    if elsewhere and elsewhere.grade.is_found:
        reason = f"The quote is not in the source it names ({source}); it stands in {_name(elsewhere)}."
        return replace(elsewhere, grade=Provenance.MISATTRIBUTED, reason=reason)
    if altered := _nearest_of(quote, named):
        return altered
    if not named:
        return Place(Provenance.DANGLING, f"It names a source that was not retrieved ({source}), and stands nowhere.")
    return _nearest_of(quote, others) or Place(Provenance.FABRICATED, "The quote is in no retrieved passage.", named[0])


def evidence_text(place: Place) -> str | None:
    """Return what is read for support: the sentences around the match, or the whole passage that is cited."""
    passage, match = place.passage, place.match
    if passage is None or passage.text is None:
        return None
    if match is None or match.span is None:
        return passage.text if place.grade is Provenance.PASSAGE else None
    return evidence_around(passage.text, match.span)


def warnings_of(citation: Citation, place: Place) -> tuple[str, ...]:
    """Return what a reviewer should look at although the citation may be ok."""
    match, passage = place.match, place.passage
    warnings = list(citation.flags)
    if match is None or match.span is None or passage is None or passage.text is None:
        return tuple(warnings)
    if place.grade in {Provenance.EXACT, Provenance.TYPOGRAPHIC, Provenance.ELIDED}:
        warnings += cut_warnings(passage.text, match.span)
    if "offset_mismatch" not in warnings and _offsets_disagree(citation, passage.text, match.span):
        warnings.append("offset_mismatch")
    return tuple(warnings)


def _passage(context: Context, index: int) -> Passage:
    name = source_name(context, index)
    aliases = frozenset(filter(None, (name, context.uri, context.title)))
    return Passage(name, context.text if context.text and context.text.strip() else None, aliases)


_NONE_RECORDED = "No retrieved passage was recorded, so nobody can look."


def _place_of_passage(source: str | None, passages: Sequence[Passage], named: Sequence[Passage]) -> Place:
    if source is None:
        return Place(Provenance.TOO_SHORT, "The citation has neither a quote nor a source.")
    if not passages:
        return Place(Provenance.NO_EVIDENCE_TEXT, _NONE_RECORDED)
    if not named:
        return Place(Provenance.DANGLING, f"It names a source that was not retrieved ({source}).")
    with_text = [passage for passage in named if passage.text]
    if not with_text:
        return Place(Provenance.NO_EVIDENCE_TEXT, "The source that it names came without text.", named[0])
    cited = with_text[0]
    if len(with_text) > 1:
        # Some producers cite a file of which several passages came: any of them may carry the claim.
        cited = replace(cited, text="\n\n".join(passage.text or "" for passage in with_text))
    return Place(Provenance.PASSAGE, "It cites a retrieved passage without quoting it.", cited)


def _place_anywhere(quote: Quote, passages: Sequence[Passage]) -> Place:
    if found := _best_of(quote, passages) or _nearest_of(quote, passages):
        return found
    if any(passage.text is None for passage in passages):
        reason = "It names no source, it is in no passage with text, and at least one passage came without text."
        return Place(Provenance.NO_EVIDENCE_TEXT, reason)
    return Place(Provenance.FABRICATED, "The quote is in no retrieved passage.")


_RANK = (Provenance.EXACT, Provenance.TYPOGRAPHIC, Provenance.ELIDED, Provenance.ELLIPSIS_HIDES)


def _best_of(quote: Quote, passages: Sequence[Passage]) -> Place | None:
    """Return the best way in which the quote stands in any of the passages; the first passage of equals."""
    best: Place | None = None
    for passage in passages:
        if passage.text is None or (match := locate(quote, passage.text)) is None:
            continue
        if best is None or _RANK.index(match.grade) < _RANK.index(best.grade):
            best = Place(match.grade, _found_reason(match, passage), passage, match)
        if best.grade is Provenance.EXACT:
            break
    return best


def _found_reason(match: Match, passage: Passage) -> str:
    if match.grade is Provenance.ELLIPSIS_HIDES:
        return f"The ellipsis swallows “{match.hidden}” in {passage.called}."
    how = {
        Provenance.EXACT: "word for word",
        Provenance.TYPOGRAPHIC: "with other typography",
        Provenance.ELIDED: "with an honest ellipsis",
    }
    return f"The quote stands in {passage.called} {how[match.grade]}."


def _nearest_of(quote: Quote, passages: Sequence[Passage]) -> Place | None:
    best: Place | None = None
    for passage in passages:
        if passage.text is None or (match := nearest(quote, passage.text)) is None:
            continue
        if best is None or best.match is None or (match.similarity or 0) > (best.match.similarity or 0):
            best = Place(Provenance.ALTERED, f"Nearly in {passage.called}: {_changes(match)}.", passage, match)
    return best


def _changes(match: Match) -> str:
    """Return what differs, as a reviewer reads it."""
    said = [
        f"“{d.quoted}” stands for “{d.source}”" if d.quoted and d.source
        else f"“{d.quoted}” is added" if d.quoted
        else f"“{d.source}” is left out"
        for d in match.differences[:3]
    ]  # fmt: skip
    more = len(match.differences) - len(said)
    return "; ".join(said) + (f"; {more} more" if more > 0 else "") if said else "it starts or ends inside a word"


def _name(place: Place) -> str:
    return place.passage.called if place.passage else "no passage"


def _told(citation: Citation, place: Place) -> Place:
    """Return a place where the producer's offsets say, if the quote stands there as well: it may stand there twice."""
    start, end = citation.source_start, citation.source_end
    match, passage = place.match, place.passage
    if start is None or end is None or match is None or passage is None or place.grade not in _WHOLE:
        return place
    text = passage.text or ""
    told = match_at(Quote.of(citation.quote or ""), text, Span(start, end))
    return replace(place, match=told) if told and told.grade is place.grade else place


_WHOLE = (Provenance.EXACT, Provenance.TYPOGRAPHIC)


def _offsets_disagree(citation: Citation, text: str, found: Span) -> bool:
    """Say whether the producer's offsets hold other words than the quote, apart from marks and a stop around it."""
    start, end = citation.source_start, citation.source_end
    if start is None or end is None or not citation.quote or (start, end) == found:
        return False
    return Quote.of(text[start:end]).bare != Quote.of(citation.quote).bare
