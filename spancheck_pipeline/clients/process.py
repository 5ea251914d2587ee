"""Running a program: what goes in on standard input, what comes out, and that all of it ends.

What is asked and how the answer is read lives with who asks (``command_target.py``, ``judge_command.py``). A program
runs without a shell, in a process group of its own, so that its children end with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, NamedTuple

from spancheck_pipeline.clients.call_errors import OutputTooLargeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Ended(NamedTuple):
    """How a program ended, and what it wrote to standard output."""

    code: int | None
    """Its exit code, or the number of the signal that ended it, negative."""
    written: bytes


async def converse(
    argv: Sequence[str],
    question: bytes,
    *,
    grace_s: float,
    limit_bytes: int,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    stderr: int | None = None,
    drain_s: float | None = None,
) -> Ended:
    """Start a program, give it a question, and return what it wrote when it has ended.

    ``environ`` is its whole environment and ``folder`` its working folder (None: ours); ``stderr`` as ``subprocess``
    has it. Cancelling the wait ends the program's whole group: SIGTERM, ``grace_s`` seconds, SIGKILL. With ``drain_s``,
    what the program leaves running gets so many seconds to close its output, and is then ended too; without it, it is
    waited for until it has closed its output, and may live on.

    Raises:
        OutputTooLargeError: when it writes more than ``limit_bytes``.
        OSError: when it cannot be started.
    """
    loop = asyncio.get_running_loop()
    transport, conversation = await loop.subprocess_exec(
        lambda: _Conversation(limit_bytes),
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
        env=environ,
        cwd=folder,
        start_new_session=True,
    )
    try:
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        stdin.write(question)
        stdin.close()  # once all of it is written; a program need not read it
        await _finished(conversation, drain_s)
    except BaseException:  # a timeout or an interrupt arrives as CancelledError
        await _end_group(transport, conversation, grace_s)
        raise
    else:
        if drain_s is not None:
            _signal_group(transport.get_pid(), signal.SIGKILL)
    finally:
        transport.close()
    return Ended(transport.get_returncode(), bytes(conversation.written))


class _Conversation(asyncio.SubprocessProtocol):
    """Gathers what a program writes, and notices when it has ended and closed its output."""

    def __init__(self, limit_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self._limit_bytes = limit_bytes
        self.written = bytearray()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        del fd  # standard output is the only one that is read
        if self.ended.done():  # too much already, or not waited for any more
            return
        self.written += data
        if len(self.written) > self._limit_bytes:
            self.written.clear()
            self.ended.set_exception(OutputTooLargeError(self._limit_bytes))

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if not self.ended.done():
            self.ended.set_result(None)


async def _finished(conversation: _Conversation, drain_s: float | None) -> None:
    """Wait until a program has ended and closed its output, or ended and had ``drain_s`` seconds to close it."""
    if drain_s is not None:
        await asyncio.wait([conversation.ended, conversation.exited], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([conversation.ended], timeout=drain_s)
        if not conversation.ended.done():
            conversation.ended.set_result(None)
    await conversation.ended


async def _end_group(transport: asyncio.SubprocessTransport, conversation: _Conversation, grace_s: float) -> None:
    """End a program and its children: SIGTERM, a short grace, SIGKILL."""
    group = transport.get_pid()
    try:
        _signal_group(group, signal.SIGTERM)
        await asyncio.wait([conversation.exited], timeout=grace_s)
    finally:
        _signal_group(group, signal.SIGKILL)
        await asyncio.wait([conversation.exited], timeout=grace_s)


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # all of it has ended
        return
