"""A text read once: its sentences as stems with what is negated, where each stem stands, its numbers, dates and names.

Each part is read when it is first asked for and kept, because a passage comes back in many cases.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice

from spancheck_pipeline.evidence.text import fold_text, is_no_space, remember, sentences, word_starts, word_texts
from spancheck_pipeline.grading.support.content import stems_of, word_stems
from spancheck_pipeline.grading.support.dates import Dated, dates
from spancheck_pipeline.grading.support.names import initials_of, names
from spancheck_pipeline.grading.support.number_index import NumberIndex
from spancheck_pipeline.grading.support.numbers import Quantity, quantities
from spancheck_pipeline.grading.support.polarity import (
    content_in_order,
    may_turn,
    small_opposites,
    unprefixed,
)
from spancheck_pipeline.grading.support.quantifiers import Quantified, quantified
from spancheck_pipeline.grading.support.scope import InOrder

_CACHE_CHARS = 4_000_000


@dataclass(frozen=True)
class Sentence:
    """One sentence: as written, folded, and its folded words in order."""

    original: str
    text: str
    tokens: tuple[str, ...]
    stems: frozenset[str]
    held: frozenset[str]
    """All stems of it: of ``stems``, and of small words with an opposite, such as *before*, as ``order`` has them."""

    @cached_property
    def turns(self) -> bool:
        """Whether any word stands under a negation, which of most sentences is told without reading their order."""
        return may_turn(self.text, self.tokens) and bool(self._in_order.negated)

    @property
    def order(self) -> tuple[str, ...]:
        """Content stems in order; none of scripts without spaces."""
        return self._in_order.stems

    @property
    def negated(self) -> frozenset[int]:
        """Which places of ``order`` stand under a negation."""
        return self._in_order.negated if self.turns else frozenset()

    @property
    def heads(self) -> frozenset[int]:
        """Which of those the negation is surely about."""
        return self._in_order.heads

    @cached_property
    def amounts(self) -> tuple[Quantified, ...]:
        """Its quantifiers: all members, some of the tests."""
        return quantified(self.tokens, word_stems)

    @property
    def apart(self) -> frozenset[int]:
        """Which of those stand apart from the words around them."""
        return self._in_order.apart

    @cached_property
    def _in_order(self) -> InOrder:
        return content_in_order(self.text, self.tokens)


@dataclass(frozen=True)
class Reading:
    """A text as sentences, with the sentences in which each stem stands."""

    sentences: tuple[Sentence, ...]
    places: Mapping[str, Sequence[int]]
    """Stem → indexes of the sentences that hold it, in order."""

    @cached_property
    def negated(self) -> frozenset[str]:
        """The stems that stand under a negation in any sentence."""
        turning = [sentence for sentence in self.sentences if sentence.turns]
        return frozenset(sentence.order[at] for sentence in turning for at in sentence.negated)

    @cached_property
    def unprefixed(self) -> frozenset[str]:
        """What is left of its stems without a prefix that turns them (*un*paid), as far as that can be a word."""
        return unprefixed(self.places)


@remember(_CACHE_CHARS)
def read(text: str) -> Reading:
    """Return a text read into sentences and stems. Linear in the text."""
    result = tuple([_sentence(text[start:end]) for start, end in sentences(text)])
    if len(result) == 1:
        return Reading(result, dict.fromkeys(result[0].held, (0,)))
    places: dict[str, list[int]] = {}
    for index, sentence in enumerate(result):
        for stem in sentence.held:
            places.setdefault(stem, []).append(index)
    return Reading(result, places)


@remember(_CACHE_CHARS)
def _sentence(original: str) -> Sentence:
    folded = fold_text(original)
    if "(" in folded:
        folded = _PARAGRAPH.sub(r"\1\2", folded)
    tokens = tuple(word_texts(folded))
    stems = frozenset(stems_of(tokens))
    small = small_opposites(folded, tokens)
    return Sentence(original, folded, tokens, stems, stems | small if small else stems)


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


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A claim read for what it asserts."""

    text: str
    reading: Reading
    stems: frozenset[str]
    """Of its content words, without those that are part of a number or date."""
    quantities: tuple[Quantity, ...]
    dates: tuple[Dated, ...]
    words: Sequence[str]
    """Its words in order, without those that are part of a number or date; their stems are ``word_stems`` of each."""

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """Its sentences, as of any text that is read."""
        return self.reading.sentences

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that it uses, folded, in order of first mention."""
        named = dict.fromkeys(name for sentence in self.sentences for name in names(sentence.original))
        return tuple(islice(named, _MOST))

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


_REPLIES = re.compile(
    r"\s*(?:(?:yes|yeah|yep|correct|indeed|certainly|exactly|ja|oui|sí|sì|si|sim|tak|да|はい|是的|네)\s*[,.!:;–—、，。]+|"
    r"(?:no|nein|non|nee|não|nie|нет)\s*,|"
    r"according to (?:it|this|that|them|these)\s*,|(?:it|this|that) (?:says|states) that(?!\w))\s*(?=\S)",
    re.IGNORECASE,
)
"""What a claim may open with that only replies or points: *Yes, dogs are allowed* says what *Dogs are allowed* says."""


def _without_frame(claim: str) -> str:
    if reply := _REPLIES.match(claim):
        claim = claim[reply.end() :]
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
    said: list[Sequence[str]] = []
    for sentence in reading.sentences:
        when = dates(sentence.text)
        found = [item for item in quantities(sentence.text, when) if item.end and not item.is_in_name]
        said.append(_loose(sentence, found, when))
        numbers += found
        dated += when
    words = said[0] if len(said) == 1 else tuple(chain.from_iterable(said))
    return Asked(
        text=claim,
        reading=reading,
        stems=_stems_of_all(words, reading.sentences),
        quantities=tuple(numbers[:_MOST]),
        dates=tuple(dated[:_MOST]),
        words=words,
    )


def _stems_of_all(words: Sequence[str], told: Sequence[Sentence]) -> frozenset[str]:
    if len(told) == 1 and words is told[0].tokens and len(words) <= _MOST:
        return told[0].stems
    return frozenset(islice(dict.fromkeys(stems_of(words)), _MOST))


def _loose(sentence: Sentence, found: Sequence[Quantity], when: Sequence[Dated]) -> Sequence[str]:
    """Return the words of a sentence that are no part of a number or date."""
    if not found and not when:
        return sentence.tokens
    taken = sorted([(item.start, item.end) for item in found] + [(item.start, item.end) for item in when])
    return [token for token, start in word_starts(sentence.text) if is_no_space(token[0]) or not _lies_in(start, taken)]
