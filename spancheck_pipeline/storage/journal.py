"""The journal of a capture: every finished call, durable before it counts.

``Journal`` is the interface; ``FileJournal`` keeps it in one file of a local disk, ``MemoryJournal`` nowhere. The file
is JSONL: a header, then one record a line, each line with its checksum (``journal_lines.py``). What is called and
recorded lives in ``capture/engine.py``; how a journal becomes a partition's Parquet in ``store.py``.
"""

from __future__ import annotations

import json
import os
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from spancheck_pipeline.errors import (
    CaptureRefusedError,
    ContractError,
    CorruptFileError,
    MissingDataError,
    SpancheckError,
    StorageError,
)
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.evidence.run import CapturedRow, TargetFacts
from spancheck_pipeline.storage.journal_lines import (
    create,
    cut_back,
    failed,
    sealed,
    sync_folder,
    truncate,
    unsealed,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from spancheck_pipeline.evidence.case import Case

Key = tuple[str, int]
"""Case id and epoch."""

TORN = "the journal ended in a torn line, which was dropped; the call that it recorded is made again"
"""The warning of a journal whose last write was cut off."""

_STRICT = ConfigDict(frozen=True, extra="forbid")
_MAX_LINE: Final = 256 * 1024 * 1024
"""Longest line that is read, in bytes: far above any row, a bound on memory when the file is no journal."""


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


class FileJournal(QueuedJournal):
    """A journal in one file of a local disk. Opening one that exists resumes it; its holder has the partition's lock.

    A thread writes what was appended and fsyncs once for all that waited (group commit): a row waits for the write
    before its own and for its own, nothing else. When a write fails, the file is cut back to the last durable record.
    """

    window = 0

    def __init__(self, path: Path, header: JournalHeader, *, set_aside_other: bool = False) -> None:
        """Create the journal, or resume the one that is there.

        With ``set_aside_other`` a journal of another run, or a damaged one, is renamed to ``<name>.<n>.aside`` and a
        new one is begun: what a recapture asks for. Nothing is removed.

        Raises:
            CaptureRefusedError: when the one that is there is of another run: target, cases, epochs or mode differ.
            ContractError: when it is of another contract.
            CorruptFileError: when a line that is not the last one is damaged.
            StorageError: when it cannot be written.
        """
        super().__init__(str(path))
        self.path = path
        if set_aside_other:
            _set_aside_other(path, header)
        self.resumed = path.exists()
        if not self.resumed:
            create(path, sealed(header.model_dump_json().encode()))
        try:
            self._fd = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        except OSError as error:
            raise failed(path, error) from None
        try:
            contents = _contents(self._fd, path, header)
            if contents.torn:
                truncate(self._fd, contents.end, path)
        except BaseException:
            os.close(self._fd)
            raise
        self.header = contents.header
        """The stored header: a resumed run keeps its run id and start."""
        self.warnings: tuple[str, ...] = (TORN,) if contents.torn else ()
        self._index = contents.index
        self._end = contents.end
        self._writer.start()

    def flush(self) -> None:
        """Wait until nothing waits to be written."""
        with self._condition:
            self._condition.wait_for(lambda: not self._waiting and not self._busy)

    def close(self) -> None:
        """Flush, and let go of the file. What was recorded stays."""
        with self._condition:
            if self._closing:
                return
            self._closing = True
            self._condition.notify_all()
        self._writer.join()
        os.close(self._fd)

    def discard(self) -> None:
        """Remove the file, after what it holds was published."""
        self.close()
        self.path.unlink(missing_ok=True)
        sync_folder(self.path.parent)

    def _read(self, place: Place) -> CapturedRow:
        return read_record(os.pread(self._fd, place.length, place.offset), f"{self.path}, byte {place.offset}")

    def _next_batch(self) -> list[Append]:
        """Wait for rows, and return all that wait; none when the journal is closed."""
        self._condition.wait_for(lambda: self._waiting or self._closing)
        batch, self._waiting = self._waiting, []
        return batch

    def _write(self, batch: list[Append]) -> StorageError | None:
        """Write and fsync a batch, or cut the file back to what is durable and return why it failed."""
        try:
            write_all(self._fd, b"".join(entry.line for entry in batch), offset=self._end)
            os.fsync(self._fd)
        except OSError as error:
            cut_back(self._fd, self._end)
            return failed(self.path, error)
        for entry in batch:
            self._index[entry.key] = Place(offset=self._end, length=len(entry.line), state=entry.state)
            self._end += len(entry.line)
        return None


def read_header(path: Path) -> JournalHeader | None:
    """Return the header of a journal, or None when there is no journal.

    Raises:
        ContractError, CorruptFileError, StorageError: when the file cannot be read as one.
    """
    try:
        with path.open("rb") as file:
            line = file.readline(_MAX_LINE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failed(path, error) from None
    return _header(line, path)


class _Record(BaseModel):
    """One line of the file below its header."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    pass_number: int = Field(alias="pass", ge=1)
    row: CapturedRow


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    header: JournalHeader
    index: dict[Key, Place]
    end: int
    """Bytes that are whole records."""
    torn: bool


def recorded_line(row: CapturedRow, *, pass_number: int) -> bytes:
    """Return a row as a line of a journal."""
    return sealed(_Record(pass_number=pass_number, row=row).model_dump_json(by_alias=True).encode())


def read_record(line: bytes, where: str) -> CapturedRow:
    """Return the row that a line of a journal holds.

    Raises:
        CorruptFileError: when it is not what was written.
    """
    payload = unsealed(line)
    if payload is None:
        raise CorruptFileError(f"{where}: this record has changed since it was written")
    try:
        return _Record.model_validate_json(payload).row
    except ValidationError:
        raise CorruptFileError(f"{where}: this record is not a captured row") from None


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


def _scan(fd: int, path: Path) -> _Contents:
    """Read a journal's lines one by one into an index.

    A damaged last line is a write that was cut off: nobody was told that it was durable.
    """
    index: dict[Key, Place] = {}
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        first = file.readline(_MAX_LINE)
        header = _header(first, path)
        end, number = len(first), 1
        while line := file.readline(_MAX_LINE):
            number += 1
            payload = unsealed(line)
            if payload is None:
                if file.read(1):
                    raise CorruptFileError(
                        f"{path}:{number}: this record is damaged and is not the last one; restore the file, "
                        "or set it aside and capture again with --recapture"
                    )
                return _Contents(header=header, index=index, end=end, torn=True)
            key, state = read_state(payload, f"{path}:{number}")
            index[key] = Place(offset=end, length=len(line), state=state)
            end += len(line)
    return _Contents(header=header, index=index, end=end, torn=False)


def _header(line: bytes, path: Path) -> JournalHeader:
    payload = unsealed(line)
    try:
        fields = json.loads(payload if payload is not None else line)
        found = fields["contract"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise CorruptFileError(f"{path}:1: this is not a capture's journal; set it aside and capture again") from None
    if found != CONTRACT:
        raise ContractError(str(path), found=found, known=CONTRACT)
    if payload is None:
        raise CorruptFileError(f"{path}:1: the header is damaged; set the file aside and capture again")
    try:
        return JournalHeader.model_validate_json(payload)
    except ValidationError:
        raise CorruptFileError(f"{path}:1: the header is not one of a journal; set the file aside") from None


def read_state(payload: bytes, where: str) -> tuple[Key, RecordState]:
    """Return key and state of a record's JSON, without reading its row.

    Raises:
        CorruptFileError: when it is not one.
    """
    try:
        record = json.loads(payload)
        row = record["row"]
        state = RecordState(
            pass_number=record["pass"],
            error_class=row["error_class"],
            attempts=row["attempts"],
            question_digest=row["question_digest"],
        )
        return (row["case_id"], row["epoch"]), state
    except (ValueError, LookupError, TypeError, RecursionError):
        raise CorruptFileError(f"{where}: this record is not a captured row; set the file aside") from None


def _contents(fd: int, path: Path, header: JournalHeader) -> _Contents:
    contents = _scan(fd, path)
    check_same_run(contents.header, header, path)
    return contents


def _set_aside_other(path: Path, header: JournalHeader) -> None:
    """Rename a journal that cannot be gone on with. One of an unknown contract stays: it may be a newer version's."""
    try:
        with path.open("rb") as file:
            _contents(file.fileno(), path, header)
    except FileNotFoundError:
        return
    except (CaptureRefusedError, CorruptFileError):
        taken = sum(1 for _ in path.parent.glob(f"{path.name}.*.aside"))
        path.rename(path.with_name(f"{path.name}.{taken + 1}.aside"))
        sync_folder(path.parent)


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
