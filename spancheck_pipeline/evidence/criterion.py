"""What each type of criterion aims at: the shapes of a target, checked where a case is made.

The criterion itself is a field of ``case.py``; whether an answer holds it is decided by ``grading/criteria``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from spancheck_pipeline.evidence.dates import read_date

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

JsonType = Literal["string", "number", "integer", "boolean", "null", "array", "object"]


def _told(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


Words = Annotated[str, AfterValidator(_told)]
"""A text with more in it than white space: an empty one would stand in every answer."""


class DateTarget(BaseModel):
    """The answer names this day."""

    model_config = _STRICT

    date: str

    @field_validator("date")
    @classmethod
    def _is_a_day(cls, value: str) -> str:
        if read_date(value, other_order=True) is None:
            raise ValueError("is no day of the calendar; write it as YYYY-MM-DD")
        return value


class TextTarget(BaseModel):
    """The answer holds this text, or does not."""

    model_config = _STRICT

    text: Words


class TableTarget(BaseModel):
    """The answer's Markdown table has so many body rows."""

    model_config = _STRICT

    table_rows: int = Field(ge=0)
    table: int | None = Field(default=None, ge=1)
    """1-based: which one, where the answer is to hold several; None where it is to hold one."""


class CircledTarget(BaseModel):
    """The answer marks this option."""

    model_config = _STRICT

    circled: Words
    region: Words | None = None
    """Label of the question that the option is of, where several have the same one; None means anywhere."""


Step = Annotated[str | int, Field(union_mode="left_to_right")]


class PathTarget(BaseModel):
    """The answer is a JSON object in which a path leads to a value of a type."""

    model_config = _STRICT

    path: list[Step] = Field(min_length=1)
    """Names of fields, and 0-based places in lists."""
    type: JsonType


class FieldTarget(BaseModel):
    """A field of the answer, a JSON object, has this value."""

    model_config = _STRICT

    field: str | list[Step]
    """The field's name, or the path to it."""
    value: JsonValue

    @field_validator("field")
    @classmethod
    def _named(cls, value: str | list[str | int]) -> str | list[str | int]:
        if not value:
            raise ValueError("must not be empty")
        return value

    @property
    def path(self) -> list[str | int]:
        """The field as a path."""
        return [self.field] if isinstance(self.field, str) else self.field


class AbstentionTarget(BaseModel):
    """The answer abstains, as a whole or on one region, and asserts none of the forbidden terms."""

    model_config = _STRICT

    forbidden_terms: list[Words]
    """What the answer would say if it guessed. An empty list forbids nothing."""
    region: Words | None = None
    """Label of the region in the answer; None means the answer as a whole."""
    markers: list[Words] = Field(default_factory=list)
    """Further words for "this cannot be read", beside the usual ones."""


class FaithfulTarget(BaseModel):
    """A judge decides; the target is what the judge is told."""

    model_config = ConfigDict(frozen=True, extra="allow")


Target = (
    DateTarget | TextTarget | TableTarget | CircledTarget | PathTarget | FieldTarget | AbstentionTarget | FaithfulTarget
)

SHAPES: Final[Mapping[str, Mapping[str, type[BaseModel]]]] = {
    "presence": {"date": DateTarget, "text": TextTarget},
    "absence": {"text": TextTarget},
    "structure": {"table_rows": TableTarget, "circled": CircledTarget, "path": PathTarget},
    "identity": {"text": TextTarget, "field": FieldTarget},
    "abstention": {"forbidden_terms": AbstentionTarget},
}
"""Type → the key that tells a shape → the shape."""


def read_target(kind: str, target: Mapping[str, Any]) -> Target:
    """Return the target of a criterion of a type.

    Raises:
        ValueError: saying which key is wrong, what is wanted, and never a value: a target quotes a case.
    """
    if kind not in SHAPES:
        return FaithfulTarget.model_validate(dict(target))
    shapes = SHAPES[kind]
    told = [key for key in shapes if key in target]
    if len(told) != 1:
        wanted = " or ".join(f"{{{key}}}" for key in shapes)
        near = _near(target, shapes) if not told else ""
        raise ValueError(f"{kind} wants {'one of ' if len(shapes) > 1 else ''}{wanted}{near}")
    try:
        made: Any = shapes[told[0]].model_validate(dict(target))
    except ValidationError as error:
        raise ValueError(_worded(error, shapes[told[0]])) from None
    return made  # type: ignore[no-any-return]  # a member of the union, by SHAPES


def _near(target: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    for name in target:
        if near := difflib.get_close_matches(str(name)[:80], list(known), n=1, cutoff=0.6):
            return f"; {str(name)[:80]!r} is not known here, did you mean {near[0]!r}?"
    return ""


def _worded(error: ValidationError, shape: type[BaseModel]) -> str:
    detail = error.errors(include_url=False, include_input=False, include_context=False)[0]
    name = str(detail["loc"][0])[:80]
    if detail["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, list(shape.model_fields), n=1, cutoff=0.6)
        return f"there is no key {name!r} here" + (f"; did you mean {near[0]!r}?" if near else "")
    if detail["type"] == "missing":
        return f"{name!r} is missing"
    return f"{name!r} {detail['msg'].removeprefix('Value error, ').replace('Input should be', 'must be')}"


__all__ = [
    "SHAPES", "AbstentionTarget", "CircledTarget", "DateTarget", "FaithfulTarget", "FieldTarget", "PathTarget",
    "TableTarget", "Target", "TextTarget", "read_target",
]  # fmt: skip
