"""Dispositions in storage: batches that are written once and never again, each with what was signed at one time.

    adjudications/suite=<s>/date=<d>/batch=<…>/part-0.parquet
    runs/<run id>/adjudications/batch=<…>/part-0.parquet

A batch is named by when it was signed and by what stands in it, so that reviewers at the same time write beside one
another. What a disposition means lives in ``decision/adjudication.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spancheck_pipeline.decision.adjudication import Adjudication, Disposition
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.store import FILE, AdHoc, Night, Place, Published, Store
from spancheck_pipeline.storage.tables import ADJUDICATIONS

_NAME = re.compile(r"\d{8}T\d{6}-[0-9a-f]{12}")
"""A batch's name: when it was signed, and the beginning of a digest of what stands in it."""


@dataclass(frozen=True, slots=True)
class _NightBatch(Night):
    batch: str

    def folder(self, table: str, grader: str | None) -> str:
        return f"{Night.folder(self, table, grader)}/batch={self.batch}"


@dataclass(frozen=True, slots=True)
class _AdHocBatch(AdHoc):
    batch: str

    def folder(self, table: str, grader: str | None) -> str:
        return f"{AdHoc.folder(self, table, grader)}/batch={self.batch}"


def append_adjudications(store: Store, place: Place, adjudications: Sequence[Adjudication]) -> Published:
    """Keep dispositions that were signed at one time as a batch of their own; the same batch again is kept once.

    Raises:
        StorageError: when it cannot be written.
    """
    rows = [_to_row(item) for item in adjudications]
    content = digest([item.model_dump(mode="json") for item in adjudications])
    signed = max(item.signed_at for item in adjudications).strftime("%Y%m%dT%H%M%S")
    batch = batch_place(place, f"{signed}-{content[:12]}")
    return store.publish(batch, ADJUDICATIONS, rows, identity={"batch": content}, metadata={"suite": place.suite})


def read_adjudications(store: Store, place: Place) -> tuple[Adjudication, ...]:
    """Return every disposition of a place, in the order of signing.

    Raises:
        ContractError, CorruptFileError: for a batch that cannot be read.
    """
    return tuple(sorted(_all(store, place), key=lambda item: item.signed_at))


def _all(store: Store, place: Place) -> Iterator[Adjudication]:
    for name in _batches(store, place):
        for row in store.open(batch_place(place, name), ADJUDICATIONS).rows():
            yield _from_row(row)


def batch_digests(store: Store, place: Place) -> dict[str, str]:
    """Return the content digest of every batch of a place, by the batch's name."""
    return {name: store.open(batch_place(place, name), ADJUDICATIONS).content_digest for name in _batches(store, place)}


def read_batches(store: Store, place: Place, named: Mapping[str, str]) -> tuple[Adjudication, ...]:
    """Return every disposition of some batches (name → content digest), in the order of signing.

    Raises:
        MissingDataError: when a batch is gone, or has another content.
        CorruptFileError: for one that cannot be read.
    """
    found = [
        _from_row(row)
        for name in sorted(named)
        for row in store.open_by_digest(batch_place(place, name), ADJUDICATIONS, named[name]).rows()
    ]
    return tuple(sorted(found, key=lambda item: item.signed_at))


def _batches(store: Store, place: Place) -> list[str]:
    folder = place.folder(ADJUDICATIONS.name, None)
    found = (re.search(r"/batch=([^/]+)/", path) for path in _glob(store, f"{store.root}/{folder}/batch=*/{FILE}"))
    return sorted(match.group(1) for match in found if match)


def _glob(store: Store, pattern: str) -> list[str]:
    return [str(path) for path in store.filesystem.glob(pattern)]


def batch_place(place: Place, name: str) -> Place:
    """Return where a batch of a place lies, by its name; only names that a batch can have become a folder."""
    if not _NAME.fullmatch(name):
        raise MissingDataError(f"{place}: there is no batch of dispositions of such a name; restore what was signed")
    if isinstance(place, Night):
        return _NightBatch(place.suite, place.date, name)
    return _AdHocBatch(place.suite, place.run_id, name)


def _to_row(item: Adjudication) -> Row:
    fields: dict[str, Any] = item.model_dump()
    return {**fields, "outcome": item.outcome.value, "disposition": item.disposition.value}


def _from_row(row: Row) -> Adjudication:
    return Adjudication(**{**row, "outcome": Outcome(row["outcome"]), "disposition": Disposition(row["disposition"])})
