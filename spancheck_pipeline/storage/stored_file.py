"""A file of one table, opened: what it says of itself, and its rows as a stream.

Which file is the current one of a place lives in ``store.py``; what its columns are in ``tables.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from spancheck_pipeline import __version__
from spancheck_pipeline.errors import ContractError, CorruptFileError, MissingDataError, StorageError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.object_files import reaching
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.tables import CAPTURED_RUN, Table


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
        with reaching_client(self.filesystem, self.path):
            try:
                with self.filesystem.open(self.path, "rb") as handle:
                    for batch in pq.ParquetFile(handle).iter_batches(batch_size=batch_rows, columns=columns):
                        yield from batch.to_pylist()
            except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # a cell that is no text, no time
                raise unreadable(self.path, error) from None


def open_file(filesystem: Any, path: str, table: Table) -> StoredFile:
    """Open a file of a table and check that it is one.

    Raises:
        MissingDataError: when nothing is stored there.
        ContractError: for a file of another contract.
        CorruptFileError: for a file that is not one of ours, or is damaged.
    """
    with reaching_client(filesystem, path):
        try:
            with filesystem.open(path, "rb") as handle:
                parquet = pq.ParquetFile(handle)
                raw = parquet.metadata.metadata or {}
                n_rows = parquet.metadata.num_rows
                schema = parquet.schema_arrow
        except FileNotFoundError:
            raise MissingDataError(f"{path}: nothing stored") from None
        except (pa.ArrowException, OSError, ValueError) as error:
            raise unreadable(path, error) from None
    metadata = {
        key.decode("utf-8", "replace"): value.decode("utf-8", "replace")
        for key, value in raw.items()
        if key != b"ARROW:schema"
    }
    if "contract" not in metadata:
        raise CorruptFileError(
            f"{path}: not a file of spancheck-pipeline (no contract number): keep it, and restore ours from a backup"
        )
    if metadata["contract"] != str(CONTRACT):
        raise ContractError(path, found=metadata["contract"], known=CONTRACT)
    if metadata.get("table") != table.name:
        raise CorruptFileError(
            f"{path}: holds another table than {table.name}: keep it, and restore ours from a backup"
        )
    if not metadata.get("revision", "").isdecimal() or not metadata.get("content_digest"):
        raise CorruptFileError(f"{path}: does not say which revision and content it is; it was changed: restore it")
    if not schema.equals(table.schema):
        raise CorruptFileError(
            f"{path}: its columns are not those of {table.name} in this version (package {__version__}); "
            "read it with the version that wrote it"
        )
    return StoredFile(path=path, table=table, metadata=metadata, n_rows=n_rows, filesystem=filesystem)


_KEEP = "keep it in a safe place, and restore what stood here from a backup; where nothing was decided yet, run again"
"""What to do about a file that is not what it should be: it may be evidence, and a record may rest on the lost one."""


def reaching_client(filesystem: Any, path: str) -> contextlib.AbstractContextManager[None]:
    """Turn what a store's client raises into an error of ours; a local disk has its own messages."""
    return contextlib.nullcontext() if isinstance(filesystem, LocalFileSystem) else reaching(path, "read")


def unreadable(path: str, error: Exception) -> StorageError:
    """Return the error to raise for a file that could not be read: what, where, the fix."""
    if isinstance(error, PermissionError):
        why = os.strerror(error.errno) if error.errno else "the storage refuses"
        return StorageError(f"{path}: cannot be read ({why}); check its permissions")
    if isinstance(error, ConnectionError | TimeoutError):
        return StorageError(f"{path}: cannot be read ({type(error).__name__}); check the network, and run again")
    if f"/{CAPTURED_RUN.name}/" in path:  # nothing but the system itself could make it again
        return CorruptFileError(
            f"{path}: not a readable Parquet file ({type(error).__name__}); restore it from a backup. Without one, "
            "move it to a safe place and capture the night again on purpose (spancheck nightly … --recapture): today's "
            "system answers then, and what was decided before stays"
        )
    return CorruptFileError(f"{path}: not a readable Parquet file ({type(error).__name__}); {_KEEP}")
