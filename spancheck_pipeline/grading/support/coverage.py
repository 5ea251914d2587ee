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
    masks: list[int] = []
    best, best_key = 0, (-1, -1)
    stems = sorted(asked.stems)
    for index, reading in enumerate(readings):
        own = _masks(stems, reading)
        key = (max((mask.bit_count() for mask in own), default=0), _union(own).bit_count())
        if key > best_key:
            best, best_key = index, key
        masks += own
    window = 0
    for at, mask in enumerate(masks):
        if mask or at == 0:
            window = max(window, _union(masks[at : at + _WINDOW]).bit_count())
    return Coverage(max(0, best_key[0]), window, best)


def _masks(stems: Sequence[str], reading: Reading) -> list[int]:
    """Return for each sentence which of the stems it holds, as bits."""
    masks = [0] * len(reading.sentences)
    for bit, stem in enumerate(stems):
        for index in reading.places.get(stem, ()):
            masks[index] |= 1 << bit
    return masks


def _union(masks: Sequence[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
