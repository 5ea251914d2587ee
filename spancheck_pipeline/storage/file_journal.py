"""The journal of a capture in one file of a local disk: JSONL, a header, then one record a line.

What a record says lives in ``journal_records.py``, checksums and durable writes in ``journal_lines.py``, the queue that
waits for them in ``journal_queue.py``; the journal on object storage in ``object_journal.py``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from spancheck_pipeline.errors import CaptureRefusedError, ContractError, CorruptFileError, StorageError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.storage.journal import JournalHeader, Key, check_same_run
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
from spancheck_pipeline.storage.journal_queue import Append, Place, QueuedJournal
from spancheck_pipeline.storage.journal_records import read_record, read_state

if TYPE_CHECKING:
    from pathlib import Path

TORN = "the journal ended in a torn line, which was dropped; the call that it recorded is made again"
"""The warning of a journal whose last write was cut off."""

_MAX_LINE: Final = 256 * 1024 * 1024
"""Longest line that is read, in bytes: far above any row, a bound on memory when the file is no journal."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    header: JournalHeader
    index: dict[Key, Place]
    end: int
    """Bytes that are whole records."""
    torn: bool


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
