"""A YAML file as plain values, with the line of each of them; and a model's complaints as problems with those lines.

Scalars are read as YAML 1.2 reads them: ``yes`` and ``2026-11-03`` are texts, ``1e-3`` is a number. Tags, merge keys
and values that JSON does not have are refused, and so is a file whose aliases unfold to more than it is worth. What the
keys of a suite mean lives in ``decision/suite.py``.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from spancheck_pipeline.errors import ConfigError, ContractError, Problem
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.evidence.complaints import dotted
from spancheck_pipeline.storage.wording import nearest, worded

if TYPE_CHECKING:
    from pathlib import Path

M = TypeVar("M", bound=BaseModel)

Loc = tuple[str | int, ...]
"""Where a value stands: keys and list places from the top, as pydantic says it."""

MAX_BYTES = 1_000_000
MAX_VALUES = 20_000
"""Values of one file after its aliases are unfolded."""
MAX_DEPTH = 40

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,4})?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A YAML file's values and where they stand."""

    file: str
    data: dict[str, Any]
    lines: Mapping[Loc, int] = field(repr=False)
    """1-based line of every key and list entry."""

    def line(self, loc: Loc) -> int | None:
        """Return the line of a place, or of the nearest place around it that the file has."""
        for end in range(len(loc), 0, -1):
            if (line := self.lines.get(loc[:end])) is not None:
                return line
        return None

    def problem(self, loc: Loc, what: str, fix: str | None = None) -> Problem:
        """Return a problem with the line of a place."""
        return Problem(what=what, line=self.line(loc), fix=fix)


def read_yaml(path: Path, *, shown_as: str | None = None) -> Document:
    """Read a YAML file whose top is a mapping.

    Raises:
        ConfigError: for a file that is missing, unreadable, not UTF-8, not YAML or not such a mapping, and for keys
            that stand twice.
    """
    file = shown_as or str(path)
    text = _text_of(path, file)
    reader = _Reader()
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = reader.value(node, ()) if node is not None else {}
    except yaml.MarkedYAMLError as error:
        raise ConfigError(file, [_syntax_problem(error, text)]) from None
    except (yaml.YAMLError, RecursionError, ValueError):
        unreadable = Problem(what="this cannot be read as YAML", fix="check it with a YAML editor")
        raise ConfigError(file, [unreadable]) from None
    if not isinstance(data, dict):
        reader.problems.append(Problem(what="the file must be a mapping of keys to values", line=1))
    if reader.problems:
        raise ConfigError(file, sorted(reader.problems, key=lambda problem: problem.line or 0))
    return Document(file=file, data=data, lines=reader.lines)


def check_contract(document: Document) -> None:
    """Refuse a document of another contract; one that states none is its model's to refuse.

    Raises:
        ContractError: naming both numbers.
        ConfigError: for what is no whole number.
    """
    found = document.data.get("contract")
    if isinstance(found, bool | float):
        what = "contract: must be a whole number"
        raise ConfigError(document.file, [document.problem(("contract",), what, f"write contract: {CONTRACT}")])
    if isinstance(found, int) and found != CONTRACT:
        raise ContractError(document.file, found=found, known=CONTRACT)


def model_of(document: Document, model: type[M]) -> M:
    """Return what a document of this contract says.

    Raises:
        ContractError: for one of another contract.
        ConfigError: with everything that is wrong, each with its line.
    """
    check_contract(document)
    try:
        return model.model_validate_json(as_json(document.data), strict=True)
    except ValidationError as error:
        raise ConfigError(document.file, model_problems(error, document, model)) from None


def model_problems(
    error: ValidationError, document: Document, model: type[BaseModel], *, under: Loc = ()
) -> list[Problem]:
    """Return what a model complains of, each with its line, its key and, for an unknown key, the nearest valid one.

    ``under`` is where in the document the model's own top stands.
    """
    problems = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        loc = tuple(part for part in detail["loc"] if part != "[key]")
        where = dotted(loc)
        fix: str | None = None
        match detail["type"]:
            case "extra_forbidden":
                known = keys_at(model, loc[:-1])
                parent = f" in {dotted(loc[:-1])}" if loc[:-1] else ""
                what, fix = f"unknown key {_short(loc[-1])}{parent}", nearest(str(loc[-1]), known)
            case "missing":
                what, fix = f"the key {where!r} is missing", "add it"
            case _:
                what = f"{where}: {worded(detail)}" if where else worded(detail)
        problems.append(document.problem(under + loc, what, fix))
    return problems


def keys_at(model: type[BaseModel], loc: Loc) -> tuple[str, ...]:
    """Return the keys that a model has at a place inside it; none where it takes any."""
    here: Any = model
    for part in loc:
        here = _step(here, part)
    return tuple(here.model_fields) if isinstance(here, type) and issubclass(here, BaseModel) else ()


def as_json(data: Any) -> str:
    """Return plain values as the JSON text that a strict model reads, so that ``"8"`` is no number."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False)


def _step(here: Any, part: str | int) -> Any:
    """Return the annotation one key further inside."""
    if isinstance(here, type) and issubclass(here, BaseModel):
        entry = here.model_fields.get(str(part))
        return _unwrapped(entry.annotation) if entry else None
    origin, inner = get_origin(here), get_args(here)
    if origin is dict:
        return _unwrapped(inner[1])
    return _unwrapped(inner[0]) if origin in {list, tuple} and inner else None


def _unwrapped(annotation: Any) -> Any:
    """Return the part of an annotation that says something: ``X`` of ``X | None`` and of ``Annotated[X, …]``."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _unwrapped(get_args(annotation)[0])
    if origin in {Union, types.UnionType}:
        rest = [part for part in get_args(annotation) if part is not type(None)]
        return _unwrapped(rest[0]) if len(rest) == 1 else None
    return annotation


def _short(name: object) -> str:
    return repr(str(name)[:80])


def _text_of(path: Path, file: str) -> str:
    try:
        raw = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    except FileNotFoundError:
        raise ConfigError(file, [Problem(what="there is no such file")]) from None
    except OSError as error:
        raise ConfigError(file, [Problem(what=f"the file cannot be read ({error.strerror})")]) from None
    if raw is None:
        raise ConfigError(file, [Problem(what=f"the file is larger than {MAX_BYTES} bytes", fix="make it shorter")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError(file, [Problem(what="this is not UTF-8", line=line, fix="save the file as UTF-8")]) from None
    if match := _CONTROL.search(text):
        line = text[: match.start()].count("\n") + 1
        raise ConfigError(file, [Problem(what="a control character stands here", line=line, fix="delete it")])
    return text


_OPENED: Final = {
    "while parsing a flow mapping": "a { that opens here is not closed, or lacks a comma",
    "while parsing a flow sequence": "a [ that opens here is not closed, or lacks a comma",
    "while parsing a flow node": "a [ or { that opens here is not closed",
    "while scanning a quoted scalar": "a quote that opens here is not closed",
}
"""What the parser was in when it gave up → what is wrong where that begins, for where it gave up tells nothing."""

_END: Final = "'<stream end>'"

_SYNTAX: Final = (
    (r"found character '\\t'", "a tab stands here", "set the line in with blanks"),
    (r"found character '(.)'", "a value cannot begin with {}", "put the value in quotes"),
    (
        "mapping values are not allowed",
        "a colon stands here that cannot, or the line before lacks its own",
        "put a text with a colon in quotes, or check the indentation",
    ),
    ("found undefined alias", "a value that begins with * is an alias, and none is called so", "quote it"),
    ("second occurrence", "an anchor (&) of this name stands there twice", "put a text that begins with & in quotes"),
    ("expected <block end>", "this line does not go on with what stands before it", "check the indentation"),
    ("found unknown escape", "a backslash in double quotes means something else here", "use single quotes"),
    ("another document", "a second document (---) stands here", "keep one document in the file"),
)
"""The parser's complaint → in plain words, with the fix; the first that fits."""


def _syntax_problem(error: yaml.MarkedYAMLError, text: str) -> Problem:
    said, opened = error.problem or "", _OPENED.get(error.context or "")
    is_open = opened is not None and (said.startswith(("expected ',' or", "found unexpected")) or _END in said)
    mark = error.problem_mark or error.context_mark
    if is_open:
        mark = _still_open(text) if error.context == "while parsing a flow node" else error.context_mark
    # The rest of the parser's words is a fixed set too, but for pieces of the file in quotes.
    what = re.sub(r"(, but (found|got))?\s*'[^']*'", "", said).strip(" ,;") or "this cannot be read"
    fix = "check indentation, colons and quotes there"
    if is_open:
        what, fix = str(opened), "close it"
    else:
        for pattern, words, help_ in _SYNTAX:
            if found := re.search(pattern, said):
                what, fix = words.format(*found.groups()), help_
                break
    return Problem(
        what=f"not YAML: {what}",
        line=mark.line + 1 if mark else None,
        column=mark.column + 1 if mark else None,
        fix=fix,
    )


def _still_open(text: str) -> yaml.Mark | None:
    """Return where the innermost bracket opens that a text does not close."""
    opened: list[yaml.Mark] = []
    try:
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            if isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken):
                opened.append(token.start_mark)
            elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken) and opened:
                opened.pop()
    except yaml.YAMLError:
        pass  # what was open until there is
    return opened[-1] if opened else None


class _Reader:
    """Turns YAML nodes into plain values and keeps the line of each."""

    def __init__(self) -> None:
        self.lines: dict[Loc, int] = {}
        self.problems: list[Problem] = []
        self._n_values = 0
        self._is_too_large = False

    def value(self, node: yaml.Node, loc: Loc) -> Any:
        """Return a node's value; its problems are collected."""
        self._n_values += 1
        if self._n_values > MAX_VALUES or len(loc) > MAX_DEPTH:
            if not self._is_too_large:
                self._is_too_large = True
                self._complain(node, "too many or too deeply nested values, aliases counted in", "make it smaller")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, loc)
        if isinstance(node, yaml.SequenceNode):
            return [self._placed(item, item, (*loc, place)) for place, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.value == "<<":
                self._complain(key_node, "a key must be a plain text", "write the keys out")
                continue
            key = key_node.value
            if key in values:
                first = self.lines[(*loc, key)]
                self._complain(key_node, f"the key {_short(key)} stands twice (first in line {first})", "keep one")
                continue
            values[key] = self._placed(key_node, value_node, (*loc, key))
        return values

    def _placed(self, place: yaml.Node, node: yaml.Node, loc: Loc) -> Any:
        self.lines[loc] = place.start_mark.line + 1
        return self.value(node, loc)

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if not node.tag.startswith("tag:yaml.org,2002:"):
            self._complain(node, "a YAML tag stands here", "leave the tag out")
            return None
        value = node.value if node.style in {"'", '"', "|", ">"} else _plain_scalar(node.value)
        if isinstance(value, float) and not math.isfinite(value):
            self._complain(node, "a number must be finite", "write a number")
            return None
        return value

    def _complain(self, node: yaml.Node, what: str, fix: str) -> None:
        if len(self.problems) < 1000:  # noqa: PLR2004 - more than anybody reads; keeps a hostile file cheap
            self.problems.append(Problem(what=what, line=node.start_mark.line + 1, fix=fix))


def _plain_scalar(text: str) -> Any:
    """Return what an unquoted scalar is."""
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        return int(text)
    if _NOT_FINITE.fullmatch(text):
        return math.nan
    return float(text) if _FLOAT.fullmatch(text) else text
