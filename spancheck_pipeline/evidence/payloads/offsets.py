"""Offsets as producers count them, turned into half-open ranges of code points, and verified by slicing.

Which unit a producer counts in, and which text its offsets point into, is the business of its own module here.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate
from typing import Literal, NamedTuple

from spancheck_pipeline.evidence.word import Span

Unit = Literal["code_points", "utf16", "utf8"]
"""What one step of an offset is: a code point, a UTF-16 code unit (JavaScript, Java, C#), or a byte of UTF-8."""

_UNITS: tuple[Unit, ...] = ("code_points", "utf16", "utf8")


class Placed(NamedTuple):
    """Where a producer's offsets point, and what was noticed about them."""

    span: Span | None
    """None where the offsets lie outside the text, or cut a character in two."""
    flags: tuple[str, ...]
    """Empty, or ``offset_mismatch``, with ``offset_fits_…`` where another way of counting would have agreed."""


def to_code_points(text: str, start: int, end: int, unit: Unit) -> Span | None:
    """Return a half-open range in a unit as one in code points; None where it is none of the text.

    >>> to_code_points("é😀x", 2, 6, "utf8"), to_code_points("é😀x", 1, 3, "utf16")
    (Span(start=1, end=2), Span(start=1, end=2))
    """
    if not 0 <= start <= end:
        return None
    if unit == "code_points":
        return Span(start, end) if end <= len(text) else None
    first = _code_point_at(text, start, unit)
    last = _code_point_at(text, end, unit)
    return None if first is None or last is None else Span(first, last)


def from_code_points(text: str, at: int, unit: Unit) -> int:
    """Return a place in code points as one in a unit: what a producer that counts so would say.

    >>> from_code_points("é😀x", 2, "utf8"), from_code_points("é😀x", 2, "utf16")
    (6, 3)
    """
    if unit == "code_points":
        return at
    return at if text.isascii() else _starts(text, unit)[at]


def place(
    text: str,
    start: int,
    end: int,
    quoted: str | None = None,
    *,
    unit: Unit = "code_points",
    inclusive: bool | None = False,
) -> Placed:
    """Return where offsets point, verified against the words that the producer says stand there.

    Args:
        text: What the offsets point into.
        start: Of the range, in ``unit``.
        end: Of the range; ``inclusive`` says whether the unit at ``end`` belongs to it.
        quoted: The words that the producer gives for the range; None where it gives none.
        unit: How the producer counts.
        inclusive: None where its documentation does not say: then the reading that agrees with ``quoted`` is taken, and
            half-open where there is nothing to agree with.

    A range that does not hold the words is flagged and stays what it says; it is never moved.
    """
    readings = (False, True) if inclusive is None else (inclusive,)
    spans = [to_code_points(text, start, end + reading, unit) for reading in readings]
    if quoted is None:
        if spans[0] is None:
            return Placed(None, ("offset_mismatch",))
        return Placed(spans[0], ())
    for span in spans:
        if span is not None and text[span.start : span.end] == quoted:
            return Placed(span, ())
    return Placed(spans[0], ("offset_mismatch", *_fits(text, start, end, quoted)))


def length_agrees(start: int, end: int, quoted: str, unit: Unit = "code_points", *, inclusive: bool = False) -> bool:
    """Say whether a range is as long as its words: all that can be checked where the text itself was not captured.

    >>> length_agrees(112, 141, "The notice period is 30 days.")
    True
    """
    return end + inclusive - start == from_code_points(quoted, len(quoted), unit)


def _fits(text: str, start: int, end: int, quoted: str) -> tuple[str, ...]:
    """Return which other way of counting holds the words; it is said, and not used."""
    for unit in _UNITS:
        for inclusive in (False, True):
            span = to_code_points(text, start, end + inclusive, unit)
            if span is not None and text[span.start : span.end] == quoted:
                return (f"offset_fits_{unit}{'_inclusive' if inclusive else ''}",)
    return ()


def _code_point_at(text: str, offset: int, unit: Unit) -> int | None:
    """Return how many code points stand before an offset; None beyond the text, or within a character."""
    if text.isascii():
        return offset if offset <= len(text) else None
    starts = _starts(text, unit)
    index = bisect_left(starts, offset)
    return index if index < len(starts) and starts[index] == offset else None


@lru_cache(maxsize=4)
def _starts(text: str, unit: Unit) -> array[int]:
    """Return where each code point starts, and the text ends, in a unit."""
    if unit == "utf8":
        widths = (1 if c < "\x80" else 2 if c < "\u0800" else 3 if c < "\U00010000" else 4 for c in text)
    else:
        widths = (1 if c < "\U00010000" else 2 for c in text)
    return array("q", accumulate(widths, initial=0))
