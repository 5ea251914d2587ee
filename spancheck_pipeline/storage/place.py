"""Places: a suite's night, an ad-hoc run, a judge; and the folders that their names become.

What stands at a place lives in ``store.py`` and ``tables.py``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from spancheck_pipeline.decision.names import check_name
from spancheck_pipeline.errors import UsageError

_SHOWN = 3
"""Dates that are named where the one that is asked for is not stored."""
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,119}")


def check_run_id(run_id: str) -> str:
    """Return a run id that may become a folder, or raise ``UsageError``."""
    if not _RUN_ID.fullmatch(run_id) or ".." in run_id:
        raise UsageError(f"{run_id[:80]!r} is not a run id: letters, digits, '_', '-' and '.', at most 120")
    return run_id


@dataclass(frozen=True, slots=True)
class Night:
    """A partition: one suite on one date of the project's time zone."""

    suite: str
    date: str
    """YYYY-MM-DD."""

    def __post_init__(self) -> None:
        try:
            check_name(self.suite)
        except ValueError as error:
            raise UsageError(f"a suite's name becomes a folder: {error}") from None
        try:
            valid = dt.date.fromisoformat(self.date).isoformat() == self.date
        except ValueError:
            valid = False
        if not valid:
            raise UsageError(f"{self.date[:40]!r} is not a date; write it as YYYY-MM-DD")

    def folder(self, table: str, grader: str | None) -> str:
        """Return the hive-style folder of a table's partition, relative to the storage root."""
        of_grader = f"grader={check_name(grader)}/" if grader else ""
        return f"{table}/{of_grader}suite={self.suite}/date={self.date}"

    def __str__(self) -> str:
        return f"{self.suite} on {self.date}"


@dataclass(frozen=True, slots=True)
class AdHoc:
    """An ad-hoc run (CLI, pull request, another configuration): never a partition, the same tables."""

    suite: str
    run_id: str

    def __post_init__(self) -> None:
        check_run_id(self.run_id)

    @property
    def date(self) -> None:
        """An ad-hoc run belongs to no date."""

    def folder(self, table: str, grader: str | None) -> str:
        """Return the folder of a table of this run, relative to the storage root."""
        of_grader = f"/grader={check_name(grader)}" if grader else ""
        return f"runs/{self.run_id}/{table}{of_grader}"

    def __str__(self) -> str:
        return f"run {self.run_id}"


@dataclass(frozen=True, slots=True)
class JudgePlace:
    """What belongs to a judge and to no suite: its calibration, a segment of its recorded verdicts."""

    judge: str
    part: tuple[str, ...] = ()
    """Further folders, ``key=value``, below the judge's."""

    @property
    def suite(self) -> None:
        """A judge belongs to no suite."""

    @property
    def date(self) -> None:
        """A judge belongs to no date."""

    def folder(self, table: str, grader: str | None) -> str:
        """Return the hive-style folder of a table of this judge, relative to the storage root."""
        del grader
        return "/".join((table, f"judge={check_name(self.judge)}", *self.part))

    def __str__(self) -> str:
        return f"judge {self.judge}"


Place = Night | AdHoc
AnyPlace = Place | JudgePlace
"""Every place that a table may have a file at."""


def stored_nearby(night: Night, dates: Sequence[str]) -> str:
    """Return which dates of a suite are stored, the nearest ones to a night that is not; to be put behind a sentence.

    >>> stored_nearby(Night("leases", "2026-03-09"), ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-14"])
    '; stored are 2026-03-02, 2026-03-03, 2026-03-14 and 1 more (spancheck trend leases shows them)'
    """
    if not dates:
        return ""
    wanted = dt.date.fromisoformat(night.date)
    nearest = sorted(dates, key=lambda date: abs((dt.date.fromisoformat(date) - wanted).days))[:_SHOWN]
    more = f" and {len(dates) - len(nearest)} more" if len(dates) > len(nearest) else ""
    are = "are" if len(dates) > 1 else "is"
    return f"; stored {are} {', '.join(sorted(nearest))}{more} (spancheck trend {night.suite} shows them)"
