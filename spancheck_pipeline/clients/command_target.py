"""A program as a target: the question as JSON on standard input, the answer on standard output.

What the program writes to standard error goes where ours goes; ``capture/containment.py`` keeps that from leaking.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spancheck_pipeline.clients.answer import MAX_OUTPUT_BYTES, json_object, output_of
from spancheck_pipeline.clients.call_errors import CommandExitError, OutputTooLargeError
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spancheck_pipeline.decision.suite import Citations
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.evidence.run import Output, TargetFacts

GRACE_S: Final = 1.0
"""Time that a timed-out program has between SIGTERM and SIGKILL."""

_CHUNK = 65_536


class CommandTarget:
    """Runs a program once per question, without a shell, in a process group of its own, in the working folder."""

    abandoned = 0

    def __init__(
        self, argv: Sequence[str], *, suite_folder: Path, facts: TargetFacts, citations: Citations = "auto"
    ) -> None:
        self.facts = facts
        self._citations = citations
        # "{suite_folder}" lets a suite bring its own script along, wherever it is run from.
        self._argv = [argument.replace("{suite_folder}", str(suite_folder.resolve())) for argument in argv]
        if shutil.which(self._argv[0]) is None:
            raise TargetError(
                f"target.command: the program {argv[0][:200]!r} is not found (or not executable) from {Path.cwd()}; "
                "give its path, install it, or begin it with {suite_folder}/"
            )

    async def call(self, case: Case, epoch: int) -> Output:
        """Run the program for one question.

        Raises:
            CallError: when it ends with another code than 0, or writes something that is no output.
        """
        del epoch  # the system is not told which repetition it answers
        question = {"input": case.input, "history": [turn.model_dump() for turn in case.history]}
        written = await _converse(self._argv, json.dumps(question).encode() + b"\n")
        payload = json_object(written)
        text = written.decode("utf-8", "replace").rstrip("\r\n")
        return output_of(text if payload is None else payload, citations=self._citations)

    async def close(self) -> None:
        """Do nothing: no process outlives its call."""


async def _converse(argv: list[str], question: bytes) -> bytes:
    """Start a program, give it a question, and return all that it writes until it ends."""
    loop = asyncio.get_running_loop()
    transport, conversation = await loop.subprocess_exec(
        _Conversation,
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=None,
        start_new_session=True,  # a group of its own, so that its children end with it
    )
    try:
        stdin = transport.get_pipe_transport(0)
        assert isinstance(stdin, asyncio.WriteTransport)
        stdin.write(question)
        stdin.close()  # once all of it is written; a program need not read it
        await conversation.ended
    except BaseException:  # a timeout or an interrupt arrives as CancelledError
        await _end_group(transport, conversation)
        raise
    finally:
        transport.close()
    code = transport.get_returncode()
    if code:
        raise CommandExitError(code)
    return bytes(conversation.written)


class _Conversation(asyncio.SubprocessProtocol):
    """Gathers what a program writes, and notices when it has ended and closed its output."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.written = bytearray()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        del fd  # standard output is the only one that is read
        self.written += data
        if len(self.written) > MAX_OUTPUT_BYTES and not self.ended.done():
            self.written.clear()
            self.ended.set_exception(OutputTooLargeError(MAX_OUTPUT_BYTES))

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if not self.ended.done():
            self.ended.set_result(None)


async def _end_group(transport: asyncio.SubprocessTransport, conversation: _Conversation) -> None:
    """End a program and its children: SIGTERM, a short grace, SIGKILL."""
    group = transport.get_pid()
    try:
        _signal_group(group, signal.SIGTERM)
        await asyncio.wait([conversation.exited], timeout=GRACE_S)
    finally:
        _signal_group(group, signal.SIGKILL)
        await asyncio.wait([conversation.exited], timeout=GRACE_S)


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # all of it has ended
        return
