"""How the settings of a suite file become a grader: strictly, with the nearest valid name for what is wrong.

Which measurements there are lives in ``graders/__init__.py``; reading the file, and its line numbers, in ``storage``.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_type_hints

from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError

from spancheck_pipeline.errors import GraderSettingsError, SettingProblem, UsageError
from spancheck_pipeline.grading.grader import Grader, as_grader
from spancheck_pipeline.grading.judge import Judge

Load = Callable[[str], Any]
"""Returns what ``module:attribute`` names. The core imports no user code itself."""

Judges = Mapping[str, Judge]
"""The judges that a project declares, by name."""

_STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def build(
    measurements: Mapping[str, type],
    name: str,
    settings: Mapping[str, Any],
    *,
    load: Load | None = None,
    judges: Judges | None = None,
) -> Grader:
    """Return the grader that a suite calls ``name``.

    ``settings["use"]`` names another measurement, or ``module:attribute`` of a grader, a function, or a class.
    A setting that is a judge names one of ``judges``; where these are None, it is whole, as a spec has it.

    Raises:
        GraderSettingsError: naming every wrong setting.
    """
    rest = dict(settings)
    use = rest.pop("use", name)
    if not isinstance(use, str):
        raise _error(name, "use", f"must be a text, not {type(use).__name__}")
    if use in measurements:
        return _of_class(measurements[use], name, rest, load, judges)
    if ":" in use:
        return _loaded(use, name, rest, load, judges)
    near = nearest(use, measurements)
    fix = f"did you mean {near!r}, or your own code (use: module:attribute)?" if near else _shipped(measurements)
    raise _error(name, "use" if "use" in settings else None, f"there is no measurement {use[:80]!r}", fix)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the nearest of the known names, or None where none is near.

    >>> nearest("groundednes", ["groundedness", "no_pii"])
    'groundedness'
    """
    near = difflib.get_close_matches(name[:200], list(known), n=1, cutoff=0.5)
    return near[0] if near else None


def _shipped(measurements: Iterable[str]) -> str:
    return f"shipped are {', '.join(sorted(measurements))}; your own code is named by use: module:attribute"


def _of_class(cls: type, name: str, settings: dict[str, Any], load: Load | None, judges: Judges | None) -> Grader:
    """Build a frozen dataclass from its settings, each checked against its annotation."""
    hints = get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init and field.name != "name"}
    problems: list[SettingProblem] = []
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in fields:
            near = nearest(str(key), fields)
            fix = f"did you mean {near!r}?" if near else f"there are: {', '.join(sorted(fields)) or 'none'}"
            problems.append(_problem(name, str(key)[:80], "there is no such setting", fix))
            continue
        try:
            shorthand = getattr(cls, "shorthands", {}).get(key, {})
            values[key] = (
                _short(shorthand, value, load)
                if _is_word(shorthand, value)
                else _checked(hints[key], value, load, judges)
            )
        except _JudgeError as error:
            problems.append(_problem(name, key, error.what, error.fix))
        except (ValueError, TypeError, UsageError) as error:
            problems.append(_problem(name, key, _what(error)))
    needed = [key for key, field in fields.items() if _has_no_default(field) and key not in settings]
    problems += [_problem(name, key, "this setting is needed and missing") for key in needed]
    if problems:
        raise GraderSettingsError(problems)
    try:
        return typing.cast("Grader", cls(**values, name=name))
    except (ValueError, TypeError) as error:
        raise _error(name, None, _what(error)) from None


def _loaded(use: str, name: str, settings: dict[str, Any], load: Load | None, judges: Judges | None) -> Grader:
    """Build a grader from the user's own code: an instance, a class or factory with settings, or a plain function."""
    if load is None:
        raise _error(name, "use", "user code cannot be loaded here")
    thing = load(use)
    if dataclasses.is_dataclass(thing) and isinstance(thing, type):
        if "name" in {field.name for field in dataclasses.fields(thing)}:
            return _of_class(thing, name, settings, load, judges)
        return _called(thing, name, settings)
    if isinstance(thing, type) or (settings and callable(thing) and not isinstance(thing, Grader)):
        return _called(thing, name, settings)
    if settings:
        fix = "make it a class or a factory"
        raise _error(name, min(map(str, settings)), "a grader that is already made takes no settings", fix)
    return _as_grader(thing, name)


def _called(factory: Callable[..., Any], name: str, settings: dict[str, Any]) -> Grader:
    try:
        signature = inspect.signature(factory)
        takes_name = "name" in signature.parameters and "name" not in settings
        arguments = {**settings, "name": name} if takes_name else settings
        signature.bind(**arguments)
    except (TypeError, ValueError) as error:
        raise _error(name, None, f"the settings do not fit what it names ({error})") from None
    try:
        made = factory(**arguments)
    except (TypeError, ValueError) as error:
        raise _error(name, None, f"it refused these settings ({type(error).__name__})") from None
    return _as_grader(made, name)


def _as_grader(thing: Any, name: str) -> Grader:
    try:
        return renamed(as_grader(thing), name)
    except TypeError as error:
        raise _error(name, "use", str(error)) from None


@dataclasses.dataclass(frozen=True)
class _Renamed:
    """A user's grader under the name that the suite gives it; its spec stays its own."""

    grader: Grader
    name: str

    @property
    def version(self) -> str:
        return self.grader.version

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") or attribute == "grader":
            raise AttributeError(attribute)
        return getattr(self.grader, attribute)

    def grade(self, evidence: Any) -> Any:
        return self.grader.grade(evidence)

    def spec(self) -> Any:
        from spancheck_pipeline.grading.grader import spec_of

        return spec_of(self.grader)


def renamed(grader: Grader, name: str) -> Grader:
    """Return a grader under another name; what it measures, and so its spec, stays the same."""
    if grader.name == name:
        return grader
    if dataclasses.is_dataclass(grader) and any(f.name == "name" and f.init for f in dataclasses.fields(grader)):
        return typing.cast("Grader", dataclasses.replace(grader, name=name))
    return _Renamed(grader, name)


def _checked(hint: Any, value: Any, load: Load | None, judges: Judges | None) -> Any:
    """Return a setting as its annotation has it. JSON rules: a list may be a tuple, "yes" is not a bool."""
    if _takes(hint, Judge) and value is not None and value not in _words_of(hint):
        return _judge_named(value, judges, words=_words_of(hint))
    if isinstance(value, str) and ":" in value and load is not None and _wants_callable(hint):
        return load(value)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(hint, config=_STRICT)
    except PydanticSchemaGenerationError:
        return value
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return adapter.validate_python(value)
    return adapter.validate_json(text)


def _is_word(shorthand: Mapping[str, str], value: Any) -> bool:
    return bool(shorthand) and isinstance(value, str) and ":" not in value


def _short(shorthand: Mapping[str, str], word: str, load: Load | None) -> Any:
    """Return what a word of a setting stands for: a class that is made without arguments."""
    if word not in shorthand:
        raise ValueError(f"must be {' or '.join(sorted(shorthand))}, or module:attribute of your own")
    if load is None:
        raise ValueError(f"{word} cannot be loaded here")
    return load(shorthand[word])()


def _wants_callable(hint: Any) -> bool:
    return hint is Callable or typing.get_origin(hint) is Callable or any(map(_wants_callable, typing.get_args(hint)))


def _takes(hint: Any, kind: type) -> bool:
    return hint is kind or any(_takes(part, kind) for part in typing.get_args(hint))


def _words_of(hint: Any) -> tuple[Any, ...]:
    """Return the words that a setting may be beside a judge: those of its ``Literal``."""
    if typing.get_origin(hint) is typing.Literal:
        return typing.get_args(hint)
    return tuple(word for part in typing.get_args(hint) for word in _words_of(part))


class _JudgeError(ValueError):
    """A setting names no judge that there is."""

    def __init__(self, what: str, fix: str | None = None) -> None:
        self.what, self.fix = what, fix
        super().__init__(what)


_JUDGE = "judge:"


def _judge_named(value: Any, judges: Judges | None, *, words: tuple[Any, ...]) -> Judge:
    """Return the judge that a setting names, with ``judge:`` before its name where it may also be another word."""
    if isinstance(value, Judge):
        return value
    if isinstance(value, Mapping) and judges is None:
        return TypeAdapter(Judge).validate_json(json.dumps(dict(value), allow_nan=False))
    wanted = " or ".join([*map(str, words), "judge:NAME" if words else "a judge's name"])
    if not isinstance(value, str):
        raise _JudgeError(f"must be {wanted}, not {type(value).__name__}")
    if words and not value.startswith(_JUDGE):
        near = nearest(value, [*map(str, words), *(_JUDGE + judge for judge in judges or ())])
        raise _JudgeError(f"must be {wanted}", f"did you mean {near!r}?" if near else None)
    name = value.removeprefix(_JUDGE)
    if judges and name in judges:
        return judges[name]
    near = nearest(name, judges or ())
    there = f"there are: {', '.join(sorted(judges))}" if judges else "no judge is declared (datasets/judges.yaml)"
    raise _JudgeError(f"there is no judge {name[:80]!r}", f"did you mean {near!r}?" if near else there)


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _what(error: Exception) -> str:
    """Say what is wrong without repeating the value: settings may hold what must not stand in a log."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        return (f"{place}: " if place else "") + first["msg"]
    return str(error)


def _problem(grader: str, setting: str | None, what: str, fix: str | None = None) -> SettingProblem:
    return SettingProblem(grader=grader, setting=setting, what=what, fix=fix)


def _error(grader: str, setting: str | None, what: str, fix: str | None = None) -> GraderSettingsError:
    return GraderSettingsError([_problem(grader, setting, what, fix)])
