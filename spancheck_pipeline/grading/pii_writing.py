"""A text as a reader sees it: one sign for the code points that look the same, and none for those that do not show.

A number with fullwidth digits, non-breaking spaces or hyphens, or an invisible character inside is the same number.
What is a number, and whose, is decided in ``pii.py``.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_UNSEEN: Final = frozenset(
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)
"""Soft hyphens, zero-width characters and marks of the writing direction."""
_HYPHENS: Final = frozenset("\u2010\u2011\u2012\u2013\u2212\uff0d")
_FULLWIDTH_SIGNS: Final = frozenset("\uff0b\uff20\uff0e\uff08\uff09")
_FULLWIDTH: Final = 0xFEE0
"""From a fullwidth character to the ASCII one that it shows."""


class _Signs(dict[int, int]):
    """Code point → the one that stands for it; filled as characters are met."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        sign = character
        if character in _HYPHENS:
            sign = "-"
        elif unicodedata.category(character) == "Zs":
            sign = " "
        elif character in _FULLWIDTH_SIGNS or (character.isalpha() and 0xFF21 <= code <= 0xFF5A):  # noqa: PLR2004 - A to z
            sign = chr(code - _FULLWIDTH)
        elif (digit := unicodedata.decimal(character, None)) is not None:
            sign = str(digit)
        self[code] = ord(sign)
        return self[code]


_SIGNS: Final = _Signs()


def as_seen(text: str) -> tuple[str, list[int] | None]:
    r"""Return a text as it is seen, and where each of its characters stands in the text; None where nothing moved.

    >>> as_seen("\uff0b4\u200b9\u00a030"), as_seen("\u0664\u0669")
    (('+49 30', [0, 1, 3, 4, 5, 6]), ('49', None))
    """
    if text.isascii():
        return text, None
    if _UNSEEN.isdisjoint(text):
        return text.translate(_SIGNS), None
    places = [at for at, character in enumerate(text) if character not in _UNSEEN]
    return "".join(text[at] for at in places).translate(_SIGNS), places
