"""The protocol that every judge client speaks, what goes in and comes out, and the client that settings name.

The clients live in modules of their own; turning a packet into a question and a reply into a verdict is
``grading/judge.py``'s; asking about packets, one record a call, is ``judge_target.py``'s; retries, limits and
durability are the capture's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from spancheck_pipeline.clients.judge_secret import Secret
    from spancheck_pipeline.decision.judges import JudgeSettings
    from spancheck_pipeline.evidence.packet import Packet


MAX_REPLY_BYTES: Final = 1024 * 1024
"""UTF-8 bytes of a reply. No verdict is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question to a judge."""

    system: str
    """The prompt's instructions: a real system turn, never glued to the packet."""
    user: str = field(repr=False)
    """The packet, between delimiters."""
    schema: Mapping[str, Any]
    """JSON Schema of the reply, for clients that can hold a model to it."""
    max_tokens: int
    packet: Packet | None = field(default=None, repr=False)
    """What ``user`` is about, for a client that has no model to read it (the stub)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back. It is hostile text until it was parsed."""

    text: str = field(repr=False)
    structured: Mapping[str, Any] | None = field(default=None, repr=False)
    """The reply as the client's own structured output; None where it has none."""
    finish_reason: str = "unreported"
    """The provider's own word: ``stop``, ``end_turn``, ``length``, ``max_tokens``, ``content_filter``, ``refusal`` …"""
    usage: Usage = field(default_factory=Usage)
    served_model: str | None = None
    api_ms: float | None = None
    """What the provider itself says that the call took."""


class JudgeClient(Protocol):
    """A judge that can be asked."""

    @property
    def abandoned(self) -> int:
        """Timed-out calls that cannot be stopped and are still running."""

    @property
    def secret(self) -> Secret:
        """The key that it asks with, which must not be kept where a reply repeats it."""

    async def ask(self, ask: Ask) -> Reply:
        """Ask once. Any exception means that this attempt failed (``call_errors.failure_of``)."""

    async def close(self) -> None:
        """Let go of connections and processes. A later call opens them again."""


def load_judge_client(settings: JudgeSettings, *, folder: Path) -> JudgeClient:
    """Return the client that a judge's settings name. Nobody is asked yet; ``folder`` is where ``judges.yaml`` lies.

    Raises:
        TargetError: when it cannot be loaded (no such function, program or environment variable), and for a panel,
            whose members are asked in its place.
    """
    if settings.callable is not None:
        from spancheck_pipeline.clients.judge_callable import load_callable_judge

        return load_callable_judge(settings.callable, folder=folder)
    if settings.openai is not None:
        from spancheck_pipeline.clients.judge_openai import OpenAiJudge

        return OpenAiJudge(settings.openai, model=settings.model or "", temperature=settings.temperature)
    if settings.anthropic is not None:
        from spancheck_pipeline.clients.judge_anthropic import AnthropicJudge

        return AnthropicJudge(settings.anthropic, model=settings.model or "", temperature=settings.temperature)
    if settings.command is not None:
        from spancheck_pipeline.clients.judge_command import CommandJudge

        return CommandJudge(settings.command, model=settings.model, temperature=settings.temperature, folder=folder)
    if settings.stub is not None:
        from spancheck_pipeline.clients.judge_stub import StubJudge

        return StubJudge()
    raise TargetError("a panel is not asked itself: its members are, each by its own client")
