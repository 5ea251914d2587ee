"""Files of other tools as items with their places: JSON documents, JSONL, CSV and Parquet.

JSONL, CSV and Parquet are read as a stream, one item in memory at a time. A JSON document is read whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spancheck_pipeline.storage.case_rows import READERS, Report, Row, RowError, jsonl_rows, parse_json

MAX_DOCUMENT_BYTES = 2 * 1024**3
"""A larger JSON document is refused: as JSONL it would stream."""


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
    try:
        with path.open("rb") as file:
            first = file.readline(64 * 1024 * 1024).removeprefix(b"\xef\xbb\xbf").strip()
        return isinstance(json.loads(first), dict)
    except (OSError, ValueError, RecursionError):
        return False


def _is_one_document(path: Path) -> bool:
    """Some tools write one indented document and call it JSONL."""
    return not is_jsonl(path)


def _of_row(row: Row) -> Item:
    return Item(row.cells, row.place, row.line, row.is_flat)
