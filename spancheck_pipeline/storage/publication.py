"""How a finished file becomes the current one, and the one before it is kept: on a local disk, and on object storage.

    local      keep a copy of the current file under _history/, then rename the new one over it: one step for readers
    objects    create _history/…/revision=<n>/ (that commits it: of all who want a number, one gets it), then put the
               same file where readers of the folders look

On object storage the highest revision under ``_history/`` is the current one for ``store.py``, whether its copy stands
yet or not. What a file holds lives in ``draft.py`` and ``tables.py``.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from filelock import FileLock

from spancheck_pipeline.storage.journal_lines import sync_folder
from spancheck_pipeline.storage.object_files import ObjectFiles

FILE: Final = "part-0.parquet"
_STALE_TMP: Final = dt.timedelta(days=1)


class Slot(NamedTuple):
    """Where one table of one place stands."""

    current: str
    """Path of the file that readers see."""
    history: str
    """Folder of its revisions."""

    def kept(self, revision: int) -> str:
        """Return the path of a revision in the history."""
        return f"{self.history}/revision={revision:05d}/{FILE}"


class Publisher(Protocol):
    """Puts files in their place."""

    def scratch(self) -> contextlib.AbstractContextManager[Path]:
        """Give a local folder for drafts, on the same disk as their place where that is a disk."""

    def alone(self) -> contextlib.AbstractContextManager[object]:
        """Let one process at a time number and replace files, where that is to be had."""

    def replace(self, draft: Path, slot: Slot, *, replaced: int | None, revision: int) -> bool:
        """Make a draft the current file, after keeping the revision that it replaces (None: there is none).

        Return False, with nothing changed, when somebody else's revision has the number.
        """

    def settle(self, slot: Slot, *, shown: int) -> None:
        """See to it that readers of the folders get the highest revision; ``shown`` stands there now."""


class LocalPublisher:
    """Files of a local disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give the folder ``_tmp``, after removing what killed writers left there more than a day ago."""
        folder = self._root / "_tmp"
        folder.mkdir(parents=True, exist_ok=True)
        limit = dt.datetime.now(dt.UTC) - _STALE_TMP
        for path in folder.glob("*"):
            with contextlib.suppress(OSError):
                if dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC) < limit:
                    path.unlink()
        yield folder

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock of all publishing in this root."""
        lock = self._root / "_locks" / "publish.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=120):
            yield

    def replace(self, draft: Path, slot: Slot, *, replaced: int | None, revision: int) -> bool:
        """Keep, then rename: dying in between loses neither."""
        del revision
        if replaced is not None:
            self._keep(Path(slot.current), Path(slot.kept(replaced)))
        self._rename(draft, Path(slot.current))
        return True

    def settle(self, slot: Slot, *, shown: int) -> None:
        """Do nothing: the rename did it."""

    def _keep(self, current: Path, kept: Path) -> None:
        if kept.exists():
            return
        copy = self._root / "_tmp" / uuid.uuid4().hex
        shutil.copyfile(current, copy)
        self._rename(copy, kept)

    def _rename(self, source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as handle:
            os.fsync(handle.fileno())
        source.replace(target)
        sync_folder(target.parent)


class ObjectPublisher:
    """Objects, each written whole by one request."""

    def __init__(self, files: ObjectFiles) -> None:
        self._files = files

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a temporary folder of the local disk; the store is known to create objects once."""
        self._files.require_conditional()
        with tempfile.TemporaryDirectory(prefix="spancheck-") as folder:
            yield Path(folder)

    def alone(self) -> contextlib.AbstractContextManager[object]:
        """Let everybody go on: a number is given once, by the store."""
        return contextlib.nullcontext()

    def replace(self, draft: Path, slot: Slot, *, replaced: int | None, revision: int) -> bool:
        """Commit by creating the revision in the history, then put the copy for readers of the folders."""
        if replaced is not None and replaced not in self.committed(slot):
            self._copy(slot.current, slot.kept(replaced))  # written before this version, or copied from a disk
        if not self._files.create_from(draft, slot.kept(revision)):
            return False
        self._files.put_from(draft, slot.current)
        return True

    def settle(self, slot: Slot, *, shown: int) -> None:
        """Put the highest revision where readers look, until no higher one has come meanwhile."""
        while (latest := max(self.committed(slot), default=0)) > shown:
            self._copy(slot.kept(latest), slot.current)
            shown = latest

    def committed(self, slot: Slot) -> list[int]:
        """Return the numbers of the revisions that stand in the history."""
        names = self._files.names(slot.history)
        return [int(match.group(1)) for name in names if (match := re.fullmatch(r"revision=(\d+)", name))]

    def _copy(self, source: str, target: str) -> None:
        with tempfile.TemporaryDirectory(prefix="spancheck-") as folder:
            local = Path(folder) / FILE
            self._files.get_to(source, local)
            self._files.put_from(local, target)
