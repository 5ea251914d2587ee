"""What only a running capture needs of a place: its lock, its journals, and a file for what a target prints.

    _locks/<place>/<kind>…    _journal/<place>/<kind>…

On a local disk these are files, in a bucket objects; which of the two is decided here and nowhere else. What is
published lives in ``store.py``.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.storage.file_journal import FileJournal, read_header
from spancheck_pipeline.storage.journal import JournalHeader, KeptJournal
from spancheck_pipeline.storage.lock import CaptureLock, PartitionLock
from spancheck_pipeline.storage.object_files import ObjectFiles
from spancheck_pipeline.storage.object_journal import Flush, ObjectJournal
from spancheck_pipeline.storage.object_lease import LEASE_S, ObjectLease
from spancheck_pipeline.storage.object_segments import read_object_header, remove_segments
from spancheck_pipeline.storage.place import AnyPlace

_KIND: Final = re.compile(r"[a-z0-9][a-z0-9_\-]{0,119}")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=\-]{0,119}(/[A-Za-z0-9_][A-Za-z0-9_.=\-]{0,119}){0,7}")


class WorkingPlaces:
    """Locks and journals of the places below one root."""

    def __init__(self, root: str, objects: ObjectFiles | None) -> None:
        self.root = root
        """Path of the root in its filesystem."""
        self._objects = objects

    def lock(self, place: AnyPlace | str, kind: str = "capture", *, lease_s: float = LEASE_S) -> CaptureLock:
        """Return the lock that one process at a time holds of a place, or of anything else that has a name.

        It is not taken yet: use it as a context manager. A name is a relative path of plain words. ``lease_s`` is
        how long a lease on object storage outlives its holder; a lock of a local disk ends with its process.
        """
        folder = self._working_folder("_locks", place)
        if self._objects is None:
            return PartitionLock(Path(folder) / f"{_checked_kind(kind)}.lock")
        return ObjectLease(self._objects, f"{folder}/{_checked_kind(kind)}", length_s=lease_s)

    def journal(
        self,
        kind: str,
        place: AnyPlace | str,
        header: JournalHeader,
        *,
        lock: CaptureLock,
        set_aside_other: bool = False,
        flush: Flush | None = None,
    ) -> KeptJournal:
        """Open the journal of a kind (``capture``, ``recapture``, a judge's …) at a place: a new one, or to go on with.

        ``lock`` (from ``lock``) is held by the caller for as long as the journal is open. With ``set_aside_other`` a
        journal of another run is set aside first. ``flush`` says when rows are put into a segment on object storage.

        Raises:
            CaptureRefusedError: when the one that is there is of another run.
            ContractError, CorruptFileError, StorageError: when it cannot be read or written.
        """
        lock.check()
        folder = self._working_folder("_journal", place)
        if self._objects is None:
            return FileJournal(Path(folder) / f"{_checked_kind(kind)}.jsonl", header, set_aside_other=set_aside_other)
        assert isinstance(lock, ObjectLease), "a store's journal is opened under the same store's lock"
        return ObjectJournal(
            self._objects,
            f"{folder}/{_checked_kind(kind)}",
            header,
            lease=lock,
            set_aside_other=set_aside_other,
            flush=flush,
        )

    def journal_header(self, kind: str, place: AnyPlace | str) -> JournalHeader | None:
        """Return the header of a journal, or None where there is none.

        Raises:
            ContractError, CorruptFileError, StorageError: when it cannot be read as one.
        """
        folder = self._working_folder("_journal", place)
        if self._objects is None:
            return read_header(Path(folder) / f"{_checked_kind(kind)}.jsonl")
        return read_object_header(self._objects, f"{folder}/{_checked_kind(kind)}")

    def unfinished(self, place: AnyPlace | str) -> tuple[str, ...]:
        """Return the kinds of journal that a place has: what was begun there and is not published."""
        folder = self._working_folder("_journal", place)
        if self._objects is None:
            return tuple(sorted(path.stem for path in Path(folder).glob("*.jsonl")))
        return tuple(name for name in self._objects.names(folder) if _KIND.fullmatch(name))

    def discard_journal(self, kind: str, place: AnyPlace | str) -> None:
        """Remove a journal that nobody will go on with, if it is there; the caller holds the lock."""
        folder = self._working_folder("_journal", place)
        if self._objects is None:
            (Path(folder) / f"{_checked_kind(kind)}.jsonl").unlink(missing_ok=True)
        else:
            remove_segments(self._objects, f"{folder}/{_checked_kind(kind)}")

    @contextlib.contextmanager
    def output_log(self, place: AnyPlace | str, name: str = "target_output") -> Iterator[Path]:
        """Give a local file for what a target prints during a capture; it is kept beside the place's journals.

        On object storage it is put there when this ends, in place of an earlier one, unless nothing was printed.
        """
        folder = self._working_folder("_journal", place)
        if self._objects is None:
            yield Path(folder) / f"{_checked_kind(name)}.log"
            return
        with tempfile.TemporaryDirectory(prefix="spancheck-") as scratch:
            path = Path(scratch) / "output.log"
            try:
                yield path
            finally:
                if path.exists() and path.stat().st_size:
                    self._objects.put_from(path, f"{folder}/{_checked_kind(name)}.log")

    def _working_folder(self, kind: str, place: AnyPlace | str) -> str:
        if not isinstance(place, str):
            return f"{self.root}/{kind}/{place.folder('captured_run', None)}"
        if not _NAME.fullmatch(place):
            raise UsageError(f"{place[:80]!r} names no lock or journal: plain words with '/' between them")
        return f"{self.root}/{kind}/{place}"


def _checked_kind(kind: str) -> str:
    if not _KIND.fullmatch(kind):
        raise UsageError(f"{kind[:80]!r} is not a kind of journal: lower-case letters, digits, '_' and '-'")
    return kind
