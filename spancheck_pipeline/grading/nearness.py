"""Nearness: the window of a long text that is most like a quote, in linear time.

What a near window means for a citation is said in ``provenance.py``.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from spancheck_pipeline.evidence.text import remember


class Window(NamedTuple):
    """A range of a text, and how like the quote it is."""

    start: int
    end: int
    similarity: float
    """1 − Levenshtein distance / length of the longer."""


_GRAM = 4
"""Length of the exact pieces that a near window must share with the quote (see ``_seeds``)."""
_MAX_PLACES = 24
"""Places of one piece that are counted; a piece that stands everywhere tells nothing."""
_LONG = 600
"""Characters of a quote up to which its window is found exactly; a longer one is compared block by block."""


def nearest_window(quote: str, text: str, *, cutoff: float) -> Window | None:
    """Return the window of a text that is most like a quote, or None where none is like it by ``cutoff``.

    Places are proposed by pieces that quote and text share and then measured. Linear in the text; a quote of more than
    600 characters is measured in blocks, whose distances add up to a bound from above.

    >>> nearest_window("within 60 days", "payable within 45 days of receipt", cutoff=0.8)
    Window(start=8, end=22, similarity=0.8571428571428572)
    """
    size = len(quote)
    if not size or len(text) < size * cutoff:
        return None
    if size > _LONG:
        return _long_window(quote, text, cutoff)
    best: Window | None = None
    for diagonal in _diagonals(quote, text):
        window = _measure(quote, text, diagonal, cutoff)
        if window is not None and (best is None or window.similarity > best.similarity):
            best = window
    return best


@remember(4_000_000)
def _places(text: str) -> dict[str, list[int]]:
    """Return where each piece of a text stands, up to a bound on places."""
    places: dict[str, list[int]] = {}
    for at in range(len(text) - _GRAM + 1):
        found = places.setdefault(text[at : at + _GRAM], [])
        if len(found) < _MAX_PLACES:
            found.append(at)
    return places


def _diagonals(quote: str, text: str) -> list[int]:
    """Return the likeliest places for a quote's start, by how many of its pieces point there."""
    places = _places(text)
    votes: Counter[int] = Counter()
    width = max(4, len(quote) // 8)
    for at in range(len(quote) - _GRAM + 1):
        for place in places.get(quote[at : at + _GRAM], ()):
            votes[(place - at) // width] += 1
    pairs = Counter({bucket: count + votes.get(bucket + 1, 0) for bucket, count in votes.items()})
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:4]
    needed = max(1, len(quote) // 20)
    return [bucket * width for bucket, count in ranked if count >= needed]


def _measure(quote: str, text: str, diagonal: int, cutoff: float) -> Window | None:
    """Return the best window near a place: the end first, then from there back the start."""
    size = len(quote)
    slack = size // 4 + max(4, size // 8) + 1
    low = max(0, diagonal - slack)
    high = min(len(text), diagonal + size + 2 * slack)
    area = text[low:high]
    end, distance = _best_end(quote, area)
    if distance > size * (1 / cutoff - 1) + 1:
        return None
    back, _ = _best_end(quote[::-1], area[:end][::-1])
    start = end - back
    similarity = Levenshtein.normalized_similarity(quote, area[start:end])
    if similarity < cutoff:
        return None
    return Window(low + start, low + end, similarity)


def _best_end(quote: str, area: str) -> tuple[int, int]:
    """Return where a quote ends best in an area, and its distance there, over all starts.

    Myers' bit-parallel algorithm (J. ACM 46, 1999): one machine of ``len(quote)`` bits steps over the area.
    """
    size = len(quote)
    masks: dict[str, int] = {}
    for index, char in enumerate(quote):
        masks[char] = masks.get(char, 0) | (1 << index)
    full = (1 << size) - 1
    top = 1 << (size - 1)
    positive, negative, score = full, 0, size
    best_end, best = 0, size
    for index, char in enumerate(area):
        equal = masks.get(char, 0)
        vertical = equal | negative
        horizontal = (((equal & positive) + positive) ^ positive) | equal
        h_positive = negative | (full & ~(horizontal | positive))
        h_negative = positive & horizontal
        if h_positive & top:
            score += 1
        elif h_negative & top:
            score -= 1
        h_positive = (h_positive << 1) & full
        h_negative = (h_negative << 1) & full
        positive = h_negative | (full & ~(vertical | h_positive))
        negative = h_positive & vertical
        if score < best:
            best, best_end = score, index + 1
    return best_end, best


def _long_window(quote: str, text: str, cutoff: float) -> Window | None:
    """Return the window of a long quote: its blocks one after the other, each near where the last one ended."""
    size = len(quote)
    head = nearest_window(quote[: _LONG // 2], text, cutoff=cutoff - 0.2)
    if head is None:
        return None
    start, at, distance = head.start, head.start, 0
    allowed = size * (1 / cutoff - 1)
    for begin in range(0, size, _LONG):
        block = quote[begin : begin + _LONG]
        area = text[at : at + len(block) + len(block) // 3 + 8]
        end, block_distance = _best_end_anchored(block, area)
        distance += block_distance
        at += end
        if distance > allowed:
            return None
    similarity = 1 - distance / max(size, at - start)
    return Window(start, at, similarity) if similarity >= cutoff else None


def _best_end_anchored(block: str, area: str) -> tuple[int, int]:
    """Return where a block ends in an area that starts with it, and the distance up to there."""
    operations = Levenshtein.editops(block, area)
    end = len(area)
    tail = 0
    for tag, source, _ in reversed(operations.as_list()):
        if tag == "insert" and source == len(block):
            end -= 1
            tail += 1
        else:
            break
    return end, len(operations) - tail
