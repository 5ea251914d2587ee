"""Dispositions in storage: batches that are written once and never again, each with what was signed at one time.

    adjudications/suite=<s>/date=<d>/batch=<…>/part-0.parquet
    runs/<run id>/adjudications/batch=<…>/part-0.parquet

A batch is named by when it was signed and by what stands in it, so that reviewers at the same time write beside one
another. What a disposition means lives in ``decision/adjudication.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spancheck_pipeline.decision.adjudication import Adjudication, Disposition
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.storage.store import FILE, AdHoc, Night, Place, Published, Store
from spancheck_pipeline.storage.tables import ADJUDICATIONS, Row


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
    batch = _batch(place, f"{signed}-{content[:12]}")
    return store.publish(batch, ADJUDICATIONS, rows, identity={"batch": content}, metadata={"suite": place.suite})


def read_adjudications(store: Store, place: Place) -> tuple[Adjudication, ...]:
    """Return every disposition of a place, in the order of signing.

    Raises:
        ContractError, CorruptFileError: for a batch that cannot be read.
    """
    return tuple(sorted(_all(store, place), key=lambda item: item.signed_at))


def _all(store: Store, place: Place) -> Iterator[Adjudication]:
    for name in _batches(store, place):
        for row in store.open(_batch(place, name), ADJUDICATIONS).rows():
            yield _from_row(row)


def adjudications_digest(store: Store, place: Place) -> str | None:
    """Return the digest of a place's batches by their names, which say their contents; None without any."""
    names = _batches(store, place)
    return digest(names) if names else None


def _batches(store: Store, place: Place) -> list[str]:
    folder = place.folder(ADJUDICATIONS.name, None)
    found = (re.search(r"/batch=([^/]+)/", path) for path in _glob(store, f"{store.root}/{folder}/batch=*/{FILE}"))
    return sorted(match.group(1) for match in found if match)


def _glob(store: Store, pattern: str) -> list[str]:
    return [str(path) for path in store.filesystem.glob(pattern)]


def _batch(place: Place, name: str) -> Place:
    if isinstance(place, Night):
        return _NightBatch(place.suite, place.date, name)
    return _AdHocBatch(place.suite, place.run_id, name)


def _to_row(item: Adjudication) -> Row:
    fields: dict[str, Any] = item.model_dump()
    return {**fields, "outcome": item.outcome.value, "disposition": item.disposition.value}


def _from_row(row: Row) -> Adjudication:
    return Adjudication(**{**row, "outcome": Outcome(row["outcome"]), "disposition": Disposition(row["disposition"])})
