"""The journal of a capture: every finished call, durable before it counts.

``Journal`` is the interface; ``MemoryJournal`` keeps it nowhere, ``file_journal.py`` in one file of a local disk,
``object_journal.py`` in objects. What is called and recorded lives in ``capture/engine.py``; how a journal becomes a
partition's Parquet in ``store.py``.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from spancheck_pipeline.errors import CaptureRefusedError, MissingDataError
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.evidence.run import CapturedRow, TargetFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from spancheck_pipeline.evidence.case import Case

Key = tuple[str, int]
"""Case id and epoch."""

_STRICT = ConfigDict(frozen=True, extra="forbid")


class JournalHeader(BaseModel):
    """What a journal is about: the first line of its file."""

    model_config = _STRICT

    contract: Literal[1] = CONTRACT
    contains_text: Literal[True] = True
    run_id: str
    suite: str
    date: str | None = None
    """The partition's date, YYYY-MM-DD; None for an ad-hoc run."""
    config: str | None = None
    mode: Literal["capture", "recapture", "retry_errors"] = "capture"
    dataset_digest: str
    questions_digest: str | None = None
    """Digest of ids and questions alone (``questions_digest``); None where the capture did not state it."""
    target: TargetFacts
    epochs: int
    started_at: datetime
    base_revision: int | str | None = None
    """The revision that a recapture or a retry starts from; None for a first capture."""


def questions_digest(cases: Iterable[Case]) -> str:
    """Return the SHA-256 of what a set of cases asks, whatever their order and labels."""
    return digest(sorted([case.id, case.question_digest] for case in cases))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordState:
    """What a journal knows of a key without reading its row: its latest record."""

    pass_number: int
    """1 for a first try, 2 for the second one at the end of the night, and so on."""
    error_class: str | None
    """None when the call answered."""
    attempts: int
    question_digest: str

    @property
    def answered(self) -> bool:
        """Whether the call returned."""
        return self.error_class is None


class Journal(Protocol):
    """Where finished calls are kept until the partition is published."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was noticed at opening, for example ``TORN``. No text of a record."""

    @property
    def window(self) -> int:
        """Rows that may wait to be durable while further calls are made; 0: each call waits for its row."""

    def append(self, row: CapturedRow, *, pass_number: int) -> Future[None]:
        """Take a row; the future is done when the row is durable, or failed with a ``StorageError``."""

    def state(self, key: Key) -> RecordState | None:
        """Return what is known of a key, or None when nothing is recorded for it."""

    def recorded_keys(self) -> tuple[Key, ...]:
        """Return every key with a record, in the order of their first ones."""

    def rows(self, keys: Iterable[Key]) -> Iterator[CapturedRow]:
        """Yield the latest row of each key, in the order given, one in memory at a time.

        Raises:
            MissingDataError: for a key without a record.
        """

    def flush(self) -> None:
        """Wait until everything that was appended is durable or has failed."""

    def close(self) -> None:
        """Flush, and let go of the file."""

    def discard(self) -> None:
        """Remove the journal, after what it holds was published."""


class KeptJournal(Journal, Protocol):
    """A journal that outlives its process: what ``Store.journal`` returns."""

    @property
    def header(self) -> JournalHeader:
        """The stored header: a resumed run keeps its run id and start."""

    @property
    def resumed(self) -> bool:
        """Whether it was there already."""


class MemoryJournal:
    """A journal that lives as long as the process: for the library, which keeps a run in memory."""

    warnings: tuple[str, ...] = ()
    window = 0

    def __init__(self) -> None:
        self._records: dict[Key, tuple[int, CapturedRow]] = {}

    def append(self, row: CapturedRow, *, pass_number: int) -> Future[None]:
        """Keep a row."""
        self._records[row.key] = (pass_number, row)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def state(self, key: Key) -> RecordState | None:
        """Return what is known of a key."""
        record = self._records.get(key)
        return None if record is None else state_of(record[1], pass_number=record[0])

    def recorded_keys(self) -> tuple[Key, ...]:
        """Return every key with a record."""
        return tuple(self._records)

    def rows(self, keys: Iterable[Key]) -> Iterator[CapturedRow]:
        """Yield the latest row of each key."""
        for key in keys:
            if key not in self._records:
                raise missing_record(key)
            yield self._records[key][1]

    def flush(self) -> None:
        """Do nothing: memory is as durable as it gets."""

    def close(self) -> None:
        """Do nothing."""

    def discard(self) -> None:
        """Forget every row."""
        self._records.clear()


def state_of(row: CapturedRow, *, pass_number: int) -> RecordState:
    """Return what a journal knows of a row without reading it."""
    return RecordState(
        pass_number=pass_number,
        error_class=row.error_class,
        attempts=row.attempts,
        question_digest=row.question_digest,
    )


def missing_record(key: Key) -> MissingDataError:
    """Return the error for a key that no journal has."""
    return MissingDataError(f"the journal has no record for case {key[0]!r}, epoch {key[1]}; finish the capture first")


def check_same_run(stored: JournalHeader, wanted: JournalHeader, path: Path | str) -> None:
    """Refuse to go on with a journal of another run: two runs are never merged into one partition.

    Raises:
        CaptureRefusedError: naming every difference with both sides.
    """
    facts: list[tuple[str, object, object]] = [
        ("suite", stored.suite, wanted.suite),
        ("date", stored.date, wanted.date),
        ("config", stored.config, wanted.config),
        ("mode", stored.mode, wanted.mode),
        ("epochs", stored.epochs, wanted.epochs),
        ("target kind", stored.target.kind, wanted.target.kind),
        ("target", stored.target.reference, wanted.target.reference),
        ("target version", stored.target.version, wanted.target.version),
        ("base revision", stored.base_revision, wanted.base_revision),
    ]
    if stored.questions_digest is not None and wanted.questions_digest is not None:
        facts.append(("questions digest", stored.questions_digest[:12], wanted.questions_digest[:12]))
    different = [f"{name} {old!r} there, {new!r} now" for name, old, new in facts if old != new]
    if different:
        raise CaptureRefusedError(
            f"{path} holds an unfinished capture of another run ({stored.run_id} there, {wanted.run_id} now): "
            f"{'; '.join(different)}. "
            "Go back to what it was begun with to finish it, or start over with --recapture"
        )
