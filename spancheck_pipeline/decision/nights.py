"""Which nights a suite should have had: the days of its schedule, and those of them on which nothing was captured.

A missed night stays missed: today's system cannot answer for it. What is captured is read in ``api/trending.py``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from itertools import pairwise

from spancheck_pipeline.decision.cron import CronDays, single_time

_LOOK_AHEAD = 800
"""Days in which a schedule's longest pause shows: two leap years."""


def missed_nights(cron: str, captured: Iterable[str], *, until: str) -> tuple[str, ...]:
    """Return the days after the first captured night, up to a date, that the schedule has and the storage has not.

    The schedule is today's: where it has been changed, days before that are judged by what it is now.

    >>> missed_nights("0 2 * * *", ["2026-03-01", "2026-03-04"], until="2026-03-05")
    ('2026-03-02', '2026-03-03', '2026-03-05')
    """
    known = set(captured)
    if not known:
        return ()
    days = CronDays(cron)
    first, last = dt.date.fromisoformat(min(known)), dt.date.fromisoformat(until)
    between = (first + dt.timedelta(days=n) for n in range((last - first).days + 1))
    return tuple(day.isoformat() for day in between if day in days and day.isoformat() not in known)


def longest_pause_days(cron: str) -> int:
    """Return the most days that lie from one day of a schedule to the next.

    >>> longest_pause_days("0 2 * * *"), longest_pause_days("0 2 * * mon-fri")
    (1, 3)
    """
    days, start = CronDays(cron), dt.date(2027, 1, 1)
    ticks = [n for n in range(_LOOK_AHEAD) if start + dt.timedelta(days=n) in days]
    pauses = [after - before for before, after in pairwise(ticks)]
    return max(pauses, default=_LOOK_AHEAD)


def deadline_cron(cron: str, late_after_hours: int) -> str | None:
    """Return the schedule of the times at which a night is late, where one cron says it: one time a day, the same day.

    >>> deadline_cron("30 2 * * mon", 6), deadline_cron("0 22 * * *", 6)
    ('30 8 * * mon', None)
    """
    time = single_time(cron)
    if time is None or time[0] + late_after_hours > 23:  # noqa: PLR2004 - the last hour of a day
        return None
    rest = {"@weekly": "* * 0", "@monthly": "1 * *", "@yearly": "1 1 *", "@annually": "1 1 *"}
    days = rest.get(cron, "* * *") if cron.startswith("@") else " ".join(cron.split()[2:])
    return f"{time[1]} {time[0] + late_after_hours} {days}"
