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
    best: tuple[int, ...]
    """Indexes of the passages with the best sentence; of equals, those with more of the claim's words first."""


def covered(asked: Asked, readings: Sequence[Reading]) -> Coverage:
    """Return how much of a claim's words stand together in the passages. Linear in the places of its words."""
    held: list[frozenset[str]] = []
    keys: list[tuple[int, int]] = []
    for reading in readings:
        own = [asked.stems & sentence.held for sentence in reading.sentences]
        keys.append((max(map(len, own), default=0), len(asked.stems & reading.places.keys())))
        held += own
    one = max(keys)[0]
    best = sorted((index for index, key in enumerate(keys) if key[0] == one), key=lambda index: -keys[index][1])
    window = 0
    for at, stems in enumerate(held):
        if stems or at == 0:
            window = max(window, len(stems.union(*held[at + 1 : at + _WINDOW])))
    return Coverage(one, window, tuple(best))
