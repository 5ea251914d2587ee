"""The target that a suite names, ready to be called: which of the four kinds, and the facts that a run records of it.

Each kind lives in a module of its own; concurrency, retries and time limits in ``capture/engine.py``.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.call_errors import class_name
from spancheck_pipeline.clients.callable_target import CallableTarget
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.run import TargetFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from spancheck_pipeline.decision.suite_target import Citations, Target
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.evidence.run import Output


_HOW_IT_IS_KEPT: Final = {"shards", "journal"}
"""Settings of a target that change nothing of what is asked or answered."""


class LoadedTarget(Protocol):
    """A target that can be called."""

    @property
    def facts(self) -> TargetFacts:
        """What a run records of it, without secrets."""

    @property
    def abandoned(self) -> int:
        """Timed-out calls that cannot be stopped and are still running."""

    async def call(self, case: Case, epoch: int) -> Output:
        """Ask one question, once. Any exception means that this attempt failed (``call_errors.failure_of``)."""

    async def close(self) -> None:
        """Let go of connections, threads and files, in the event loop that called. A later call opens them again."""


def load_target(
    settings: Target, *, suite_folder: Path, open_format: Callable[..., LoadedTarget] | None = None
) -> LoadedTarget:
    """Return the target that a suite's settings name. Nothing is called yet, but the user's modules are imported.

    ``open_format`` opens a recorded file of another tool's format; ``api.targets.load_target`` brings it.

    Raises:
        TargetError: when it cannot be loaded: no such module, file, program or environment variable.
        ConfigError: when a file of recorded answers has lines that cannot be used, all at once.
    """
    facts = TargetFacts(
        kind=settings.kind,
        reference=reference_of(settings),
        version=settings.version if settings.version_from is None else _version(settings.version_from, suite_folder),
        settings_digest=digest(settings.model_dump(mode="json", exclude=_HOW_IT_IS_KEPT)),
    )
    if settings.callable is not None:
        fn = load_attribute(settings.callable, suite_folder)
        return CallableTarget(fn, facts=facts, citations=settings.citations)
    if settings.http is not None:
        from spancheck_pipeline.clients.http_target import HttpCaller

        return HttpCaller(settings.http, facts=facts, citations=settings.citations)
    if settings.command is not None:
        from spancheck_pipeline.clients.command_target import CommandTarget

        return CommandTarget(settings.command, suite_folder=suite_folder, facts=facts, citations=settings.citations)
    from spancheck_pipeline.clients.recorded_target import RecordedAnswers

    assert settings.recorded is not None
    opened: Callable[..., LoadedTarget] = RecordedAnswers
    if settings.recorded.format is not None:
        if open_format is None:
            raise TargetError("target.recorded.format: files of other tools are opened by api.targets.load_target")
        opened = open_format
    return opened(settings.recorded, suite_folder=suite_folder, facts=facts, citations=settings.citations)


def load_callable(fn: Callable[..., Any], *, version: str | None = None, citations: Citations = "auto") -> LoadedTarget:
    """Return any Python callable as a target, as the library's ``evaluate(cases, system)`` takes one.

    Raises:
        TargetError: when it is not callable with the question, or the question and the history.
    """
    kind = type(fn)
    name = getattr(fn, "__qualname__", None) or kind.__qualname__
    module = getattr(fn, "__module__", None) or kind.__module__
    reference = f"{module}:{name}"
    settings = {"callable": reference, "version": version, "citations": citations}
    facts = TargetFacts(kind="callable", reference=reference, version=version, settings_digest=digest(settings))
    return CallableTarget(fn, facts=facts, citations=citations)


def reference_of(settings: Target) -> str:
    """Return what a target is called in a manifest: its function, its address without secrets, its program or file."""
    if settings.callable is not None:
        return settings.callable
    if settings.http is not None:
        from spancheck_pipeline.clients.http_target import checked_url

        return checked_url(settings.http.url)
    if settings.command is not None:
        return Path(settings.command[0]).name
    assert settings.recorded is not None
    return Path(settings.recorded.file).name


def _version(reference: str, suite_folder: Path) -> str:
    """Return the string that ``version_from`` names, or that the function that it names returns."""
    value = load_attribute(reference, suite_folder)
    if callable(value) and not inspect.iscoroutinefunction(value):
        try:
            value = value()
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything
            raise TargetError(f"target.version_from: {reference} raised {class_name(error)}") from None
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise TargetError(
            f"target.version_from: {reference} must be a text of one line, or a function that returns one, "
            f"not {type(value).__name__}"
        )
    return value
