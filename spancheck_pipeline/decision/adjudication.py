"""Adjudication: what people say of single findings, signed off, beside the scores and never in their place.

A disposition is of one finding of one captured answer under one grader. It holds as long as that finding stands as it
was signed, and until it expires. Where dispositions are kept lives in ``storage/adjudications.py``, the round trip
through a spreadsheet in ``api/reviewing.py``; that a waiver may gate is a setting of the suite (``suite.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.grading.score import Outcome

WHOLE: Final = ""
"""Item of a disposition about a score as a whole, where the grader gave no finding."""


class Disposition(StrEnum):
    """What a person says of a finding."""

    CONFIRMED = "confirmed"
    """It is right as it stands."""
    PASSES = "passes"
    """The grader erred: it should have passed."""
    FAILS = "fails"
    """The grader erred: it should have failed."""
    WAIVED = "waived"
    """It is right, and accepted until it expires."""


class Adjudication(BaseModel):
    """One signed-off disposition."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    grader: str
    case_id: str
    epoch: int = Field(ge=0)
    item: str
    """Of the finding: ``citation[0]`` …; empty for the score as a whole."""
    finding_digest: str
    """Of what was signed: a finding that says something else today is another one."""
    outcome: Outcome
    """What the grader said."""
    disposition: Disposition
    reason: str = Field(min_length=1)
    author: str = Field(min_length=1)
    signed_at: datetime
    """UTC."""
    expires_at: datetime | None = None
    """UTC; from then on it does not hold. A waiver always expires."""

    @model_validator(mode="after")
    def _expires(self) -> Self:
        if self.disposition is Disposition.WAIVED and self.expires_at is None:
            raise ValueError("a waiver has a date on which it expires")
        if self.expires_at is not None and self.expires_at <= self.signed_at:
            raise ValueError("a disposition expires after it was signed")
        return self

    @property
    def key(self) -> FindingKey:
        """Which finding it is of."""
        return FindingKey(self.grader, self.case_id, self.epoch, self.item)

    @property
    def last_day(self) -> str | None:
        """The last day (UTC, YYYY-MM-DD) on which it holds; None where it does not expire."""
        return (self.expires_at - timedelta(microseconds=1)).date().isoformat() if self.expires_at else None

    def holds(self, at: datetime) -> bool:
        """Return whether it has not expired."""
        return self.expires_at is None or at < self.expires_at


@dataclass(frozen=True, slots=True, order=True)
class FindingKey:
    """A finding's place in a run."""

    grader: str
    case_id: str
    epoch: int
    item: str


def finding_digest(finding: Mapping[str, Any]) -> str:
    """Return the digest of what a finding says (its fields as JSON-ready values)."""
    return digest({name: str(value) if isinstance(value, StrEnum) else value for name, value in finding.items()})


def standing(adjudications: Iterable[Adjudication]) -> dict[FindingKey, Adjudication]:
    """Return the latest disposition of each finding; of two signed at one instant, the one that was kept later."""
    found: dict[FindingKey, Adjudication] = {}
    for item in adjudications:
        known = found.get(item.key)
        if known is None or item.signed_at >= known.signed_at:
            found[item.key] = item
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """One score with the dispositions that hold of it."""

    outcome: Outcome
    """What it comes to."""
    n_unsupported: int
    """Its failing findings that still stand."""
    applied: tuple[Adjudication, ...]
    n_stale: int
    """Dispositions of findings that say something else now."""
    n_expired: int


def reviewed(
    outcome: Outcome, findings: Sequence[Mapping[str, Any]], given: Mapping[str, Adjudication], *, at: datetime,
    whole: Mapping[str, Any],
) -> Reviewed:  # fmt: skip
    """Return what a score comes to under the dispositions of its findings (item → disposition).

    It passes where a person says so of the whole, or of every finding that failed; it fails where a person says so of
    any finding. Otherwise it stays what the grader said. What could not be measured stays unmeasured, whatever is said
    of it, and so does a score of which nothing but unmeasured findings is left. ``whole`` are the score's own fields.
    """
    subjects = {WHOLE: whole, **{str(finding["item"]): finding for finding in findings}}
    holding: dict[str, Adjudication] = {}
    n_stale = n_expired = 0
    for item, adjudication in given.items():
        if item not in subjects or finding_digest(subjects[item]) != adjudication.finding_digest:
            n_stale += 1
        elif not adjudication.holds(at):
            n_expired += 1
        else:
            holding[item] = adjudication
    failing = {str(finding["item"]) for finding in findings if finding["outcome"] == Outcome.FAIL}
    excused = {item for item, a in holding.items() if a.disposition in {Disposition.PASSES, Disposition.WAIVED}}
    condemned = any(a.disposition is Disposition.FAILS for a in holding.values())
    amended = outcome
    if outcome is not Outcome.UNMEASURED:
        if condemned:
            amended = Outcome.FAIL
        elif WHOLE in excused:
            amended = Outcome.PASS
        elif outcome is Outcome.FAIL and failing and failing <= excused:
            is_open = any(finding["outcome"] == Outcome.UNMEASURED for finding in findings)
            amended = Outcome.UNMEASURED if is_open else Outcome.PASS
    return Reviewed(
        outcome=amended,
        n_unsupported=0 if WHOLE in excused else len(failing - excused),
        applied=tuple(holding.values()),
        n_stale=n_stale,
        n_expired=n_expired,
    )


__all__ = [
    "WHOLE", "Adjudication", "Disposition", "FindingKey", "Reviewed", "finding_digest", "reviewed", "standing",
]  # fmt: skip
