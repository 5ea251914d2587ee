"""Roles: who does it to whom, and from where to where. Smith sued Jones is not Jones sued Smith.

Read only of the names and parties (buyer, seller) of a sentence, with one verb between two of them; other names in a
name's place are ``names.py``'s question.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from spancheck_pipeline.grading.support.content import STOP_WORDS, is_negation, stem
from spancheck_pipeline.grading.support.lexicon import word_set

_PARTIES = frozenset(form for word in word_set("parties") for form in (word, f"{word}s"))
_BY = word_set("by")
_FROM, _TO = word_set("from"), word_set("to")
_SYMMETRIC = frozenset(map(stem, word_set("symmetric_verbs")))
_VERB = re.compile(r"[a-z]{2,}(?:s|ed)\Z")
"""What an English verb between two names mostly ends in; irregular ones are listed."""
_IRREGULAR = word_set("past_verbs")
_MOST = 40
"""Deeds or ways of one sentence that are looked at; no prose has more."""
_BETWEEN = 6
"""Words between two parties that are looked at."""


class Deed(NamedTuple):
    """One verb with the two parties beside it."""

    verb: str
    doer: str
    other: str


def has_parties(tokens: Sequence[str]) -> bool:
    """Say whether any of some folded words is a party: the buyer, tenants."""
    return not _PARTIES.isdisjoint(tokens)


def deeds(tokens: Sequence[str], named: Container[str | None]) -> tuple[Deed, ...]:
    """Return what the names and parties of a sentence do to each other, from its folded words.

    >>> deeds("google was acquired by fitbit".split(), frozenset({"google", "fitbit"}))
    (Deed(verb='acquir', doer='fitbit', other='google'),)
    >>> deeds("smith sued jones".split(), frozenset({"smith", "jones"}))
    (Deed(verb='su', doer='smith', other='jone'),)
    """
    places = [index for index, token in enumerate(tokens) if token in named or token in _PARTIES]
    return tuple(islice(_each(tokens, places), _MOST))


def _each(tokens: Sequence[str], places: Sequence[int]) -> Iterator[Deed]:
    for left, right in pairwise(places):
        between = tokens[left + 1 : right]
        if not 0 < len(between) <= _BETWEEN:
            continue
        verbs = [token for token in between if token not in STOP_WORDS and not is_negation(token)]
        if len(verbs) != 1 or not _is_verb(verbs[0], between):
            continue
        verb, first, second = stem(verbs[0]), stem(tokens[left]), stem(tokens[right])
        if first == second:
            continue
        if not _BY.isdisjoint(between[between.index(verbs[0]) :]):
            yield Deed(verb, second, first)
        elif _is_bare(between, verbs[0]):
            yield Deed(verb, first, second)


def _is_verb(word: str, between: Sequence[str]) -> bool:
    """Say whether a word is a verb by its form, or by the auxiliary beside it: must notify."""
    is_verb = word in _IRREGULAR or _VERB.match(word) is not None or not _AUXILIARIES.isdisjoint(between)
    return is_verb and stem(word) not in _SYMMETRIC


_AUXILIARIES = word_set("auxiliaries")


_ARTICLES = word_set("beside_verbs")


def _is_bare(between: Sequence[str], verb: str) -> bool:
    """Say whether only articles and auxiliaries stand beside the verb, so that it is surely the first one's deed."""
    return all(token == verb or token in _ARTICLES for token in between)


def exchanged(claimed: Sequence[Deed], told: Sequence[Deed]) -> Deed | None:
    """Return the deed of a claim that is told the other way round, and nowhere as it says."""
    said = set(told)
    for deed in claimed:
        if deed not in said and Deed(deed.verb, deed.other, deed.doer) in said:
            return deed
    return None


class Way(NamedTuple):
    """Where something goes from and to."""

    start: str
    end: str


def ways(tokens: Sequence[str]) -> tuple[Way, ...]:
    """Return each *from A to B* or *to B from A* of a sentence's folded words.

    >>> ways("sent to paris from rome".split()), ways("from rome to paris".split())
    ((Way(start='rome', end='paris'),), (Way(start='rome', end='paris'),))
    """
    if _FROM.isdisjoint(tokens) or _TO.isdisjoint(tokens):
        return ()
    marked = [
        (token in _FROM, following)
        for index, token in enumerate(tokens)
        if (token in _FROM or token in _TO) and (following := _next_content(tokens, index))
    ]
    found = (
        Way(start=first, end=second) if is_from else Way(start=second, end=first)
        for (is_from, first), (is_other_from, second) in pairwise(marked)
        if is_from != is_other_from
    )
    return tuple(islice(found, _MOST))


def _next_content(tokens: Sequence[str], index: int) -> str | None:
    return next((stem(token) for token in tokens[index + 1 : index + 4] if token not in STOP_WORDS), None)


def turned_round(claimed: Sequence[Way], told: Sequence[Way]) -> Way | None:
    """Return the way of a claim that is told backwards, and nowhere as it says."""
    said = set(told)
    return next((way for way in claimed if way not in said and Way(way.end, way.start) in said), None)
