"""Coverage: how much of a claim stands together in the evidence, sentence by sentence.

Words that stand far apart carry less: what counts are the best three sentences in a row, and the best single one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from spancheck_pipeline.grading.support.reading import Asked, Reading

_WINDOW = 3
"""Sentences in a row that may carry a claim together."""


class Coverage(NamedTuple):
    """How much of a claim's words the evidence holds."""

    one: int
    """Stems in the best single sentence."""
    window: int
    """Stems in the best three sentences in a row."""
    best: int
    """Index of the passage with the best sentence; the one with more of the claim's words of equals, else the first."""


def covered(asked: Asked, readings: Sequence[Reading]) -> Coverage:
    """Return how much of a claim's words stand together in the passages. Linear in the places of its words."""
    held: list[frozenset[str]] = []
    best, best_key = 0, (-1, -1)
    for index, reading in enumerate(readings):
        own = [asked.stems & sentence.held for sentence in reading.sentences]
        key = (max(map(len, own), default=0), len(asked.stems & reading.places.keys()))
        if key > best_key:
            best, best_key = index, key
        held += own
    window = 0
    for at, stems in enumerate(held):
        if stems or at == 0:
            window = max(window, len(stems.union(*held[at + 1 : at + _WINDOW])))
    return Coverage(max(0, best_key[0]), window, best)
