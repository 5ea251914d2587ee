"""Audit logs as files: one JSON object, or JSON lines; written and read piece by piece, in bounded memory.

    {"schema_version": "2.0", …, "chain": {…}, "records": [ {…}, … ], "texts": {"<digest>": {"salt": …, "text": …}, …}}

The same as lines: ``{"kind": "header", …}`` first; then ``{"kind": "text", "digest": …, "salt": …, "text": …}`` before
the first record that uses it, and ``{"kind": "record", …}``. What stands in them lives in ``decision/audit.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from json import JSONDecodeError
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Literal, NamedTuple, Self

from spancheck_pipeline.decision.audit import SCHEMA_VERSION, AuditHead
from spancheck_pipeline.errors import ConfigError, ContractError, Problem
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.documents import writing
from spancheck_pipeline.storage.json_stream import Piece, parse, pieces

Format = Literal["json", "jsonl"]
_STREAMED: Final = ("records", "texts")
_SPOOLED: Final = 8 << 20
"""Bytes of texts that wait in memory for the end of the records; more wait in a temporary file."""


def format_of(path: Path) -> Format:
    """Return the format that a file's name asks for: ``.jsonl`` and ``.ndjson`` are lines."""
    return "jsonl" if path.suffix.lower() in {".jsonl", ".ndjson"} else "json"


def is_lines(path: Path) -> bool:
    """Return whether a file is an audit log in JSON lines, by its first line."""
    try:
        with path.open(encoding="utf-8-sig") as handle:
            line = handle.readline(1 << 24)
        first = json.loads(line)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("kind") == "header"


class LogWriter:
    """Writes one audit log: its header, then its entries, each with the texts that it is the first to use.

    As a context manager it writes a file whole or not at all: what stood there stands until the end.
    """

    def __init__(self, target: Path | IO[str], file_format: Format) -> None:
        self._target = target
        self._format = file_format
        self._stack = contextlib.ExitStack()
        self._handle: IO[str]
        self._texts: IO[str]
        self._seen: set[bytes] = set()
        self._n_records = 0
        self._n_texts = 0

    def __enter__(self) -> Self:
        if isinstance(self._target, Path):
            self._handle = self._stack.enter_context(writing(self._target))
        else:
            self._handle = self._target
        self._texts = self._stack.enter_context(
            tempfile.SpooledTemporaryFile(_SPOOLED, "w+", encoding="utf-8", newline="\n")
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if kind is None and self._format == "json":
            self._handle.write('\n],\n"texts": {')
            self._texts.seek(0)
            while chunk := self._texts.read(1 << 20):
                self._handle.write(chunk)
            self._handle.write("\n}\n}\n")
        return self._stack.__exit__(kind, error, trace)

    def header(self, header: Mapping[str, Any]) -> None:
        """Write the header, first."""
        if self._format == "jsonl":
            self._line({"kind": "header", **header})
            return
        fields = [f"{_json(name)}: {_json(value)}" for name, value in header.items()]
        self._handle.write("{\n" + ",\n".join(fields) + ',\n"records": [')

    def entry(self, entry: Mapping[str, Any], texts: Mapping[str, Mapping[str, Any]]) -> None:
        """Write a record's entry, and those of its passages' texts that were not written yet."""
        for name, text in texts.items():
            if (short := bytes.fromhex(name)) not in self._seen:
                self._seen.add(short)
                self._text(name, text)
        if self._format == "jsonl":
            self._line({"kind": "record", **entry})
        else:
            self._handle.write((",\n" if self._n_records else "\n") + _json(entry))
        self._n_records += 1

    def _text(self, digest: str, text: Mapping[str, Any]) -> None:
        if self._format == "jsonl":
            self._line({"kind": "text", "digest": digest, **text})
        else:
            self._texts.write((",\n" if self._n_texts else "\n") + f"{_json(digest)}: {_json(text)}")
        self._n_texts += 1

    def _line(self, value: Mapping[str, Any]) -> None:
        self._handle.write(_json(value) + "\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class LogPiece(NamedTuple):
    """One piece of a log as it stands in a file."""

    kind: Literal["field", "record", "text"]
    name: str
    """Name of a header's field, digest of a text; empty for a record."""
    value: Any


class BrokenLogError(Exception):
    """A log's file cannot be read beyond a place. It never leaves the project's own code."""


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a log's file; no more of the file is read than it takes.

    Raises:
        ConfigError: for a file that cannot be read, or is no audit log.
    """
    header: dict[str, Any] = {}
    with contextlib.suppress(BrokenLogError):
        for piece in log_pieces(path):
            if piece.kind != "field":
                if AuditHead.model_fields.keys() <= header.keys():
                    break
                continue
            header[piece.name] = piece.value
    if not isinstance(header.get("schema_version"), str):
        fix = "name an exported file; a stored log is named by its suite and date"
        raise ConfigError(str(path), [Problem(what="not an audit log: it states no schema_version", fix=fix)])
    return header


def read_lines(path: Path) -> dict[str, Any]:
    """Return a log in JSON lines as the one object that it would be, all of it in memory.

    Raises:
        ConfigError: for a file that cannot be read to its end.
    """
    fields: dict[str, Any] = {}
    records: list[Any] = []
    texts: dict[str, Any] = {}
    try:
        for piece in log_pieces(path):
            if piece.kind == "record":
                records.append(piece.value)
            elif piece.kind == "text":
                texts[piece.name] = piece.value
            else:
                fields[piece.name] = piece.value
    except BrokenLogError as error:
        raise ConfigError(str(path), [Problem(what=str(error), fix="export the whole log again")]) from None
    return {**fields, "records": records, "texts": texts}


def log_pieces(path: Path) -> Iterator[LogPiece]:
    """Yield what stands in a log's file, in its order.

    Raises:
        ConfigError: for a file that cannot be opened.
        BrokenLogError: where it stops being a log, saying why; what was yielded before is good.
    """
    lines = is_lines(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            yield from _from_lines(handle) if lines else _from_object(handle)
    except OSError as error:
        raise ConfigError(str(path), [Problem(what=f"cannot be read ({os.strerror(error.errno or 0)})")]) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise BrokenLogError(f"not JSON in UTF-8 from here on ({type(error).__name__})") from None


def _from_object(handle: IO[str]) -> Iterator[LogPiece]:
    try:
        for piece in pieces(handle, streamed=_STREAMED):
            yield _piece(piece)
    except JSONDecodeError:
        raise BrokenLogError("the file is cut off, or no JSON from here on") from None
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise BrokenLogError(str(error)) from None


def _piece(piece: Piece) -> LogPiece:
    if piece.item is None:
        return LogPiece("field", piece.field, piece.value)
    if piece.field == "records":
        return LogPiece("record", "", piece.value)
    return LogPiece("text", str(piece.item), piece.value)


def _from_lines(handle: IO[str]) -> Iterator[LogPiece]:
    for number, line in enumerate(handle, start=1):
        if not line.strip():
            continue
        try:
            value = parse(line)
        except UnicodeDecodeError:
            raise
        except ValueError:
            raise BrokenLogError(f"line {number} is cut off, or no JSON") from None
        kind = value.pop("kind", None) if isinstance(value, dict) else None
        if kind == "header" and number == 1:
            yield from (LogPiece("field", name, item) for name, item in value.items())
        elif kind == "record":
            yield LogPiece("record", "", value)
        elif kind == "text":
            yield LogPiece("text", str(value.pop("digest", "")), value)
        else:
            raise BrokenLogError(f"line {number} is of no kind that a log has")


def check_version(header: Mapping[str, Any], name: str) -> None:
    """Raise ``ContractError`` for a header of another schema version or contract than this package's."""
    version = header.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ContractError(name, found=f"schema_version {version}", known=CONTRACT)
    if header.get("contract") != CONTRACT:
        raise ContractError(name, found=header.get("contract"), known=CONTRACT)


__all__ = [
    "BrokenLogError", "Format", "LogPiece", "LogWriter", "check_version", "format_of", "is_lines", "log_pieces",
    "read_header", "read_lines",
]  # fmt: skip
