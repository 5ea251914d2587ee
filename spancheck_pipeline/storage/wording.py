"""How a mistake in a file that a user wrote is worded: places, nearest names, and a model's complaints in plain words.

Where the mistake stands (file and line) is known to ``yaml_document.py`` and ``case_rows.py``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_WORDS = {
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping of keys to values",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "list_type": "must be a list",
    "model_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
    "string_type": "must be a text; put it in quotes if it is one",
    "tuple_type": "must be a list",
}
"""Complaint of a model → how a person says it, where the library speaks of its own types."""


def worded(detail: Mapping[str, Any]) -> str:
    """Return one complaint of a model in plain words, without the value that it is about."""
    if words := _WORDS.get(detail["type"]):
        return words
    message: str = detail["msg"]
    return message.removeprefix("Value error, ").replace("Input should be", "must be").strip()


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the fix for an unknown name: the nearest valid one, or all of them.

    >>> nearest("concurency", ["retries", "concurrency"])
    "did you mean 'concurrency'?"
    """
    names = sorted(known)
    if found := difflib.get_close_matches(name[:200], names, n=1, cutoff=0.6):
        return f"did you mean {found[0]!r}?"
    return f"valid here: {', '.join(names)}" if names else "leave it out"


def dotted(loc: Sequence[str | int]) -> str:
    """Return a place as people write it.

    >>> dotted(("criteria", 0, "type"))
    'criteria[0].type'
    """
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part[:80]}" if text else part[:80]
    return text
