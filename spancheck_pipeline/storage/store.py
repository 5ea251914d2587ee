"""Partitions on disk or in an object store: where a file lies, how it is replaced, and how an old one is found again.

A file appears whole or not at all, and one that is replaced by another content is kept under ``_history/``, so that
every decision can be read as it was made; how, is in ``publication.py``. What stands in a file lives in ``tables.py``,
places in ``place.py``, what only a running capture needs in ``working.py``.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.dataset as pads
from fsspec.implementations.local import LocalFileSystem

from spancheck_pipeline.decision.names import check_name
from spancheck_pipeline.errors import MissingDataError, StorageError
from spancheck_pipeline.evidence.canonical import CONTRACT, canonical_json, digest
from spancheck_pipeline.storage.belonging import PLACE, check_belongs
from spancheck_pipeline.storage.draft import Draft
from spancheck_pipeline.storage.object_files import ObjectFiles
from spancheck_pipeline.storage.place import AdHoc, AnyPlace, JudgePlace, Night, Place, check_run_id, stored_nearby
from spancheck_pipeline.storage.publication import FILE, LocalPublisher, ObjectPublisher, Publisher, Slot
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.stored_file import Published, StoredFile, open_file, reaching_client
from spancheck_pipeline.storage.tables import Table
from spancheck_pipeline.storage.working import WorkingPlaces

_REVISION = re.compile(r"/revision=(\d+)/")


class Store(WorkingPlaces):
    """All files of a project under one root: a local folder, or any URL that fsspec knows."""

    def __init__(self, root: str | Path, *, namespace: str | None = None) -> None:
        # Other processes write too: what a listing said a moment ago is not to be relied on.
        options = {"use_listings_cache": False} if "://" in str(root) else {}
        try:
            self.filesystem, path = fsspec.core.url_to_fs(str(root), **options)
        except (ImportError, ValueError) as error:
            kind = str(root).partition("://")[0][:20]
            raise StorageError(
                f"{str(root)[:200]}: this kind of storage needs a package that is missing or unknown "
                f"({type(error).__name__}); install it: spancheck-pipeline[s3], [gcs] or [azure], or the fsspec "
                f"package of {kind!r}"
            ) from None
        self.is_local = isinstance(self.filesystem, LocalFileSystem)
        if namespace is not None:
            check_name(namespace)
        folder = f"{path.rstrip('/')}/{namespace}" if namespace else path.rstrip("/")
        super().__init__(folder, None if self.is_local else ObjectFiles(self.filesystem, folder))
        self.namespace = namespace
        self._publisher: Publisher = (
            LocalPublisher(Path(self.root)) if self._objects is None else ObjectPublisher(self._objects)
        )

    # -- where things are ---------------------------------------------------------------------------------------

    def path(self, place: AnyPlace, table: Table, grader: str | None = None) -> str:
        """Return the path of a table's current file at a place, whether it exists or not."""
        return f"{self.root}/{place.folder(table.name, grader)}/{FILE}"

    def exists(self, place: AnyPlace, table: Table, grader: str | None = None) -> bool:
        """Return whether a table has a current file at a place."""
        path = self.path(place, table, grader)
        with self._reaching(path):
            if self.filesystem.exists(path):
                return True
        return not self.is_local and bool(self._kept(place, table, grader))

    def dates(self, suite: str, table: Table, grader: str | None = None) -> tuple[str, ...]:
        """Return the dates on which a table of a suite has a file, in order."""
        folder = Night(suite, "2000-01-01").folder(table.name, grader).rpartition("/")[0]
        patterns = [f"{self.root}/{folder}/date=*/{FILE}"]
        if self._objects:  # committed, though the copy for other readers may not stand there yet
            patterns.append(f"{self.root}/_history/{folder}/date=*/revision=*/{FILE}")
        found = (re.search(r"/date=(\d{4}-\d\d-\d\d)/", path) for each in patterns for path in self._glob(each))
        return tuple(sorted({match.group(1) for match in found if match}))

    def _glob(self, pattern: str) -> list[str]:
        try:
            with self._reaching(pattern):
                return list(self.filesystem.glob(pattern))
        except FileNotFoundError:  # no such bucket: nothing is there
            return []

    def _reaching(self, path: str) -> contextlib.AbstractContextManager[None]:
        return reaching_client(self.filesystem, path)

    # -- reading ------------------------------------------------------------------------------------------------

    def open(self, place: AnyPlace, table: Table, grader: str | None = None) -> StoredFile:
        """Open the current file of a table at a place.

        Raises:
            MissingDataError: when nothing is stored there.
            ContractError: for a file of another contract.
            CorruptFileError: for a file that is not one of ours, is of another place, or is damaged.
        """
        current = self._current(place, table, grader)
        if current is None:
            what = f"{table.name} of grader {grader}" if grader else table.name
            path = self.path(place, table, grader)
            there = stored_nearby(place, self.dates(place.suite, table, grader)) if isinstance(place, Night) else ""
            raise MissingDataError(f"{path}: nothing stored; there is no {what} for {place}{there or ' yet'}")
        return current

    def open_path(self, path: str, place: AnyPlace, table: Table, grader: str | None = None) -> StoredFile:
        """Open one file of a place by its path, current or superseded.

        Raises:
            MissingDataError, ContractError, CorruptFileError: as ``open``.
        """
        return check_belongs(open_file(self.filesystem, path, table), place, grader)

    def _current(self, place: AnyPlace, table: Table, grader: str | None) -> StoredFile | None:
        """Return the current file: on object storage the highest committed revision, wherever it stands."""
        try:
            current = self.open_path(self.path(place, table, grader), place, table, grader)
        except MissingDataError:
            current = None
        if self.is_local:
            return current
        kept = self._kept(place, table, grader)
        latest = self.open_path(kept[-1], place, table, grader) if kept else None
        return latest if latest and (current is None or latest.revision > current.revision) else current

    def open_by_digest(
        self, place: AnyPlace, table: Table, content_digest: str, grader: str | None = None
    ) -> StoredFile:
        """Open the revision, current or superseded, whose content has a digest.

        Raises:
            MissingDataError: when no revision has it.
        """
        for file in self.revisions(place, table, grader):
            if file.content_digest == content_digest:
                return file
        raise MissingDataError(
            f"{self.path(place, table, grader)}: no revision with digest {content_digest[:12]}… is stored; "
            f"it is gone, was pruned, or {self.root}/_history is not complete"
        )

    def revisions(self, place: AnyPlace, table: Table, grader: str | None = None) -> tuple[StoredFile, ...]:
        """Return every kept revision of a table at a place, oldest first; the last is the current one."""
        files = [self.open_path(path, place, table, grader) for path in self._kept(place, table, grader)]
        if current := self._current(place, table, grader):
            files.append(current)
        return tuple({file.revision: file for file in files}[n] for n in sorted({file.revision for file in files}))

    def dataset(self, places: Iterable[Night], table: Table, grader: str | None = None) -> pads.Dataset:
        """Return the current files of some partitions as one lazy dataset with ``suite`` and ``date`` columns.

        Raises:
            MissingDataError: when one of the partitions has no file.
        """
        paths = [self.open(place, table, grader).path for place in places]
        keys = [("grader", pa.string())] if grader else []
        partitioning = pads.partitioning(
            pa.schema([*keys, ("suite", pa.string()), ("date", pa.string())]), flavor="hive"
        )
        schema = pa.schema([*table.schema, *partitioning.schema])
        return pads.dataset(
            paths, schema=schema, format="parquet", filesystem=self.filesystem, partitioning=partitioning,
            partition_base_dir=self.root,
        )  # fmt: skip

    # -- writing ------------------------------------------------------------------------------------------------

    def publish(
        self,
        place: AnyPlace,
        table: Table,
        rows: Iterable[Row],
        *,
        grader: str | None = None,
        identity: Mapping[str, Any],
        metadata: Mapping[str, str],
        document: Callable[[int, str], Any] | None = None,
        check: Callable[[], None] | None = None,
    ) -> Published:
        """Write a table at a place, all of it or nothing, and keep what it supersedes.

        ``identity`` is what the content is besides its rows (the digests of what it was made from, a grader spec): it
        is stored as ``inputs`` and enters the content digest. ``metadata`` is stored and does not enter (who, when).
        ``document`` is called with revision and content digest when all rows are written, and gives the JSON document
        for the metadata. A content that stands there already is not written again. ``check`` is called right before
        the file becomes the current one; what it raises leaves everything as it is.

        Raises:
            StorageError: when the disk is full, read-only or otherwise refuses; what stood there still stands.
        """
        said = {
            "contract": str(CONTRACT),
            "table": table.name,
            "contains_text": "true" if table.contains_text else "false",
            "inputs": canonical_json(identity),
            PLACE: place.folder(table.name, grader),
            **metadata,
        }
        slot = self._slot(place, table, grader)
        try:
            with self._publisher.scratch() as scratch, contextlib.ExitStack() as open_drafts:
                draft = _draft(open_drafts, Draft(scratch / uuid.uuid4().hex, table))
                draft.write(rows)
                said["content_digest"] = digest({"rows": draft.rows_digest, "identity": identity})
                with self._publisher.alone():
                    while True:
                        current, revision = self._revision(place, table, grader, said["content_digest"])
                        draft.finish({**said, **_numbered(revision, said["content_digest"], document)})
                        if check is not None:
                            check()
                        is_new = current is None or current.content_digest != said["content_digest"]
                        replaced = current.revision if current else None
                        if not is_new or self._publisher.replace(
                            draft.path, slot, replaced=replaced, revision=revision
                        ):
                            break
                        draft = _draft(open_drafts, draft.again(scratch / uuid.uuid4().hex))
                is_shown = is_new or (current is not None and current.path == slot.current)
                self._publisher.settle(slot, shown=revision if is_shown else 0)
        except OSError as error:
            raise _unwritable(slot.current, error) from None
        return Published(
            path=slot.current,
            table=table.name,
            revision=revision,
            content_digest=said["content_digest"],
            n_rows=draft.n_rows,
            is_new=is_new,
        )

    def _revision(
        self, place: AnyPlace, table: Table, grader: str | None, content_digest: str
    ) -> tuple[StoredFile | None, int]:
        """Return the current file, and the revision number that a content has or gets."""
        current = self._current(place, table, grader)
        if current and current.content_digest == content_digest:
            return current, current.revision
        kept = [int(m.group(1)) for path in self._kept(place, table, grader) if (m := _REVISION.search(path))]
        return current, 1 + max([*kept, current.revision if current else 0])

    def _kept(self, place: AnyPlace, table: Table, grader: str | None) -> list[str]:
        """Return the paths of the revisions in the history, oldest first."""
        pattern = self._slot(place, table, grader).history + f"/revision=*/{FILE}"
        return sorted(self._glob(pattern))

    def kept_paths(self, place: AnyPlace, table: Table, grader: str | None = None) -> dict[int, str]:
        """Return the path of every revision in the history by the number that its folder has, oldest first."""
        found = ((_REVISION.search(path), path) for path in self._kept(place, table, grader))
        return {int(match.group(1)): path for match, path in found if match}

    def history_folder(self, place: AnyPlace, table: Table, grader: str | None = None) -> str:
        """Return the folder of a table's superseded revisions at a place."""
        return self._slot(place, table, grader).history

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names of what lies directly in a folder, sorted; none where there is no such folder."""
        try:
            with self._reaching(folder):
                found = self.filesystem.ls(folder, detail=False)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        paths = {str(path).rstrip("/") for path in found} - {folder.rstrip("/")}
        return tuple(sorted(path.rpartition("/")[2] for path in paths))

    def _slot(self, place: AnyPlace, table: Table, grader: str | None) -> Slot:
        history = f"{self.root}/_history/{place.folder(table.name, grader)}"
        return Slot(self.path(place, table, grader), history)


def _draft(open_drafts: contextlib.ExitStack, draft: Draft) -> Draft:
    """Let go of a draft, and remove its file where it was not put in its place, when the stack ends."""
    open_drafts.callback(draft.path.unlink, missing_ok=True)
    return open_drafts.enter_context(draft)


def _numbered(revision: int, content_digest: str, document: Callable[[int, str], Any] | None) -> dict[str, str]:
    """Return what a file says of itself once its revision is known."""
    said = {"revision": str(revision)}
    if document is not None:
        # The document keeps the order in which people wrote graders and rules.
        said["document"] = json.dumps(document(revision, content_digest), ensure_ascii=False, allow_nan=False)
    return said


def _unwritable(path: str, error: OSError) -> StorageError:
    fixes = {
        errno.ENOSPC: "the disk is full; free some space and run again: what was captured is kept",
        errno.EDQUOT: "the quota is used up; free some space and run again: what was captured is kept",
        errno.EROFS: "the storage is read-only; point SPANCHECK_STORAGE at a folder that can be written",
        errno.EACCES: "no permission to write; point SPANCHECK_STORAGE at a folder that can be written",
        errno.ENOTDIR: "a file stands where a folder must be; point SPANCHECK_STORAGE at a folder",
    }
    fix = fixes.get(
        error.errno or 0,
        f"cannot be written ({os.strerror(error.errno) if error.errno else type(error).__name__})",
    )
    return StorageError(f"{path}: {fix}")


__all__ = [
    "FILE",
    "AdHoc",
    "AnyPlace",
    "JudgePlace",
    "Night",
    "Place",
    "Published",
    "Store",
    "StoredFile",
    "check_run_id",
]
