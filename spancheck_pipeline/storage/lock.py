"""The lock of one partition: at most one capture at a time, released by the operating system when its holder dies.

What is captured under it lives in ``journal.py``. ``PartitionLock`` is the lock of a local disk; that of object storage
is a lease, in ``object_lease.py``. ``Store.lock`` picks the one that fits.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol, Self

from filelock import FileLock, Timeout

from spancheck_pipeline.errors import LockedError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType


class CaptureLock(Protocol):
    """Holds a place for one process: what ``Store.lock`` returns."""

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            LockedError: when somebody else holds it, saying who and what to do.
            StorageError: when the storage cannot be written.
        """

    def release(self) -> None:
        """Let the place go; nothing happens when it is not held."""

    def check(self) -> None:
        """Return when the lock is still held.

        Raises:
            LockedError: when it was lost meanwhile, as a lease can be, or was never taken.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


_POLL_S: Final = 0.2


@contextmanager
def waited_for(lock: CaptureLock, *, at_most_s: float) -> Iterator[CaptureLock]:
    """Hold a lock, after waiting for whoever holds it.

    Raises:
        LockedError: when it is held by somebody else for longer.
    """
    give_up = time.monotonic() + at_most_s
    while True:
        try:
            lock.acquire()
            break
        except LockedError:
            if time.monotonic() > give_up:
                raise
            time.sleep(_POLL_S)
    try:
        yield lock
    finally:
        lock.release()


class PartitionLock:
    """Holds a partition for one process, as a context manager or by ``acquire`` and ``release``.

    The file itself stays where it is; beside it ``<name>.holder`` says who holds it, for the message that others get.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._holder = path.with_name(path.name + ".holder")
        # Not per thread: a capture may be started in one thread and ended in another.
        self._lock = FileLock(path, timeout=0, thread_local=False)

    def acquire(self) -> None:
        """Take the lock at once or not at all.

        Raises:
            LockedError: saying who holds it and what to do.
            StorageError: when the lock's file cannot be written.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(blocking=False)
        except Timeout:
            raise LockedError(self._locked()) from None
        except OSError as error:
            raise StorageError(
                f"cannot lock {self._path}: {error.strerror or type(error).__name__}; the storage must be writable"
            ) from None
        self._name_holder()

    def release(self) -> None:
        """Let the partition go; nothing happens when it is not held."""
        if self._lock.is_locked:
            self._holder.unlink(missing_ok=True)
            self._lock.release()

    def check(self) -> None:
        """Return when the lock is held: the operating system takes it from no living process.

        Raises:
            LockedError: when it was never taken.
        """
        if not self._lock.is_locked:
            raise LockedError(f"{self._path}: this lock is not held by this process")

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _name_holder(self) -> None:
        started = datetime.now(UTC).isoformat(timespec="seconds")
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "started_at": started}
        try:
            self._holder.write_text(json.dumps(holder), encoding="utf-8")
        except OSError:  # a courtesy: the lock holds without it
            return

    def _locked(self) -> str:
        who = "another process"
        try:
            holder = json.loads(self._holder.read_text(encoding="utf-8"))
            who = f"process {int(holder['pid'])} on {str(holder['host'])[:80]!r} since {str(holder['started_at'])[:40]}"
        except (OSError, ValueError, KeyError, TypeError):  # it has just begun, or just ended
            pass
        return (
            f"{self._path.parent} is being captured by {who}; wait until it ends, or end it and run again "
            "(its finished calls are kept, and the lock ends with its process)"
        )
