"""Support: does the evidence carry the claim? Deterministic, in any script, and with the token that decides.

Read in the modules beside this one: words (``content.py``), numbers, dates, names, polarity; how much of the claim
stands together (``coverage.py``); what speaks against it (``checks.py``, ``flips.py``). Whether a quote is really there
is ``grading/provenance.py``'s question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from spancheck_pipeline.evidence.text import each_word, fold_text, remember
from spancheck_pipeline.grading.support import checks
from spancheck_pipeline.grading.support.content import word_stems
from spancheck_pipeline.grading.support.coverage import covered
from spancheck_pipeline.grading.support.lexicon import DIGEST
from spancheck_pipeline.grading.support.reading import Asked, Reading, Sentence, ask, read

DEFAULT_THRESHOLD = 0.6
"""Smallest value that counts as supported."""

_DECISIVE = 0.5
"""What a decisive objection leaves of the value: less than the default threshold of anything."""
_NAME = 0.3
"""What is taken off where all names of a claim are missing and nothing stands in their place."""


@dataclass(frozen=True, slots=True)
class Support:
    """Whether evidence carries a claim."""

    supported: bool | None
    """None where the claim has no content, or there is no evidence, so that nothing could be checked."""
    value: float | None
    """In [0, 1]; None where nothing could be checked."""
    reasons: tuple[str, ...] = ()
    """What speaks against the claim, each naming the token that decides. They quote, so they stay in record files."""
    best: int | None = None
    """Index of the passage that carries most of the claim; None where nothing could be checked."""
    is_contradicted: bool = False
    """Whether the evidence says otherwise, and does not just lack what the claim names."""


def check_support(claim: str, evidence: str | Sequence[str], *, threshold: float = DEFAULT_THRESHOLD) -> Support:
    """Return whether the evidence, one passage or several, carries the claim.

    The value is the share of the claim's content (words as stems, numbers, dates) that stands together in the
    evidence: in its best three sentences in a row, and for one third in its best single one; 1 where the claim stands
    there word for word. It is halved by a number
    or date that the evidence does not name, a negation or opposite that turns the claim, or another name in a name's
    place; missing names take off up to three tenths. Such a decisive objection makes the claim unsupported under any
    threshold. Each passage is read once and kept, so that many claims against the same passages are cheap.

    >>> check_support("The notice period is 30 days.", "The notice period is 45 days.").reasons
    ('the evidence does not have “30 days”; it has “45 days”',)
    """
    passages = tuple(passage[:MOST_READ] for passage in ((evidence,) if isinstance(evidence, str) else evidence))
    claim = claim[:MOST_READ]
    is_short = len(claim) + sum(map(len, passages)) <= _KEPT_CHARS
    weighed = _kept(claim, passages) if is_short else _weigh(claim, passages)
    if weighed.value is None:
        return Support(None, None, weighed.reasons)
    supported = weighed.value >= threshold and not weighed.is_decided
    reasons = weighed.reasons
    if not supported and not reasons:
        reasons = (_absent_words(ask(claim), passages),)
    return Support(supported, weighed.value, reasons, weighed.best, weighed.denies)


MOST_READ = 200_000
"""Characters of one passage (some eighty pages) and of a claim that are read; what comes after is not."""

_KEPT_CHARS = 8_000
"""Characters of claim and evidence up to which the result is kept, for the same pair in another case or epoch."""


class _Weighed(NamedTuple):
    """What is known of a claim and passages, whatever the threshold."""

    value: float | None
    """In [0, 1]; None where nothing could be checked."""
    reasons: tuple[str, ...] = ()
    best: int | None = None
    is_decided: bool = False
    """Whether an objection makes the claim unsupported under any threshold."""
    denies: bool = False


@lru_cache(maxsize=8192)
def _kept(claim: str, passages: tuple[str, ...]) -> _Weighed:
    return _weigh(claim, passages)


def _weigh(claim: str, passages: tuple[str, ...]) -> _Weighed:
    passages_read = [read(passage) for passage in passages]
    asked = ask(claim)
    if asked.is_empty:
        return _Weighed(None, ("the claim has no content that could be checked",))
    if not any(reading.sentences for reading in passages_read):
        return _Weighed(None, ("there is no evidence text",))
    coverage = covered(asked, passages_read)
    best = coverage.best[0]
    if len(coverage.best) > 1 and (asked.quantities or asked.dates):
        best = max(coverage.best, key=lambda index: checks.n_facts_told(asked, passages[index]))
    numbers, dates = checks.untold_numbers(asked, passages), checks.untold_dates(asked, passages)
    names = checks.untold_names(asked, passages)
    n_facts = len(asked.quantities) + len(asked.dates)
    told = n_facts - len(numbers) - len(dates)
    share = ((coverage.one + 2 * coverage.window) / 3 + told) / (len(asked.stems) + n_facts)
    turns: list[checks.Objection] = []
    n_otherwise = 0
    if checks.may_flip(asked, coverage.one):
        turns, n_otherwise = checks.told_otherwise(asked, passages[best])
    objections = [
        *checks.number_objections(asked, numbers, passages),
        *checks.code_objections(asked, passages),
        *checks.letter_objections(asked, passages),
        *checks.date_objections(asked, dates, passages),
        *turns,
        *checks.name_objections(asked, names, passages[best]),
    ]
    is_decided = any(objection.is_decisive for objection in objections)
    share = min(1.0, share + n_otherwise / (len(asked.stems) + n_facts))
    if (is_decided or share < 1) and (stands := _stands_whole(asked, passages_read)):
        if stands.is_whole:
            return _Weighed(1.0, best=stands.passage)
        share = (len(asked.stems) + told) / (len(asked.stems) + n_facts)
    value = share * (_DECISIVE if is_decided else 1.0)
    if names:
        value *= 1 - _NAME * len(names) / len(asked.names)
    reasons = tuple(dict.fromkeys(objection.reason for objection in objections))
    denies = any(objection.denies for objection in objections)
    return _Weighed(value, reasons, best, is_decided, denies)


def carries(claim: str, passages: tuple[str, ...], *, threshold: float = DEFAULT_THRESHOLD) -> bool:
    """Say whether passages carry a claim, as ``check_support`` does, but not how well or why not.

    So a claim of which too few words stand there is told at once, and one that stands there word for word.

    >>> passages = ("Notice is 30 days.", "Rent is due on Monday.")
    >>> carries("Rent is due on Monday.", passages), carries("Pets are allowed.", passages)
    (True, False)
    """
    is_short = len(claim) + sum(map(len, passages)) <= _KEPT_CHARS
    most, is_whole = (_most_kept if is_short else _most)(claim, passages)
    if most < threshold:
        return False
    if threshold <= 1 - _NAME and is_whole:
        return True  # word for word, so that all it could miss are names that are written in another way
    return check_support(claim, passages, threshold=threshold).supported is True


class _Most(NamedTuple):
    """What a claim can have at most, told without comparing it."""

    share: float
    """Of its content, if all its numbers and dates are told; -1 where it has none."""
    is_whole: bool
    """Whether it is one sentence that stands in the passages word for word."""


@lru_cache(maxsize=8192)
def _most_kept(claim: str, passages: tuple[str, ...]) -> _Most:
    return _most(claim, passages)


def _most(claim: str, passages: tuple[str, ...]) -> _Most:
    asked = ask(claim[:MOST_READ])
    n_facts = len(asked.quantities) + len(asked.dates)
    weight = len(asked.stems) + n_facts
    if not weight:
        return _Most(-1.0, is_whole=False)
    together = _together(passages)
    is_whole = len(asked.sentences) == 1 and _bare(asked.sentences[0].text) in together.sentences
    return _Most((len(asked.stems & together.stems) + n_facts) / weight, is_whole)


class _Together(NamedTuple):
    """All that some passages hold."""

    stems: frozenset[str]
    sentences: frozenset[str]


@lru_cache(maxsize=4)
def _together(passages: tuple[str, ...]) -> _Together:
    readings = [read(passage[:MOST_READ]) for passage in passages]
    stems = frozenset().union(*(reading.places for reading in readings))
    return _Together(stems, frozenset(_bare(sentence.text) for reading in readings for sentence in reading.sentences))


class _Standing(NamedTuple):
    """A passage in which all words of a claim stand in a row."""

    passage: int
    is_whole: bool
    """Whether they are whole sentences of it, so that nothing around them can turn them."""


def _stands_whole(asked: Asked, passages_read: Sequence[Reading]) -> _Standing | None:
    """Return the passage in which a claim stands word for word, looked for only where all its words are told."""
    row = _in_a_row(asked.sentences)
    whole = [_bare(sentence.text) for sentence in asked.sentences]
    part = None
    for index, reading in enumerate(passages_read):
        if not asked.stems <= reading.places.keys():
            continue
        texts = [_bare(sentence.text) for sentence in reading.sentences]
        if any(texts[at : at + len(whole)] == whole for at, text in enumerate(texts) if text == whole[0]):
            return _Standing(index, is_whole=True)
        if part is None and row in _in_a_row(reading.sentences):
            part = _Standing(index, is_whole=False)
    return part


def _in_a_row(told: Sequence[Sentence]) -> str:
    """Return all words of some sentences, with a blank around each."""
    return f" {' '.join(' '.join(sentence.tokens) for sentence in told if sentence.tokens)} "


def _bare(sentence: str) -> str:
    return sentence.strip(" .;:,\"'")


def _absent_words(asked: Asked, passages: Sequence[str]) -> str:
    """Return which of the claim's words are nowhere in the evidence, as the reason where nothing else objects."""
    told = frozenset().union(*(read(passage).places for passage in passages))
    absent = [word for word in asked.words if (stems := word_stems(word)) and told.isdisjoint(stems)]
    if not absent:
        return "the claim's words stand in the evidence, but not together"
    return "the evidence does not have " + ", ".join(f"“{word}”" for word in absent[:5])


def data_versions() -> dict[str, str]:
    """Return the digest of the word lists, for the spec of a grader that checks support."""
    return {"support/lexicon.toml": DIGEST}


@remember(1_000_000)
def says_something(text: str) -> bool:
    """Say whether a text has content that support could be checked for."""
    return any(map(word_stems, each_word(fold_text(text))))


__all__ = ["DEFAULT_THRESHOLD", "MOST_READ", "Support", "carries", "check_support", "data_versions", "says_something"]
