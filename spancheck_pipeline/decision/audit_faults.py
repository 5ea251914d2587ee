"""Naming what was done to an audit log: the first record that was changed, removed, added or moved.

It is worked out from the records that stand from the first wrong one on: what each says of its place, and whether it is
what its digest is of. Following the chain up to there lives in ``audit_check.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class What(StrEnum):
    """What was done to a log."""

    CHANGED = "changed"
    REMOVED = "removed"
    ADDED = "added"
    MOVED = "moved"
    TRUNCATED = "truncated"
    HEADER = "header changed"
    REWRITTEN = "rewritten"
    """Whole in itself, and not the log that was sealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The first thing that is wrong with a log."""

    what: What
    number: int | None
    """1-based number of the record; None where the header or the log as a whole is meant."""
    case_id: str | None = None
    epoch: int | None = None
    detail: str
    """One sentence. It holds ids, numbers and digests, no text."""

    def text(self) -> str:
        """Return the fault in one line."""
        if self.number is None:
            return self.detail
        of = f" (case {self.case_id!r}, epoch {self.epoch})" if self.case_id is not None else ""
        return f"record {self.number}{of}: {self.detail}"


class Seen(NamedTuple):
    """What is kept of a record while the first fault is being named."""

    place: object
    """The index that it says it has."""
    previous: object
    digest: str
    is_intact: bool
    why: str
    case_id: str | None
    epoch: int | None


class Before(NamedTuple):
    """What stands before the first wrong record."""

    n_records: int
    """Records that are as they were written, from the first on."""
    last: Seen | None
    """The last of them; None where the first record is the wrong one already."""
    head: str
    """Digest of ``last``; of the header where there is none."""
    head_before: str
    """Digest of the record before ``last``, or of the header."""


def first_fault(before: Before, rest: Sequence[Seen], head: str | None) -> Fault:
    """Return what is wrong with the first of the wrong records and those after it; ``head`` is known from elsewhere."""
    first, at = rest[0], before.n_records
    after = rest[1] if len(rest) > 1 else None
    if first.place != at:
        return _out_of_place(before, rest)
    if not first.is_intact:
        return _fault(What.CHANGED, at, first, f"was changed: {first.why}")
    return _broken_link(before, first, after, head)


def _out_of_place(before: Before, rest: Sequence[Seen]) -> Fault:
    """Name the fault where a record stands that says it belongs elsewhere."""
    first, at = rest[0], before.n_records
    if before.last is not None and first.place == at - 1 and first.previous == before.head_before and first.is_intact:
        # Two rivals for one place: the one that the records after it go on from is the one that was there.
        detail = f"was added: the record after it, number {at + 1}, is the one that the chain goes on from"
        return _fault(What.ADDED, at - 1, before.last, detail)
    expected = [i for i, seen in enumerate(rest) if seen.place == at]
    if not expected:
        return _without(before, first, rest[1] if len(rest) > 1 else None)
    place = expected[0]
    n_same = sum(seen.place == first.place for seen in rest)
    if not first.is_intact or not isinstance(first.place, int) or first.place < at or n_same > 1:
        detail = f"was added: the record that belongs here stands at number {at + place + 1}"
        return _fault(What.ADDED, at, first, detail)
    if place == 1:
        return _fault(What.MOVED, at, first, f"was moved here: it was written as number {first.place + 1}")
    detail = f"was moved: it stands at number {at + place + 1}, and case {first.case_id!r} in its place"
    return _fault(What.MOVED, at, rest[place], detail)


def _broken_link(before: Before, first: Seen, after: Seen | None, head: str | None) -> Fault:
    """Name the fault where a record that is whole in itself does not name the one before it."""
    at = before.n_records
    was_here = after.previous == first.digest if after else head is None or first.digest == head
    if not was_here:
        return _fault(What.CHANGED, at, first, "was changed, and given a digest of its own")
    if before.last is None:
        return Fault(what=What.HEADER, number=None, detail="the header was changed, and given a digest of its own")
    return _fault(What.CHANGED, at - 1, before.last, "was changed, and given a digest of its own")


def _without(before: Before, first: Seen, after: Seen | None) -> Fault:
    """Name the fault where the record that belongs here stands nowhere."""
    at = before.n_records
    if isinstance(first.place, int) and first.place > at and first.is_intact:
        n = first.place - at
        gone = "was removed" if n == 1 else f"and {n - 1} more were removed"
        where = f"after case {before.last.case_id!r}" if before.last else "at the beginning"
        detail = f"{gone}, {where} and before case {first.case_id!r}"
        return Fault(what=What.REMOVED, number=at + 1, detail=detail)
    if after is not None and after.place == at + 1:
        why = first.why or "its number is another"
        return _fault(What.CHANGED, at, first, f"was changed, or put in another's place: {why}")
    return _fault(What.ADDED, at, first, f"was added: {first.why or 'its place in the chain is another'}")


def _fault(what: What, index: int, seen: Seen, detail: str) -> Fault:
    return Fault(what=what, number=index + 1, case_id=seen.case_id, epoch=seen.epoch, detail=detail)


__all__ = ["Before", "Fault", "Seen", "What", "first_fault"]
