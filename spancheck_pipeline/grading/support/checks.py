"""Checks that coverage of words cannot make: numbers, dates, names and flips that speak against a claim.

How much of the claim the evidence holds is said in ``coverage.py``; what the two come to in ``__init__.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from spancheck_pipeline.grading.support.content import STOP_WORDS, in_words, stem
from spancheck_pipeline.grading.support.dates import Dated, agree
from spancheck_pipeline.grading.support.flips import LEAST_SAME, MOST_SENTENCES, turned
from spancheck_pipeline.grading.support.names import TITLES, label_words, leading, missing, names, stands_for
from spancheck_pipeline.grading.support.numbers import Quantity
from spancheck_pipeline.grading.support.reading import (
    Asked,
    Sentence,
    dates_in,
    initials_in,
    number_index,
    numbers_in,
    read,
    vocabulary,
)


class Objection(NamedTuple):
    """One thing that speaks against a claim."""

    kind: str
    """``number``, ``date``, ``name``, ``negation`` or ``opposite``."""
    reason: str
    is_decisive: bool
    """Whether it alone makes the claim unsupported."""
    denies: bool = False
    """Whether the evidence says otherwise, and does not just lack what the claim names."""


def untold_numbers(asked: Asked, passages: Sequence[str]) -> tuple[Quantity, ...]:
    """Return the claim's numbers that no passage names."""
    if not asked.quantities:
        return ()
    told = [number_index(passage) for passage in passages]
    untold = tuple(claimed for claimed in asked.quantities if not any(index.has(claimed) for index in told))
    return tuple(claimed for claimed in untold if not _is_told_in_words(claimed, passages)) if untold else ()


def _is_told_in_words(claimed: Quantity, passages: Sequence[str]) -> bool:
    """Say whether an ordinal in digits stands in the evidence as a word: 19th, nineteenth."""
    word = in_words(claimed.text)
    return word is not None and any(stem(word) in read(passage).places for passage in passages)


def untold_dates(asked: Asked, passages: Sequence[str]) -> tuple[Dated, ...]:
    """Return the claim's dates with which no date of a passage agrees."""
    if not asked.dates:
        return ()
    told = tuple(
        dict.fromkeys(reading for passage in passages for dated in dates_in(passage) for reading in dated.readings)
    )[:_MOST_DATES]
    return tuple(
        claimed
        for claimed in asked.dates
        if not any(agree(reading, other) for reading in claimed.readings for other in told)
    )


_MOST_DATES = 1000
"""Different dates of the evidence that are compared."""


def n_facts_told(asked: Asked, passage: str) -> int:
    """Return how many of the claim's numbers and dates one passage has."""
    n_facts = len(asked.quantities) + len(asked.dates)
    return n_facts - len(untold_numbers(asked, (passage,))) - len(untold_dates(asked, (passage,)))


def untold_names(asked: Asked, passages: Sequence[str]) -> tuple[str, ...]:
    """Return the claim's names that no word of a passage can stand for."""
    if not asked.names:
        return ()
    told = frozenset().union(*(vocabulary(passage) for passage in passages))
    absent = tuple(name for name in asked.names if name not in told)
    if not absent:
        return ()
    return missing(absent, told, frozenset().union(*(initials_in(passage) for passage in passages)))


def number_objections(asked: Asked, untold: Sequence[Quantity], passages: Sequence[str]) -> list[Objection]:
    """Return what the claim's numbers say against it: another number of the same kind, or none at all.

    A small number in words (*two reasons*) and a bare digit object only where the evidence counts the same noun.
    """
    if not untold:
        return []
    by_kind = _by_kind(passages)
    found: list[Objection] = []
    for claimed in untold:
        other = by_kind.get(claimed.dimension or "") or by_kind.get(
            f"noun {stem(claimed.noun)}" if claimed.noun else ""
        )
        if other is None and claimed.is_word:
            continue
        tail = f"; it has “{other.text}”" if other else ""
        reason = f"the evidence does not have “{claimed.text}”{tail}"
        denies = other is not None and _says_the_same(asked, other.text, passages)
        found.append(Objection("number", reason, is_decisive=True, denies=denies))
    return found


def _says_the_same(asked: Asked, other: str, passages: Sequence[str]) -> bool:
    """Say whether the words of the claim stand with another number or date, so that one denies the other."""
    wanted = _SAME * len(asked.stems)
    return any(
        other in sentence.text and len(asked.stems & sentence.stems) >= wanted
        for passage in passages
        for sentence in read(passage).sentences
    )


def _by_kind(passages: Sequence[str]) -> dict[str, Quantity]:
    """Return the first number that the evidence has of each dimension and of each noun."""
    kinds: dict[str, Quantity] = {}
    for passage in passages:
        for told in numbers_in(passage):
            if told.dimension is not None:
                kinds.setdefault(told.dimension, told)
            if told.noun:
                kinds.setdefault(f"noun {stem(told.noun)}", told)
    return kinds


def date_objections(asked: Asked, untold: Sequence[Dated], passages: Sequence[str]) -> list[Objection]:
    """Return what the claim's dates say against it."""
    if not untold:
        return []
    other = next((dated.text for passage in passages for dated in dates_in(passage)), None)
    tail = f"; it has “{other}”" if other else ""
    denies = other is not None and _says_the_same(asked, other, passages)
    return [
        Objection("date", f"the evidence does not have the date “{dated.text}”{tail}", is_decisive=True, denies=denies)
        for dated in untold
    ]


def name_objections(asked: Asked, untold: Sequence[str], passage: str) -> list[Objection]:
    """Return what the claim's names say against it.

    A missing name decides where the evidence's sentence with most of the claim's other words has another name there.
    """
    pair = _other_leading_name(asked, passage)
    if pair is None and untold:
        pair = _rival_name(asked, untold, passage)
    if pair:
        reason = f"the evidence does not have “{pair[0]}”; it has “{pair[1]}”"
        return [Objection("name", reason, is_decisive=True, denies=True)]
    return [Objection("name", f"the evidence does not have “{name}”", is_decisive=False) for name in untold[:3]]


_SAME = 0.6
"""Smallest share of the claim's other words in a sentence that has another name in the missing one's place."""


def _rival_name(asked: Asked, untold: Sequence[str], passage: str) -> tuple[str, str] | None:
    """Return a missing name with the one in its place. Titles and labels (**Tax benefits:** …) are never looked at."""
    mine = {stem(name) for name in asked.names} | asked.stems | TITLES
    for claim in asked.sentences[:MOST_SENTENCES]:
        missed = [name for name in untold if name in claim.tokens and name not in TITLES]
        others = claim.stems - {stem(name) for name in untold}
        if not missed or not others:
            continue
        best = max(read(passage).sentences, key=lambda sentence: len(others & sentence.stems), default=None)
        if best is None or len(others & best.stems) < _SAME * len(others):
            continue
        label = label_words(claim.original)
        rivals = [name for name in names(best.original) if stem(name) not in mine and name not in TITLES]
        for name in missed if rivals else ():
            for rival in () if name in label else rivals[:_MOST_RIVALS]:
                if stands_for(name, claim.tokens, asked.names, rival, best.tokens):
                    return name, rival
    return None


_MOST_RIVALS = 20
"""Names of one sentence of the evidence that are looked at."""


_NEARLY_ALL = 0.8
"""Share of a sentence's other words, on both sides, for its first word to be looked at as a name."""


def _other_leading_name(asked: Asked, passage: str) -> tuple[str, str] | None:
    """Return the first names of claim and evidence where two sentences differ in them: John approved, Mary approved.

    So are the name after *by* and the first one: paid by Apex, Acme pays.
    """
    for claim in asked.sentences[:MOST_SENTENCES]:
        mine = leading(claim.original) or _doer(claim)
        if mine is None:
            continue
        others = claim.stems - {stem(mine)}
        if not others:
            continue
        alike = _alike(others, read(passage).sentences)
        if any(stem(mine) in sentence.stems for sentence in alike):
            continue
        for sentence in alike:
            theirs = _other_doer(claim, sentence)
            if theirs and not _is_initial_of(mine, theirs) and _are_two(mine, theirs, passage):
                return mine, theirs
    return None


def _alike(others: frozenset[str], sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences that are nearly all the other words of a claim, and nearly nothing else but one more."""
    n = len(others)
    fewest, most = _NEARLY_ALL * n, n / _NEARLY_ALL + 1
    return [
        sentence
        for sentence in sentences
        if fewest <= len(sentence.stems) <= most
        and len(others & sentence.stems) >= _NEARLY_ALL * max(n, len(sentence.stems) - 1)
    ]


def _other_doer(claim: Sentence, sentence: Sentence) -> str | None:
    """Return who does it in a sentence, where the claim does not name them."""
    named = (leading(sentence.original), _doer(sentence))
    return next((theirs for theirs in named if theirs and stem(theirs) not in claim.stems), None)


def _are_two(mine: str, theirs: str, passage: str) -> bool:
    """Say whether a name and the one in its place are surely two.

    So they are where the first is nowhere in the passage; else both must be names (no word of the passage is written
    so in small letters) that never stand together, as those of one person would.
    """
    told = vocabulary(passage)
    if mine not in told:
        return bool(missing((mine,), told, frozenset()))
    if mine in passage or theirs in passage:
        return False
    pairs = (pair for sentence in read(passage).sentences for pair in pairwise(sentence.tokens))
    return not any(set(pair) == {mine, theirs} for pair in pairs)


def _doer(sentence: Sentence) -> str | None:
    """Return the name after *by* in a sentence, folded: paid by Apex."""
    if "by" not in sentence.tokens:
        return None
    named = names(sentence.original)
    return next((token for before, token in pairwise(sentence.tokens) if before == "by" and token in named), None)


def _is_initial_of(left: str, right: str) -> bool:
    """Say whether one of two names is the first letter of the other: J. Smith, John Smith."""
    return 1 in (len(left), len(right)) and left[0] == right[0]


_CODE = re.compile(r"([a-z]{1,6})-?(\d{1,6}[a-z]?)\Z")


def code_objections(asked: Asked, passages: Sequence[str]) -> list[Objection]:
    """Return the claim's codes such as q3 or b12 that the evidence has with another number only."""
    claimed = dict.fromkeys(word for word in asked.words[:_MOST_WORDS] if not word.isalpha() and _CODE.match(word))
    if not claimed:
        return []
    told: dict[str, set[str]] = {}
    for passage in passages:
        for word in vocabulary(passage):
            if match := _CODE.match(word):
                told.setdefault(match.group(1), set()).add(word)
    found: list[Objection] = []
    for word in claimed:
        others = told.get(_letters_of(word), set())
        if others and word not in others:
            reason = f"the evidence does not have “{word}”; it has “{min(others)}”"
            found.append(Objection("number", reason, is_decisive=True, denies=True))
    return found


_MOST_WORDS = 2000


_LETTERED = re.compile(r"(?<![\w.])([A-Za-z]{3,20})[ -]([A-HJ-Z])(?![\w.'’&-])")
"""A thing told apart by one capital: Plan B, hepatitis A."""


_LETTER = re.compile(r"[ -][A-HJ-Z](?![\w.'’&-])")


def letter_objections(asked: Asked, passages: Sequence[str]) -> list[Objection]:
    """Return the claim's things such as Plan B that the evidence has with another letter only."""
    if not _LETTER.search(asked.text):
        return []
    claimed = dict.fromkeys(_lettered(asked.text))
    if not claimed:
        return []
    told = frozenset(pair for passage in passages for pair in _lettered(passage))
    found: list[Objection] = []
    for thing, letter in claimed:
        others = sorted(other for same, other in told if same == thing)
        if others and letter not in others:
            reason = f"the evidence does not have “{thing} {letter.lower()}”; it has “{thing} {others[0].lower()}”"
            found.append(Objection("name", reason, is_decisive=True, denies=True))
    return found


def _lettered(text: str) -> Iterator[tuple[str, str]]:
    for match in _LETTERED.finditer(text):
        if (thing := match.group(1).lower()) not in STOP_WORDS:
            yield thing, match.group(2)


def _letters_of(code: str) -> str:
    match = _CODE.match(code)
    return match.group(1) if match else ""


def may_flip(asked: Asked, n_told: int) -> bool:
    """Say whether any sentence may hold enough of a claim to turn it, given how many of its stems the best one holds.

    Of a claim of one sentence it is told at once that most passages do not.
    """
    if len(asked.sentences) != 1:
        return True
    stems = asked.sentences[0].stems
    return n_told + len(stems) - len(asked.stems) >= LEAST_SAME * (len(stems) - 2)


def told_otherwise(asked: Asked, passage: str) -> tuple[list[Objection], int]:
    """Return the negations, opposites and swaps by which a passage says otherwise.

    And how many of the claim's words it tells by denying their opposite (not optional, mandatory).
    """
    turned_words = turned(asked, read(passage))
    return [
        Objection(
            flip.kind,
            f"the claim says “{flip.claimed}” and the evidence “{flip.told}”",
            is_decisive=True,
            denies=True,
        )
        for flip in turned_words.flips
    ], turned_words.n_told
