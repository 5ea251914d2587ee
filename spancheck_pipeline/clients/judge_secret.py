"""A key that comes back: what a judge replies is rid of the key that it was asked with, before anything is kept.

A gateway, a program or a model may repeat what it was sent. Keys are read in ``judge_http.py``.
"""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"
_SHORTEST: Final = 4
"""Characters of a key. What is shorter protects nothing, and would tear words apart."""


class Secret:
    """One key, found again in a text as it is or in JSON's spelling; it shows itself nowhere."""

    def __init__(self, key: str | None) -> None:
        # It begins where a run of backslashes begins, so that such runs cost no more than their length.
        spelled = r"(?<!\\)" + "".join(map(_spellings, key or ""))
        self._pattern = re.compile(spelled) if key and len(key) >= _SHORTEST else None

    def masked(self, text: str) -> str:
        r"""Return a text with the key masked.

        >>> Secret("sk-1a").masked("The key is sk-1a, or sk\\u002d1a.")
        'The key is ***, or ***.'
        """
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def is_in(self, text: str | None) -> bool:
        """Whether a text holds the key."""
        return text is not None and self._pattern is not None and self._pattern.search(text) is not None


def _spellings(character: str) -> str:
    """Return a pattern of the ways in which JSON, nested or not, spells a character."""
    escaped = f"(?i:u{ord(character):04x})"
    plain = r"\\++" if character == "\\" else rf"\\*+{re.escape(character)}"
    return rf"(?:\\++{escaped}|{plain})"


NO_SECRET: Final = Secret(None)
