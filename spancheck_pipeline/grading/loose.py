"""Loose reading: a text in which hyphens at line ends, and dashes at line starts, may or may not be what they seem.

A PDF's *termi-/nation* is one word, its *long-/term* two; which of them, only the quote can tell. Folding lives in
``evidence/folding.py``; who reads loosely, and when, is said in ``provenance.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

from spancheck_pipeline.evidence.boundary import ends_token, starts_token
from spancheck_pipeline.evidence.folding import WRAP, Folded
from spancheck_pipeline.evidence.text import Span

_MAX_TRIES = 64
"""Places that one look-up tries, as in ``evidence/boundary.py``."""

_HYPHEN = re.compile(rf"(?<=[^\W\d_])(?:{WRAP}|(?P<real>-)|- )(?=[^\W\d_])|(?<= )(?:{WRAP} |(?P<dash>- ))")


class Hyphens:
    """A folded text without the hyphens inside its words and the dashes between them, and where they stood."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self.places: list[int] = []
        """Where each hyphen stood, in the text without them."""
        self.is_real: list[bool] = []
        """Whether it is surely one: a line's end or start, or a blank that stands for one, leaves that open."""
        self.removed: list[int] = [0]
        """Characters taken out before each place, and at the end."""
        at = size = 0
        for match in _HYPHEN.finditer(text):
            pieces.append(text[at : match.start()])
            size += match.start() - at
            at = match.end()
            self.places.append(size)
            self.is_real.append(match.lastgroup is not None)
            self.removed.append(at - size)
        pieces.append(text[at:])
        self.text = "".join(pieces)

    def original(self, start: int, end: int) -> Span:
        """Return the range of the folded text that a non-empty range of this one stands for."""
        first = bisect_right(self.places, start)
        last = bisect_left(self.places, end)
        return Span(start + self.removed[first], end + self.removed[last])

    def within(self, start: int, end: int) -> dict[int, bool]:
        """Return the hyphens strictly inside a range: their places from its start on, and which are real."""
        first, last = bisect_right(self.places, start), bisect_left(self.places, end)
        return {self.places[i] - start: self.is_real[i] for i in range(first, last)}


@lru_cache(maxsize=1024)
def hyphens(text: str) -> Hyphens:
    """Return a short folded text, such as a quote, without its hyphens."""
    return Hyphens(text)


@dataclass(frozen=True, slots=True, eq=False)
class Loose:
    """A folded passage in which a quote is found whatever its line ends did to its words."""

    folded: Folded
    _hyphens: Hyphens = field(repr=False)

    @classmethod
    def of(cls, folded: Folded) -> Loose:
        """Return the loose reading of what was folded with ``WRAP`` at its line ends."""
        return cls(folded, Hyphens(folded.text))

    @property
    def text(self) -> str:
        """The folded text, in which places are told."""
        return self.folded.text

    def original(self, start: int, end: int) -> Span:
        """Return the original range of a non-empty range of ``text``."""
        return self.folded.original(start, end)

    def span_of(self, needle: str, start: int = 0, stop: int | None = None) -> Span | None:
        """Return where a loosely folded needle stands as whole tokens, between two places of ``text``."""
        wanted, mine = hyphens(needle), self._hyphens
        if not wanted.text:
            return None
        at, end = self._without(start), len(mine.text) if stop is None else self._without(stop)
        own = wanted.within(0, len(wanted.text))
        for _ in range(_MAX_TRIES):
            at = mine.text.find(wanted.text, at, end)
            if at < 0:
                return None
            span = mine.original(at, at + len(wanted.text))
            if self._is_whole(span) and _agree(own, mine.within(at, at + len(wanted.text))):
                return span
            at += 1
        return None

    def _without(self, at: int) -> int:
        """Return the place in the text without hyphens that a place of the folded text is at."""
        low, high = 0, len(self._hyphens.places)
        while low < high:
            middle = (low + high) // 2
            if self._hyphens.places[middle] + self._hyphens.removed[middle] < at:
                low = middle + 1
            else:
                high = middle
        return max(0, at - self._hyphens.removed[low])

    def _is_whole(self, span: Span) -> bool:
        text = self.folded.text
        torn = text[span.start - 1 : span.start] == WRAP or text[span.end : span.end + 1] == WRAP
        return not torn and starts_token(text, span.start) and ends_token(text, span.end)


def _agree(quoted: dict[int, bool], there: dict[int, bool]) -> bool:
    """Say whether no real hyphen of one text is missing in the other."""
    return all(not real or place in there for place, real in quoted.items()) and all(
        not real or place in quoted for place, real in there.items()
    )
