"""The file that is read and how: its format, its column map, and its records one after the other.

What becomes of the records lives in ``reading.py`` (an import) and ``recorded.py`` (a target); which format is likely
when nothing fits, in ``guessing.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from spancheck_pipeline.clients.answer import pick
from spancheck_pipeline.decision.suite_target import Citations
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.importers.formats import FORMATS
from spancheck_pipeline.importers.guessing import likely_format
from spancheck_pipeline.importers.record import COLUMN_NAMES, MAX_EPOCHS, Record, with_columns
from spancheck_pipeline.storage.case_rows import Report
from spancheck_pipeline.storage.wording import nearest

_PACKED = {
    "gzip": b"\x1f\x8b",
    "zip": b"PK\x03\x04",
    "zstd": b"\x28\xb5\x2f\xfd",
    "xz": b"\xfd7zXZ\x00",
}
"""Kind of a packed file → its first bytes."""
_SHOWN = 8
"""Names of an item that a message lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file of answers, and how it is read."""

    path: Path
    format: str
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field of a case or an output → dotted path into the file's items."""
    only: str | None = None
    """Of a file with several systems' answers, the system that is meant."""
    citations: Citations = "auto"
    version: str | None = None
    """Version of the system that answered, where one knows it."""

    def check(self) -> None:
        """Refuse what cannot be read whatever the file holds.

        Raises:
            UsageError: for a format, field or choice that does not exist, or a file that is not there.
        """
        if self.format not in FORMATS:
            fix = nearest(self.format, FORMATS)
            raise UsageError(f"{self.format[:80]!r} is no format that can be imported; {fix}")
        for name in self.columns:
            if name not in COLUMN_NAMES:
                raise UsageError(f"column map: there is no field {name[:80]!r}; {nearest(name, COLUMN_NAMES)}")
        if self.only is not None and not FORMATS[self.format].has_choice:
            raise UsageError(f"`only` has no meaning for {self.format}: such a file holds one system's answers")
        if not self.path.is_file():
            raise UsageError(f"{self.path}: there is no such file")


def records_of(source: Source, report: Report) -> Iterator[Record]:
    """Yield the records of a file with its column map applied. What is wrong goes to the report.

    A map that leads nowhere in the whole file is wrong: what the format itself reads must not stand in silently.
    """
    spec = FORMATS[source.format]
    if (packed := _packed_as(source.path)) and source.path.suffix != ".eval":
        report.add(f"is a packed file ({packed})", fix="unpack it, and import what is in it")
        return
    choice = {"only": source.only} if spec.has_choice else {}
    unseen = dict(source.columns)
    first: Mapping[str, Any] | None = None
    for record in spec.read(source.path, report, **choice):
        first = record.source if first is None else first
        if unseen:
            for name in pick(record.source, unseen):
                del unseen[name]
        mapped = with_columns(record, source.columns)
        if isinstance(mapped.epoch, int) and mapped.epoch >= MAX_EPOCHS:
            what = f"is of an epoch beyond {MAX_EPOCHS - 1}; they count from 0"
            report.add(what if record.line else f"{record.where}: {what}", line=record.line)
        else:
            yield mapped
    if first is not None and not report.is_full:
        for name, path in unseen.items():
            what = f"the column map {name}={path[:80]} leads nowhere: no item has a value there"
            report.add(what, fix=_nearest_path(path, first))


def _packed_as(path: Path) -> str | None:
    """Return how a file is packed, told by its first bytes, which no text begins with; None where it is not."""
    try:
        with path.open("rb") as file:
            start = file.read(6)
    except OSError:
        return None
    return next((name for name, magic in _PACKED.items() if start.startswith(magic)), None)


def add_likely_format(source: Source, report: Report) -> None:
    """Say in a report as what the file should be read, where it looks like another format than was named."""
    likely = likely_format(source.path)
    if likely is not None and likely != source.format:
        report.add(f"looks like a file of {likely}, and was read as {source.format}", fix=f"read it as {likely}")


def _nearest_path(path: str, item: Mapping[str, Any]) -> str:
    paths = [name for name in _paths(item) if name.isprintable()]
    if near := get_close_matches(path[:200], paths, n=1, cutoff=0.6):
        return f"did you mean {near[0]!r}?"
    names = [repr(name[:80]) for name in list(item)[:_SHOWN]]
    return f"the first item has {', '.join(names)}{' …' if len(item) > _SHOWN else ''}" if names else "leave it out"


def _paths(value: Any, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the dotted paths into an item's objects, three levels deep."""
    for key, inner in list(value.items())[:200] if isinstance(value, Mapping) else ():
        yield f"{prefix}{key[:80]}"
        if depth < 2:  # noqa: PLR2004 - deeper than people write
            yield from _paths(inner, f"{prefix}{key[:80]}.", depth + 1)
