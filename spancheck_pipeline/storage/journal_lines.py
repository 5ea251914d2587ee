"""The lines of a journal's file and the writes that make them durable: checksums, whole creation, cutting back.

What a line says is ``journal_records.py``'s.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from spancheck_pipeline.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

_PREFIX: Final = len('{"crc32":"00000000",')


def sealed(payload: bytes) -> bytes:
    """Return a JSON object as a line that begins with the checksum of the rest."""
    return b'{"crc32":"%08x",' % zlib.crc32(payload) + payload[1:] + b"\n"


def unsealed(line: bytes) -> bytes | None:
    """Return the JSON object that a line holds, or None when the line is not what was written."""
    payload = b"{" + line[_PREFIX:-1]
    return payload if line == sealed(payload) else None


def create(path: Path, first_line: bytes) -> None:
    """Make a journal appear with its whole first line: a temporary file, fsynced, then renamed."""
    temporary = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            write_all(fd, first_line, offset=0)
            os.fsync(fd)
        finally:
            os.close(fd)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise failed(path, error) from None


def write_all(fd: int, data: bytes, *, offset: int) -> None:
    """Write all of some bytes at a place of a file, however many calls that takes."""
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def truncate(fd: int, end: int, path: Path) -> None:
    """Cut a file to a length, durably.

    Raises:
        StorageError: when that cannot be done.
    """
    try:
        os.ftruncate(fd, end)
        os.fsync(fd)
    except OSError as error:
        raise failed(path, error) from None


def cut_back(fd: int, end: int) -> None:
    """Cut a file to a length after a failed write, as far as that can be done."""
    try:
        os.ftruncate(fd, end)
        os.fsync(fd)
    except OSError:  # the next opening drops the torn line
        return


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def failed(path: Path, error: OSError) -> StorageError:
    """Return the error to raise for a failed write: what, where, the fix."""
    reason = error.strerror or type(error).__name__
    return StorageError(
        f"cannot write the journal {path}: {reason}. Every call recorded before is kept; "
        "make room (or make the storage writable) and run again to go on from there"
    )
