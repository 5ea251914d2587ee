"""Keeping away what a target prints, logs or warns: no text of a system reaches our output, Dagster's or its logs.

While it is open, file descriptors 1 and 2, ``sys.stdout``, ``sys.stderr``, every logger, warnings and the hooks for
unhandled exceptions lead to a log file of bounded size, or nowhere. Threads that were started meanwhile and outlive it
(timed-out calls) stay muted on ``sys.stdout``, ``sys.stderr`` and loggers.

What cannot be contained: a thread that outlives it and writes to descriptor 1 or 2 directly, through a stream that it
took hold of earlier or from C; threads that such a thread starts later; and whatever opens a terminal, socket or file
by itself.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

from spancheck_pipeline.capture.streams import MUTED, MutedStream, Outlet, Sink, is_muted, unwrapped

_STREAMS: Final = ("stdout", "stderr")
_OWN_THREADS: Final = frozenset({"spancheck-journal", "spancheck-lease", "spancheck-contained", "spancheck-capture"})
"""Threads of this package in which no code of a target runs."""

Contain = Callable[[Path | None], AbstractContextManager[object]]
"""Keeps what a target prints and logs away: in a file, or nowhere."""


class Containment:
    """What stands open: where our own progress goes, and how much the target said."""

    def __init__(self, sink: Sink, stderr: TextIO) -> None:
        self._sink = sink
        self.stderr = stderr
        """The real standard error, for a progress bar of ours."""

    @property
    def kept_bytes(self) -> int:
        """Bytes of the target's that the log file has (all of it, when the containment is closed)."""
        return self._sink.kept

    @property
    def dropped_bytes(self) -> int:
        """Bytes of the target's that were dropped because the log file is full or cannot be written."""
        return self._sink.dropped


@contextmanager
def contained(log_file: Path | None) -> Iterator[Containment]:
    """Send what anybody in this process or its children prints, logs or warns to a log file (or nowhere) meanwhile.

    It acts on the whole process. Opened again while it is open, in any thread, the log file that was opened last takes
    it; without a log file of its own it shares the one that is open.
    """
    sink = _enter(log_file)
    try:
        yield Containment(sink, _open[0].stderr)
    finally:
        _leave(sink)


def kept_away(contain: Contain | None, log_file: Path | None = None) -> AbstractContextManager[object]:
    """Return what keeps a target's or grader's prints away, or nothing at all where the caller wants to see them."""
    return contain(log_file) if contain else nullcontext()


_lock = threading.RLock()
_open: list[_Installed] = []
"""The installed redirection, one at most."""


def _enter(log_file: Path | None) -> Sink:
    with _lock:
        if not _open:
            _open.append(_Installed(Sink(log_file)))
        elif log_file is not None:
            _open[0].add(Sink(log_file))
        sink = _open[0].outlet.sink
        _open[0].opened.append(sink)
        return sink


def _leave(sink: Sink) -> None:
    with _lock:
        _open[0].opened.remove(sink)
        if not _open[0].opened:
            _open.pop().restore(sink)
        elif sink not in _open[0].opened:
            _open[0].drop(sink)


class _Installed:
    """The redirection of the whole process: made by the constructor, undone by ``restore``."""

    def __init__(self, sink: Sink) -> None:
        self.opened: list[Sink] = []
        """The sink of each containment that is open, the innermost last."""
        self.outlet = Outlet(sink)
        self._threads = set(threading.enumerate())
        self._streams: dict[str, Any] = {name: unwrapped(getattr(sys, name)) for name in _STREAMS}
        _flush_all(self._streams.values())
        self._saved = {fd: copy for fd in (1, 2) if (copy := _duplicate(fd)) is not None}
        self.stderr = self._real_stderr()
        for fd in self._saved:
            os.dup2(sink.fd, fd)
        for name, stream in self._streams.items():
            setattr(sys, name, MutedStream(stream, self.outlet))
        self._hooks = (warnings.showwarning, threading.excepthook, sys.unraisablehook)
        warnings.showwarning = self._warn
        threading.excepthook = threading.__excepthook__
        sys.unraisablehook = sys.__unraisablehook__
        self._exit = os._exit
        setattr(os, "_exit", _refuse_exit(os._exit))  # noqa: B010 - typed as a function that nobody replaces
        _mute_loggers(self.outlet)

    def add(self, sink: Sink) -> None:
        """Let another sink take what is said from now on."""
        _flush_all(self._streams.values())
        self.outlet.sink = sink
        for fd in self._saved:
            os.dup2(sink.fd, fd)

    def drop(self, sink: Sink) -> None:
        """Close a sink; the innermost of the others takes what is said from now on."""
        if self.outlet.sink is sink:
            self.add(self.opened[-1])
        sink.close(keep_descriptor=bool(self._late_threads()))

    def restore(self, sink: Sink) -> None:
        """Give everything back, but for the threads that were started meanwhile and are still there."""
        MUTED.update(self._late_threads())
        is_muting = any(thread.is_alive() for thread in list(MUTED))
        _flush_all(self._streams.values())
        for fd, copy in self._saved.items():
            os.dup2(copy, fd)
            os.close(copy)
        if self.stderr is not self._streams["stderr"]:
            self.stderr.close()
        warnings.showwarning, threading.excepthook, sys.unraisablehook = self._hooks
        setattr(os, "_exit", self._exit)  # noqa: B010 - as above
        sink.close(keep_descriptor=is_muting)
        for name, stream in self._streams.items():
            setattr(sys, name, MutedStream(stream, self.outlet) if is_muting else stream)
        if not is_muting:
            _unmute_loggers()

    def _late_threads(self) -> list[threading.Thread]:
        return [t for t in threading.enumerate() if t not in self._threads and t.name not in _OWN_THREADS]

    def _real_stderr(self) -> TextIO:
        stream: TextIO = self._streams["stderr"]
        with suppress(OSError, ValueError, AttributeError):
            if stream.fileno() == 2 and 2 in self._saved:  # noqa: PLR2004 - standard error
                return os.fdopen(os.dup(self._saved[2]), "w", encoding="utf-8", errors="replace", buffering=1)
        return stream

    def _warn(  # noqa: PLR0917 - the signature of warnings.showwarning
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        del file, line
        self.outlet.sink.write(warnings.formatwarning(message, category, filename, lineno))


_real_call_handlers: list[Callable[[logging.Logger, logging.LogRecord], None]] = []


def _refuse_exit(end: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """Return an ``os._exit`` that ends a child process, and in this one only the call: a target must not end the night.

    The process would end with the target's own status, 0 even, and nothing would have failed.
    """
    process = os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != process:
            end(status)
        raise SystemExit(status)

    return refuse


def _mute_loggers(outlet: Outlet) -> None:
    """Stand before the handlers of every logger, whoever installed them."""
    if not _real_call_handlers:
        _real_call_handlers.append(logging.Logger.callHandlers)
    real = _real_call_handlers[0]
    formatter = logging.Formatter("%(levelname)s %(name)s: %(message)s")

    def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
        if outlet.sink.is_open:
            with suppress(Exception):  # a record whose arguments do not fit its message
                outlet.sink.write(formatter.format(record) + "\n")
        elif not is_muted():
            real(logger, record)

    logging.Logger.callHandlers = call_handlers  # type: ignore[assignment, method-assign]  # the one place that all records pass


def _unmute_loggers() -> None:
    logging.Logger.callHandlers = _real_call_handlers.pop()  # type: ignore[assignment, method-assign]  # as above


def _duplicate(fd: int) -> int | None:
    try:
        return os.dup(fd)
    except OSError:  # a process may have none
        return None


def _flush_all(streams: Any) -> None:
    """Write out what Python's and C's streams hold back, so that it goes where it was meant to."""
    for stream in (*streams, sys.__stdout__, sys.__stderr__):
        with suppress(Exception):  # closed, or not there
            stream.flush()
    with suppress(Exception):  # a platform without a C library that can be asked
        ctypes.CDLL(None).fflush(None)
