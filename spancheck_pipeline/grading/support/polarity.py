"""Polarity: which words of a sentence stand under a negation, and words that are each other's opposite.

Whether that contradicts a claim is said in ``checks.py``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, KeysView, Sequence
from itertools import chain
from typing import NamedTuple

import re2

from spancheck_pipeline.evidence.text import PerWord, is_no_space, word_starts
from spancheck_pipeline.grading.support.content import NEGATIONS, STOP_WORDS, is_negation, stem, word_stems
from spancheck_pipeline.grading.support.lexicon import LEXICON

_FAILS_SOMEWHERE = re2.compile(r"fail|refus|declin|neglect|omit|ceas|stop|prevent|forbid|forbade|prohibit|ban|avoid")
_FAILS = re.compile(
    r"(?:(?:fail|refus|declin|neglect|omit|ceas|stop|prevent|forbid|forbade|prohibit|stopp)\w{0,4}|bans?|bann(?:ed|ing))\Z"
)
_AVOIDS = re.compile(r"(?:avoid(?:s|ed|ing)?|stop(?:s|ped|ping)?)\Z")
"""These turn the word in -ing after them."""
_RATHER = frozenset({("rather", "than"), ("instead", "of")})
"""What is done, but not this."""
_NOT_REALLY = frozenset(
    {("not", "only"), ("not", "just"), ("no", "doubt"), ("not", "merely"), ("no", "matter"), ("not", "least")}
)
_BREAK = re.compile(r"[,;:.!?()\"]|\bbut\b|\band\b|\baber\b|\bmais\b|\bpero\b|\bно\b")
_LONGEST = 400
"""Content words of a sentence that are read in order; a longer one is no prose."""
_REACH = 3
"""Content words that a negation reaches in its clause."""
_UNSPACED = re.compile(r"[不没沒无無未非别勿]|ない|ません|ぬ|ไม่")


class InOrder(NamedTuple):
    """The content of a sentence in order."""

    stems: tuple[str, ...]
    negated: frozenset[int]
    """Which places stand under a negation."""
    heads: frozenset[int]
    """Which of those the negation is surely about: its first word, not what only stands in that word's company."""


def content_in_order(text: str, tokens: Sequence[str]) -> InOrder:
    """Return the content stems of a folded sentence in order, and which of them stand under a negation.

    ``tokens`` are its words. A negation reaches up to three content words, up to the end of its
    clause; so does a verb such as *fails to*. Scripts without spaces are left out: see ``turns_unspaced``.

    >>> content_in_order("it may not exceed your limit", ["it", "may", "not", "exceed", "your", "limit"])
    InOrder(stems=('exc', 'limit'), negated=frozenset({0, 1}), heads=frozenset({0}))
    """
    if not may_turn(text, tokens):
        return InOrder(tuple(chain.from_iterable(map(_ORDERED.__getitem__, tokens))), frozenset(), frozenset())
    return _turned_in_order(text, word_starts(text))


def may_turn(text: str, tokens: Sequence[str]) -> bool:
    """Say whether anything in a folded sentence may turn what follows it; of most it is told at once that not.

    A sentence that is longer than is read in order is said to, so that it is read with care.
    """
    if not NEGATIONS.isdisjoint(tokens) or "n't" in text or "rather than" in text or "instead of" in text:
        return True
    if len(tokens) >= _LONGEST:
        return True
    return ("to" in tokens or "from" in tokens or "ing" in text) and _fails_somewhere(text)


def _fails_somewhere(text: str) -> bool:
    return _FAILS_SOMEWHERE.search(text.encode("utf-8", "replace")) is not None


def _turned_in_order(text: str, tokens: Sequence[tuple[str, int]]) -> InOrder:
    stems: list[str] = []
    turned: set[int] = set()
    heads: set[int] = set()
    reach, last, is_head = 0, 0, False
    for index, (token, start) in enumerate(tokens):
        if reach and _BREAK.search(text, last, start):
            reach = 0
        last = start + len(token)
        following = tokens[index + 1][0] if index + 1 < len(tokens) else ""
        if is_negation(token):
            if (token, following) not in _NOT_REALLY and not _is_number_sign(token, following):
                reach, is_head = _REACH, True
            continue
        is_head = is_head or token in _GOES_ON
        if len(stems) >= _LONGEST:
            break
        for stem_ in ordered_stems(token):
            if reach:
                turned.add(len(stems))
                if is_head:
                    heads.add(len(stems))
                    is_head = _passes_on(token, stem_)
                reach -= 1
            stems.append(stem_)
        if _turns_next(token, following):
            reach, is_head = _REACH, True
    return InOrder(tuple(stems), frozenset(turned), frozenset(heads))


_GOES_ON = frozenset({"or", "oder", "ou", "o", "или", "that", "dass", "que", "что"})
"""After these a negation's next word is one of its own: not A or B, not true that C."""
_PASSES_ON = frozenset(stem(word) for word in LEXICON["passes_on"].split())
"""Words through which a negation goes to the next one: not required to pay, does not always apply."""


def _passes_on(token: str, stemmed: str) -> bool:
    return stemmed in _PASSES_ON or token.endswith("ly")


def _turns_next(token: str, following: str) -> bool:
    if (token, following) in _RATHER:
        return True
    if following in {"to", "from"}:
        return _FAILS.match(token) is not None
    return following.endswith("ing") and _AVOIDS.match(token) is not None


def ordered_stems(token: str) -> tuple[str, ...]:
    """Return a word's stem, also of one that only holds a sentence together, if it has an opposite: before, after."""
    return _ORDERED[token]


def _read_ordered(token: str) -> tuple[str, ...]:
    if token[0] > "\u0dff" and is_no_space(token[0]):
        return ()
    return (stem(token),) if token in _SMALL_OPPOSITES else word_stems(token)


_ORDERED = PerWord(_read_ordered)


def turns_unspaced(text: str) -> bool:
    """Say whether a sentence of a script without spaces holds a negation; what it reaches is not told."""
    return _UNSPACED.search(text) is not None


def _is_number_sign(token: str, following: str) -> bool:
    """Say whether ``no`` is the abbreviation of number: no. 5."""
    return token in {"no", "nr"} and (following[:1].isdigit())


def _opposites() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in LEXICON["opposites"].strip().splitlines():
        groups = [frozenset(stem(word) for word in part.split()) for part in line.split("|")]
        for group in groups:
            others = frozenset().union(*(other for other in groups if other != group)) - group
            for word in group:
                table.setdefault(word, set()).update(others)
    return {word: frozenset(others) for word, others in table.items()}


OPPOSITES = _opposites()
"""Stem → stems that say the opposite, or another of a set of which only one holds."""

_SMALL_OPPOSITES = frozenset(word for word in LEXICON["opposites"].split() if word in STOP_WORDS)


def is_small_opposite(word: str) -> bool:
    """Say whether a word with an opposite mostly holds a sentence together: before, over, up."""
    return word in _SMALL_OPPOSITES


_UNSPACED_OPPOSITES = tuple((left, right) for left, right in LEXICON["unspaced_opposites"])

_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "non-")


def opposite_of(word: str, others: Container[str]) -> str | None:
    """Return which of some stems says the opposite of a stem, or None.

    >>> opposite_of(stem("increased"), frozenset({"revenu", "decreas"}))
    'decreas'
    """
    for other in sorted(OPPOSITES.get(word, frozenset())):
        if other in others:
            return other
    for prefix in _PREFIXES:
        bare = word.removeprefix(prefix)
        if bare != word and len(bare) > 3 and bare in others:  # noqa: PLR2004 - a whole word is left
            return bare
        if len(word) > 3 and prefix + word in others:  # noqa: PLR2004 - as above
            return prefix + word
    return None


def may_oppose(
    claimed: KeysView[str], told: KeysView[str], claimed_bare: frozenset[str], told_bare: frozenset[str]
) -> bool:
    """Say whether any stem of one text may say the opposite of one of another; of most texts it is told that not.

    The last two are what ``unprefixed`` gives of the first two.
    """
    return (
        not told.isdisjoint(claimed_bare)
        or not claimed.isdisjoint(told_bare)
        or any(not told.isdisjoint(OPPOSITES[word]) for word in _OPPOSED.intersection(claimed))
    )


_OPPOSED = frozenset(OPPOSITES)


def unprefixed(words: Iterable[str]) -> frozenset[str]:
    """Return what is left of stems without the prefix that may turn them: of *unpaid* it is *paid*."""
    return frozenset(
        word.removeprefix(prefix)
        for word in words
        if word.startswith(_PREFIXES)
        for prefix in _PREFIXES
        if word.startswith(prefix)
    )


def small_opposites(text: str, tokens: Sequence[str]) -> frozenset[str]:
    """Return the stems of a folded sentence's small words with an opposite, as ``content_in_order`` has them."""
    if len(tokens) >= _LONGEST:
        return frozenset(content_in_order(text, tokens).stems)
    return frozenset(map(stem, _SMALL_OPPOSITES.intersection(tokens)))


def unspaced_opposites(claim: str, told: str) -> tuple[str, str] | None:
    """Return an opposite pair of a script without spaces of which claim and evidence hold one each, or None."""
    for left, right in _UNSPACED_OPPOSITES:
        for here, there in ((left, right), (right, left)):
            if here in claim and here not in told and there in told and there not in claim:
                return here, there
    return None
