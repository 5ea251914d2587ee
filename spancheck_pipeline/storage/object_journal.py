"""The journal of a capture on object storage: immutable segments, each whole or not there.

    _journal/<place>/<kind>/segment-<fencing token>-<n>.jsonl

A segment's first line says whose it is; that of each session's segment 0 also which run, and which segments of earlier
sessions count. A session goes on from the segments that it found when it took the lease; what a former holder still
writes after that counts for nobody. A call is recorded when its segment is stored **and** the lease was still held
then. What a record says is ``journal_records.py``'s, the lease
``object_lease.py``'s.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spancheck_pipeline.errors import CaptureRefusedError, CorruptFileError, LockedError, SpancheckError, StorageError
from spancheck_pipeline.storage.journal import JournalHeader, Key, RecordState, check_same_run
from spancheck_pipeline.storage.journal_lines import sealed, unsealed, write_all
from spancheck_pipeline.storage.journal_queue import Append, Place, QueuedJournal
from spancheck_pipeline.storage.journal_records import read_record, read_state
from spancheck_pipeline.storage.object_segments import (
    SegmentHead,
    SegmentId,
    parsed_head,
    read_head,
    remove_segments,
    segments,
    set_aside,
)

if TYPE_CHECKING:
    from spancheck_pipeline.evidence.run import CapturedRow
    from spancheck_pipeline.storage.object_files import ObjectFiles
    from spancheck_pipeline.storage.object_lease import ObjectLease


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """When what was recorded is put into a segment: whichever comes first. It bounds what a kill can lose."""

    calls: int = 20
    """Rows, 1 or more."""
    seconds: float = 1.0
    """Seconds since the first row that waits, 0 or more."""


class ObjectJournal(QueuedJournal):
    """A journal in objects. Opening one that exists resumes it; its holder has the place's lease.

    Records are read back from a nameless temporary file on the local disk, which is a copy and nothing depends on: it
    is gone with the process, and filled from the segments when the journal is opened anywhere.
    """

    def __init__(
        self,
        files: ObjectFiles,
        folder: str,
        header: JournalHeader,
        *,
        lease: ObjectLease,
        set_aside_other: bool = False,
        flush: Flush | None = None,
    ) -> None:
        """Create the journal, or resume the one that is there.

        With ``set_aside_other`` the segments of another run, or damaged ones, are moved to ``<folder>.<n>.aside`` and a
        new journal is begun. Nothing is removed.

        Raises:
            CaptureRefusedError: when the one that is there is of another run.
            ContractError: when it is of another contract.
            CorruptFileError: when a segment is damaged or missing.
            LockedError: when the lease was lost.
            StorageError: when the store, or the local disk, cannot be used.
        """
        super().__init__(folder)
        self._files, self._folder, self._lease = files, folder, lease
        self._flush = flush or Flush()
        self._token = lease.token
        self.warnings: tuple[str, ...] = ()
        self._spool = tempfile.TemporaryFile(prefix="spancheck-journal-")  # noqa: SIM115 - it lives as long as this
        try:
            counts = self._resume(header, set_aside_other=set_aside_other)
            self._store(SegmentHead(token=self._token, number=0, header=self.header, counts=counts), [])
        except BaseException:
            self._spool.close()
            raise
        self._counts = counts
        self._n_segments = 1
        self._since = 0.0
        self._is_urgent = self._is_closed = False
        self._writer.start()

    @property
    def window(self) -> int:
        """Calls that may be made while earlier ones wait to be stored."""
        return self._flush.calls

    def flush(self) -> None:
        """Store what waits, now, and wait until that is done."""
        with self._condition:
            self._is_urgent = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: not self._waiting and not self._busy)
            self._is_urgent = False

    def close(self) -> None:
        """Flush, and let go of the local copy. What was recorded stays."""
        with self._condition:
            if self._is_closed:
                return
            self._closing = self._is_closed = True
            self._condition.notify_all()
        self._writer.join()
        self._spool.close()

    def discard(self) -> None:
        """Remove the segments, after what they hold was published: the run's own and those that it went on from.

        Where somebody has taken over meanwhile they are left to them.
        """
        self.close()
        try:
            self._lease.check()
        except LockedError:
            return
        remove_segments(self._files, self._folder, up_to=self._token)

    # -- opening ------------------------------------------------------------------------------------------------

    def _resume(self, header: JournalHeader, *, set_aside_other: bool) -> dict[int, int]:
        """Read what is there into the local copy; return what counts of it, by token."""
        found = segments(self._files, self._folder)
        self.header, self.resumed = header, False
        begun = [segment.token for segment in found if segment.number == 0]
        if not begun:
            return {}
        try:
            return self._read_session(max(begun), found, header)
        except (CaptureRefusedError, CorruptFileError):
            if not set_aside_other:
                raise
        set_aside(self._files, self._folder, found)
        self.header, self.resumed = header, False
        self._index.clear()
        return {}

    def _read_session(self, token: int, found: list[SegmentId], header: JournalHeader) -> dict[int, int]:
        first = read_head(self._files, self._folder, SegmentId(token, 0))
        assert first.header is not None
        check_same_run(first.header, header, self._folder)
        self.header, self.resumed = first.header, True
        numbers = [segment.number for segment in found if segment.token == token]
        counts = {**first.counts, token: 1 + max(numbers)}
        wanted = [SegmentId(session, number) for session in sorted(counts) for number in range(counts[session])]
        if lost := sorted(set(wanted) - set(found)):
            raise CorruptFileError(
                f"{self._folder}/{lost[0].name}: this segment of the journal is missing; restore it, or capture again "
                "with --recapture"
            )
        paths = [f"{self._folder}/{segment.name}" for segment in wanted]
        for segment, (path, data) in zip(wanted, self._files.read_many(paths), strict=True):
            self._take_in(segment, path, data)
        return counts

    def _take_in(self, segment: SegmentId, path: str, data: bytes) -> None:
        lines = data.splitlines(keepends=True)
        parsed_head(lines[0] if lines else b"", segment, path)
        for number, line in enumerate(lines[1:], start=2):
            payload = unsealed(line)
            if payload is None:
                raise CorruptFileError(
                    f"{path}:{number}: this record is damaged; restore the object, or capture again with --recapture"
                )
            key, state = read_state(payload, f"{path}:{number}")
            self._keep(key, line, state)

    def _keep(self, key: Key, line: bytes, state: RecordState) -> None:
        try:
            write_all(self._spool.fileno(), line, offset=self._end)
        except OSError as error:
            raise StorageError(
                f"cannot write a temporary file in {tempfile.gettempdir()}: {error.strerror or type(error).__name__}; "
                "what was recorded is stored. Make room there (or set TMPDIR) and run again to go on from there"
            ) from None
        self._index[key] = Place(offset=self._end, length=len(line), state=state)
        self._end += len(line)

    # -- writing ------------------------------------------------------------------------------------------------

    def _take(self, entry: Append) -> None:
        self._since = self._since if self._waiting else time.monotonic()
        super()._take(entry)

    def _read(self, place: Place) -> CapturedRow:
        return read_record(os.pread(self._spool.fileno(), place.length, place.offset), self._folder)

    def _next_batch(self) -> list[Append]:
        """Wait until a segment is due, and return its rows; none when the journal is closed."""
        while not self._is_due():
            left = self._since + self._flush.seconds - time.monotonic() if self._waiting else None
            self._condition.wait(timeout=left)
        batch, self._waiting = self._waiting, []
        return batch

    def _is_due(self) -> bool:
        if self._closing or not self._waiting:
            return self._closing
        is_full = len(self._waiting) >= self._flush.calls
        return is_full or self._is_urgent or time.monotonic() >= self._since + self._flush.seconds

    def _write(self, batch: list[Append]) -> SpancheckError | None:
        """Store a segment and make sure that the lease was held still; return why that failed."""
        try:
            self._store(SegmentHead(token=self._token, number=self._n_segments), [entry.line for entry in batch])
            self._n_segments += 1
            for entry in batch:
                self._keep(entry.key, entry.line, entry.state)
        except SpancheckError as error:
            return error
        return None

    def _store(self, head: SegmentHead, lines: list[bytes]) -> None:
        path = f"{self._folder}/{SegmentId(head.token, head.number).name}"
        data = b"".join([sealed(head.model_dump_json().encode()), *lines])
        if not self._files.create(path, data):
            raise StorageError(f"{path}: another object stands there; end whoever else writes this journal")
        # Whoever takes the lease after this look finds the segment: it reads the folder when it has the lease.
        self._lease.check()
