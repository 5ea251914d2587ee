"""A Parquet file while it is written: its rows, in groups of bounded size, and at the end what it says of itself.

What the columns are lives in ``tables.py``; where a finished draft goes in ``store.py``.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from spancheck_pipeline.evidence.canonical import canonical_json
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.tables import Table

_GROUP_ROWS: Final = 1000
_GROUP_BYTES: Final = 32 * 1024 * 1024
"""A row group ends at whichever comes first, so that a partition of large answers streams in bounded memory."""


class Draft:
    """One file of a table on the local disk, not yet anybody's; as a context manager it lets go of the file."""

    def __init__(self, path: Path, table: Table) -> None:
        """Begin the file.

        Raises:
            OSError: when it cannot be written.
        """
        self.path = path
        self.n_rows = 0
        self._table = table
        self._digest = hashlib.sha256()
        self._handle = path.open("wb")
        # Dictionary pages hold a whole row group, so that a passage of many cases is stored once. The encoding is
        # Parquet's: an Arrow dictionary inside a list cannot be read back in batches by pyarrow.
        self._writer = pq.ParquetWriter(
            self._handle, table.schema, compression="zstd", dictionary_pagesize_limit=2 * _GROUP_BYTES
        )

    @property
    def rows_digest(self) -> str:
        """SHA-256 of the rows written, whatever library laid them out."""
        return self._digest.hexdigest()

    def write(self, rows: Iterable[Row]) -> None:
        """Add rows, a bounded number in memory at a time."""
        for group in _row_groups(rows):
            arrow = pa.Table.from_pylist(group, schema=self._table.schema)
            for row in arrow.to_pylist():
                self._digest.update(_row_bytes(row))
            self._writer.write_table(arrow, row_group_size=len(group))
            self.n_rows += len(group)

    def finish(self, metadata: Mapping[str, str]) -> None:
        """Write what the file says of itself, and end it."""
        self._writer.add_key_value_metadata(dict(metadata))
        self._writer.close()
        self._handle.close()

    def again(self, path: Path) -> Draft:
        """Return another draft with the rows of this finished one, which may say something else of itself."""
        draft = Draft(path, self._table)
        with draft._unless_failed():
            finished = pq.ParquetFile(self.path)
            for group in range(finished.num_row_groups):
                arrow = finished.read_row_group(group)
                draft._writer.write_table(arrow, row_group_size=max(1, arrow.num_rows))
        draft.n_rows, draft._digest = self.n_rows, self._digest
        return draft

    def close(self) -> None:
        """Let go of the file; what could not be written is thrown away with it."""
        with contextlib.suppress(Exception):
            self._writer.close()
        with contextlib.suppress(OSError):
            self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _unless_failed(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise


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
