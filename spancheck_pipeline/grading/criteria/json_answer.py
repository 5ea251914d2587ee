"""An answer that is a JSON object: paths into it, types and values of what stands there.

The object is the whole answer, or the one that stands in a code fence of it. A name that an object has twice says
nothing, since no reader can tell which is meant.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

from spancheck_pipeline.grading.criteria.fence import fences
from spancheck_pipeline.grading.criteria.result import Held

_JSON: Final = frozenset({"", "json", "jsonc", "json5"})
"""What a fence around JSON may be marked as."""

Path = Sequence[str | int]


class _Object(dict[str, Any]):
    """A JSON object that knows which of its names stand twice."""

    twice: frozenset[str] = frozenset()


class _Reached(NamedTuple):
    """What stands at a path, or why nothing does."""

    value: Any = None
    problem: Held | None = None


def path_has_type(answer: str, path: Path, wanted: str) -> Held:
    """Return whether a path leads to a value of a JSON type. A whole number written 1.0 is an integer.

    >>> path_has_type('{"lines": [{"qty": 2}]}', ["lines", 0, "qty"], "integer").code
    'held'
    """
    reached = _at(answer, path)
    if reached.problem:
        return reached.problem
    kinds = _types_of(reached.value)
    if wanted in kinds:
        return Held.yes(f"The path leads to a value of type {wanted}.")
    return Held.no("other_type", f"The path leads to a value of type {kinds[0]}, and {wanted} is wanted.")


def field_equals(answer: str, path: Path, wanted: Any) -> Held:
    """Return whether the value at a path equals another: letter by letter, and "1" is not 1, nor is true.

    >>> field_equals('{"n": 1}', ["n"], 1).code, field_equals('{"n": "1"}', ["n"], 1).code
    ('held', 'other_type')
    """
    reached = _at(answer, path)
    if reached.problem:
        return reached.problem
    if _equal(reached.value, wanted):
        return Held.yes("The field has the wanted value.")
    kind, other = _types_of(wanted)[-1], _types_of(reached.value)[-1]
    if kind != other:
        return Held.no("other_type", f"The field holds a value of type {other}, and {kind} is wanted.")
    return Held.no("other_value", "The field has another value.")


def read_object(answer: str) -> _Object | str:
    """Return the JSON object that an answer is, or in words why it is none."""
    try:
        value = _parsed(answer)
    except ValueError:
        lines = answer.split("\n")  # a string may hold other line separators
        fenced = ("\n".join(fence.body(lines)) for fence in fences(lines) if fence.info in _JSON)
        objects = [value for body in fenced if isinstance(value := _parsed_or_none(body), _Object)]
        if len(objects) == 1:
            return objects[0]
        return f"holds {len(objects)} JSON objects" if objects else "is no JSON"
    return value if isinstance(value, _Object) else f"is JSON of type {_types_of(value)[0]}, not an object"


def _at(answer: str, path: Path) -> _Reached:
    value: Any = read_object(answer)
    if isinstance(value, str):
        return _Reached(problem=Held.no("no_object", f"The answer {value}."))
    for depth, step in enumerate(path, start=1):
        where = f"step {depth} of the path"
        if isinstance(value, _Object) and step in value.twice:
            return _Reached(problem=Held.no("field_twice", f"The object has the field of {where} twice."))
        is_there = (isinstance(value, _Object) and isinstance(step, str) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)
        )
        if not is_there:
            return _Reached(problem=Held.no("no_field", f"Nothing stands at {where}."))
        value = value[step]
    return _Reached(value)


def _parsed(text: str) -> Any:
    """Return a JSON text's value; ``ValueError`` for anything that JSON is not."""
    try:
        return json.loads(text.strip().lstrip("\ufeff"), object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parsed_or_none(text: str) -> Any:
    try:
        return _parsed(text)
    except ValueError:
        return None


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    made = _Object(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        made.twice = frozenset(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # add says None
    return made


def _no_constant(_name: str) -> NoReturn:
    raise ValueError("JSON has no such number")


def _types_of(value: Any) -> tuple[str, ...]:
    """Return the JSON types of a value, the closest first."""
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("boolean",)
    if isinstance(value, int | float):
        return ("integer", "number") if isinstance(value, int) or value.is_integer() else ("number",)
    if isinstance(value, str):
        return ("string",)
    return ("array",) if isinstance(value, list) else ("object",)


def _equal(one: Any, other: Any) -> bool:
    """Compare two JSON values: numbers by value, everything else by type and value."""
    if isinstance(one, dict) and isinstance(other, dict):
        is_clear = not getattr(one, "twice", None)
        return is_clear and one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if _types_of(one)[-1] != _types_of(other)[-1]:
        return False
    if isinstance(one, float) and not math.isfinite(one):
        return False
    return bool(one == other)
