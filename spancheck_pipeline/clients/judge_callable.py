"""A Python callable as a judge: the user's own function of the two turns, sync or async.

Finding the function lives in ``attribute.py``; the threads it runs in are ``threads.py``'s.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.call_errors import CallError
from spancheck_pipeline.clients.judge_calls import model_of, word_of
from spancheck_pipeline.clients.judge_client import Ask, Reply
from spancheck_pipeline.clients.judge_errors import InvalidReplyError, JudgeRaisedError
from spancheck_pipeline.clients.judge_secret import NO_SECRET
from spancheck_pipeline.clients.threads import DaemonLoop, DaemonWorkers
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.run import Usage

if TYPE_CHECKING:
    from pathlib import Path

_OFFERED: Final = ("schema", "max_tokens")
"""Further arguments that a function gets by name where it has them."""
_VERDICT: Final = ("label", "score", "reason")


class CallableJudge:
    """Asks a Python callable. A sync one runs in daemon threads, an async one in an event loop of its own."""

    secret = NO_SECRET
    """A function's keys are its own: nobody else knows them."""

    def __init__(self, fn: Callable[..., Any], *, named: str) -> None:
        self._fn = fn
        self._wanted = _wanted(fn, named=named)
        self._is_async = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004 - the method itself is wanted
        self._workers = DaemonWorkers()
        self._loop = DaemonLoop()

    @property
    def abandoned(self) -> int:
        """Timed-out calls that are still running in their threads."""
        return self._workers.abandoned + self._loop.abandoned

    async def ask(self, ask: Ask) -> Reply:
        """Ask once.

        Raises:
            CallError: when the callable raised, or returned something that is no reply.
        """
        offered = {"schema": dict(ask.schema), "max_tokens": ask.max_tokens}
        named = {name: offered[name] for name in self._wanted}
        if self._is_async:
            outcome = await self._loop.run(lambda: self._reply_async(ask, named))
        else:
            outcome = await self._workers.run(lambda: self._reply(ask, named))
        if outcome.raised is None:
            reply: Reply = outcome.value
            return reply
        if isinstance(outcome.raised, CallError):
            raise outcome.raised
        raise JudgeRaisedError(outcome.raised) from None

    async def close(self) -> None:
        """End idle threads and the event loop. A later call starts new ones."""
        self._workers.close()
        self._loop.close()

    def _reply(self, ask: Ask, named: Mapping[str, Any]) -> Reply:
        value = self._fn(ask.system, ask.user, **named)
        if inspect.isawaitable(value):  # a plain function that hands out a coroutine
            outcome = self._loop.run_blocking(lambda: value)
            if outcome.raised is not None:
                raise outcome.raised
            value = outcome.value
        return reply_of(value)

    async def _reply_async(self, ask: Ask, named: Mapping[str, Any]) -> Reply:
        return reply_of(await self._fn(ask.system, ask.user, **named))


def load_callable_judge(reference: str, *, folder: Path) -> CallableJudge:
    """Return the judge that ``module:attribute`` or ``file.py:attribute`` names.

    Raises:
        TargetError: when it cannot be loaded, or cannot be called with the two turns.
    """
    return CallableJudge(load_attribute(reference, folder), named=reference)


def reply_of(value: Any) -> Reply:
    """Return what a judge function returned as a reply: a text, or a dict.

    A dict with a ``label`` is the verdict itself; one with a ``text`` a reply to be read. Either may say ``model``,
    ``usage`` and ``finish_reason`` as well.

    Raises:
        InvalidReplyError: for anything else.
    """
    if isinstance(value, str):
        return Reply(text=value)
    if not isinstance(value, Mapping):
        raise InvalidReplyError(f"a text or a dict, but of type {type(value).__name__}")
    structured = {key: value[key] for key in _VERDICT if key in value} if "label" in value else None
    text = _dumped(structured) if structured is not None else value.get("text")
    if not isinstance(text, str):
        raise InvalidReplyError("a dict with a label (and a reason), or with a text")
    return Reply(
        text=text,
        structured=structured,
        finish_reason=word_of(value.get("finish_reason")),
        usage=_usage(value.get("usage")),
        served_model=model_of(value.get("model", value.get("served_model"))),
    )


def _wanted(fn: Callable[..., Any], *, named: str) -> tuple[str, ...]:
    """Return which further arguments a function has.

    Raises:
        TargetError: when it cannot be called with the two turns alone, beside those.
    """
    what = f"{named} must be a function of the system turn and the user turn"
    if not callable(fn):
        raise TargetError(f"{what}; it is not callable")
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # some built-in callables do not say
        return ()
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    wanted = tuple(
        name for name in _OFFERED if name in signature.parameters and signature.parameters[name].kind in kinds
    )
    try:
        signature.bind("", "", **dict.fromkeys(wanted))
    except TypeError:
        raise TargetError(
            f"{what} (and of {', '.join(_OFFERED)} by name, where it wants them); "
            f"it takes {len(signature.parameters)} arguments"
        ) from None
    return wanted


def _dumped(structured: Mapping[str, Any]) -> str:
    try:
        return json.dumps(structured, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidReplyError("a verdict that JSON can hold") from None


def _usage(value: Any) -> Usage:
    try:
        return Usage.model_validate(value)
    except ValueError:
        raise InvalidReplyError("a reply with a usage that counts tokens") from None
