"""Another tool's file as a captured run: read and checked whole, then written through the store, an answer at a time.

What a format's fields mean, and reading a file onto the disk, lives in ``importers``; calling a target in
``capturing.py``. Nothing here calls a system.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from spancheck_pipeline.api.capture_begin import new_run_id
from spancheck_pipeline.api.environment import durability
from spancheck_pipeline.api.manifest import Tally, read_manifest
from spancheck_pipeline.api.snapshot import is_begun, publish_cases
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import CaptureRefusedError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, TargetFacts
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.importers.reading import Reader
from spancheck_pipeline.importers.source import Source
from spancheck_pipeline.importers.spool import Spool
from spancheck_pipeline.storage.journal import JournalHeader
from spancheck_pipeline.storage.rows import captured_to_row
from spancheck_pipeline.storage.store import Night, Published, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a file holds, after all of it was read and found good. Cases and answers wait on the disk, not in memory."""

    n_cases: int
    epochs: int
    carried: Mapping[str, int]
    """Number of answers with each thing: ``contexts``, ``citations``, ``tokens`` …"""
    criteria: Mapping[str, int]
    """Criterion id → cases that have one of that id."""
    n_relabelled: int
    """Cases that took the labels of the suite's own."""
    file_sha256: str
    spool: Spool = field(repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what was read."""
        self.spool.close()

    def cases(self) -> Iterator[Case]:
        """Yield the cases in the file's order."""
        return self.spool.cases()

    def rows(self) -> Iterator[CapturedRow]:
        """Yield a row for each case and epoch, in order."""
        return self.spool.rows()


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of an import. Counts and ids only."""

    published: Published
    manifest: Manifest
    read: Read


def read_source(source: Source, known: Sequence[Case] = ()) -> Read:
    """Read a file whole. The caller closes what is returned.

    A case whose question is one of the ``known`` takes that one's id and labels (by id first, then by question).

    Raises:
        UsageError: for a format or a mapped field that does not exist.
        ConfigError: with every problem of the file and its place.
        StorageError: when the folder for temporary files is full.
    """
    source.check()
    file_sha256 = _sha256(source.path)
    reader = Reader(source, known)
    try:
        reader.read()
    except BaseException:
        reader.spool.close()
        raise
    return Read(
        n_cases=reader.spool.n_cases,
        epochs=reader.spool.epochs,
        carried=dict(reader.carried),
        criteria=dict(sorted(reader.criteria.items())),
        n_relabelled=len(reader.relabelled),
        file_sha256=file_sha256,
        spool=reader.spool,
    )


def import_run(
    store: Store,
    place: Night,
    suite: Suite,
    source: Source,
    read: Read,
    *,
    graders: Sequence[Grader] = (),
    replace: bool = False,
    now: dt.datetime | None = None,
) -> Imported:
    """Write a file that was read as the captured run of a place: its cases, then its answers, as one run.

    Raises:
        CaptureRefusedError: when the place holds a run already, or a capture of it has begun, without ``replace``.
        LockedError: when somebody else captures this place.
    """
    now = now or dt.datetime.now(dt.UTC)
    with store.lock(place, lease_s=durability().lease_s) as lock:
        if not replace:
            _refuse_second(store, place)
        header = _header(place, source, read, now)
        snapshot = publish_cases(store, place, read.cases(), dataset=header.dataset_digest)
        tally = Tally(suite.prices)

        def manifest(_revision: int, _digest: str) -> dict[str, object]:
            made = tally.manifest(header, suite, (), config=None, graders=graders, finished_at=now)
            counted = {
                "dataset_digest": header.dataset_digest,
                "n_cases": read.n_cases,
                "criteria": dict(read.criteria),
                "settings": {
                    "imported_from": source.format,
                    "file_sha256": read.file_sha256,
                    "only": source.only,
                },
            }
            return made.model_copy(update=counted).model_dump(mode="json")

        published = store.publish(
            place,
            CAPTURED_RUN,
            (captured_to_row(row, header.run_id) for row in tally.counting(read.rows())),
            identity={"run_id": header.run_id, "questions": header.questions_digest},
            metadata={"run_id": header.run_id, "suite": place.suite, "cases": snapshot.content_digest},
            document=manifest,
            check=lock.check,
        )
    stored = read_manifest(store, place)
    return Imported(published=published, manifest=stored, read=read)


def _refuse_second(store: Store, place: Night) -> None:
    """Refuse to write over what a place holds, or over what a capture of it has begun.

    Raises:
        CaptureRefusedError: saying which of the two it is.
    """
    if store.exists(place, CAPTURED_RUN):
        raise CaptureRefusedError(
            f"{place} holds a captured run already, and a partition has one run; give another --date, or --replace "
            "to supersede it (it stays readable in the history)"
        )
    if is_begun(store, place):
        raise CaptureRefusedError(
            f"a capture of {place} was begun and is not finished; finish it (spancheck nightly {place.suite} --date "
            f"{place.date}), give another --date, or --replace to import in its place (the answers that it has stay "
            "in its journal, unused)"
        )


def _header(place: Night, source: Source, read: Read, now: dt.datetime) -> JournalHeader:
    settings = {"format": source.format, "columns": dict(source.columns), "only": source.only}
    return JournalHeader(
        run_id=new_run_id(place.suite, place.date),
        suite=place.suite,
        date=place.date,
        dataset_digest=read.spool.dataset_digest(),
        questions_digest=read.spool.questions_digest(),
        target=TargetFacts(
            kind="recorded",
            reference=source.path.name,
            version=source.version,
            settings_digest=digest({**settings, "citations": source.citations}),
        ),
        epochs=read.epochs,
        started_at=now,
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


__all__ = ["Imported", "Read", "Source", "import_run", "read_source"]
