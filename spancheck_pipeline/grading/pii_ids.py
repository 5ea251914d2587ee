"""National ids and tax numbers: their shapes, the words that announce them, and the validators that know their digits.

The kinds are data (``pii_kinds.toml``). What else is personal data lives in ``pii.py``.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple

import re2

from spancheck_pipeline.grading.pii_patterns import (
    AFTER,
    BEFORE,
    OTHER_CUES,
    SPACELESS,
    compiled,
    data_file,
    last_cue,
)


class NationalId(NamedTuple):
    """One national id: its shapes, its cues and its validator."""

    name: str
    strong: Any
    weak: Any
    cues: Any
    is_valid: Callable[[str], bool]

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a number of this kind stands, half-open in code points."""
        seen: set[int] = set()
        if self.strong is not None:
            for match in self.strong.finditer(text):
                start, end = match.span(1)
                if self.is_valid(text[start:end]) and not self._is_other(text[max(0, start - BEFORE) : start]):
                    seen.add(start)
                    yield start, end
        if self.weak is None or self.cues is None or self.cues.search(text) is None:
            return
        for match in self.weak.finditer(text):
            start, end = match.span(1)
            near = text[max(0, start - BEFORE) : start], text[end : end + AFTER]
            if start not in seen and any(map(self.cues.search, near)) and self.is_valid(text[start:end]):
                yield start, end

    def _is_other(self, before: str) -> bool:
        """Whether the words before a number call it an order, a lot or the like, and not what it looks like."""
        own = last_cue(self.cues, before) if self.cues is not None else -1
        return last_cue(OTHER_CUES, before, within=AFTER) > own


_NO_NINO: Final = frozenset({"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"})
"""Prefixes that HMRC never gives."""


@cache
def national_ids() -> tuple[NationalId, ...]:
    """Return every kind of national id that is looked for."""
    kinds = [_kind(name, **entry) for name, entry in data_file("pii_kinds").items()]
    nino = r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"
    return (*kinds, NationalId("gb_nino", _edged(nino), None, None, lambda value: value[:2] not in _NO_NINO))


ID_KINDS: Final = frozenset({"gb_nino", *data_file("pii_kinds")})


def _kind(name: str, *, module: str, strong: str = "", weak: str = "", cues: tuple[str, ...] = ()) -> NationalId:
    validator = importlib.import_module(f"stdnum.{module}")
    words = "|".join(_cue(cue) for cue in cues)
    return NationalId(
        name=name,
        strong=_edged(strong) if strong else None,
        weak=_edged(weak) if weak else None,
        cues=compiled(rf"(?i)(?:^|[^\pL]|[{SPACELESS}])(?:{words})(?:$|[^\pL]|[{SPACELESS}])") if words else None,
        # Some validators do not know that people write their number with spaces and dots.
        is_valid=lambda value: validator.is_valid(value) or validator.is_valid(re.sub("[ .]", "", value)),
    )


def _cue(cue: str) -> str:
    """Return a cue as a pattern; one in capitals counts in capitals, or right before a colon or #."""
    word = re2.escape(cue)
    return rf"(?-i:{word})|{word} ?[:#]" if cue.isascii() and cue.isupper() else word


def _edged(pattern: str) -> Any:
    return compiled(rf"(?:^|[^\pL\pN._/-]|[{SPACELESS}])({pattern})(?:$|[^\pL\pN_/-]|[{SPACELESS}])")
