"""The streams of a containment: where a target's output goes, and what stands in for ``sys.stdout`` meanwhile.

What is redirected, and when, lives in ``containment.py``.
"""

from __future__ import annotations

import io
import os
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

LOG_LIMIT_BYTES: Final = 1_000_000
"""Bytes of a log file that are kept; what comes after is counted and dropped."""

MUTED: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
"""Threads that were started inside a containment and may outlive it."""


class Sink:
    """A pipe whose other end a thread of ours empties into a file of bounded size; or the null device."""

    def __init__(self, log_file: Path | None) -> None:
        self.kept = self.dropped = 0
        self.is_open = True
        self._writing = threading.Lock()
        self.reader: threading.Thread | None = None
        if log_file is None:
            self.fd = os.open(os.devnull, os.O_WRONLY)
            return
        read_end, self.fd = os.pipe()
        self._file = _opened(log_file)
        self._room = 0 if self._file is None else max(0, LOG_LIMIT_BYTES - os.fstat(self._file).st_size)
        self.reader = threading.Thread(target=self._drain, args=(read_end,), name="spancheck-contained", daemon=True)
        self.reader.start()

    def write(self, text: str) -> None:
        """Take a text."""
        self.write_bytes(text.encode("utf-8", "replace"))

    def write_bytes(self, data: bytes) -> None:
        """Take bytes; nothing happens when it is closed."""
        view = memoryview(data)
        with self._writing, suppress(OSError):
            while view and self.is_open:
                view = view[os.write(self.fd, view) :]

    def close(self, *, keep_descriptor: bool) -> None:
        """Stop taking. A child process that still holds the pipe goes on writing to a reader that keeps nothing.

        Where threads live on that may have been given the descriptor, its number is kept and leads to the null device:
        once closed it could become somebody else's file.
        """
        with self._writing:
            self.is_open = False
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fd, inheritable=False)
            os.close(null)
            if not keep_descriptor:
                os.close(self.fd)
        if self.reader is not None:
            self.reader.join(timeout=0.5)
            self._room = 0

    def _drain(self, read_end: int) -> None:
        while data := os.read(read_end, 65_536):
            keep = data[: self._room]
            try:
                if keep and self._file is not None:
                    os.write(self._file, keep)
            except OSError:  # a full disk is the journal's to report
                self._room, keep = 0, b""
            self._room -= len(keep)
            self.kept += len(keep)
            self.dropped += len(data) - len(keep)
        os.close(read_end)
        if self._file is not None:
            with suppress(OSError):
                if self.dropped:
                    os.write(self._file, f"\n[{self.dropped} more bytes dropped]\n".encode())
            os.close(self._file)


class Outlet:
    """Which sink takes what is said now: the one of the innermost containment that has a log file."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink


class MutedStream(io.TextIOBase):
    """Stands in for ``sys.stdout`` or ``sys.stderr``: contained while the sink is open, then only for muted threads."""

    def __init__(self, stream: Any, outlet: Outlet) -> None:
        self.wrapped = stream
        self._outlet = outlet

    def write(self, text: str) -> int:
        """Take a text, for whoever is to get it."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._outlet.sink.is_open:
            self._outlet.sink.write(text)
        elif self.wrapped is not None and not is_muted():
            self.wrapped.write(text)
        return len(text)

    def flush(self) -> None:
        """Pass on what is buffered."""
        if not self._outlet.sink.is_open and not is_muted() and self.wrapped is not None:
            self.wrapped.flush()

    def fileno(self) -> int:
        """Return the sink's descriptor while it is open: a child process may be given it."""
        return self._outlet.sink.fd if self._outlet.sink.is_open else int(self.wrapped.fileno())

    def isatty(self) -> bool:
        """Return whether a terminal is behind it."""
        return not self._outlet.sink.is_open and bool(self.wrapped.isatty())

    def writable(self) -> bool:
        """Return True."""
        return True

    @property
    def buffer(self) -> Any:
        """The stream of bytes below."""
        return _MutedBytes(self, self._outlet)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # typeshed declares a plain attribute
        """The wrapped stream's encoding."""
        return getattr(self.wrapped, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]  # typeshed declares a plain attribute
        """The wrapped stream's way with what it cannot encode."""
        return getattr(self.wrapped, "errors", None) or "strict"

    def close(self) -> None:  # also called when it is garbage
        """Do nothing: the stream is not the target's to close."""


class _MutedBytes(io.RawIOBase):
    """The bytes below a muted stream."""

    def __init__(self, text: MutedStream, outlet: Outlet) -> None:
        self._text = text
        self._outlet = outlet

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        content = bytes(data)
        if self._outlet.sink.is_open:
            self._outlet.sink.write_bytes(content)
        elif not is_muted():
            self._text.wrapped.buffer.write(content)
        return len(content)

    def fileno(self) -> int:
        return self._text.fileno()


def is_muted() -> bool:
    """Return whether the running thread outlived the containment that it was started in."""
    return threading.current_thread() in MUTED


def unwrapped(stream: Any) -> Any:
    """Return the stream that a muted one stands in for, or the stream itself."""
    return stream.wrapped if isinstance(stream, MutedStream) else stream


def _opened(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        return None
