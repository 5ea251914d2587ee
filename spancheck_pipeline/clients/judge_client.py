"""The protocol that every judge client speaks, what goes in and what comes out.

The clients live in modules of their own, and which one settings name in ``judge_kinds.py``; turning a packet into a
question and a reply into a verdict is ``grading/judge.py``'s; asking about packets, one record a call, is
``judge_target.py``'s; retries, limits and durability are the capture's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from spancheck_pipeline.evidence.run import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spancheck_pipeline.clients.judge_secret import Secret
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
