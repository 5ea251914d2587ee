"""Grounding: how much of one sentence the passages tell, all of them together.

``support`` asks whether one place carries a claim, as a citation must; an answer may also draw one sentence from
several places, so that here a word counts wherever it stands. What speaks against the sentence (another number or
date, a negation, an opposite, another name) is found by the same checks. Scoring an answer lives in
``graders/groundedness.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from spancheck_pipeline.grading.support import MOST_READ, check_support, checks
from spancheck_pipeline.grading.support.content import word_stems
from spancheck_pipeline.grading.support.reading import Asked, ask, read

OBJECTED = 0.5
"""What a decisive objection leaves of the share."""


LONGEST = 8_000
"""Characters of a sentence that are read. No sentence that people write is longer; a hostile one must not cost more."""


class Grounding(NamedTuple):
    """How a sentence stands in the passages."""

    value: float
    """Share of its content (words, numbers, dates) that the passages tell, in [0, 1]; halved by what decides alone."""
    weight: int
    """How many words, numbers and dates it has."""
    is_objected: bool
    """Whether something speaks against it that decides alone: a number or date that no passage names, or a denial."""
    is_contradicted: bool
    """Whether a passage denies it: the objection is more than that something is missing."""
    reasons: tuple[str, ...]
    """What speaks against it, or what is missing. They quote."""
    best: int | None
    """Index of the passage that carries most of it."""


def ground(sentence: str, passages: Sequence[str]) -> Grounding | None:
    """Return how much of a sentence the passages tell; None where it has no content (a bare "Yes.").

    Each passage is read once and kept, so that many sentences against the same passages are cheap. Of a passage
    ``MOST_READ`` characters are read, as for a citation: a longer one would not be kept, and be read for each sentence.

    >>> ground("The notice period is 30 days.", ["Notice must be given.", "The period is 30 days."]).value
    1.0
    """
    sentence, passages = sentence[:LONGEST], tuple(passage[:MOST_READ] for passage in passages)
    asked = ask(sentence)
    if asked.is_empty:
        return None
    support = check_support(sentence, passages, threshold=0.0)
    absent = _absent(asked, passages)
    n_untold = len(checks.untold_numbers(asked, passages)) + len(checks.untold_dates(asked, passages))
    n_facts = len(asked.quantities) + len(asked.dates)
    weight = len(asked.stems) + n_facts
    share = (len(asked.stems) - len(absent) + n_facts - n_untold) / weight
    is_objected = support.supported is False
    return Grounding(
        value=share * (OBJECTED if is_objected else 1.0),
        weight=weight,
        is_objected=is_objected,
        is_contradicted=is_objected and support.is_contradicted,
        reasons=support.reasons if is_objected else _missing(asked, absent),
        best=support.best,
    )


def _absent(asked: Asked, passages: Sequence[str]) -> frozenset[str]:
    places = [read(passage).places for passage in passages]
    return frozenset(stem for stem in asked.stems if not any(stem in place for place in places))


def _missing(asked: Asked, absent: frozenset[str]) -> tuple[str, ...]:
    words = [word for word in asked.words if (stems := word_stems(word)) and absent.issuperset(stems)]
    words = words or sorted(absent)  # of a word that is there in part, as in scripts without blanks: what is not
    if not words:
        return ()
    return ("the passages do not have " + ", ".join(f"“{word}”" for word in words[:5]),)
