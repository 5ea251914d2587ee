"""Swaps: places where the evidence has a claim's words, but another amount, or the roles exchanged.

Negations and opposites are looked for in ``flips.py``; what quantifiers and roles are is said in ``quantifiers.py`` and
``roles.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from spancheck_pipeline.grading.support.content import stem
from spancheck_pipeline.grading.support.names import opening_name
from spancheck_pipeline.grading.support.polarity import is_particle, ordered_stems, particles_oppose
from spancheck_pipeline.grading.support.quantifiers import QUANTIFIERS, denied
from spancheck_pipeline.grading.support.reading import Reading, Sentence
from spancheck_pipeline.grading.support.roles import deeds, exchanged, has_parties, turned_round, ways

SAME = 0.6
"""Smallest share of a claim's words in a sentence that may contradict it."""
MOST_PLACES = 20
"""Sentences of the evidence that hold a word and are looked at."""


class Flip(NamedTuple):
    """One flip, with the words that decide."""

    kind: str
    """``negation`` or ``opposite``."""
    claimed: str
    told: str


def swaps(claim: Sentence, named: Sequence[str], reading: Reading) -> list[Flip]:
    """Return what the sentences with most of a claim's words swap. ``named`` are the names that the claim uses."""
    found = _amounts(claim, reading) if claim.amounts else []
    if claim.tokens and is_particle(claim.tokens[-1]):
        found += _particles(claim, reading)
    return found + _roles(claim, named, reading)


def _amounts(claim: Sentence, reading: Reading) -> list[Flip]:
    """Return the quantifier of a claim that the sentences with most of its words deny: all members, some members."""
    pair = None
    for told in _nearest(claim, reading, {amount.about for amount in claim.amounts}):
        if told.amounts:
            against = denied(claim.amounts, told.amounts)
            if against is None and any(a.about == b.about for a in claim.amounts for b in told.amounts):
                return []
            pair = pair or against
    return [Flip("opposite", *pair)] if pair else []


def _particles(claim: Sentence, reading: Reading) -> list[Flip]:
    last = claim.tokens[-1]
    ends = [told.tokens[-1] for told in _nearest(claim, reading, claim.stems) if told.tokens]
    other = next((end for end in ends if particles_oppose(last, end)), None)
    return [Flip("opposite", last, other)] if other and last not in ends else []


def _roles(claim: Sentence, named_in: Sequence[str], reading: Reading) -> list[Flip]:
    """Return the deed, or the way, that the sentences with most of a claim's words tell the other way round."""
    if named_in or has_parties(claim.tokens):
        named = frozenset((*named_in, opening_name(claim.original)))
        if mine := deeds(claim.tokens, named):
            near = _nearest(claim, reading, {deed.verb for deed in mine})
            if deed := exchanged(mine, [deed for told in near for deed in deeds(told.tokens, named)]):
                doer, other = said_as(claim, deed.doer), said_as(claim, deed.other)
                return [Flip("opposite", f"{doer} … {other}", f"{other} … {doer}")]
    if mine_too := ways(claim.tokens):
        near = _nearest(claim, reading, {way.end for way in mine_too})
        if way := turned_round(mine_too, [way for told in near for way in ways(told.tokens)]):
            return [Flip("opposite", f"to … {said_as(claim, way.end)}", f"from … {said_as(claim, way.end)}")]
    return []


def _nearest(claim: Sentence, reading: Reading, stems: Collection[str]) -> list[Sentence]:
    """Return the sentences that hold one of some stems and most of a claim's words."""
    places = {index for each in stems for index in reading.places.get(each, ())[:MOST_PLACES]}
    near = [reading.sentences[index] for index in sorted(places)]
    wanted = claim.stems - _QUANTIFIER_STEMS
    return [told for told in near if len(wanted & told.stems) >= SAME * len(wanted)]


_QUANTIFIER_STEMS = frozenset(map(stem, QUANTIFIERS))


def said_as(sentence: Sentence, stem: str, *, negated: bool = False) -> str:
    """Return the word of a sentence that a stem is of, as it is quoted in a reason."""
    word = next((token for token in sentence.tokens if stem in ordered_stems(token)), stem)
    return f"not … {word}" if negated else word
