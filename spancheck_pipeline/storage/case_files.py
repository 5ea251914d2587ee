"""Case files: how a row of JSONL, CSV or Parquet becomes a case, and every way in which it cannot.

A file is read once, as a stream; its problems are collected with their lines and reported together, and then nothing is
returned. What a case is lives in ``evidence/case.py``, the three formats in ``case_rows.py``, which file a suite has in
``datasets.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from spancheck_pipeline.evidence.case import CRITERION_TYPES, Case
from spancheck_pipeline.evidence.complaints import dotted
from spancheck_pipeline.storage.case_rows import READERS, Report, Row, RowError, parse_json
from spancheck_pipeline.storage.wording import nearest, worded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FIELDS: tuple[str, ...] = tuple(Case.model_fields)
_STRUCTURED = ("meta", "history", "expected_sources", "criteria", "contexts")
"""Fields that a flat cell holds as JSON text."""
_TRUTHS = {"true": True, "false": False}


def read_cases(path: str | Path, columns: Mapping[str, str] | None = None) -> tuple[Case, ...]:
    """Return the cases of a ``.jsonl``, ``.csv`` or ``.parquet`` file, in the file's order.

    ``columns`` maps case fields to the file's own column names; with such a map, columns that no case has are left out,
    and without one they are a mistake. A file of the earlier library reads as it is.

    Raises:
        ConfigError: with every problem of the file and its line: unreadable lines, unknown columns and criterion types,
            ids that stand twice, wrong types, a NaN, bytes that are not UTF-8, or no case at all.
    """
    path = Path(path)
    report = Report(file=str(path))
    columns = dict(columns or {})
    for name in sorted(columns.keys() - set(FIELDS)):
        report.add(f"a case has no field {name[:80]!r} to map a column to", fix=nearest(name, FIELDS))
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        report.add(f"a cases file is named {', '.join(READERS)}", fix="rename or convert it")
    elif path.is_dir():
        report.add("this is a folder, not a cases file")
    elif not path.exists():
        report.add("there is no such file", fix="write it, or correct `cases` in suite.yaml")
    report.raise_if_any()
    assert reader is not None
    cases = tuple(_cases(reader(path, report), columns, report))
    if not cases and not report.problems:
        report.add("the file holds no case", fix="write at least one")
    report.raise_if_any()
    return cases


def _cases(rows: Iterator[Row], columns: dict[str, str], report: Report) -> Iterator[Case]:
    """Yield the cases of the rows; what is wrong goes to the report, and the next row is read."""
    first: dict[str, str] = {}
    seen: set[str] = set()
    for row in rows:
        if not columns:
            _check_columns(row, seen, report)
        seen.update(row.cells)
        case = _case(row, columns, report)
        if case is not None and case.id in first:
            what = f"the id {case.id[:80]!r} stands twice (first in {first[case.id]})"
            report.add_to(row, what, "give every case its own id")
        elif case is not None:
            first[case.id] = row.place
            yield case
        if report.is_full:
            return
    for name, column in sorted(columns.items()):
        if seen and column not in seen:
            report.add(f"no row has the column {column[:80]!r} that {name!r} is mapped to", fix=nearest(column, seen))


def _check_columns(row: Row, seen: set[str], report: Report) -> None:
    """Report each column that no case has, where it stands first."""
    for name in sorted(row.cells.keys() - set(FIELDS) - {"case_id"} - seen):
        fix = f"{nearest(name, FIELDS)}; to leave other columns out, give `cases` a `columns` map"
        report.add_to(row, f"unknown column {name[:80]!r}", fix)


def _case(row: Row, columns: dict[str, str], report: Report) -> Case | None:
    """Return the case of a row, or None after reporting what is wrong with it."""
    # The earlier library also reads an id under this name.
    names = columns or ({"id": "case_id"} if row.cells.get("id") is None else {})
    cells = {name: row.cells.get(names.get(name, name)) for name in FIELDS}
    mistakes: list[str] = []
    for name, value in list(cells.items()):
        if value is None:
            del cells[name]
            continue
        try:
            cells[name] = _cell(name, value, is_flat=row.is_flat)
        except RowError as error:
            mistakes.append(f"{name!r} {error}")
    mistakes += [f"{name!r} is missing or empty" for name in ("id", "input") if name not in cells]
    for what in mistakes:
        report.add_to(row, what)
    if mistakes:
        return None
    try:
        return Case.model_validate(cells)
    except ValidationError as error:
        _report_invalid(error, row, cells, report)
    except RecursionError:
        report.add_to(row, "the row is nested too deeply")
    return None


def _cell(name: str, value: Any, *, is_flat: bool) -> Any:
    """Return a cell as its field wants it, or raise ``RowError``."""
    if name in {"id", "cluster"} and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if name == "answerable":
        truth = _TRUTHS.get(value.strip().lower()) if is_flat and isinstance(value, str) else value
        if not isinstance(truth, bool):
            raise RowError("must be true, false or empty")
        return truth
    if is_flat and name in _STRUCTURED and isinstance(value, str):
        return parse_json(value)
    return value


def _report_invalid(error: ValidationError, row: Row, cells: dict[str, Any], report: Report) -> None:
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        loc = tuple(part for part in detail["loc"] if not (isinstance(part, str) and "[" in part))
        what = worded(detail)
        fix = None
        if detail["type"] == "literal_error" and loc[0] == "criteria" and loc[-1] == "type":
            written = str(cells["criteria"][loc[1]]["type"])
            what, fix = f"unknown criterion type {written[:80]!r}", nearest(written, CRITERION_TYPES)
        elif detail["type"] == "extra_forbidden":
            what = "there is no such key here"
        report.add_to(row, f"{dotted(loc)}: {what}" if loc else what, fix)
