"""A program as a target: the question as JSON on standard input, the answer on standard output.

Starting and ending the program lives in ``process.py``. What it writes to standard error goes where ours goes;
``capture/containment.py`` keeps that from leaking.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spancheck_pipeline.clients.answer import MAX_OUTPUT_BYTES, json_object, output_of
from spancheck_pipeline.clients.call_errors import CommandExitError
from spancheck_pipeline.clients.process import converse
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spancheck_pipeline.decision.suite_target import Citations
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.evidence.run import Output, TargetFacts

GRACE_S: Final = 1.0
"""Time that a timed-out program has between SIGTERM and SIGKILL."""


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
        code, written = await converse(
            self._argv, json.dumps(question).encode() + b"\n", grace_s=GRACE_S, limit_bytes=MAX_OUTPUT_BYTES
        )
        if code:
            raise CommandExitError(code)
        payload = json_object(written)
        text = written.decode("utf-8", "replace").rstrip("\r\n")
        return output_of(text if payload is None else payload, citations=self._citations)

    async def close(self) -> None:
        """Do nothing: no process outlives its call."""
