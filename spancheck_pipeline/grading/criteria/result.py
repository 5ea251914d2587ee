"""What one check says of one answer."""

from __future__ import annotations

from typing import NamedTuple

from spancheck_pipeline.grading.score import Outcome


class Held(NamedTuple):
    """Whether a criterion held, and why: a word for summaries and a sentence for a reviewer."""

    outcome: Outcome
    code: str
    reason: str
    span: tuple[int, int] | None = None
    """Where in the answer: half-open, in code points; None where there is no one place."""

    @classmethod
    def yes(cls, reason: str, span: tuple[int, int] | None = None) -> Held:
        """Return that it held."""
        return cls(Outcome.PASS, "held", reason, span)

    @classmethod
    def no(cls, code: str, reason: str, span: tuple[int, int] | None = None) -> Held:
        """Return that it did not hold."""
        return cls(Outcome.FAIL, code, reason, span)

    @classmethod
    def unmeasured(cls, code: str, reason: str) -> Held:
        """Return that nobody could say."""
        return cls(Outcome.UNMEASURED, code, reason)
