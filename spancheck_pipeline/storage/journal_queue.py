"""The queue behind every durable journal: records wait for a thread that makes many of them durable at once.

Where they become durable is a subclass's to say: one file (``file_journal.py``), or objects (``object_journal.py``).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spancheck_pipeline.errors import SpancheckError, StorageError
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.storage.journal import Key, RecordState, missing_record, state_of
from spancheck_pipeline.storage.journal_records import recorded_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a stored record is: in the journal's file, or in the local copy of its objects."""

    offset: int
    length: int
    state: RecordState


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """A record that waits to be durable."""

    line: bytes
    key: Key
    state: RecordState
    done: Future[None]


class QueuedJournal(ABC):
    """A journal whose records wait for a thread that makes many of them durable at once; where is a subclass's to say.

    A subclass starts ``_writer`` when it is open, and ends it when it is closed.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._index: dict[Key, Place] = {}
        self._end = 0
        self._failure: SpancheckError | None = None
        self._waiting: list[Append] = []
        self._condition = threading.Condition()
        self._busy = self._closing = False
        self._writer = threading.Thread(target=self._write_batches, name="spancheck-journal", daemon=True)

    def append(self, row: CapturedRow, *, pass_number: int) -> Future[None]:
        """Take a row; the future is done when the row is durable."""
        state = state_of(row, pass_number=pass_number)
        entry = Append(line=recorded_line(row, pass_number=pass_number), key=row.key, state=state, done=Future())
        entry.done.set_running_or_notify_cancel()  # a caller that stops waiting does not unwrite the row
        with self._condition:
            if self._failure is not None or self._closing:
                entry.done.set_exception(self._failure or StorageError(f"{self._where}: the journal is closed"))
            else:
                self._take(entry)
                self._condition.notify_all()
        return entry.done

    def state(self, key: Key) -> RecordState | None:
        """Return what is known of a key."""
        place = self._index.get(key)
        return None if place is None else place.state

    def recorded_keys(self) -> tuple[Key, ...]:
        """Return every key with a durable record."""
        return tuple(self._index)

    def rows(self, keys: Iterable[Key]) -> Iterator[CapturedRow]:
        """Yield the latest row of each key, read one by one."""
        for key in keys:
            place = self._index.get(key)
            if place is None:
                raise missing_record(key)
            yield self._read(place)

    def _take(self, entry: Append) -> None:
        """Let a record wait; the condition is held."""
        self._waiting.append(entry)

    def _write_batches(self) -> None:
        while True:
            with self._condition:
                batch = self._next_batch()
                self._busy = bool(batch)
            if not batch:
                return
            failure = self._failure or self._write(batch)
            with self._condition:
                self._failure = failure
                self._busy = False
                self._condition.notify_all()
            for entry in batch:
                if failure is None:
                    entry.done.set_result(None)
                else:
                    entry.done.set_exception(failure)

    @abstractmethod
    def _next_batch(self) -> list[Append]:
        """Wait until records are to be written, and return them; none when the journal is closed."""

    @abstractmethod
    def _write(self, batch: list[Append]) -> SpancheckError | None:
        """Make records durable, all or none, and note their places; return why that failed."""

    @abstractmethod
    def _read(self, place: Place) -> CapturedRow:
        """Return the row of a record."""
