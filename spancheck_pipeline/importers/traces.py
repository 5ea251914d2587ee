"""Files of spans grouped into traces: one trace is one answered question.

A JSONL file is read twice: once to learn in which lines each trace has spans (their places wait on the disk), once to
read the traces one by one. Of any other file the spans themselves wait on the disk. What a span's fields mean lives in
``spans.py`` and ``langfuse.py``.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from spancheck_pipeline.importers.documents import is_jsonl, items_of
from spancheck_pipeline.importers.spool import TemporaryDatabase, disk_errors
from spancheck_pipeline.storage.case_rows import READERS, Report, RowError, parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One step of a trace in whatever tool's words, with the parts that all of them have."""

    trace_id: str
    span_id: str | None
    parent_id: str | None
    name: str
    attributes: Mapping[str, Any]
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None
    source: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trace:
    """The spans of one trace in order of their start, and where the first one stands."""

    trace_id: str
    spans: tuple[Span, ...]
    line: int | None

    @property
    def root(self) -> Span:
        """The span without a parent here; of several, the first."""
        known = {span.span_id for span in self.spans}
        roots = [span for span in self.spans if span.parent_id is None or span.parent_id not in known]
        return roots[0] if roots else self.spans[0]

    @property
    def latency_ms(self) -> float | None:
        """Time from the root's start to its end."""
        start, end = self.root.started_at, self.root.finished_at
        return None if start is None or end is None or end < start else (end - start).total_seconds() * 1000


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = ((10**17, 10**9), (10**14, 10**6), (10**11, 10**3))
"""Numbers above the first are nano-, micro- and milliseconds since 1970."""

Unpack = Callable[[Mapping[str, Any]], list[Span]]


def traces_of(
    path: Path, report: Report, unpack: Unpack, document: Callable[[Any], list[Any] | None]
) -> Iterator[Trace]:
    """Yield the traces of a file in the order of their first spans."""
    if path.suffix.lower() in READERS.keys() - {".jsonl", ".ndjson"} or not is_jsonl(path):
        yield from _by_items(path, report, unpack, document)
        return
    with _Places() as places, path.open("rb") as file:
        _find_places(path, report, unpack, places)
        reader = _Lines(file, unpack)
        for trace_id, found in places.by_trace():
            spans = [span for offset, _ in found for span in reader.at(offset) if span.trace_id == trace_id]
            yield _trace(trace_id, spans, found[0][1])


class _Lines:
    """The spans of a line by its place; the last line stays, since one line may hold many traces."""

    def __init__(self, file: BinaryIO, unpack: Unpack) -> None:
        self._file = file
        self._unpack = unpack
        self._last: tuple[int, list[Span]] = (-1, [])

    def at(self, offset: int) -> list[Span]:
        if self._last[0] != offset:
            self._file.seek(offset)
            self._last = (offset, self._unpack(_object(self._file.readline()) or {}))
        return self._last[1]


class _Places(TemporaryDatabase):
    """In which lines each trace has spans."""

    def __init__(self) -> None:
        super().__init__("""
            CREATE TABLE traces(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
            CREATE TABLE places(trace INTEGER NOT NULL, offset INTEGER NOT NULL, line INTEGER NOT NULL,
                                PRIMARY KEY(trace, offset)) WITHOUT ROWID
        """)

    def add(self, trace_id: str, offset: int, line: int) -> None:
        """Take the place of a line that holds spans of a trace."""
        with disk_errors():
            self.db.execute("INSERT OR IGNORE INTO traces(id) VALUES (?)", (trace_id,))
            place = "INSERT INTO places SELECT number, ?, ? FROM traces WHERE id = ?"
            self.db.execute(place, (offset, line, trace_id))

    def by_trace(self) -> Iterator[tuple[str, list[tuple[int, int]]]]:
        """Yield offset and number of each trace's lines, the traces in the order of their first ones."""
        query = "SELECT id, offset, line FROM traces JOIN places ON trace = number ORDER BY number, offset"
        with disk_errors():
            for trace_id, found in groupby(self.db.execute(query), key=lambda row: row[0]):
                yield trace_id, [(offset, line) for _, offset, line in found]


def _find_places(path: Path, report: Report, unpack: Unpack, places: _Places) -> None:
    with path.open("rb") as file:
        offset = 0
        for number, line in enumerate(iter(file.readline, b""), start=1):
            start, offset = offset, offset + len(line)
            if not line.strip():
                continue
            value = _object(line)
            if value is None:
                report.add("this line is no JSON object", line=number)
                continue
            spans = unpack(value)
            if not spans:
                report.add("this line holds no span with a trace id", line=number)
            for trace_id in dict.fromkeys(span.trace_id for span in spans):
                places.add(trace_id, start, number)


class _Spans(TemporaryDatabase):
    """The spans of each trace, of a file in which no place can be gone back to."""

    def __init__(self) -> None:
        super().__init__("""
            CREATE TABLE traces(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
            CREATE TABLE spans(number INTEGER PRIMARY KEY, trace INTEGER NOT NULL, body BLOB NOT NULL);
            CREATE INDEX by_trace ON spans(trace, number)
        """)

    def add(self, span: Span) -> None:
        """Take a span."""
        with disk_errors():
            self.db.execute("INSERT OR IGNORE INTO traces(id) VALUES (?)", (span.trace_id,))
            insert = "INSERT INTO spans(trace, body) SELECT number, ? FROM traces WHERE id = ?"
            self.db.execute(insert, (pickle.dumps(span), span.trace_id))

    def by_trace(self) -> Iterator[tuple[str, list[Span]]]:
        """Yield the spans of each trace, the traces in the order of their first ones."""
        query = "SELECT id, body FROM traces JOIN spans ON trace = traces.number ORDER BY trace, spans.number"
        with disk_errors():
            for trace_id, found in groupby(self.db.execute(query), key=lambda row: row[0]):
                yield trace_id, [pickle.loads(body) for _, body in found]  # noqa: S301 - written by this process


def _by_items(
    path: Path, report: Report, unpack: Unpack, document: Callable[[Any], list[Any] | None]
) -> Iterator[Trace]:
    with _Spans() as kept:
        for item in items_of(path, report, document):
            spans = unpack(item.value)
            if not spans:
                report.add(item.said("holds no span with a trace id"), line=item.line)
            for span in spans:
                kept.add(span)
        for trace_id, spans in kept.by_trace():
            yield _trace(trace_id, spans, None)


def _trace(trace_id: str, spans: list[Span], line: int | None) -> Trace:
    late = datetime.max.replace(tzinfo=UTC)
    return Trace(trace_id, tuple(sorted(_once(spans), key=lambda span: span.started_at or late)), line)


def _once(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield each span once: exporters deliver at least once, and a span written twice would be paid for twice."""
    seen: set[str] = set()
    for span in spans:
        if span.span_id is None or span.span_id not in seen:
            seen.add(span.span_id or "")
            yield span


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        value = parse_json(line.decode("utf-8-sig"))
    except (RowError, UnicodeDecodeError):
        return None
    return value if isinstance(value, Mapping) else None


def instant(value: Any) -> datetime | None:
    """Return a time as UTC: ISO text, or seconds, milli-, micro- or nanoseconds since 1970, told by their size.

    >>> instant("2026-03-14T02:00:00Z") == instant(1773453600000) == instant("1773453600000000000")
    True
    """
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, str) and not value.isdigit():
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            return None
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    if isinstance(value, str):
        value = int(value[:30])
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        return None
    per_second = next((unit for above, unit in _UNITS if value > above), 1)
    try:
        # Whole numbers as such: a float does not hold nanoseconds since 1970.
        microseconds = value * 10**6 // per_second if isinstance(value, int) else round(value * 10**6 / per_second)
        return _EPOCH + timedelta(microseconds=microseconds)
    except (OverflowError, ValueError):
        return None


def parsed(value: Any) -> Any:
    """Return a text that is a JSON object or list as that, and anything else as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "["}:
        return value
    try:
        return parse_json(value)
    except RowError:
        return value


def unique_passages(passages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return passages in order, those of the same id and text once; None where there are none."""
    kept = {(passage.get("source_id"), passage.get("text")): passage for passage in reversed(passages)}
    return list(reversed(kept.values())) or None
