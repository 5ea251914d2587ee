"""Partitions on disk or in an object store: where a file lies, how it is replaced, and how an old one is found again.

A file appears whole or not at all: it is written under ``_tmp/`` and renamed. A file that is replaced by another
content is first kept under ``_history/``, so that every decision can be read as it was made. What stands in a file
lives in ``tables.py``; the journal of a running capture in ``journal.py``.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import fsspec
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from filelock import FileLock
from fsspec.implementations.local import LocalFileSystem

from spancheck_pipeline import __version__
from spancheck_pipeline.decision.suite import check_name
from spancheck_pipeline.errors import (
    ContractError,
    CorruptFileError,
    MissingDataError,
    StorageError,
    UsageError,
)
from spancheck_pipeline.evidence.canonical import CONTRACT, canonical_json, digest
from spancheck_pipeline.storage.journal_lines import sync_folder
from spancheck_pipeline.storage.tables import Row, Table

FILE = "part-0.parquet"
_GROUP_ROWS = 1000
_GROUP_BYTES = 32 * 1024 * 1024
"""A row group ends at whichever comes first, so that a partition of large answers streams in bounded memory."""
_STALE_TMP = dt.timedelta(days=1)
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,119}")


def check_run_id(run_id: str) -> str:
    """Return a run id that may become a folder, or raise ``UsageError``."""
    if not _RUN_ID.fullmatch(run_id) or ".." in run_id:
        raise UsageError(f"{run_id[:80]!r} is not a run id: letters, digits, '_', '-' and '.', at most 120")
    return run_id


@dataclass(frozen=True, slots=True)
class Night:
    """A partition: one suite on one date of the project's time zone."""

    suite: str
    date: str
    """YYYY-MM-DD."""

    def __post_init__(self) -> None:
        try:
            check_name(self.suite)
        except ValueError as error:
            raise UsageError(f"a suite's name becomes a folder: {error}") from None
        try:
            valid = dt.date.fromisoformat(self.date).isoformat() == self.date
        except ValueError:
            valid = False
        if not valid:
            raise UsageError(f"{self.date[:40]!r} is not a date; write it as YYYY-MM-DD")

    def folder(self, table: str, grader: str | None) -> str:
        """Return the hive-style folder of a table's partition, relative to the storage root."""
        of_grader = f"grader={check_name(grader)}/" if grader else ""
        return f"{table}/{of_grader}suite={self.suite}/date={self.date}"

    def __str__(self) -> str:
        return f"{self.suite} on {self.date}"


@dataclass(frozen=True, slots=True)
class AdHoc:
    """An ad-hoc run (CLI, pull request, another configuration): never a partition, the same tables."""

    suite: str
    run_id: str

    def __post_init__(self) -> None:
        check_run_id(self.run_id)

    @property
    def date(self) -> None:
        """An ad-hoc run belongs to no date."""

    def folder(self, table: str, grader: str | None) -> str:
        """Return the folder of a table of this run, relative to the storage root."""
        of_grader = f"/grader={check_name(grader)}" if grader else ""
        return f"runs/{self.run_id}/{table}{of_grader}"

    def __str__(self) -> str:
        return f"run {self.run_id}"


Place = Night | AdHoc


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What publishing did: where the current file is, which revision it has, and whether it is a new one."""

    path: str
    table: str
    revision: int
    """1 for the first file of a place; one more whenever its content changed."""
    content_digest: str
    n_rows: int
    is_new: bool
    """False when the content stood there already, so that nothing was written."""


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file of one table at one place, opened: its metadata, and its rows as a stream."""

    path: str
    table: Table
    metadata: Mapping[str, str]
    n_rows: int
    filesystem: Any

    @property
    def revision(self) -> int:
        """Revision number of the content."""
        return int(self.metadata["revision"])

    @property
    def content_digest(self) -> str:
        """SHA-256 of rows and identity: what a decision names its inputs by."""
        return self.metadata["content_digest"]

    @property
    def run_id(self) -> str:
        """The captured run that the content belongs to; empty for a cases snapshot made before a capture."""
        return self.metadata.get("run_id", "")

    @property
    def inputs(self) -> dict[str, Any]:
        """What the content was made from: digests by name, and whatever else is its identity."""
        return dict(json.loads(self.metadata["inputs"]))

    @property
    def grader_spec(self) -> dict[str, Any]:
        """The whole spec that made a score file."""
        return dict(json.loads(self.metadata["grader_spec"]))

    def document(self) -> Any:
        """Return the JSON document that stands in the file's metadata (manifest, scorecard, decision)."""
        return json.loads(self.metadata["document"])

    def rows(self, columns: list[str] | None = None, *, batch_rows: int = 256) -> Iterator[Row]:
        """Yield the rows in order, a bounded number in memory at a time."""
        if not self.n_rows:
            return  # a file without row groups is an error to older pyarrow
        try:
            with self.filesystem.open(self.path, "rb") as handle:
                for batch in pq.ParquetFile(handle).iter_batches(batch_size=batch_rows, columns=columns):
                    yield from batch.to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.path, error) from None


class Store:
    """All files of a project under one root: a local folder, or any URL that fsspec knows."""

    def __init__(self, root: str | Path, *, namespace: str | None = None) -> None:
        try:
            self.filesystem, path = fsspec.core.url_to_fs(str(root))
        except (ImportError, ValueError) as error:
            kind = str(root).partition("://")[0][:20]
            raise StorageError(
                f"{str(root)[:200]}: this kind of storage needs a package that is missing or unknown "
                f"({type(error).__name__}); install the fsspec package of {kind!r} (for s3: s3fs)"
            ) from None
        self.is_local = isinstance(self.filesystem, LocalFileSystem)
        if namespace is not None:
            check_name(namespace)
        self.root = f"{path.rstrip('/')}/{namespace}" if namespace else path.rstrip("/")
        self.namespace = namespace

    # -- where things are ---------------------------------------------------------------------------------------

    def path(self, place: Place, table: Table, grader: str | None = None) -> str:
        """Return the path of a table's current file at a place, whether it exists or not."""
        return f"{self.root}/{place.folder(table.name, grader)}/{FILE}"

    def exists(self, place: Place, table: Table, grader: str | None = None) -> bool:
        """Return whether a table has a current file at a place."""
        return bool(self.filesystem.exists(self.path(place, table, grader)))

    def local_folder(self, kind: str, place: Place) -> Path:
        """Return the local folder for what only a running capture needs: ``kind`` is ``_journal`` or ``_locks``.

        Raises:
            StorageError: on object storage, which has no journal yet.
        """
        if not self.is_local:
            raise StorageError(
                f"{self.root}: a capture onto object storage is not possible in this version; capture into a local "
                "SPANCHECK_STORAGE and copy the folders"
            )
        return Path(self.root) / kind / place.folder("captured_run", None)

    def dates(self, suite: str, table: Table, grader: str | None = None) -> tuple[str, ...]:
        """Return the dates on which a table of a suite has a file, in order."""
        folder = Night(suite, "2000-01-01").folder(table.name, grader).rpartition("/")[0]
        pattern = f"{self.root}/{folder}/date=*/{FILE}"
        found = (re.search(r"/date=(\d{4}-\d\d-\d\d)/", path) for path in self.filesystem.glob(pattern))
        return tuple(sorted(match.group(1) for match in found if match))

    # -- reading ------------------------------------------------------------------------------------------------

    def open(self, place: Place, table: Table, grader: str | None = None) -> StoredFile:
        """Open the current file of a table at a place.

        Raises:
            MissingDataError: when nothing is stored there.
            ContractError: for a file of another contract.
            CorruptFileError: for a file that is not one of ours, or is damaged.
        """
        path = self.path(place, table, grader)
        if not self.filesystem.exists(path):
            what = f"{table.name} of grader {grader}" if grader else table.name
            raise MissingDataError(f"{path}: nothing stored; there is no {what} for {place} yet")
        return self._open(path, table)

    def open_by_digest(self, place: Place, table: Table, content_digest: str, grader: str | None = None) -> StoredFile:
        """Open the revision, current or superseded, whose content has a digest.

        Raises:
            MissingDataError: when no revision has it.
        """
        for file in self.revisions(place, table, grader):
            if file.content_digest == content_digest:
                return file
        raise MissingDataError(
            f"{self.path(place, table, grader)}: no revision with digest {content_digest[:12]}… is kept; "
            f"it was pruned, or {self.root}/_history is not complete"
        )

    def revisions(self, place: Place, table: Table, grader: str | None = None) -> tuple[StoredFile, ...]:
        """Return every kept revision of a table at a place, oldest first; the last is the current one."""
        pattern = f"{self._history_folder(place, table, grader)}/revision=*/{FILE}"
        files = [self._open(path, table) for path in sorted(self.filesystem.glob(pattern))]
        if self.exists(place, table, grader):
            files.append(self.open(place, table, grader))
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

    def _open(self, path: str, table: Table) -> StoredFile:
        try:
            with self.filesystem.open(path, "rb") as handle:
                parquet = pq.ParquetFile(handle)
                raw = parquet.metadata.metadata or {}
                n_rows = parquet.metadata.num_rows
                schema = parquet.schema_arrow
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        metadata = {
            key.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for key, value in raw.items()
            if key != b"ARROW:schema"
        }
        if "contract" not in metadata:
            raise CorruptFileError(f"{path}: not a file of spancheck-pipeline (no contract number); move it away")
        if metadata["contract"] != str(CONTRACT):
            raise ContractError(path, found=metadata["contract"], known=CONTRACT)
        if metadata.get("table") != table.name:
            raise CorruptFileError(f"{path}: holds another table than {table.name}; move it away")
        if not schema.equals(table.schema):
            raise CorruptFileError(
                f"{path}: its columns are not those of {table.name} in this version (package {__version__}); "
                "read it with the version that wrote it"
            )
        return StoredFile(path=path, table=table, metadata=metadata, n_rows=n_rows, filesystem=self.filesystem)

    # -- writing ------------------------------------------------------------------------------------------------

    def publish(
        self,
        place: Place,
        table: Table,
        rows: Iterable[Row],
        *,
        grader: str | None = None,
        identity: Mapping[str, Any],
        metadata: Mapping[str, str],
        document: Callable[[int, str], Any] | None = None,
    ) -> Published:
        """Write a table at a place, all of it or nothing, and keep what it supersedes.

        ``identity`` is what the content is besides its rows (the digests of what it was made from, a grader spec): it
        is stored as ``inputs`` and enters the content digest. ``metadata`` is stored and does not enter (who, when).
        ``document`` is called with revision and content digest when all rows are written, and gives the JSON document
        for the metadata. A content that stands there already is not written again.

        Raises:
            StorageError: when the disk is full, read-only or otherwise refuses; what stood there still stands.
        """
        target = self.path(place, table, grader)
        tmp = f"{self.root}/_tmp/{uuid.uuid4().hex}"
        try:
            self._sweep()
            self.filesystem.makedirs(tmp.rpartition("/")[0], exist_ok=True)
            with self.filesystem.open(tmp, "wb") as handle, contextlib.ExitStack() as stack:
                stack.callback(_let_go, writer := _writer(handle, table))
                written = _write_rows(writer, table, rows)
                content_digest = digest({"rows": written.rows_digest, "identity": identity})
                with self._publishing():
                    current, revision = self._revision(place, table, grader, content_digest)
                    known = {
                        "contract": str(CONTRACT),
                        "table": table.name,
                        "contains_text": "true" if table.contains_text else "false",
                        "revision": str(revision),
                        "content_digest": content_digest,
                        "inputs": canonical_json(identity),
                        **metadata,
                    }
                    if document is not None:
                        # The document keeps the order in which people wrote graders and rules.
                        known["document"] = json.dumps(
                            document(revision, content_digest), ensure_ascii=False, allow_nan=False
                        )
                    writer.add_key_value_metadata(known)
                    writer.close()
                    is_new = current is None or current.content_digest != content_digest
                    if is_new:
                        handle.close()
                        self._supersede(tmp, current, place, table, grader=grader)
        except OSError as error:
            raise _unwritable(target, error) from None
        finally:
            with contextlib.suppress(OSError):
                self.filesystem.rm(tmp)
        return Published(
            path=target,
            table=table.name,
            revision=revision,
            content_digest=content_digest,
            n_rows=written.n_rows,
            is_new=is_new,
        )

    def _revision(
        self, place: Place, table: Table, grader: str | None, content_digest: str
    ) -> tuple[StoredFile | None, int]:
        """Return the current file, and the revision number that a content has or gets."""
        current = self.open(place, table, grader) if self.exists(place, table, grader) else None
        if current and current.content_digest == content_digest:
            return current, current.revision
        return current, 1 + max((file.revision for file in self.revisions(place, table, grader)), default=0)

    def _supersede(
        self, tmp: str, current: StoredFile | None, place: Place, table: Table, *, grader: str | None
    ) -> None:
        if current:
            self._keep(current, place, table, grader)
        self._rename(tmp, self.path(place, table, grader))

    def _keep(self, current: StoredFile, place: Place, table: Table, grader: str | None) -> None:
        """Copy the current file into the history, before it is replaced: nothing is lost when we die in between."""
        kept = f"{self._history_folder(place, table, grader)}/revision={current.revision:05d}/{FILE}"
        if self.filesystem.exists(kept):
            return
        copy = f"{self.root}/_tmp/{uuid.uuid4().hex}"
        self.filesystem.cp_file(current.path, copy)
        self._rename(copy, kept)

    def _rename(self, source: str, target: str) -> None:
        folder = target.rpartition("/")[0]
        self.filesystem.makedirs(folder, exist_ok=True)
        if not self.is_local:
            self.filesystem.mv(source, target)
            return
        with open(source, "rb") as handle:  # noqa: PTH123 - fsspec hands out plain paths
            os.fsync(handle.fileno())
        os.replace(source, target)  # noqa: PTH105 - as above
        sync_folder(Path(folder))

    def _history_folder(self, place: Place, table: Table, grader: str | None) -> str:
        return f"{self.root}/_history/{place.folder(table.name, grader)}"

    @contextlib.contextmanager
    def _publishing(self) -> Iterator[None]:
        """Let one process at a time number and replace files; on object storage the last put wins, whole."""
        if not self.is_local:
            yield
            return
        lock = Path(self.root) / "_locks" / "publish.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=120):
            yield

    def _sweep(self) -> None:
        """Remove what killed writers left under ``_tmp/`` more than a day ago."""
        if not self.is_local:
            return
        limit = dt.datetime.now(dt.UTC) - _STALE_TMP
        for path in (Path(self.root) / "_tmp").glob("*"):
            with contextlib.suppress(OSError):
                if dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC) < limit:
                    path.unlink()


def _writer(handle: Any, table: Table) -> pq.ParquetWriter:
    """Open a writer whose dictionary pages hold a whole row group, so that a passage of many cases is stored once.

    The encoding is Parquet's: an Arrow dictionary inside a list cannot be read back in batches by pyarrow.
    """
    return pq.ParquetWriter(handle, table.schema, compression="zstd", dictionary_pagesize_limit=2 * _GROUP_BYTES)


def _let_go(writer: pq.ParquetWriter) -> None:
    """Close a writer, also after a failure; what it could not write is thrown away with its file."""
    with contextlib.suppress(Exception):
        writer.close()


class _Written(NamedTuple):
    n_rows: int
    rows_digest: str


def _write_rows(writer: pq.ParquetWriter, table: Table, rows: Iterable[Row]) -> _Written:
    rows_digest = hashlib.sha256()
    n_rows = 0
    for group in _row_groups(rows):
        arrow = pa.Table.from_pylist(group, schema=table.schema)
        for row in arrow.to_pylist():
            rows_digest.update(_row_bytes(row))
        writer.write_table(arrow, row_group_size=len(group))
        n_rows += len(group)
    return _Written(n_rows, rows_digest.hexdigest())


def _row_groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in groups of bounded size that depend on the rows alone, so that files are the same byte for byte."""
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += _text_size(row)
        if len(group) >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _text_size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_text_size, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_text_size, value))
    return 8


def _row_bytes(row: Row) -> bytes:
    """Return a row's canonical JSON: the content digest must not depend on how a library lays out its buffers."""
    return canonical_json(_dated(row)).encode() + b"\n"


def _dated(row: Row) -> Row:
    return {key: item.isoformat() if isinstance(item, dt.datetime) else item for key, item in row.items()}


def _unreadable(path: str, error: Exception) -> StorageError:
    if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM}:
        return StorageError(f"{path}: cannot be read ({os.strerror(error.errno)}); check its permissions")
    return CorruptFileError(
        f"{path}: not a readable Parquet file ({type(error).__name__}); restore it, or move it away and run again"
    )


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
