"""Flips: places where the evidence says of the same words the opposite of the claim, by a negation or an opposite word.

Which words are negations and opposites is said in ``polarity.py``; another amount, or the roles exchanged, is read in
``swaps.py``. A flip is looked for beside the same neighbours
only: the negation of another thing in the same passage contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from spancheck_pipeline.grading.support.content import is_negation, stems_of
from spancheck_pipeline.grading.support.content import stem as stem_of
from spancheck_pipeline.grading.support.lexicon import word_set
from spancheck_pipeline.grading.support.numbers import may_count
from spancheck_pipeline.grading.support.polarity import (
    ORDINALS,
    is_small_opposite,
    may_oppose,
    opposite_of,
    ordered_stems,
    turns_unspaced,
    unspaced_opposites,
)
from spancheck_pipeline.grading.support.reading import Asked, Reading, Sentence
from spancheck_pipeline.grading.support.swaps import MOST_PLACES, SAME, Flip, said_as, swaps

_NEAR = 3
"""Content words to each side that are a word's neighbours."""
LEAST_SAME = 0.5
"""Smallest share that is asked for anywhere here, of all but two of a claim's words."""
MOST_SENTENCES = 40
"""Sentences of a claim that are looked at; no prose claims more at once."""


class Turned(NamedTuple):
    """What a passage says of a claim's words otherwise, or otherwise said."""

    flips: tuple[Flip, ...]
    n_told: int
    """Words of the claim that it tells by denying their opposite: not optional, mandatory."""


def turned(asked: Asked, reading: Reading) -> Turned:
    """Return the flips between a claim and a passage that holds most of its words."""
    found: list[Flip] = []
    n_told, is_opposable = 0, None
    for sentence in asked.sentences[:MOST_SENTENCES]:
        n_here = sum(map(reading.places.__contains__, sentence.stems))
        if n_here < LEAST_SAME * (len(sentence.stems) - 2):
            continue
        found += _negations(sentence, reading)
        if is_opposable is None:
            is_opposable = _can_oppose(asked, reading)
        if is_opposable:
            opposite, n_opposites = _opposites(sentence, reading)
            found += opposite
            n_told += n_opposites
        if n_here >= SAME * (len(sentence.stems) - len(sentence.amounts)):
            found += swaps(sentence, asked.names, reading)
    return Turned((*found, *_unspaced(asked, reading)), n_told)


def _can_oppose(asked: Asked, reading: Reading) -> bool:
    """Say whether any word of a claim may have its opposite in a passage; of most it is told at once that not."""
    return may_oppose(asked.reading.places.keys(), reading.places.keys(), asked.reading.unprefixed, reading.unprefixed)


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
        for index in reading.places.get(stem, ())[:MOST_PLACES]:
            told = reading.sentences[index]
            if not here and not told.turns:
                continue
            near = _neighbours(order, at) if near is None else near
            for there in _places(told.order, stem):
                is_apart = at in claim.apart or there in told.apart or claim.stems <= told.stems
                shared = near & (told.stems if is_apart else _neighbours(told.order, there))
                if len(shared) < min(2, len(near)) or not _says_the_same(claim, told, stem):
                    continue
                if (there in told.negated) == here:
                    agreed = agreed or here
                    continue
                is_sure = _is_sure(claim, at, told, there)
                if flipped is None and is_sure and _alone(stem, here, claim, reading):
                    said = said_as(claim, stem, negated=here), said_as(told, stem, negated=not here)
                    flipped = None if _is_noun_of(*said) else Flip("negation", *said)
    return [flipped] if flipped and not agreed else []


def _is_sure(claim: Sentence, at: int, told: Sentence, there: int) -> bool:
    """Say whether the one of two places that is negated surely is, and not just until or unless something is so."""
    if there in told.apart and claim.turns:
        return False  # on public holidays it is not closed: closed, except on public holidays
    if at in claim.negated:
        return at in claim.heads and not _meets_condition(claim, told)
    return there in told.heads and not _meets_condition(told, claim)


_CONDITION = word_set("conditions")
_LONGEST_CONDITION = 3
"""Content words of a condition that are looked at."""


def _meets_condition(denying: Sentence, other: Sentence) -> bool:
    """Say whether one sentence says when what the other denies does hold: not until June, and starts in June."""
    if _CONDITION.isdisjoint(denying.tokens) or not _CONDITION.isdisjoint(other.tokens):
        return False
    begins = next(index for index, token in enumerate(denying.tokens) if token in _CONDITION)
    if not any(map(is_negation, denying.tokens[:begins])):
        return False
    named = frozenset(islice(stems_of(denying.tokens[begins + 1 :]), _LONGEST_CONDITION))
    return 2 * len(named & other.stems) >= len(named) > 0


_NOUN = re.compile(r"(?:ments?|[ts]ions?|[ae]nces?)\Z")


def _is_noun_of(said: str, told: str) -> bool:
    """Say whether one word is a noun and the other none, so that they say different things: a payment, not to pay."""
    return (_NOUN.search(said) is None) != (_NOUN.search(told) is None)


def _says_the_same(claim: Sentence, told: Sentence, but: str) -> bool:
    """Say whether a sentence holds most of a claim's words, so that one turned word turns the claim."""
    wanted = claim.stems - {but}
    return len(wanted & told.stems) >= SAME * len(wanted)


def _alone(stem: str, here: bool, claim: Sentence, reading: Reading) -> bool:
    """Say whether no sentence of the passage with most of the claim's other words has the word as the claim has it."""
    wanted = frozenset(claim.order) - {stem}
    for index in reading.places.get(stem, ())[:MOST_PLACES]:
        told = reading.sentences[index]
        shared = len(wanted & told.stems)
        if shared * 2 + 1 < len(wanted) or (wanted and not shared):
            continue
        if any((there in told.negated) == here for there in _places(told.order, stem)):
            return False
    return True


def _opposites(claim: Sentence, reading: Reading) -> tuple[list[Flip], int]:
    """Return the first opposite that a passage has of one of a claim's words, and how many it only has denied."""
    n_denied = 0
    for at, stem in enumerate(claim.order):
        other = None if stem in reading.places else opposite_of(stem, reading.places)
        if other is None or _is_counted(claim, stem):
            continue
        near = _neighbours(claim.order, at)
        is_denied = False
        for index in reading.places[other][:MOST_PLACES]:
            sentence = reading.sentences[index]
            if not _says_the_same(claim, sentence, stem) or _is_counted(sentence, other):
                continue
            for there in _places(sentence.order, other):
                if is_small_opposite(stem) and not _same_beside(claim.order, at, sentence.order, there):
                    continue
                if stem in ORDINALS and not _same_next(claim.order, at, sentence.order, there):
                    continue
                if not near & _neighbours(sentence.order, there):
                    continue
                if (there in sentence.negated) == (at in claim.negated):
                    return [Flip("opposite", said_as(claim, stem), said_as(sentence, other))], 0
                is_denied = stem in claim.stems
        n_denied += is_denied
    return [], n_denied


def _is_counted(sentence: Sentence, stem: str) -> bool:
    """Say whether a stem is a unit with a number before it: 24 months, two years; how long is the number's matter."""
    return stem in _UNIT_STEMS and any(
        stem in ordered_stems(token) and may_count(before) for before, token in pairwise(sentence.tokens)
    )


_UNIT_STEMS = frozenset(map(stem_of, ("month", "year", "week", "day", "quarter")))


def _same_next(claim: Sequence[str], at: int, told: Sequence[str], there: int) -> bool:
    """Say whether the same word follows, as it must where an ordinal denies another: the fourth, the fifth edition."""
    return claim[at + 1 : at + 2] == told[there + 1 : there + 2]


def _same_beside(claim: Sequence[str], at: int, told: Sequence[str], there: int) -> bool:
    """Say whether the same word follows, or goes before: *over* 5 and *below* 5, but not *over* time."""
    return _same_next(claim, at, told, there) or (at > 0 and there > 0 and claim[at - 1] == told[there - 1])


def _neighbours(order: Sequence[str], at: int) -> frozenset[str]:
    return frozenset((*order[max(0, at - _NEAR) : at], *order[at + 1 : at + 1 + _NEAR]))


def _places(order: Sequence[str], stem: str) -> list[int]:
    return list(islice((index for index, other in enumerate(order) if other == stem), MOST_PLACES))


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
