"""Rows of a case file: reading JSONL, CSV and Parquet as streams, each row with its place in the file.

What is wrong with a line goes to the report with its number, and the next one is read. What a row means as a case lives
in ``case_files.py``.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spancheck_pipeline.errors import ConfigError, Problem

if TYPE_CHECKING:
    from pathlib import Path

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_PROBLEMS = 1000
"""After so many the rest of a file is not read: they have one cause."""
_BATCH_ROWS = 1000

_BOM = b"\xef\xbb\xbf"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row before it is a case: its place in the file, and its cells by column."""

    cells: dict[str, Any]
    number: int
    """1-based row, a header not counted: what is named where a format has no lines."""
    line: int | None = None
    """1-based line, None for Parquet."""
    is_flat: bool = False
    """Whether lists and objects may stand as JSON text in a cell."""

    @property
    def place(self) -> str:
        """Where the row stands, for a message about two of them."""
        return f"line {self.line}" if self.line else f"row {self.number}"


@dataclass(slots=True, kw_only=True)
class Report:
    """What is wrong with one file, collected while it is read."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def add(self, what: str, *, line: int | None = None, fix: str | None = None) -> None:
        """Add a problem of the file or of one line."""
        self.problems.append(Problem(what=what, line=line, fix=fix))

    def add_to(self, row: Row, what: str, fix: str | None = None) -> None:
        """Add a problem of one row."""
        self.add(what if row.line else f"{row.place}: {what}", line=row.line, fix=fix)

    @property
    def is_full(self) -> bool:
        """Whether reading on would only bring more of the same."""
        return len(self.problems) >= MAX_PROBLEMS

    def raise_if_any(self) -> None:
        """Raise all the problems as one ``ConfigError``, in the order of their lines."""
        if self.is_full:
            self.add(f"reading stopped after {MAX_PROBLEMS} problems")
        if self.problems:
            raise ConfigError(self.file, sorted(self.problems, key=lambda problem: problem.line or 0))


class RowError(ValueError):
    """A row that its format can hold and a case cannot; the message says why, without the row's text."""


def jsonl_rows(path: Path, report: Report, *, example: str = '{"id": "q1", "input": "…"}') -> Iterator[Row]:
    """Yield the objects of a JSONL file; blank lines are passed over. ``example`` is how a row may look."""
    number = 0
    for line, text in _lines(path, report):
        if not text.strip():
            continue
        number += 1
        try:
            cells = parse_json(text)
        except RowError as error:
            report.add(f"this line {error}", line=line)
            continue
        if isinstance(cells, dict):
            yield Row(line=line, number=number, cells=cells)
        else:
            report.add("this line is no JSON object", line=line, fix=f"write {example}")


def csv_rows(path: Path, report: Report) -> Iterator[Row]:
    """Yield the rows of a CSV file with a header, separated by commas; an empty cell is no value."""
    csv.field_size_limit(MAX_LINE_BYTES)
    reader = csv.reader((text + "\n" for _, text in _lines(path, report, keep_bad=True)), strict=True)
    header: list[str] | None = None
    number = end = 0
    while True:
        start = end + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            report.add(f"this is not CSV ({error})", line=start, fix="check the quotes from here on")
            return
        end = reader.line_num
        if cells is None:
            return
        if not cells:
            continue
        if header is None:
            header = _header(cells, start, report)
            continue
        number += 1
        if len(cells) != len(header):
            fix = "quote a cell that holds a comma"
            report.add(f"{len(cells)} cells where the header has {len(header)}", line=start, fix=fix)
            continue
        filled = {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}
        yield Row(line=start, number=number, cells=dict.fromkeys(header) | filled, is_flat=True)


def parquet_rows(path: Path, report: Report) -> Iterator[Row]:
    """Yield the rows of a Parquet file, a batch at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                for cells in batch.to_pylist():
                    number += 1
                    # An index that pandas wrote is no column of the user's.
                    named = {key: cell for key, cell in cells.items() if not key.startswith("__index_level_")}
                    row = Row(number=number, cells=named, is_flat=True)
                    try:
                        _check_finite(named)
                    except RowError as error:
                        report.add_to(row, str(error))
                    else:
                        yield row
    except UnicodeDecodeError:
        report.add(f"a text after row {number} is not UTF-8", fix="write the file anew")
    except (pa.ArrowException, OSError):
        # Arrow's own text may quote the file.
        where = f"after row {number}" if number else "at all"
        report.add(f"this cannot be read as Parquet {where}", fix="write the file anew")


def parse_json(text: str) -> Any:
    """Return a JSON text's value, or raise ``RowError``: no NaN, no key twice, nothing that UTF-8 cannot hold."""
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_float=_finite_float, object_pairs_hook=_unique_pairs
        )
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise RowError(f"is not JSON ({error.msg} at character {error.colno})") from None
    except UnicodeEncodeError:
        raise RowError("holds half of a surrogate pair, which UTF-8 cannot hold") from None
    except RecursionError:
        raise RowError("is nested too deeply") from None
    except RowError:
        raise
    except ValueError:
        raise RowError("holds a number with too many digits") from None
    return value


def _lines(path: Path, report: Report, *, keep_bad: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, without BOM and line end.

    A bad line goes to the report. With ``keep_bad`` it is yielded too, mended, for a reader that must count lines.
    """
    try:
        with path.open("rb") as handle:
            for line, raw in enumerate(iter(lambda: handle.readline(MAX_LINE_BYTES + 1), b""), start=1):
                if line == 1 and raw[:2] in {b"\xff\xfe", b"\xfe\xff"}:
                    report.add("this is UTF-16, not UTF-8", line=1, fix="save the file as UTF-8")
                    return
                if len(raw) > MAX_LINE_BYTES:
                    report.add(f"this line is longer than {MAX_LINE_BYTES} bytes", line=line)
                    return
                text, is_good = _text_of(raw.removeprefix(_BOM) if line == 1 else raw, line, report)
                if is_good or keep_bad:
                    yield line, text
                if report.is_full:
                    return
    except OSError as error:
        report.add(f"the file cannot be read ({error.strerror})")


def _text_of(raw: bytes, line: int, report: Report) -> tuple[str, bool]:
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    if b"\0" in raw:
        report.add("a NUL byte stands in this line", line=line, fix="this is a binary or a damaged file")
        return raw.replace(b"\0", b"").decode("utf-8", "replace"), False
    try:
        return raw.decode("utf-8"), True
    except UnicodeDecodeError as error:
        what = f"this line is not UTF-8 (byte {error.start + 1} of it)"
        report.add(what, line=line, fix="save the file as UTF-8")
        return raw.decode("utf-8", "replace"), False


def _header(cells: list[str], line: int, report: Report) -> list[str]:
    header = [cell.strip() for cell in cells]
    for name in sorted({name for name in header if header.count(name) > 1}):
        report.add(f"the column {name[:80]!r} stands twice", line=line)
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        report.add("the header has one column", line=line, fix="separate the columns by commas")
    return header


def _no_constant(name: str) -> float:
    raise RowError(f"holds {name}, which is no JSON; use null")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RowError("holds a number that is too large")
    return value


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RowError(f"has the key {twice[:80]!r} twice in one object")
    return cells


def _check_finite(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise RowError("holds a number that is NaN or infinite; use null")
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for item in inner:
        _check_finite(item)


Reader = Callable[["Path", Report], Iterator[Row]]

READERS: dict[str, Reader] = {
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".csv": csv_rows,
    ".parquet": parquet_rows,
}
"""Which reader a file's name asks for."""
