"""What a cron schedule may say, so that a mistake is found when the suite is read and not by a scheduler at night.

At which instant a schedule ticks is the scheduler's business; on which days it does is said here, for nights that were
missed.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

_SPELLED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
NICKNAMES = tuple(_SPELLED)


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Field("day of week", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_PART = re.compile(
    r"(?P<all>\*)(?:/(?P<every>\d{1,3}))?|(?P<low>\w{1,3})(?:-(?P<high>\w{1,3}))?(?:/(?P<step>\d{1,3}))?"
)
_LONGEST_MONTH = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


def check_cron(text: str) -> str:
    """Return a cron schedule unchanged, or raise ``ValueError`` saying which field is wrong.

    Five fields (minute, hour, day of month, month, day of week) of ``*``, numbers, ranges, steps, lists and English
    three-letter names; or a nickname such as ``@daily``.

    >>> check_cron("0 2 * * mon-fri")
    '0 2 * * mon-fri'
    """
    if text in NICKNAMES:
        return text
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise ValueError(f"a cron schedule has 5 fields (minute hour day month weekday), this one has {len(parts)}")
    values = [_values(part, field) for part, field in zip(parts, _FIELDS, strict=True)]
    days, months = values[2], values[3]
    if parts[4] == "*" and min(days) > max(_LONGEST_MONTH.get(month, 31) for month in months):
        raise ValueError("the cron schedule never comes: no month of it has that day")
    return text


class CronDays:
    """The days on which a checked cron schedule ticks, in its own time zone.

    Where both day of month and weekday are restricted either is enough, as every cron has it.

    >>> days = CronDays("0 2 * * mon-fri")
    >>> dt.date(2026, 11, 27) in days, dt.date(2026, 11, 28) in days
    (True, False)
    """

    def __init__(self, text: str) -> None:
        parts = _SPELLED.get(text, text).split()
        values = [_values(part, field) for part, field in zip(parts, _FIELDS, strict=True)]
        self._monthdays, self._months = values[2], values[3]
        self._weekdays = {day % 7 for day in values[4]}  # 7 is Sunday, too
        self._is_either = "*" not in (parts[2], parts[4])

    def __contains__(self, day: dt.date) -> bool:
        if day.month not in self._months:
            return False
        found = (day.day in self._monthdays, day.isoweekday() % 7 in self._weekdays)
        return any(found) if self._is_either else all(found)


def single_time(text: str) -> tuple[int, int] | None:
    """Return hour and minute of a schedule that ticks once a day, or None for one that ticks more often.

    >>> single_time("30 2 * * *"), single_time("0 */6 * * *")
    ((2, 30), None)
    """
    parts = _SPELLED.get(text, text).split()
    minutes, hours = (_values(part, field) for part, field in zip(parts[:2], _FIELDS[:2], strict=True))
    return (min(hours), min(minutes)) if len(minutes) == len(hours) == 1 else None


def _values(text: str, field: _Field) -> set[int]:
    values: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        step = int(match["every"] or match["step"] or 1) if match else 0
        if match is None or step == 0:
            raise ValueError(f"{part[:20]!r} is not {_a(field)} of a cron schedule ({_range(field)})")
        low = field.low if match["all"] else _number(match["low"], field)
        high = _number(match["high"], field) if match["high"] else low
        if match["all"] or (match["step"] and not match["high"]):
            high = field.high
        if high < low:
            raise ValueError(f"{part[:20]!r} runs backwards in the {field.name} of a cron schedule")
        values |= set(range(low, high + 1, step))
    return values


def _number(text: str, field: _Field) -> int:
    if text.lower() in field.words:
        return field.words.index(text.lower()) + (1 if field.name == "month" else 0)
    if not (text.isascii() and text.isdigit() and field.low <= int(text) <= field.high):
        raise ValueError(f"{text!r} is not {_a(field)} of a cron schedule ({_range(field)})")
    return int(text)


def _range(field: _Field) -> str:
    return f"{field.low}-{field.high}"


def _a(field: _Field) -> str:
    return f"{'an' if field.name == 'hour' else 'a'} {field.name}"
