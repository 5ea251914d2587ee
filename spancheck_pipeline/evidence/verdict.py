"""The verdict: a judge's recorded reply about one packet, and the look-up that graders read it from.

What is asked about lives in ``packet.py``; wording the question, reading the reply and what several verdicts come to in
``grading/judge.py``; calling in ``clients``; the columns in ``storage/tables.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from spancheck_pipeline.evidence.run import Usage

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Verdict(BaseModel):
    """One reply of one judge about one packet, or the class of the error that the call ended with."""

    model_config = _FROZEN

    judge: str
    """Name in ``judges.yaml``; of a panel's member, the member's."""
    identity: str
    """Digest of what makes the judge this judge: client, model, prompt, sampling. The threshold is not in it."""
    prompt: str
    """``entailment_v1``."""
    prompt_digest: str
    packet_kind: str
    packet_version: int
    packet_digest: str
    repeat: int = Field(default=0, ge=0)
    """0-based."""
    model: str | None = None
    """The model that was asked for; None where the client names none."""
    served_model: str | None = None
    """The model that answered, as the provider reports it."""
    label: str | None = None
    """The judge's word, one of the prompt's labels; None where there is no verdict."""
    score: float | None = Field(default=None, ge=0, le=1)
    """In [0, 1]: how far the evidence carries the claim; None where there is no verdict."""
    reason: str | None = None
    """The judge's sentence. It is text of the judge's, so it stays in record files."""
    reply: str | None = None
    """The reply as it came."""
    finish_reason: str
    """The provider's word, else ``timeout``, ``error`` or ``unreported``."""
    latency_ms: float | None = Field(default=None, ge=0)
    attempts: int = Field(default=1, ge=0)
    usage: Usage = Usage()
    cost_usd: float | None = Field(default=None, ge=0)
    """None where a price or the usage is not known. 0.0 is free."""
    error_class: str | None = None
    """``UnreadableVerdictError``, ``TimeoutError`` …; None for a verdict."""
    judged_at: datetime | None = None
    """UTC."""

    @model_validator(mode="after")
    def _verdict_or_error(self) -> Self:
        if (self.label is None) == (self.error_class is None) or (self.label is None) != (self.score is None):
            raise ValueError("a verdict has either a label with a score, or an error class")
        return self

    @property
    def is_answer(self) -> bool:
        """Whether there is a verdict. A failure is never used as one, nor kept as one."""
        return self.label is not None

    @property
    def key(self) -> VerdictKey:
        """Judge's identity, packet digest, repeat: what is asked once and never again."""
        return (self.identity, self.packet_digest, self.repeat)


VerdictKey = tuple[str, str, int]
"""Judge's identity, packet digest, repeat."""


class Verdicts(Protocol):
    """Recorded verdicts, as a grader reads them."""

    def get(self, key: VerdictKey) -> Verdict | None:
        """Return what a judge replied, be it a verdict or a failure; None where it was never asked."""


class VerdictBook:
    """Verdicts in memory, by key. An answer is never replaced by a failure."""

    def __init__(self, verdicts: Iterable[Verdict] = ()) -> None:
        self._by_key: dict[VerdictKey, Verdict] = {}
        for verdict in verdicts:
            self.add(verdict)

    def add(self, verdict: Verdict) -> None:
        """Take a verdict in; the first answer for a key stays."""
        known = self._by_key.get(verdict.key)
        if known is None or not known.is_answer:
            self._by_key[verdict.key] = verdict

    def get(self, key: VerdictKey) -> Verdict | None:
        """Return what is recorded for a key, or None."""
        return self._by_key.get(key)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)


NO_VERDICTS = VerdictBook()
"""Where no judge was asked."""
