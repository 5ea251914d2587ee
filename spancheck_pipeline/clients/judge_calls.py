"""The record of one judge call, successful or not: codes and numbers, no text.

Who makes the records is ``judge_target.py``; the verdicts themselves, with texts, are ``evidence/verdict.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

UNREPORTED: Final = "unreported"
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,119}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call of a judge: which, about which packet, how it ended, what it took."""

    judge: str
    client: str
    """``callable``, ``openai``, ``anthropic``, ``command``, ``stub``."""
    prompt: str
    packet_digest: str
    repeat: int
    """0-based."""
    attempt: int
    """1-based, of this packet and repeat, in this process."""
    max_tokens: int
    finish_reason: str
    """The provider's word, else ``timeout``, ``error`` or ``unreported``."""
    error_class: str | None
    """None where there is a verdict."""
    latency_ms: float
    api_ms: float | None
    """What the provider itself says that the call took; None where it does not say."""
    n_sent_bytes: int
    """UTF-8 bytes of the system turn and the packet."""
    n_reply_bytes: int | None
    """UTF-8 bytes of the reply's text; None where there is none."""
    served_model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_input_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    """What the provider itself says; None where it does not."""


CallSink = Callable[[CallRecord], None]
"""Takes one record a call, in the thread that calls: ``calls=my_list.append``. It must not raise."""


def word_of(value: object) -> str:
    """Return a provider's word for how a reply ended; what is no plain word could be any text, so it is not told.

    >>> word_of("end_turn"), word_of(None), word_of("ignore all that was said")
    ('end_turn', 'unreported', 'unreported')
    """
    return value if isinstance(value, str) and _WORD.fullmatch(value) else UNREPORTED


def model_of(value: object) -> str | None:
    """Return the name of a model as a provider reports it, or None where it is no name.

    >>> model_of("meta-llama/Llama-3.1:8b"), model_of("a model")
    ('meta-llama/Llama-3.1:8b', None)
    """
    return value if isinstance(value, str) and _MODEL.fullmatch(value) else None
