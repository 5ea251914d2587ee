"""The grader: a named, versioned, pure measurement; its spec; and how a plain function becomes one.

The shipped graders live in ``graders/``; running them over many outputs lives in ``evaluate.py``.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from spancheck_pipeline.evidence.canonical import canonical_json, digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, Verdicts
from spancheck_pipeline.grading.score import GradeResult, Outcome, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a grader may look at: one case, and one output that the system gave for it."""

    case: Case
    output: Output
    row: CapturedRow
    """The captured row: latency, attempts, epoch."""
    verdicts: Verdicts = NO_VERDICTS
    """What judges were asked about this and other outputs, and replied."""


@runtime_checkable
class Grader(Protocol):
    """A named, versioned, pure measurement of one output. The shipped ones are frozen dataclasses of their settings."""

    @property
    def name(self) -> str:
        """Name of this instance in a suite: a folder, an asset key part, a threshold's key."""

    @property
    def version(self) -> str:
        """Version of the measurement; bumped whenever any score can move."""

    def grade(self, evidence: Evidence) -> Score:
        """Return the score of one output."""


@dataclass(frozen=True)
class GraderSpec:
    """What made a score: measurement, version, full settings, versions of the data that it ships."""

    measurement: str
    """Which measurement: the grader's class or function, whatever the instance is called."""
    version: str
    settings: Mapping[str, Any]
    """Every setting, defaults included, as JSON values."""
    data: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Version or digest of each data file that the measurement ships."""

    def as_dict(self) -> dict[str, Any]:
        """Return the spec as JSON-ready values."""
        return {
            "measurement": self.measurement,
            "version": self.version,
            "settings": dict(self.settings),
            "data": dict(self.data),
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical spec: two scores are of one make when it is equal."""
        return digest(self.as_dict())

    def readable(self) -> str:
        """Return the canonical JSON of the spec, as it stands in file metadata."""
        return canonical_json(self.as_dict())


def spec_of(grader: Grader) -> GraderSpec:
    """Return the whole spec of a grader.

    A dataclass gives its fields (without ``name``); a grader may give its own ``spec()``. ``data_versions`` names the
    data that it ships. A callable among the settings is named, with the digest of its source.
    """
    own = getattr(grader, "spec", None)
    if callable(own):
        spec = own()
        if isinstance(spec, GraderSpec):
            return spec
    measurement = getattr(grader, "measurement", None) or type(grader).__qualname__
    if dataclasses.is_dataclass(grader) and not isinstance(grader, type):
        settings = {
            field.name: _plain(getattr(grader, field.name))
            for field in dataclasses.fields(grader)
            if field.name != "name"
        }
    else:
        settings = {"source": source_digest(type(grader))}
        settings |= {key: _plain(item) for key, item in sorted(vars(grader).items()) if not key.startswith("_")}
    data = dict(getattr(grader, "data_versions", {}))
    return GraderSpec(measurement=str(measurement), version=str(grader.version), settings=settings, data=data)


def source_digest(thing: Any) -> str:
    """Return a digest of a function's or class's source text, or of its bytecode where no source is at hand."""
    try:
        text = textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        code = getattr(thing, "__code__", None) or getattr(getattr(thing, "__call__", None), "__code__", None)  # noqa: B004 - the code object is wanted, not callability
        text = repr(code.co_code) + repr(code.co_names) if code else repr(type(thing))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:  # noqa: PLR0911 - one line a type
    """Return a setting as JSON has it; a callable becomes its qualified name and the digest of its source."""
    if isinstance(value, enum.Enum):
        return value.value
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(_plain(item) for item in value)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return {"callable": f"{getattr(value, '__module__', '?')}:{name}", "source": source_digest(value)}
    return {"type": type(value).__qualname__}


@dataclass(frozen=True)
class FunctionGrader:
    """A plain function as a grader. Its spec holds the digest of the function's source."""

    name: str
    function: Callable[..., Any]
    version: str = "1"

    @property
    def measurement(self) -> str:
        """Module and name of the function."""
        return f"{self.function.__module__}:{getattr(self.function, '__qualname__', type(self.function).__qualname__)}"

    def grade(self, evidence: Evidence) -> Score:
        """Call the function: with the evidence, or with case and output where it takes two arguments."""
        if _takes_two(self.function):
            return as_score(self.function(evidence.case, evidence.output))
        return as_score(self.function(evidence))


def as_score(value: Any) -> Score:
    """Return what a function returned as a score: a ``Score``, a ``GradeResult``, a bool, a number in [0, 1], or None.

    A bool is pass or fail; a number passes at 1.0; None says that there is nothing to grade.
    """
    if isinstance(value, Score):
        return value
    if isinstance(value, GradeResult):
        if value.passed is None:
            return Score(outcome=value.outcome, reason_code=value.reason_code or "reported", reason=value.detail)
        number = float(value.passed) if value.score is None else value.score
        return Score.judged(value.passed, number, reason=value.detail, findings=value.findings)
    if value is None:
        return Score.not_applicable("nothing_to_grade", "The grader says that there is nothing to grade.")
    if isinstance(value, bool):
        return Score.judged(value, float(value), reason=f"The grader says {'yes' if value else 'no'}.")
    if isinstance(value, int | float):
        return Score.judged(value >= 1, float(value), reason=f"The grader gives {value:g}.")
    raise TypeError(f"a grader must return a Score, bool, number or None, not {type(value).__name__}")


def grader(name: str, *, version: str = "1") -> Callable[[Callable[..., Any]], FunctionGrader]:
    """Make a grader of a plain function: ``@grader("polite")`` over ``(evidence)`` or ``(case, output)``."""

    def wrap(function: Callable[..., Any]) -> FunctionGrader:
        return FunctionGrader(name=name, function=function, version=version)

    return wrap


def as_grader(thing: Any) -> Grader:
    """Return a grader as it is, and a plain function as one under its own name.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(thing, Grader) and not isinstance(thing, type):
        return thing
    if callable(thing) and not isinstance(thing, type):
        return FunctionGrader(name=getattr(thing, "__name__", type(thing).__name__), function=thing)
    raise TypeError(f"a grader needs name, version and grade(evidence); {type(thing).__name__} has not")


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters) == 2  # noqa: PLR2004 - case and output


__all__ = [
    "Evidence", "FunctionGrader", "Grader", "GraderSpec", "Outcome", "as_grader", "as_score", "grader", "source_digest",
    "spec_of",
]  # fmt: skip
