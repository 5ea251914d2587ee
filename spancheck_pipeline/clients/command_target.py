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

from spancheck_pipeline.clients.answer import MAX_OUTPUT_BYTES, Citations, json_object, output_of
from spancheck_pipeline.clients.call_errors import CommandExitError, OutputTooLargeError
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # a group of its own, so that its children end with it
        )
        try:
            _, written = await asyncio.gather(_feed(process, json.dumps(question).encode()), _read(process))
            code = await process.wait()
        except BaseException:  # a timeout or an interrupt arrives as CancelledError
            await _end_group(process)
            raise
        if code != 0:
            raise CommandExitError(code)
        payload = json_object(written)
        text = written.decode("utf-8", "replace").rstrip("\r\n")
        return output_of(text if payload is None else payload, citations=self._citations)

    async def close(self) -> None:
        """Do nothing: no process outlives its call."""


async def _feed(process: asyncio.subprocess.Process, question: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(question + b"\n")
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        return  # a program need not read its question


async def _read(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    written = bytearray()
    while chunk := await process.stdout.read(_CHUNK):
        written += chunk
        if len(written) > MAX_OUTPUT_BYTES:
            raise OutputTooLargeError(MAX_OUTPUT_BYTES)
    return bytes(written)


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """End a program and its children: SIGTERM, a short grace, SIGKILL."""
    try:
        _signal_group(process.pid, signal.SIGTERM)
        await asyncio.wait_for(process.wait(), GRACE_S)
    except TimeoutError:
        pass
    finally:
        _signal_group(process.pid, signal.SIGKILL)
        await process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # all of it has ended
        return
