"""A text read once: its sentences as stems with what is negated, where each stem stands, its numbers, dates and names.

Each part is read when it is first asked for and kept, because a passage comes back in many cases.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice

from spancheck_pipeline.evidence.text import fold, is_no_space, remember, sentences, word_starts
from spancheck_pipeline.grading.support.content import stems_of
from spancheck_pipeline.grading.support.dates import Dated, dates
from spancheck_pipeline.grading.support.names import initials_of, names
from spancheck_pipeline.grading.support.numbers import NumberIndex, Quantity, quantities
from spancheck_pipeline.grading.support.polarity import content_in_order

_CACHE_CHARS = 4_000_000


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: as written, folded, and its folded words in order with where each starts in the folded text."""

    original: str
    text: str
    tokens: tuple[tuple[str, int], ...]
    stems: frozenset[str]
    order: tuple[str, ...]
    """Content stems in order; none of scripts without spaces."""
    negated: frozenset[int]
    """Which places of ``order`` stand under a negation."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as sentences, with the sentences in which each stem stands."""

    sentences: tuple[Sentence, ...]
    places: dict[str, tuple[int, ...]]
    """Stem → indexes of the sentences that hold it, in order."""


@remember(_CACHE_CHARS)
def read(text: str) -> Reading:
    """Return a text read into sentences and stems. Linear in the text."""
    result: list[Sentence] = []
    places: dict[str, list[int]] = {}
    for index, span in enumerate(sentences(text)):
        original = text[span.start : span.end]
        folded = fold(original).text
        tokens = tuple(word_starts(folded))
        stems = frozenset(stems_of(token for token, _ in tokens))
        order, negated = content_in_order(folded, tokens)
        result.append(Sentence(original, folded, tokens, stems, order, negated))
        for stem in stems.union(order):
            places.setdefault(stem, []).append(index)
    return Reading(tuple(result), {stem: tuple(found) for stem, found in places.items()})


@remember(_CACHE_CHARS)
def vocabulary(text: str) -> frozenset[str]:
    """Return all folded words of a text, and the parts of joined ones."""
    found = {token for sentence in read(text).sentences for token, _ in sentence.tokens}
    for token in tuple(found):
        if "'" in token or "." in token or "&" in token:
            found.update(part for part in token.replace("&", "'").replace(".", "'").split("'") if part)
    return frozenset(found)


@remember(_CACHE_CHARS)
def numbers_in(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text."""
    return tuple(quantity for sentence in read(text).sentences for quantity in quantities(sentence.text))


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
    words: tuple[tuple[str, tuple[str, ...]], ...]
    """Its content words in order, each with its stems."""

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


@remember(1_000_000)
def ask(claim: str) -> Asked:
    """Return a claim read for what it asserts."""
    reading = read(_FRAME.sub(" ", claim))
    numbers: list[Quantity] = []
    dated: list[Dated] = []
    said_words: list[tuple[str, tuple[str, ...]]] = []
    for sentence in reading.sentences:
        found, when = quantities(sentence.text), dates(sentence.text)
        taken = sorted(
            [(item.start, item.end) for item in found if item.end] + [(item.start, item.end) for item in when]
        )
        loose = [token for token, start in sentence.tokens if is_no_space(token[0]) or not _lies_in(start, taken)]
        said_words += [(token, its) for token in loose if (its := tuple(stems_of((token,))))]
        numbers += [item for item in found if item.end]
        dated += when
    named = dict.fromkeys(name for sentence in reading.sentences for name in names(sentence.original))
    stems = dict.fromkeys(stem for _, found_stems in said_words for stem in found_stems)
    return Asked(
        text=claim,
        sentences=reading.sentences,
        stems=frozenset(islice(stems, _MOST)),
        quantities=tuple(numbers[:_MOST]),
        dates=tuple(dated[:_MOST]),
        names=tuple(islice(named, _MOST)),
        words=tuple(said_words),
    )
