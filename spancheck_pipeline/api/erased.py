"""Nights that were recorded and are gone: what still says so is their seal, or that they were promoted.

Pruning takes what a night was made from and leaves its record (``pruning.py``): such a night is not gone.
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from spancheck_pipeline.decision.promotion import KINDS
from spancheck_pipeline.storage.promotions import promotions
from spancheck_pipeline.storage.seals import place_seals, sealed_dates
from spancheck_pipeline.storage.store import Night, Place, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG


class Traces(NamedTuple):
    """What still speaks of a place's record."""

    sealed_at: dt.datetime | None
    """Of the latest seal that can be read; None where none can."""
    n_seals: int
    is_promoted: bool

    def text(self) -> str:
        """Return them in one clause."""
        if self.sealed_at is not None:
            return f"a log was sealed here at {self.sealed_at.isoformat(timespec='seconds')} and is gone"
        if self.is_promoted:
            return "this night was promoted to a baseline, and its record is gone, or was never written"
        return "seals lie here that cannot be read, and the log is gone"


def traces_of(store: Store, place: Place) -> Traces | None:
    """Return what speaks of a record at a place, whether it is there or not; None where nothing does."""
    seals, faults = place_seals(store, place)
    times = [seal.sealed_at for items in seals.values() for seal in items]
    is_promoted = isinstance(place, Night) and place.date in _promoted(store, place.suite)
    if not times and not faults and not is_promoted:
        return None
    return Traces(max(times, default=None), len(times), is_promoted)


def gone_dates(store: Store, suite: str) -> tuple[str, ...]:
    """Return the dates of a suite that were recorded, by their seals and promotions, and have no record; in order."""
    return tuple(sorted({*sealed_dates(store, suite), *_promoted(store, suite)} - {*store.dates(suite, AUDIT_LOG)}))


def _promoted(store: Store, suite: str) -> set[str]:
    return {key.date for kind in KINDS for key in promotions(store, suite, kind)}


__all__ = ["Traces", "gone_dates", "traces_of"]
