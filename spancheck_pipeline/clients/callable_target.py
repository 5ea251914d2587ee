"""A Python callable as a target: the user's own function, sync or async.

Finding the function that a suite names lives in ``attribute.py``; the threads it runs in are ``threads.py``'s.
"""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from spancheck_pipeline.clients.answer import output_of
from spancheck_pipeline.clients.call_errors import CallError, TargetRaisedError
from spancheck_pipeline.clients.threads import DaemonLoop, DaemonWorkers, Outcome
from spancheck_pipeline.decision.suite_target import Citations
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.evidence.run import Output, TargetFacts


class CallableTarget:
    """Calls a Python callable. A sync one runs in daemon threads, an async one in an event loop of its own."""

    def __init__(self, fn: Callable[..., Any], *, facts: TargetFacts, citations: Citations = "auto") -> None:
        self.facts = facts
        self._fn = fn
        self._citations = citations
        self._with_history = takes_history(fn, named=facts.reference)
        self._is_async = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004 - the method itself is wanted
        self._workers = DaemonWorkers()
        self._loop = DaemonLoop()

    @property
    def abandoned(self) -> int:
        """Timed-out calls that are still running in their threads."""
        return self._workers.abandoned + self._loop.abandoned

    async def call(self, case: Case, epoch: int) -> Output:
        """Ask one question.

        Raises:
            CallError: when the callable raised, or returned something that is no output.
        """
        del epoch  # the system is not told which repetition it answers
        arguments = _arguments(case, with_history=self._with_history)
        if self._is_async:
            outcome = await self._loop.run(lambda: self._answer_async(arguments))
        else:
            outcome = await self._workers.run(lambda: self._answer(arguments))
        return _output(outcome)

    async def close(self) -> None:
        """End idle threads and the event loop. A later call starts new ones."""
        self._workers.close()
        self._loop.close()

    def _answer(self, arguments: tuple[Any, ...]) -> Output:
        value = self._fn(*arguments)
        if inspect.isawaitable(value):  # a plain function that hands out a coroutine
            outcome = self._loop.run_blocking(lambda: value)
            if outcome.raised is not None:
                raise outcome.raised
            value = outcome.value
        return output_of(value, citations=self._citations)

    async def _answer_async(self, arguments: tuple[Any, ...]) -> Output:
        return output_of(await self._fn(*arguments), citations=self._citations)


def takes_history(fn: Callable[..., Any], *, named: str) -> bool:
    """Return whether a callable takes the history beside the question.

    It does when it has two arguments that must be given, or when its second one is called ``history``.

    Raises:
        TargetError: when it cannot be called with one or two arguments.
    """
    if not callable(fn):
        raise TargetError(f"{named} is not callable: a target is a function of the question")
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # some built-in callables do not say
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    needed = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if len(required) > 2 or needed or not (positional or takes_any):  # noqa: PLR2004 - question and history
        raise TargetError(
            f"{named} must take the question, or the question and the history; it takes {len(parameters)} arguments"
        )
    return len(required) == 2 or (len(positional) > 1 and positional[1].name == "history")  # noqa: PLR2004 - as above


def _arguments(case: Case, *, with_history: bool) -> tuple[Any, ...]:
    # A copy: a system that edits what it is given must not edit the case.
    question = copy.deepcopy(case.input)
    return (question, [turn.model_dump() for turn in case.history]) if with_history else (question,)


def _output(outcome: Outcome) -> Output:
    if outcome.raised is None:
        output: Output = outcome.value
        return output
    if isinstance(outcome.raised, CallError):
        raise outcome.raised
    raise TargetRaisedError(outcome.raised)
