"""Tables that people fill in: written as CSV that a spreadsheet opens safely, or as JSON lines, and read back as saved.

A spreadsheet turns ``0012`` into 12 and ``=…`` into a formula, sorts rows, adds columns and saves with semicolons. So a
row is known by a key that begins with a letter and is nothing to calculate with; only the columns that people fill in
are believed. What the columns mean lives with whoever writes them.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from spancheck_pipeline.errors import ConfigError, Problem
from spancheck_pipeline.storage.documents import writing

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell must not begin with: spreadsheets calculate it, or see through what stands before it."""
_NUMBER: Final = re.compile(r"[\s\d.,:/%$€£()eE+-]*\d[\s\d.,:/%$€£()eE+-]*")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029]")
_MOST_BYTES: Final = 512 << 20
_LONGEST_CELL: Final = 32_000
"""A spreadsheet cuts a cell at 32 767 characters; what is longer is shown in part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """One row as it came back: its place, and its cells by the names of their columns, lower case, without blanks."""

    line: int
    cells: Mapping[str, str]

    def cell(self, name: str) -> str:
        """Return a cell's text without blanks around it; empty where the column is not there."""
        return self.cells.get(name, "").strip()


def is_sheet(path: Path) -> bool:
    """Return whether a file's name asks for a CSV; JSON lines otherwise."""
    return path.suffix.lower() in {".csv", ".tsv", ".txt"}


def write_sheet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows as CSV (UTF-8 with its mark, CRLF, every cell in quotes) or as JSON lines, and return how many.

    In a CSV no cell can be a formula: one that begins like one, or is a number, gets an apostrophe before it.
    """
    with writing(path) as handle:
        return write_rows(handle, columns, rows, as_csv=is_sheet(path))


def write_rows(handle: IO[str], columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, as_csv: bool) -> int:
    """Write rows to an open file, as ``write_sheet`` does, and return how many."""
    n_rows = 0
    if not as_csv:
        for row in rows:
            handle.write(json.dumps({name: row.get(name) for name in columns}, ensure_ascii=False) + "\n")
            n_rows += 1
        return n_rows
    handle.write("\ufeff")
    # The file's own line ends are not translated: CRLF is what spreadsheets write themselves.
    sheet = csv.writer(handle, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    sheet.writerow(columns)
    for row in rows:
        sheet.writerow([safe_cell(row.get(name)) for name in columns])
        n_rows += 1
    return n_rows


def safe_cell(value: Any) -> str:
    """Return a value as a cell that no spreadsheet calculates or changes.

    >>> safe_cell("=1+1"), safe_cell("0012"), safe_cell("plain"), safe_cell(None)
    ("'=1+1", "'0012", 'plain', '')
    """
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)
    text = _CONTROL.sub(" ", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if len(text) > _LONGEST_CELL:
        text = text[:_LONGEST_CELL] + " …"
    is_risky = text.lstrip(" ").startswith(_FORMULA) or bool(_NUMBER.fullmatch(text))
    return f"'{text}" if is_risky else text


def plain_cell(text: str) -> str:
    """Return a cell without the apostrophe that ``safe_cell`` put before it.

    >>> plain_cell("'0012"), plain_cell("'tis")
    ('0012', "'tis")
    """
    rest = text.removeprefix("'")
    return rest if rest != text and safe_cell(rest) == text else text


def read_sheet(path: Path, needed: Sequence[str]) -> Iterator[Filled]:
    """Yield the rows of a file that ``write_sheet`` made and people filled in; blank rows are passed over.

    Columns may have been moved, added and renamed in case; a CSV may be comma, semicolon or tab separated, in UTF-8,
    UTF-16 or a Western code page, with any line ends.

    Raises:
        ConfigError: for a file that cannot be read, is no such sheet, or without a column that is ``needed``.
    """
    rows = _csv_rows(path, needed) if is_sheet(path) else _json_rows(path, needed)
    for row in rows:
        if any(cell.strip() for cell in row.cells.values()):
            yield row


def _refuse_missing(path: Path, needed: Sequence[str], names: Collection[str], line: int) -> None:
    """Refuse a file without a needed column; what it has instead may be cells, so that it is not repeated."""
    if missing := [name for name in needed if name not in names]:
        what = f"has no column {missing[0]!r} (the first of its rows names {len(names)} columns)"
        raise ConfigError(str(path), [Problem(what=what, line=line, fix="keep the header as it was exported")])


def _csv_rows(path: Path, needed: Sequence[str]) -> Iterator[Filled]:
    text = _decoded(path)
    hint = re.match(r"sep=(.)\r?\n", text)
    body = text[hint.end() :] if hint else text
    head = body.split("\n", 1)[0]
    separator = hint.group(1) if hint else max(",;\t", key=head.count)
    csv.field_size_limit(_MOST_BYTES)
    reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator, strict=True)
    names: list[str] = []
    begun = 1
    try:
        for cells in reader:
            begun = reader.line_num + 1
            if not names:
                names = [name.strip().lower() for name in cells]
                _refuse_missing(path, needed, names, 1 + bool(hint))
                _refuse_doubles(path, names)
                continue
            found = {name: plain_cell(cell) for name, cell in zip(names, cells, strict=False) if name}
            yield Filled(line=reader.line_num + bool(hint), cells=dict.fromkeys(filter(None, names), "") | found)
        if not names:
            _refuse_missing(path, needed, names, 1)
    except csv.Error as error:
        fix = "a cell in quotes may lack its second one; save the sheet as CSV again"
        raise ConfigError(str(path), [Problem(what=f"not a CSV ({error})", line=begun + bool(hint), fix=fix)]) from None


def _refuse_doubles(path: Path, names: list[str]) -> None:
    places = [[i for i, there in enumerate(names, start=1) if there == name] for name in dict.fromkeys(names) if name]
    for twice in places:
        if len(twice) > 1:
            what = f"has two columns of one name, numbers {twice[0]} and {twice[1]}"
            raise ConfigError(str(path), [Problem(what=what, line=1, fix="remove one")])


def _decoded(path: Path) -> str:
    content = _content(path)
    fix = "save it as CSV (UTF-8) under a name that ends in .csv"
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise ConfigError(str(path), [Problem(what="is a spreadsheet's own file (.xlsx, .ods, .xls)", fix=fix)])
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        raise ConfigError(str(path), [Problem(what="is empty", fix="name the file that was filled in")])
    if b"\x00" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(str(path), [Problem(what="is a binary file, or a text without the mark of UTF-16", fix=fix)])
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(str(path), [Problem(what="is larger than any sheet that was filled in by hand")])
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(str(path), [Problem(what=f"cannot be read ({error.strerror})")]) from None


def _json_rows(path: Path, needed: Sequence[str]) -> Iterator[Filled]:
    is_first = True
    for number, line in enumerate(io.StringIO(_decoded(path)), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            fix = "a CSV is named .csv" if is_first else "one object a line, as it was exported"
            raise ConfigError(str(path), [Problem(what="not a JSON object", line=number, fix=fix)])
        cells = {str(name).strip().lower(): _text(item) for name, item in value.items()}
        if is_first:
            _refuse_missing(path, needed, cells, number)
        is_first = False
        yield Filled(line=number, cells=cells)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_DATES: Final = (
    (re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]00:00(?::00)?)?"), (0, 1, 2)),
    (re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})"), (2, 1, 0)),
)


def read_date(text: str) -> dt.date:
    """Return the date of a cell: ``2026-12-31``, also as a spreadsheet may have rewritten it without ambiguity.

    Raises:
        ValueError: for anything else, ``03/04/2026`` among it, which has two readings.

    >>> read_date("31.12.2026"), read_date("2026/12/31")
    (datetime.date(2026, 12, 31), datetime.date(2026, 12, 31))
    """
    for pattern, (year, month, day) in _DATES:
        if match := pattern.fullmatch(text.strip()):
            parts = [int(part) for part in match.groups()]
            return dt.date(parts[year], parts[month], parts[day])
    if match := re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", text.strip()):
        first, second, year = (int(part) for part in match.groups())
        if first > 12 >= second:  # noqa: PLR2004 - no month
            return dt.date(year, second, first)
        if second > 12 >= first:  # noqa: PLR2004 - no month
            return dt.date(year, first, second)
    raise ValueError("not a date that has one reading; write it as YYYY-MM-DD")


__all__ = ["Filled", "is_sheet", "plain_cell", "read_date", "read_sheet", "safe_cell", "write_rows", "write_sheet"]
