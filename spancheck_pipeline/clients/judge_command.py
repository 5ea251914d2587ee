"""A program as a judge: the packet on standard input and nowhere else, the reply on standard output.

The program gets the least environment, an empty folder to stand in, and no standard error; what it may see of ours is
``environment_of``'s to say. Starting and ending it lives in ``process.py``, reading what it wrote in
``judge_envelope.py``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spancheck_pipeline.clients.call_errors import CommandExitError
from spancheck_pipeline.clients.judge_client import MAX_REPLY_BYTES, Ask, Reply
from spancheck_pipeline.clients.judge_envelope import claude_reply, text_reply
from spancheck_pipeline.clients.judge_errors import InvalidReplyError, NoReplyError
from spancheck_pipeline.clients.judge_http import key_of
from spancheck_pipeline.clients.judge_secret import Secret
from spancheck_pipeline.clients.process import Ended, converse
from spancheck_pipeline.decision.judges import PLACEHOLDERS
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spancheck_pipeline.decision.judges import CommandClient

PASSED: Final = (
    "PATH", "HOME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "USER", "LOGNAME", "CLAUDE_CONFIG_DIR",
    "XDG_CONFIG_HOME", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
)  # fmt: skip
"""Variables that say where something is. No other one of ours is passed on."""
DROPPED: Final = ("KEY", "TOKEN", "SECRET", "AUTH", "CREDENTIAL", "ANTHROPIC", "AWS", "GOOGLE")
"""A variable with one of these in its name is never passed on, whatever ``PASSED`` says."""

DRAIN_S: Final = 1.0
"""Time that what a program leaves running has to close its output before it is ended."""

_PLACEHOLDER: Final = re.compile(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")


class CommandJudge:
    """Runs a program once per question, without a shell, in a process group of its own."""

    abandoned = 0

    def __init__(self, settings: CommandClient, *, model: str | None, temperature: float | None, folder: Path) -> None:
        self._settings = settings
        self._fixed = {"folder": str(folder.resolve())}
        for name, value in (("model", model), ("temperature", temperature)):
            if value is not None:
                self._fixed[name] = str(value)
        _check(settings.argv)
        self._program = _program(settings.argv[0].replace("{folder}", self._fixed["folder"]))
        self._environ = environment_of(os.environ, key_env=settings.key_env)
        self.secret = Secret(self._environ[settings.key_env] if settings.key_env else None)
        self._folder: Path | None = None

    async def ask(self, ask: Ask) -> Reply:
        """Run the program for one question. Cancelled, it ends the program and all that it started.

        Raises:
            CallError: when it cannot be started, ends with another code than 0, or writes something that is no reply.
        """
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="spancheck-judge-"))
        ended = await self._run(self._argv(ask), ask.user.encode("utf-8", "replace"), self._folder)
        reply = self._reply(ended)
        if self._settings.billing == "api":
            return reply
        # What a program reckons is no bill.
        cost_usd = 0.0 if self._settings.billing == "none" else None
        return replace(reply, usage=reply.usage.model_copy(update={"cost_usd": cost_usd}))

    async def close(self) -> None:
        """Remove the empty folder. No process outlives its call."""
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _argv(self, ask: Ask) -> list[str]:
        said = {
            **self._fixed,
            "system": ask.system,
            "schema": json.dumps(dict(ask.schema), ensure_ascii=False, separators=(",", ":")),
            "max_tokens": str(ask.max_tokens),
        }
        # One pass, so that nothing that was filled in is filled again.
        arguments = [_PLACEHOLDER.sub(lambda match: said[match[1]], given) for given in self._settings.argv[1:]]
        return [self._program, *arguments]

    async def _run(self, argv: list[str], packet: bytes, folder: Path) -> Ended:
        try:
            return await converse(
                argv,
                packet,
                grace_s=self._settings.grace_s,
                limit_bytes=MAX_REPLY_BYTES,
                environ=self._environ,
                folder=folder,
                stderr=subprocess.DEVNULL,
                drain_s=DRAIN_S,
            )
        except OSError as error:
            raise NoReplyError(error) from None

    def _reply(self, ended: Ended) -> Reply:
        if self._settings.envelope == "text":
            if ended.code:
                raise CommandExitError(ended.code)
            return text_reply(ended.written)
        try:
            return claude_reply(ended.written)
        except InvalidReplyError:
            if ended.code:
                raise CommandExitError(ended.code) from None
            raise


def environment_of(environ: Mapping[str, str], *, key_env: str | None) -> dict[str, str]:
    """Return the whole environment of a judge program: the variables of ``PASSED``, and one key where one is named.

    Raises:
        TargetError: when that key is not there.

    >>> environment_of({"PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "x", "MY_APP": "y"}, key_env=None)
    {'PATH': '/bin'}
    """
    passed = {name: environ[name] for name in PASSED if name in environ and not any(word in name for word in DROPPED)}
    return passed if key_env is None else {**passed, key_env: key_of(key_env)}


def _check(argv: tuple[str, ...]) -> None:
    """Refuse files that the program would not find. That all placeholders can be filled is checked with the settings.

    Raises:
        TargetError: saying which, and the fix.
    """
    for argument in argv[1:]:
        if not Path(argument).is_absolute() and _is_file(argument):
            raise TargetError(
                f"command.argv: the program runs in an empty folder, where {argument[:200]!r} is not; "
                "write its whole path, or {folder}/… for a file beside judges.yaml"
            )


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):  # longer than a path can be, or none at all
        return False


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise TargetError(
            f"command.argv: the program {name[:200]!r} is not found (or not executable) from {Path.cwd()}; "
            "give its path, install it, or begin it with {folder}/"
        )
    return str(Path(found).absolute())
