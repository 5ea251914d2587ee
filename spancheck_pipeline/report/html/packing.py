"""Packing texts into a page: JSON, gzipped and in base64, in data blocks that a browser neither runs nor parses.

Base64 holds no character that means something to HTML, so no text of a case can end a block. The page unpacks a block
with ``DecompressionStream`` when it is looked at (``assets/packs.js``).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from typing import Any, Final

from spancheck_pipeline.report.html.records import Json, TextPool

PACK_BYTES: Final = 384 * 1024
"""JSON of a pack at which it is closed: large enough to compress well, small enough to be unpacked at once."""
_GZIP: Final = 31
"""zlib's ``wbits`` for a gzip header and the largest window."""
_LEVEL: Final = 6
"""Level 9 takes twice as long and saves a hundredth."""


class Packer:
    """Gathers cases into packs of bounded size, and hands each out as a block when it is full."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.n_packs = 0
        self._open()

    def _open(self) -> None:
        self.pool = TextPool()
        self._cases: list[str] = []
        self._size = 0
        self._n_texts = 0

    @property
    def place(self) -> tuple[int, int]:
        """Pack and place in it that the next case gets."""
        return self.n_packs, len(self._cases)

    def add(self, case: Json) -> Iterator[str]:
        """Take in a case whose texts are in the pool, and yield the block that is full with it, if one is."""
        line = _json(case)
        self._cases.append(line)
        new = self.pool.texts[self._n_texts :]
        self._n_texts += len(new)
        self._size += len(line) + sum(map(len, new))
        if self._size >= PACK_BYTES:
            yield from self.close()

    def close(self) -> Iterator[str]:
        """Yield the block of what has been gathered, if there is anything."""
        if not self._cases:
            return
        text = f'{{"texts":{_json(self.pool.texts)},"cases":[{",".join(self._cases)}]}}'
        packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
        packed = packer.compress(text.encode()) + packer.flush()
        yield block(f"{self.kind}-{self.n_packs}", packed)
        self.n_packs += 1
        self._open()


class LinePacker:
    """Compresses lines of JSON as they come, so that the table of a large run is never held as text."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
        self._parts: list[bytes] = []

    def add(self, value: Any) -> None:
        """Take in one line."""
        self._parts.append(self._packer.compress(_json(value).encode() + b"\n"))

    def close(self, name: str) -> str:
        """Return the block of all lines."""
        return block(name, b"".join([*self._parts, self._packer.flush()]))


def block(name: str, packed: bytes) -> str:
    """Return a data block of a page."""
    return f'<script type="application/gzip" id="{name}">{base64.b64encode(packed).decode()}</script>\n'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
