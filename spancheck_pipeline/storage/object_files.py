"""What everything on object storage is built from: whole objects, created once or replaced, and the store's own clock.

``create`` is the one conditional write that S3 (``If-None-Match: *``), Google Cloud Storage (generation 0) and Azure
Blob Storage (``If-None-Match: *``) share: of all who create an object of one name, one does. Leases, journals and
revisions rest on it alone. Where a kind of store is not known to have it, or a server ignores it, nothing is written.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from spancheck_pipeline.errors import SpancheckError, StorageError
from spancheck_pipeline.evidence.canonical import CONTRACT

CONDITIONAL: Final = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"})
"""Protocols whose fsspec package creates an object only where none is."""

_IN_MEMORY = threading.Lock()
"""``memory://`` looks and then writes; it lives in one process, so a lock of that process makes it one step."""


class ObjectFiles:
    """Objects of one bucket or container. Paths are those of the fsspec filesystem."""

    def __init__(self, filesystem: Any, root: str) -> None:
        self.filesystem = filesystem
        self.root = root
        protocol = filesystem.protocol
        self._protocols = {protocol} if isinstance(protocol, str) else set(protocol)
        self._probed = False
        self._probing = threading.Lock()

    def create(self, path: str, data: bytes) -> bool:
        """Create an object whole, or return False and change nothing when another one has its name.

        An object that holds the same bytes is taken for our own: a request whose answer was lost is sent again.

        Raises:
            StorageError: when the store refuses, or cannot say whether the object was there.
        """
        self.require_conditional()
        return self._create(path, data)

    def _create(self, path: str, data: bytes) -> bool:
        try:
            with reaching(path), self._one_step():
                self.filesystem.pipe_file(path, data, mode="create")
        except FileExistsError:
            return self.read(path) == data
        return True

    def create_from(self, source: Path, path: str) -> bool:
        """Create an object from a local file, whatever its size; as ``create``, but another's equal object is False."""
        self.require_conditional()
        try:
            with reaching(path), self._one_step():
                if self._is_memory:
                    self.filesystem.pipe_file(path, source.read_bytes(), mode="create")
                else:
                    self.filesystem.put_file(str(source), path, mode="create")
        except FileExistsError:
            return False
        return True

    def put(self, path: str, data: bytes) -> None:
        """Write an object whole, in place of what stood there."""
        with reaching(path):
            self.filesystem.pipe_file(path, data)

    def put_from(self, source: Path, path: str) -> None:
        """Write an object from a local file, whole, in place of what stood there."""
        with reaching(path):
            if self._is_memory:
                self.filesystem.pipe_file(path, source.read_bytes())
            else:
                self.filesystem.put_file(str(source), path)

    def read(self, path: str) -> bytes:
        """Return an object's bytes.

        Raises:
            FileNotFoundError: when there is none of that name.
            StorageError: when it cannot be read.
        """
        with reaching(path, "read"):
            return bytes(self.filesystem.cat_file(path))

    def read_many(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        """Yield some objects in order, a few of them read at once."""
        for start in range(0, len(paths), _AT_ONCE):
            group = paths[start : start + _AT_ONCE]
            try:
                with reaching(group[0], "read"):
                    whole = self.filesystem.cat(group) if len(group) > 1 else self.filesystem.cat_file(group[0])
            except FileNotFoundError:
                raise StorageError(f"{group[0]}: this, or an object beside it, was removed while it was read") from None
            found = whole if len(group) > 1 else {group[0]: whole}
            yield from ((path, bytes(found[path])) for path in group)

    def get_to(self, path: str, target: Path) -> None:
        """Copy an object to a local file."""
        with reaching(path, "read"):
            self.filesystem.get_file(path, str(target))

    def names(self, folder: str) -> list[str]:
        """Return the names of what lies directly in a folder, sorted; one that is not there is empty."""
        try:
            with reaching(folder, "read"):
                found = self.filesystem.ls(folder, detail=False)
        except FileNotFoundError:
            return []
        return sorted({path.rstrip("/").rpartition("/")[2] for path in found if path.rstrip("/") != folder})

    def remove(self, paths: Iterable[str]) -> None:
        """Remove objects; one that is gone already is as good as removed."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError), reaching(path, "removed"):
                self.filesystem.rm_file(path)

    def age_s(self, path: str, scratch: str) -> float | None:
        """Return for how many seconds an object has stood there unchanged, by the store's own clock.

        The clock is read off a small object that is written to ``scratch`` and removed. None where the store does not
        say when something was written.

        Raises:
            FileNotFoundError: when there is none of that name.
        """
        probe = f"{scratch}/clock-{uuid.uuid4().hex}"
        self.put(probe, json.dumps({"contract": CONTRACT, "contains_text": False}).encode())
        try:
            with reaching(path, "read"):
                now, then = self.filesystem.modified(probe), self.filesystem.modified(path)
        except NotImplementedError:
            return None
        finally:
            self.remove([probe])
        return (_aware(now) - _aware(then)).total_seconds()

    def require_conditional(self) -> None:
        """Return when objects can be created once here; it is tried out before the first write of a process.

        Raises:
            StorageError: for a kind of store that is not known to do so, and for a server that does not.
        """
        with self._probing:
            if self._probed:
                return
            if not self._protocols & CONDITIONAL:
                raise StorageError(
                    f"{self.root}: nothing is written to this kind of storage ({'/'.join(sorted(self._protocols))}), "
                    "which is not known to create a file only where none is; use a local folder, s3://, gs:// or abfs://"
                )
            probe = f"{self.root}/_locks/probe-{uuid.uuid4().hex}"
            first = json.dumps({"contract": CONTRACT, "contains_text": False, "probe": 1}).encode()
            try:
                keeps = self._create(probe, first) and not self._create(probe, first + b"\n")
            finally:
                self.remove([probe])
            if not keeps:
                raise StorageError(
                    f"{self.root}: this server overwrites an object that was to be created only where none is "
                    "(If-None-Match: *), so that two captures at once would lose calls; nothing is written to it"
                )
            self._probed = True

    @property
    def _is_memory(self) -> bool:
        return "memory" in self._protocols

    def _one_step(self) -> contextlib.AbstractContextManager[object]:
        return _IN_MEMORY if self._is_memory else contextlib.nullcontext()


_AT_ONCE: Final = 32
"""Objects that are read at once: a journal's segments are small."""


@contextlib.contextmanager
def reaching(path: str, doing: str = "written") -> Iterator[None]:
    """Turn whatever a store's client raises into a ``StorageError`` that names the place; no text of it is kept.

    Whether an object exists is an answer and no failure: those two errors pass, but for a write that finds no bucket.
    """
    try:
        yield
    except FileNotFoundError:
        if doing != "written":
            raise
        raise StorageError(f"{path}: cannot be written: there is no such bucket or container; create it") from None
    except (SpancheckError, FileExistsError, NotImplementedError):
        raise
    except Exception as error:  # noqa: BLE001 - each store's client has its own family of errors
        raise StorageError(
            f"{path}: cannot be {doing} ({type(error).__name__}); check the address, the credentials and the network, "
            "and run again: what was stored before is kept"
        ) from None


def _aware(instant: Any) -> dt.datetime:
    """Return a store's time as an aware one; without a zone it is UTC."""
    moment = instant if isinstance(instant, dt.datetime) else dt.datetime.fromisoformat(str(instant))
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


Clock = Callable[[], float]
"""Seconds that only go forward, for example ``time.monotonic``."""
