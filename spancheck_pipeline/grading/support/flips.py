"""Flips: places where the evidence says of the same words the opposite of the claim, by a negation or an opposite word.

Which words are negations and opposites is said in ``polarity.py``. A flip is looked for beside the same neighbours
only: the negation of another thing in the same passage contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from spancheck_pipeline.grading.support.polarity import (
    is_small_opposite,
    may_oppose,
    opposite_of,
    ordered_stems,
    turns_unspaced,
    unspaced_opposites,
)
from spancheck_pipeline.grading.support.reading import Asked, Reading, Sentence

_NEAR = 3
"""Content words to each side that are a word's neighbours."""
_SAME = 0.6
"""Smallest share of a claim's words in a sentence that may contradict it."""
_MAX_SENTENCES = 20
"""Sentences of the evidence that hold a word and are looked at."""


MOST_SENTENCES = 40
"""Sentences of a claim that are looked at; no prose claims more at once."""


class Flip(NamedTuple):
    """One flip, with the words that decide."""

    kind: str
    """``negation`` or ``opposite``."""
    claimed: str
    told: str


def flips(asked: Asked, reading: Reading) -> tuple[Flip, ...]:
    """Return the flips between a claim and a passage that holds most of its words."""
    found: list[Flip] = []
    can_oppose = may_oppose(
        asked.reading.places.keys(), reading.places.keys(), asked.reading.unprefixed, reading.unprefixed
    )
    for sentence in asked.sentences[:MOST_SENTENCES]:
        found += _negations(sentence, reading)
        if can_oppose:
            found += _opposites(sentence, reading)
    return (*found, *_unspaced(asked, reading))


def _negations(claim: Sentence, reading: Reading) -> list[Flip]:
    if not claim.turns and reading.negated.isdisjoint(claim.held):
        return []
    agreed, flipped = False, None
    order, negated = claim.order, claim.negated
    for at, stem in enumerate(order):
        here = at in negated
        if not here and stem not in reading.negated:
            continue
        near: frozenset[str] | None = None
        for index in reading.places.get(stem, ())[:_MAX_SENTENCES]:
            told = reading.sentences[index]
            if not here and not told.turns:
                continue
            near = _neighbours(order, at) if near is None else near
            for there in _places(told.order, stem):
                shared = near & _neighbours(told.order, there)
                if len(shared) < min(2, len(near)) or not _says_the_same(claim, told, stem):
                    continue
                if (there in told.negated) == here:
                    agreed = agreed or here
                    continue
                is_sure = at in claim.heads if here else there in told.heads
                if flipped is None and is_sure and _alone(stem, here, claim, reading):
                    said = _said(claim, stem, negated=here), _said(told, stem, negated=not here)
                    flipped = None if _is_noun_of(*said) else Flip("negation", *said)
    return [flipped] if flipped and not agreed else []


_NOUN = re.compile(r"(?:ments?|[ts]ions?|[ae]nces?)\Z")


def _is_noun_of(said: str, told: str) -> bool:
    """Say whether one word is a noun and the other none, so that they say different things: a payment, not to pay."""
    return (_NOUN.search(said) is None) != (_NOUN.search(told) is None)


def _says_the_same(claim: Sentence, told: Sentence, but: str) -> bool:
    """Say whether a sentence holds most of a claim's words, so that one turned word turns the claim."""
    wanted = claim.stems - {but}
    return len(wanted & told.stems) >= _SAME * len(wanted)


def _alone(stem: str, here: bool, claim: Sentence, reading: Reading) -> bool:
    """Say whether no sentence of the passage with most of the claim's words has the word as the claim has it."""
    wanted = frozenset(claim.order)
    for index in reading.places.get(stem, ())[:_MAX_SENTENCES]:
        told = reading.sentences[index]
        if len(wanted & told.stems) * 2 < len(wanted):
            continue
        if any((there in told.negated) == here for there in _places(told.order, stem)):
            return False
    return True


def _said(sentence: Sentence, stem: str, *, negated: bool = False) -> str:
    """Return the word of a sentence that a stem is of, as it is quoted in a reason."""
    word = next((token for token in sentence.tokens if stem in ordered_stems(token)), stem)
    return f"not … {word}" if negated else word


def _opposites(claim: Sentence, reading: Reading) -> list[Flip]:
    for at, stem in enumerate(claim.order):
        if stem in reading.places:
            continue
        other = opposite_of(stem, reading.places)
        if other is None:
            continue
        near = _neighbours(claim.order, at)
        for index in reading.places[other][:_MAX_SENTENCES]:
            sentence = reading.sentences[index]
            if not _says_the_same(claim, sentence, stem):
                continue
            for there in _places(sentence.order, other):
                if is_small_opposite(stem) and not _same_beside(claim.order, at, sentence.order, there):
                    continue
                if near & _neighbours(sentence.order, there) and (there in sentence.negated) == (at in claim.negated):
                    return [Flip("opposite", _said(claim, stem), _said(sentence, other))]
    return []


def _same_beside(claim: Sequence[str], at: int, told: Sequence[str], there: int) -> bool:
    """Say whether the same word follows, or goes before: *over* 5 and *below* 5, but not *over* time."""
    return claim[at + 1 : at + 2] == told[there + 1 : there + 2] or (
        at > 0 and there > 0 and claim[at - 1] == told[there - 1]
    )


def _neighbours(order: Sequence[str], at: int) -> frozenset[str]:
    return frozenset((*order[max(0, at - _NEAR) : at], *order[at + 1 : at + 1 + _NEAR]))


def _places(order: Sequence[str], stem: str) -> list[int]:
    return [index for index, other in enumerate(order) if other == stem]


def _unspaced(asked: Asked, reading: Reading) -> list[Flip]:
    """Return flips in scripts without spaces: the sentence nearest to the claim turns, and the claim does not."""
    found: list[Flip] = []
    for claim in asked.sentences[:MOST_SENTENCES]:
        if claim.text.isascii() or claim.order or not claim.stems or not reading.sentences:
            continue  # it has words with spaces between them
        told = max(reading.sentences, key=lambda sentence: len(claim.stems & sentence.stems))
        if len(claim.stems & told.stems) * 2 < len(claim.stems):
            continue
        if pair := unspaced_opposites(claim.text, told.text):
            found.append(Flip("opposite", *pair))
        elif turns_unspaced(claim.text) != turns_unspaced(told.text):
            found.append(Flip("negation", claim.text[:40], told.text[:40]))
    return found
