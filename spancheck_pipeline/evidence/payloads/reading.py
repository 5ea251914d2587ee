"""Foreign payloads as plain values, and careful access to their fields.

A payload is a dict, or an SDK's object that knows how to become one. Nothing here knows a producer.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from spancheck_pipeline.evidence.run import storable

MAX_DEPTH: Final = 60
"""Deeper than any payload; the bound keeps recursion finite."""


class PayloadError(ValueError):
    """A payload that cannot be read as the producer's: the message has field names and no text of it."""


def plain(value: Any, depth: int = 0) -> Any:
    """Return a payload as JSON has it: mappings, lists, texts, numbers, truth values and None.

    An SDK's object becomes what its own ``model_dump``, ``to_dict`` or ``dict`` gives; a dataclass its fields; anything
    else its type's name. NaN becomes None, and a lone surrogate U+FFFD.
    """
    if depth > MAX_DEPTH:
        return "<nested too deeply>"
    if isinstance(value, Mapping):
        return {str(storable(str(key))): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        found = [plain(item, depth + 1) for item in value]
        # The order of a set differs from process to process.
        return found if isinstance(value, list | tuple) else sorted(found, key=str)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return storable(value)
    return plain(fields, depth + 1) if (fields := _fields(value)) is not None else f"<{type(value).__name__}>"


def _fields(value: Any) -> Any:
    """Return an object as the mapping that it can turn itself into; None where it cannot."""
    if isinstance(value, type):
        return None
    for name in ("model_dump", "to_dict", "dict"):
        method = getattr(value, name, None)
        if callable(method):
            return method()
    if dataclasses.is_dataclass(value):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Any]:
    """Return a list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def items(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings of a list; an empty list for anything else."""
    return [item for item in listed(value) if isinstance(item, Mapping)]


def text(value: Any) -> str | None:
    """Return a text as it is, and None for anything else."""
    return value if isinstance(value, str) else None


def filled(value: Any) -> str | None:
    """Return a text that holds more than white space, and None for anything else."""
    return value if isinstance(value, str) and value.strip() else None


def whole(value: Any) -> int | None:
    """Return a whole number that is not negative, and None for anything else; some SDKs write whole numbers as floats.

    >>> whole(3), whole(3.0), whole(True), whole(-1), whole("3")
    (3, 3, None, None, None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def amount(value: Any) -> float | None:
    """Return a number that is not negative, and None for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def first(value: Any, *names: str) -> Any:
    """Return the first of some fields that is there and not None.

    >>> first({"start_index": 3}, "startIndex", "start_index")
    3
    """
    for name in names:
        if (found := mapping(value).get(name)) is not None:
            return found
    return None


def total(*parts: int | None) -> int | None:
    """Return the sum of what is known; None where the first part, which the others add to, is not."""
    if parts[0] is None:
        return None
    return sum(part or 0 for part in parts)


def kind_word(value: Any) -> str:
    """Return a producer's type name as a word that may stand in a source id: letters, digits, ``_``, at most 60."""
    word = re.sub(r"[^A-Za-z0-9_]", "_", value)[:60] if isinstance(value, str) else ""
    return word or "untyped"
