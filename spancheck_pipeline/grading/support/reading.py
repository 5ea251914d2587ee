"""A text read once: its sentences as stems with what is negated, where each stem stands, its numbers, dates and names.

Each part is read when it is first asked for and kept, because a passage comes back in many cases.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from spancheck_pipeline.evidence.text import fold_text, is_no_space, remember, sentences, word_starts, word_texts
from spancheck_pipeline.grading.support.content import stems_of
from spancheck_pipeline.grading.support.dates import Dated, dates
from spancheck_pipeline.grading.support.names import initials_of, names
from spancheck_pipeline.grading.support.numbers import NumberIndex, Quantity, quantities
from spancheck_pipeline.grading.support.polarity import content_in_order, opposites_of

_CACHE_CHARS = 4_000_000


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: as written, folded, and its folded words in order."""

    original: str
    text: str
    tokens: tuple[str, ...]
    stems: frozenset[str]
    order: tuple[str, ...]
    """Content stems in order; none of scripts without spaces."""
    negated: frozenset[int]
    """Which places of ``order`` stand under a negation."""
    heads: frozenset[int]
    """Which of those the negation is surely about."""
    held: frozenset[str]
    """All stems of it: of ``stems`` and of ``order``, which has small words such as *before* as well."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as sentences, with the sentences in which each stem stands."""

    sentences: tuple[Sentence, ...]
    places: dict[str, tuple[int, ...]]
    """Stem → indexes of the sentences that hold it, in order."""
    turns: bool
    """Whether any sentence has a word under a negation."""
    opposites: frozenset[str]
    """Stems that would say the opposite of any of its own, as far as ``polarity.opposites_of`` tells."""


@remember(_CACHE_CHARS)
def read(text: str) -> Reading:
    """Return a text read into sentences and stems. Linear in the text."""
    result = tuple(_sentence(text[span.start : span.end]) for span in sentences(text))
    turns = any(sentence.negated for sentence in result)
    if len(result) == 1:
        return Reading(result, dict.fromkeys(result[0].held, (0,)), turns, opposites_of(result[0].held))
    places: dict[str, list[int]] = {}
    for index, sentence in enumerate(result):
        for stem in sentence.held:
            places.setdefault(stem, []).append(index)
    return Reading(result, {stem: tuple(found) for stem, found in places.items()}, turns, opposites_of(places))


@remember(_CACHE_CHARS)
def _sentence(original: str) -> Sentence:
    folded = fold_text(original)
    if "(" in folded:
        folded = _PARAGRAPH.sub(r"\1\2", folded)
    tokens = tuple(word_texts(folded))
    order, negated, heads = content_in_order(folded, tokens)
    stems = frozenset(stems_of(tokens))
    held = stems if stems.issuperset(order) else stems.union(order)
    return Sentence(original, folded, tokens, stems, order, negated, heads, held)


_PARAGRAPH = re.compile(r"(?<![\w.,])(\d{2,4})\(([a-z])\)(?:s(?!\w))?")
"""401(k) is written 401k as well."""


@remember(_CACHE_CHARS)
def vocabulary(text: str) -> frozenset[str]:
    """Return all folded words of a text, and the parts of joined ones."""
    found = {token for sentence in read(text).sentences for token in sentence.tokens}
    for token in tuple(found):
        if "'" in token or "." in token or "&" in token:
            found.update(part for part in token.replace("&", "'").replace(".", "'").split("'") if part)
            found.add(token.replace(".", ""))
    return frozenset(found)


@remember(_CACHE_CHARS)
def numbers_in(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text."""
    return tuple(quantity for sentence in read(text).sentences for quantity in _quantities(sentence.text))


@remember(_CACHE_CHARS)
def _quantities(folded: str) -> tuple[Quantity, ...]:
    return quantities(folded, dates(folded))


@remember(_CACHE_CHARS)
def number_index(text: str) -> NumberIndex:
    """Return the numbers of a text, ready to be looked up."""
    return NumberIndex(numbers_in(text))


@remember(_CACHE_CHARS)
def dates_in(text: str) -> tuple[Dated, ...]:
    """Return the dates of a text."""
    return tuple(dated for sentence in read(text).sentences for dated in dates(sentence.text))


@remember(_CACHE_CHARS)
def initials_in(text: str) -> frozenset[str]:
    """Return the initials of the capitalized runs of a text."""
    return frozenset(letters for sentence in read(text).sentences for letters in initials_of(sentence.original))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A claim read for what it asserts."""

    text: str
    sentences: tuple[Sentence, ...]
    stems: frozenset[str]
    """Of its content words, without those that are part of a number or date."""
    quantities: tuple[Quantity, ...]
    dates: tuple[Dated, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    """Its words in order, without those that are part of a number or date; their stems are ``word_stems`` of each."""
    places: Mapping[str, tuple[int, ...]]
    """All its stems, as of any text that is read."""
    opposites: frozenset[str]
    """Stems that would say the opposite of any of its words, as far as ``polarity.opposites_of`` tells."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to check."""
        return not (self.stems or self.quantities or self.dates)


def _lies_in(place: int, ranges: list[tuple[int, int]]) -> bool:
    """Say whether a place lies in one of some sorted ranges that do not overlap."""
    at = bisect_right(ranges, (place, sys.maxsize)) - 1
    return at >= 0 and ranges[at][1] > place


_MOST = 512
"""Different words, numbers, dates or names of a claim that are checked, the first ones; no prose claims more."""

_FRAME = re.compile(
    r"\b(?:(?:based|depending) (?:up)?on|according to|as (?:per|stated in|mentioned in|described in)|per|in|from) "
    r"(?:the |this |these |your )?(?:(?:given|provided|retrieved|available|above) )?"
    r"(?:contexts?|passages?|documents?|sources?|texts?|excerpts?|information|references?|search results)"
    r"(?: (?:given|provided|above))?\b,?",
    re.IGNORECASE,
)
"""Words that only say where an answer was read."""
_FRAMED_BY = ("context", "passage", "document", "source", "text", "excerpt", "information", "reference", "results")
"""One of these is in every such phrase."""


def _without_frame(claim: str) -> str:
    if claim.isascii():
        small = claim.lower()
        if not any(word in small for word in _FRAMED_BY):
            return claim
    return _FRAME.sub(" ", claim)


@remember(1_000_000)
def ask(claim: str) -> Asked:
    """Return a claim read for what it asserts."""
    reading = read(_without_frame(claim))
    numbers: list[Quantity] = []
    dated: list[Dated] = []
    said_words: list[str] = []
    for sentence in reading.sentences:
        when = dates(sentence.text)
        found = [item for item in quantities(sentence.text, when) if item.end and not item.is_in_name]
        said_words += _loose(sentence, found, when)
        numbers += found
        dated += when
    named = dict.fromkeys(name for sentence in reading.sentences for name in names(sentence.original))
    stems = dict.fromkeys(stems_of(said_words))
    return Asked(
        text=claim,
        sentences=reading.sentences,
        stems=frozenset(islice(stems, _MOST)),
        quantities=tuple(numbers[:_MOST]),
        dates=tuple(dated[:_MOST]),
        names=tuple(islice(named, _MOST)),
        words=tuple(said_words),
        places=reading.places,
        opposites=reading.opposites,
    )


def _loose(sentence: Sentence, found: Sequence[Quantity], when: Sequence[Dated]) -> Sequence[str]:
    """Return the words of a sentence that are no part of a number or date."""
    if not found and not when:
        return sentence.tokens
    taken = sorted([(item.start, item.end) for item in found] + [(item.start, item.end) for item in when])
    return [token for token, start in word_starts(sentence.text) if is_no_space(token[0]) or not _lies_in(start, taken)]
