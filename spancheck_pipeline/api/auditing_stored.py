"""A stored audit log as its chain sees it.

A Parquet file has cells that are no part of a record, and says more of itself than its chained header does: all of that
is derived from the record and the header a second time, and compared. The files that it was made from are compared in
``auditing_sources.py``; putting the verdict together lives in ``auditing_place.py``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from spancheck_pipeline.api.audit_logs import record_of_row
from spancheck_pipeline.api.dispositions import disposition_cells
from spancheck_pipeline.decision.audit import AuditRecord
from spancheck_pipeline.decision.audit_chain import parted, record_digest, salt_of
from spancheck_pipeline.evidence.canonical import canonical_json
from spancheck_pipeline.storage.rows import Row, audit_row
from spancheck_pipeline.storage.store import Night, Place, StoredFile

_MOST_TRIED: Final = 5000
"""Digests that are made at most to find out under which numbers misplaced records were written."""


class StoredEntry(NamedTuple):
    """One row of a stored log, as an entry of its document."""

    entry: Mapping[str, Any]
    texts: Mapping[str, str]
    """Of its passages, by digest."""
    why: str
    """What is wrong with its cells; empty where they say what the record says."""


def stored_entries(file: StoredFile, header: Mapping[str, Any], key: bytes) -> Iterator[StoredEntry]:
    """Yield the rows of a stored log as entries, each with the number under which it was written.

    A row does not say that number: it is where the row stands, unless the row before is not the one that it names. Then
    it is looked for, so that what was removed, added or moved can be told from what was changed.
    """
    numbers = _Numbers(key)
    before = header["chain"].get("digest")
    for position, row in enumerate(file.rows()):
        links = {"previous": row["previous_digest"], "digest": row["record_digest"]}
        try:
            record = record_of_row(row)
            entry, texts = parted(record.model_dump(mode="json"), key)
            why = _unlike(row, record, str(header.get("run_id")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            entry = {"case": {"id": row["case_id"]}, "call": {"epoch": row["epoch"]}}
            texts, why = {}, f"its cells are no record ({type(error).__name__})"
        index = numbers.of(entry, position, links, is_linked=row["previous_digest"] == before)
        before = row["record_digest"]
        yield StoredEntry({**entry, "chain": {"index": index, **links, "salts": {}, "withheld": {}}}, texts, why)


class _Numbers:
    """Finds under which numbers rows were written."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._shift = 0
        """How far the last row stood from where it was written."""
        self._left = _MOST_TRIED

    def of(self, entry: Mapping[str, Any], position: int, links: Mapping[str, Any], *, is_linked: bool) -> int:
        """Return a row's number; where none fits, the one that its place gives it."""
        expected = position + self._shift
        if is_linked:
            return expected
        for index in self._near(expected, position):
            if self._left <= 0:
                break
            self._left -= 1
            if self._is(entry, index, links):
                self._shift = index - position
                return index
        return position

    def _near(self, expected: int, position: int) -> Iterator[int]:
        yield expected
        yield position
        for distance in range(1, _MOST_TRIED):
            yield position + distance
            if position >= distance:
                yield position - distance

    def _is(self, entry: Mapping[str, Any], index: int, links: Mapping[str, Any]) -> bool:
        place = {"index": index, "previous": links["previous"]}
        try:
            made = record_digest(entry, place, lambda path: salt_of(self._key, index, path))
        except (KeyError, TypeError, ValueError):
            self._left = 0  # no record: it has no number
            return False
        return bool(made == links["digest"])


def _unlike(row: Row, record: AuditRecord, run_id: str) -> str:
    """Return which cells of a row do not follow from its record, or nothing."""
    fields = record.model_dump()
    made = audit_row(
        record.case,
        record.call,
        run_id=run_id,
        cost_usd=record.cost_usd,
        scores=fields["scores"],
        verdicts=fields["verdicts"],
        dispositions=disposition_cells(record.dispositions),
        previous_digest=row["previous_digest"],
        record_digest=row["record_digest"],
    )
    if said(row) == said(made):
        return ""
    names = [name for name in row if said({name: row[name]}) != said({name: made.get(name)})]
    return f"its cells {', '.join(names)} do not say what the record says"


def said(cells: Mapping[str, Any]) -> str:
    """Return what cells say as one text: equal for a row that was read and for one that is about to be written."""
    return canonical_json({k: v.isoformat() if isinstance(v, dt.datetime) else v for k, v in cells.items()})


# -- what the file says of itself -------------------------------------------------------------------------------


def metadata_faults(log: StoredFile, header: Mapping[str, Any], place: Place) -> Iterator[str]:
    """Yield what a stored log says of itself otherwise than its chained header, and that it lies in another's place."""
    inputs = header.get("inputs") or {}
    try:
        identity = log.inputs
    except (KeyError, ValueError):
        identity = {}
    said = {
        "run_id": (log.metadata.get("run_id"), header.get("run_id")),
        "suite": (log.metadata.get("suite"), header.get("suite")),
        "gate": (log.metadata.get("gate"), inputs.get("gate")),
        "contains_text": (log.metadata.get("contains_text"), "true"),
        "inputs": (identity, {**inputs, "graders": header.get("graders")}),
    }
    for name, (there, chained) in said.items():
        if there != chained:
            yield f"{log.path}: {name} in its metadata is not what the log's header says; it was changed"
    own = (place.suite, place.date) if isinstance(place, Night) else (place.run_id,)
    chained_place = ("suite", "date") if isinstance(place, Night) else ("run_id",)
    if own != tuple(header.get(name) for name in chained_place):
        yield f"{log.path}: it is the log of another place, by its own header"


__all__ = ["StoredEntry", "metadata_faults", "said", "stored_entries"]
