"""Quantifiers: how much of a thing a sentence speaks of, all of it, most, many, some, few or none.

*Some tenants pay* does not carry *all tenants pay*.
Plain negations are read in ``scope.py``; numbers in ``numbers.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from spancheck_pipeline.grading.support.lexicon import by_word

QUANTIFIERS = by_word("quantifiers")
"""Folded word → ``all``, ``most``, ``many``, ``some``, ``few`` or ``none``."""

_DENIED_BY = {
    "all": {"most", "many", "some", "few", "none"},
    "most": {"some", "few", "none"},
    "many": {"few", "none"},
    "some": {"none"},
    "few": {"all", "most", "many"},
    "none": {"all", "most", "many", "some", "few"},
}
"""What a sentence says → what, said of the same thing, does not carry it."""
_MOST = 40
"""Quantifiers of one sentence that are looked at; no prose has more."""
_AFTER = 3
"""Words after a quantifier among which the word that it is about stands."""
_PAIRS = {("a", "few"): "some", ("not", "many"): "few", ("not", "all"): "some", ("not", "every"): "some"}

_BOUNDS = {("at", "most"), *(("no", word) for word in ("more", "less", "fewer", "later", "earlier", "longer"))}
"""Two words that bound a number or a time, and say nothing of how many: at most five, no more than five."""


class Quantified(NamedTuple):
    """A quantifier with the stem that it is about."""

    amount: str
    word: str
    about: str


def quantified(tokens: Sequence[str], stems_of: Callable[[str], tuple[str, ...]]) -> tuple[Quantified, ...]:
    """Return the quantifiers of a sentence's folded words, each with the next content word.

    >>> from spancheck_pipeline.grading.support.content import word_stems
    >>> quantified("not many of the people knew".split(), word_stems)
    (Quantified(amount='few', word='many', about='person'),)
    """
    if QUANTIFIERS.keys().isdisjoint(tokens):
        return ()
    return tuple(islice(_each(tokens, stems_of), _MOST))


def _each(tokens: Sequence[str], stems_of: Callable[[str], tuple[str, ...]]) -> Iterator[Quantified]:
    for index, token in enumerate(tokens):
        amount = QUANTIFIERS.get(token)
        if amount is None or not _BOUNDS.isdisjoint(pairwise(tokens[max(0, index - 1) : index + 2])):
            continue
        amount = _PAIRS.get((tokens[index - 1] if index else "", token), amount)
        for following in tokens[index + 1 : index + 1 + _AFTER]:
            if following in QUANTIFIERS:
                break
            stems = stems_of(following)
            if stems:
                yield Quantified(amount, token, stems[0])
                break


def denied(claimed: Sequence[Quantified], told: Sequence[Quantified]) -> tuple[str, str] | None:
    """Return the quantifiers of a claim and of a sentence of which one denies the other, or None.

    >>> denied([Quantified("all", "all", "tenant")], [Quantified("some", "some", "tenant")])
    ('all', 'some')
    """
    for mine in claimed:
        same = [other for other in told if other.about == mine.about]
        if same and all(other.amount in _DENIED_BY[mine.amount] for other in same):
            return mine.word, same[0].word
    return None
