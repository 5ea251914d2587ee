"""The case: one question with what is known about a good answer, and its two digests.

How a row of a file becomes a case (columns, line numbers, duplicates) lives in ``storage/datasets.py``; what a system
answered lives in ``run.py``.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
    model_validator,
)

from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.criterion import read_target
from spancheck_pipeline.evidence.run import Context

CriterionType = Literal["presence", "absence", "structure", "identity", "abstention", "faithful"]
CRITERION_TYPES: tuple[str, ...] = get_args(CriterionType)

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def check_id(value: str) -> str:
    """Return an id of a case, criterion or source unchanged, or say why it cannot be one.

    An id stands in tables, file metadata, terminals and JUnit files: it holds no control character or line break.
    """
    if not value.strip():
        raise ValueError("an id must not be empty")
    if len(value) > 512:  # noqa: PLR2004 - a bound on what a table cell and a message can bear
        raise ValueError("an id must be at most 512 characters")
    if _UNPRINTABLE.search(value):
        raise ValueError("an id must not hold control characters, line breaks or lone surrogates")
    return value


class Turn(BaseModel):
    """One earlier turn of a conversation, shown to the system together with the question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str
    """Who spoke: ``user``, ``assistant`` or ``system``, or the producer's own word."""
    text: str

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        names = {"speaker": "role", "content": "text"}
        return {names.get(key, key): item for key, item in value.items()}


class Criterion(BaseModel):
    """One boolean statement about a good answer: it held or it did not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1)]
    type: CriterionType
    target: Annotated[dict[str, JsonValue], Field(validate_default=True)] = Field(default_factory=dict)
    """What it aims at: the shape depends on the type (``criterion.py``)."""
    comment: str | None = None

    _check_id = field_validator("id")(check_id)

    @field_validator("target")
    @classmethod
    def _fits_the_type(cls, value: dict[str, JsonValue], info: ValidationInfo) -> dict[str, JsonValue]:
        if "type" in info.data:  # a type that is not known is said by itself
            read_target(info.data["type"], value)
        return value


def _tuple_of_turns(value: Any) -> Any:
    return () if value is None else value


class Case(BaseModel):
    """One question with what is known about a good answer.

    The first five fields may be given by position: ``Case("q1", "What is the notice period?", "lease")``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    input: JsonValue
    """What the system is asked: a text, or an object that it understands."""
    category: str = "default"
    expected: JsonValue = None
    """A good answer, or None where none is known."""
    meta: dict[str, JsonValue] = Field(default_factory=dict)
    history: Annotated[tuple[Turn, ...], BeforeValidator(_tuple_of_turns)] = ()
    answerable: bool | None = None
    """Whether the corpus holds an answer; None where nobody said."""
    expected_sources: tuple[str, ...] = ()
    """Ids of the sources that a good retrieval brings."""
    criteria: tuple[Criterion, ...] = ()
    cluster: str | None = None
    """What makes cases dependent (a document, a conversation); None where they are independent."""
    contexts: tuple[Context, ...] = ()
    """Known passages. They are never shown to the system."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        names = ("id", "input", "category", "expected", "meta")
        if len(args) > len(names):
            raise TypeError(f"Case takes at most {len(names)} positional arguments, got {len(args)}")
        positional = dict(zip(names, args, strict=False))
        if twice := sorted(positional.keys() & fields.keys()):
            raise TypeError(f"Case got {twice[0]!r} both by position and by name")
        super().__init__(**positional, **fields)

    _check_id = field_validator("id")(check_id)

    @model_validator(mode="before")
    @classmethod
    def _answerable_from_meta(cls, value: Any) -> Any:
        """Read ``meta.answerable``, where files of the earlier library keep it."""
        if not isinstance(value, dict) or value.get("answerable") is not None:
            return value
        meta = value.get("meta")
        if isinstance(meta, dict) and isinstance(meta.get("answerable"), bool):
            return {**value, "answerable": meta["answerable"]}
        return value

    @model_validator(mode="after")
    def _unique_criteria(self) -> Self:
        ids = [criterion.id for criterion in self.criteria]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"criterion id {twice[0]!r} stands twice")
        return self

    @cached_property
    def question_digest(self) -> str:
        """SHA-256 of what the system sees: input and history. Two cases with the same one ask the same question."""
        return digest({"input": self.input, "history": [turn.model_dump() for turn in self.history]})

    @cached_property
    def label_digest(self) -> str:
        """SHA-256 of what the system does not see: everything that a grader may read of a case."""
        return digest(self.model_dump(mode="json", exclude={"id", "input", "history"}))


def dataset_digest(cases: tuple[Case, ...] | list[Case]) -> str:
    """Return the SHA-256 of a set of cases, whatever their order: ids, questions and labels."""
    return digest(sorted([case.id, case.question_digest, case.label_digest] for case in cases))
