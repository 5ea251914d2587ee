"""Files of other tools as items with their places: JSON documents, JSONL, CSV and Parquet.

JSONL, CSV and Parquet are read as a stream, one item in memory at a time, and so is a JSON document that is one list.
Any other JSON document is read whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from spancheck_pipeline.storage.case_rows import READERS, Report, Row, RowError, jsonl_rows, parse_json

MAX_DOCUMENT_BYTES = 2 * 1024**3
"""A larger JSON document is refused: as JSONL it would stream."""
_CHUNK: Final = 1024 * 1024
_LONGEST_ITEM: Final = 256 * 1024 * 1024
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a file with its place."""

    value: Mapping[str, Any]
    where: str
    line: int | None = None
    is_flat: bool = False
    """Whether lists and objects stand as JSON text in its cells (CSV)."""

    def said(self, what: str) -> str:
        """Return a message about the item; its place stands in it where there is no line to name."""
        return what if self.line else f"{self.where}: {what}"


def items_of(path: Path, report: Report, unpack: Callable[[Any], list[Any] | None]) -> Iterator[Item]:
    """Yield the items of a file: the rows of JSONL, CSV or Parquet, or what ``unpack`` finds in a JSON document.

    ``unpack`` gets the document and returns its list of items, or None where it has none. What cannot be read goes to
    the report.
    """
    suffix = path.suffix.lower()
    if suffix in READERS and not (suffix == ".jsonl" and _is_one_document(path)):
        for row in READERS[suffix](path, report):
            yield _of_row(row)
        return
    if unpack([]) is not None and _starts_a_list(path):
        for number, value in enumerate(_elements(path, report), start=1):
            if isinstance(value, Mapping):
                yield Item(value, f"item {number}")
            else:
                report.add(f"item {number} is no JSON object")
        return
    document = read_document(path, report)
    found = unpack(document) if document is not None else []
    if found is None:
        report.add("has no list of items where this format keeps one", fix="check the format's name and its export")
        return
    for number, value in enumerate(found, start=1):
        if isinstance(value, Mapping):
            yield Item(value, f"item {number}")
        else:
            report.add(f"item {number} is no JSON object")


def _starts_a_list(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(_CHUNK).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    except OSError:
        return False


def _elements(path: Path, report: Report) -> Iterator[Any]:
    """Yield the elements of a JSON document that is a list. What cannot be read ends it, and goes to the report."""
    number = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for value in _parsed(_Window(file)):
                number += 1
                yield value
    except OSError as error:
        report.add(f"cannot be read ({error.strerror})")
    except UnicodeDecodeError:
        report.add("is not UTF-8", fix="save the file as UTF-8")
    except RowError as error:
        report.add(f"{error}, at or after item {number + 1}")


class _Window:
    """The part of a text that is being read, from ``at`` on."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.text = ""
        self.at = 0

    def more(self) -> bool:
        """Read on, as much again as is waiting, so that a long item is not looked at too often."""
        waiting = self.text[self.at :]
        if len(waiting) > _LONGEST_ITEM:
            raise RowError(f"holds an item of more than {_LONGEST_ITEM} characters")
        added = self._file.read(max(_CHUNK, len(waiting)))
        self.text, self.at = waiting + added, 0
        return bool(added)

    def next_mark(self) -> str:
        """Return the next character that is no white space; empty at the end of the file."""
        while True:
            self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches always
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]


def _parsed(window: _Window) -> Iterator[Any]:
    """Yield the elements of the list that starts here.

    Raises:
        RowError: where it is no JSON.
    """
    if window.next_mark() != "[":
        raise RowError("is no list")
    window.at += 1
    mark = window.next_mark()
    while mark != "]":
        yield _element(window)
        mark = window.next_mark()
        if mark == ",":
            window.at += 1
        elif mark != "]":
            raise RowError("is not JSON (a comma or the list's end is missing)")
    window.at += 1
    if window.next_mark():
        raise RowError("is not JSON (something follows the list)")


def _element(window: _Window) -> Any:
    window.next_mark()
    while True:
        try:
            _, end = _DECODER.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            if window.more():
                continue
            raise RowError(f"is not JSON ({error.msg})") from None
        except RecursionError:
            raise RowError("is nested too deeply") from None
        except ValueError:
            raise RowError("holds a number with too many digits") from None
        value = parse_json(window.text[window.at : end])
        window.at = end
        return value


def read_document(path: Path, report: Report) -> Any:
    """Return a file's JSON document, or None after saying in the report why it cannot be read."""
    try:
        if path.stat().st_size > MAX_DOCUMENT_BYTES:
            report.add("is a JSON document of more than 2 GiB", fix="export it as JSONL")
            return None
        return parse_json(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        report.add(f"cannot be read ({error.strerror})")
    except UnicodeDecodeError:
        report.add("is not UTF-8", fix="save the file as UTF-8")
    except RowError as error:
        report.add(str(error))
    return None


def lines_of(path: Path, report: Report) -> Iterator[Item]:
    """Yield the objects of a JSONL file, whatever the file is called."""
    for row in jsonl_rows(path, report):
        yield _of_row(row)


def is_jsonl(path: Path) -> bool:
    """Say whether a file's first line is a JSON object of its own."""
    return first_object(path) is not None


def first_object(path: Path) -> dict[str, Any] | None:
    """Return the JSON object that a file's first line is, or None where it is none."""
    try:
        with path.open("rb") as file:
            first = file.readline(64 * 1024 * 1024).removeprefix(b"\xef\xbb\xbf").strip()
        value = json.loads(first)
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_one_document(path: Path) -> bool:
    """Some tools write one indented document and call it JSONL."""
    return not is_jsonl(path)


def _of_row(row: Row) -> Item:
    return Item(row.cells, row.place, row.line, row.is_flat)
