"""A model's complaints in plain words: which field it is about, and what it must be, without the value.

What a person can do about it is for the caller to say, who knows whether the value came from a file or from a system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_WORDS: Final = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping of keys to values",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "model_attributes_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "string_type": "must be a text",
    "tuple_type": "must be a list",
}
"""Complaint of a model → how a person says it, where the library speaks of its own types."""


def worded(detail: Mapping[str, Any]) -> str:
    """Return one complaint of a model in plain words, without the value that it is about."""
    if words := _WORDS.get(detail["type"]):
        return words
    message: str = detail["msg"]
    return message.removeprefix("Value error, ").replace("Input should be", "must be").strip()


def dotted(loc: Sequence[str | int]) -> str:
    """Return a place as people write it.

    >>> dotted(("criteria", 0, "type"))
    'criteria[0].type'
    """
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part[:80]}" if text else part[:80]
    return text
