"""The texts of a log's passages while it is read: on disk, by their digests, so that a log of any size can be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self


class TextPool(Mapping[str, "str | None"]):
    """Texts by digest, in a private temporary database that goes with it; a text that a copy leaves out is None."""

    def __init__(self) -> None:
        # An empty name is a private database in a temporary file, of which a few megabytes are held in memory.
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute("create table texts (digest text primary key, text blob) without rowid")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, digest: str, text: str | None) -> None:
        """Keep a text; one that is there already stays."""
        blob = None if text is None else text.encode("utf-8", "surrogatepass")
        self._database.execute("insert or ignore into texts values (?, ?)", (digest, blob))

    def __getitem__(self, digest: str) -> str | None:
        found = self._database.execute("select text from texts where digest = ?", (digest,)).fetchone()
        if found is None:
            raise KeyError(digest)
        blob: bytes | None = found[0]
        return None if blob is None else blob.decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        for (digest,) in self._database.execute("select digest from texts"):
            yield str(digest)

    def __len__(self) -> int:
        return int(self._database.execute("select count(*) from texts").fetchone()[0])
