"""Promotions: which run others are compared with, who made it so, and when.

A *release* is pinned by a person, a *last good* run by its gate. The files live in ``storage/promotions.py``, comparing
with them in ``comparison.py``. A promotion holds ids, digests and a note, and no text of cases or answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.audit_seal import SealedDocument
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.evidence.canonical import CONTRACT, digest

Kind = Literal["release", "last_good"]
KINDS: Final[tuple[Kind, ...]] = ("release", "last_good")


class Promotion(BaseModel):
    """One run made a baseline. It names the very capture, so that a later recapture of its date changes nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    contract: Literal[1] = CONTRACT
    kind: Kind
    number: int = Field(ge=1)
    """Of its kind and suite, in the order of recording."""
    suite: str
    date: str
    """YYYY-MM-DD: the partition that was promoted."""
    run_id: str
    captured_run: str
    """Content digest of the captured run."""
    cases: str
    """Content digest of the cases snapshot."""
    gate: str
    """Content digest of the decision that stood when it was promoted."""
    decision_revision: int
    answer: Answer
    """What that decision said."""
    promoted_at: datetime
    """UTC."""
    promoted_by: str
    note: str = ""
    """Why."""

    @property
    def digest(self) -> str:
        """SHA-256 of its canonical JSON: what its seal names it by."""
        return digest(self.model_dump(mode="json"))


class PromotionSeal(SealedDocument):
    """What a promotion said when it was recorded: a small document, written after it and kept apart from it."""

    contract: Literal[1] = CONTRACT
    kind: Literal["promotion_seal"] = "promotion_seal"
    suite: str
    promotion_kind: Kind
    number: int
    date: str
    """Of the partition that was promoted."""
    digest: str
    """SHA-256 of the canonical JSON of the promotion."""


class PromotionKey(NamedTuple):
    """What a promotion's file name says, enough to choose by."""

    number: int
    date: str


def last_good_before(promoted: Iterable[PromotionKey], date: str | None) -> PromotionKey | None:
    """Return the promotion of the latest date before a date (of all dates for None); of one date, the newest.

    >>> last_good_before([PromotionKey(1, "2026-03-02"), PromotionKey(2, "2026-03-01")], "2026-03-09").date
    '2026-03-02'
    """
    return max(_before(promoted, date), key=lambda key: (key.date, key.number), default=None)


def release_before(pinned: Iterable[PromotionKey], date: str | None) -> PromotionKey | None:
    """Return the newest pin of a run before a date: a person may pin an earlier date after a later one.

    >>> release_before([PromotionKey(1, "2026-03-02"), PromotionKey(2, "2026-03-01")], "2026-03-09").date
    '2026-03-01'
    """
    return max(_before(pinned, date), key=lambda key: key.number, default=None)


def first_before(promoted: Iterable[PromotionKey], date: str | None) -> PromotionKey | None:
    """Return the first run that its gate let pass: the release until a person pins one."""
    return min(_before(promoted, date), key=lambda key: key.number, default=None)


def _before(keys: Iterable[PromotionKey], date: str | None) -> list[PromotionKey]:
    return [key for key in keys if date is None or key.date < date]
