"""Polarity: which words of a sentence stand under a negation, and words that are each other's opposite.

Whether that contradicts a claim is said in ``checks.py``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, KeysView, Sequence
from itertools import chain

import re2

from spancheck_pipeline.evidence.text import PerWord, is_no_space, word_starts
from spancheck_pipeline.grading.support.content import NEGATIONS, STOP_WORDS, stem, word_stems
from spancheck_pipeline.grading.support.lexicon import LEXICON
from spancheck_pipeline.grading.support.scope import EXCEPT, LONGEST, InOrder, turned_in_order

_MAY_TURN = re2.compile(
    r"(?:fail|refus|declin|neglect|omit|ceas|stop|prevent|forbid|forbade|prohibit|ban|barr|yet|exempt|excus|refrain|disqualif"
    r"|reliev|releas|exclud)[a-z]*[^a-z]+(?:to|from)[^a-z]|(?:avoid|stop|den)[a-z]*[^a-z]+[^\s]+ing"
    r"|(?:den|doubt|disput|refut)[a-z]*[^a-z]+that|(?:rather|other)[^a-z]+than|(?:instead|exception|capable|devoid|bereft)[^a-z]+of"
    r"|(?:one|body|thing|where)[^a-z]+but"
)
"""A part of everything that turns what follows it and is no negation: fails to, denied that, everyone but."""
_STARTS = NEGATIONS | EXCEPT | {"ne"}
_UNSPACED = re.compile(r"[不没沒无無未非别勿]|ない|なかった|ません|ぬ|ずに|ไม่|มิ")


def content_in_order(text: str, tokens: Sequence[str]) -> InOrder:
    """Return the content stems of a folded sentence in order, and which of them stand under a negation.

    ``tokens`` are its words. A negation reaches up to three content words, up to the end of its clause (``scope.py``);
    so does a verb such as *fails to*. Scripts without spaces are left out: see ``turns_unspaced``.

    >>> content_in_order("it may not exceed your limit", ["it", "may", "not", "exceed", "your", "limit"])
    InOrder(stems=('exc', 'limit'), negated=frozenset({0, 1}), heads=frozenset({0}), apart=frozenset())
    """
    if not may_turn(text, tokens):
        return InOrder(tuple(chain.from_iterable(map(_ORDERED.__getitem__, tokens))), frozenset(), frozenset())
    return turned_in_order(text, tuple(word_starts(text)), ordered_stems)


def may_turn(text: str, tokens: Sequence[str]) -> bool:
    """Say whether anything in a folded sentence may turn what follows it; of most it is told at once that not.

    A sentence that is longer than is read in order is said to, so that it is read with care.
    """
    if not _STARTS.isdisjoint(tokens) or "n't" in text or " n'" in text or text.startswith("n'"):
        return True
    return len(tokens) >= LONGEST or _MAY_TURN.search(text.encode("utf-8", "replace")) is not None


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


_MONTH_LINES = LEXICON["months"].strip().splitlines()
_NOT_ONLY_MONTHS = frozenset({"march", "mars", "mayo", "august", "augustus"})


def _is_month_only(word: str) -> bool:
    return len(word) > 3 and word not in _NOT_ONLY_MONTHS  # noqa: PLR2004 - jan, mar, may: names and verbs as well


def _forms(word: str) -> tuple[str, ...]:
    """Return a word with the forms that an English verb would have, as their stems may differ: advance, advancing."""
    if not word.isascii() or not word.isalpha() or len(word) < 5:  # noqa: PLR2004 - short words keep their stems
        return (word,)
    bare = word.removesuffix("e")
    return word, f"{word}s", f"{bare}ed", f"{bare}ing", f"{word}{word[-1]}ed", f"{word}{word[-1]}ing"


def _opposites() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in LEXICON["opposites"].strip().splitlines():
        groups = [frozenset(stem(form) for word in part.split() for form in _forms(word)) for part in line.split("|")]
        for group in groups:
            others = frozenset().union(*(other for other in groups if other != group)) - group
            for word in group:
                table.setdefault(word, set()).update(others)
    months = [frozenset(stem(word) for word in line.split() if _is_month_only(word)) for line in _MONTH_LINES]
    for month in months:
        for word in month:
            table.setdefault(word, set()).update(frozenset().union(*months) - month)
    return {word: frozenset(others) for word, others in table.items()}


OPPOSITES = _opposites()
"""Stem → stems that say the opposite, or another of a set of which only one holds."""

_SMALL_OPPOSITES = frozenset(word for word in LEXICON["opposites"].split() if word in STOP_WORDS)


def is_small_opposite(word: str) -> bool:
    """Say whether a word with an opposite mostly holds a sentence together: before, over, up."""
    return word in _SMALL_OPPOSITES


ORDINALS = frozenset(map(stem, LEXICON["ordinals"].split()))
"""Stems of ordinals; they are of what stands after them only."""

_PARTICLES = frozenset(frozenset(pair.split("-")) for pair in LEXICON["verb_particles"].split())
_LAST_PARTICLES = frozenset().union(*_PARTICLES)


def particles_oppose(claimed: str, told: str) -> bool:
    """Say whether the last words of two sentences make their verbs opposites: schliesst … ein, schliesst … aus."""
    return frozenset((claimed, told)) in _PARTICLES


def is_particle(word: str) -> bool:
    """Say whether a last word may belong to the verb: ein, aus, ab, zu."""
    return word in _LAST_PARTICLES


_UNSPACED_OPPOSITES = tuple((left, right) for left, right in LEXICON["unspaced_opposites"])

_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "non-")


def opposite_of(word: str, others: Container[str]) -> str | None:
    """Return which of some stems says the opposite of a stem, or None.

    >>> opposite_of(stem("increased"), frozenset({"revenu", "decreas"}))
    'decreas'
    """
    if known := [other for other in OPPOSITES.get(word, ()) if other in others]:
        return min(known)
    if word.endswith(_COUNTERPARTS) and (other := _counterpart(word)) in others:
        return other
    for prefix in _PREFIXES:
        shortest = 3 if prefix == "un" else 4  # a whole word is left: unpaid, illegal
        bare = word.removeprefix(prefix)
        if bare != word and len(bare) >= shortest and bare in others:
            return bare
        if len(word) >= shortest and prefix + word in others:
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
    """Return stems turned by their affix: *paid* of *unpaid*, *harmless* of *harmful*."""
    found: set[str] = set()
    for word in words:
        if word.startswith(_PREFIXES):
            found.update(word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix))
        if word.endswith(_COUNTERPARTS):
            found.add(_counterpart(word))
    return frozenset(found)


_COUNTERPARTS = ("ful", "less")


def _counterpart(word: str) -> str:
    """Return harmful of harmless, and the other way round."""
    return f"{word[:-4]}ful" if word.endswith("less") else f"{word[:-3]}less"


def small_opposites(text: str, tokens: Sequence[str]) -> frozenset[str]:
    """Return the stems of a folded sentence's small words with an opposite, as ``content_in_order`` has them."""
    if len(tokens) >= LONGEST:
        return frozenset(content_in_order(text, tokens).stems)
    return frozenset(map(stem, _SMALL_OPPOSITES.intersection(tokens)))


def unspaced_opposites(claim: str, told: str) -> tuple[str, str] | None:
    """Return an opposite pair of a script without spaces of which claim and evidence hold one each, or None."""
    for left, right in _UNSPACED_OPPOSITES:
        for here, there in ((left, right), (right, left)):
            if here in claim and here not in told and there in told and there not in claim:
                return here, there
    return None
