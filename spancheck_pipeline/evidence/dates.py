"""Days that a text names, read as days: ``14 March 2019``, ``2019-03-14`` and ``3/14/19`` are one.

A day is read whole (year, month, day) or not at all. Numbers that differ between claim and source, and dates that are
told in part, are ``grading/support``'s; which criterion wants which day is ``criterion.py``'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final, Literal, NamedTuple

DateOrder = Literal["month_first", "day_first"]
"""How ``04/02/2019`` is read: 2 April, or 4 February."""


class FoundDate(NamedTuple):
    """A place of a text that names a day."""

    day: date
    start: int
    end: int
    """Half-open, in code points of the text."""
    is_swapped: bool
    """Whether it was read the other way round, because its own order names no day."""


_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DASH = r"[-/\u2010\u2011\u2012\u2013\u2212\uff0d\uff0f]"
_GAP = r"\s{1,20}"
_DATE: Final = re.compile(
    rf"""
      (?<![\w./-])(?P<y1>\d{{4}})(?P<s1>{_DASH}|\.)(?P<m1>\d{{1,2}})(?P=s1)(?P<d1>\d{{1,2}})(?=t\d\d|(?!\w))
    | (?<![\w./-])(?P<a>\d{{1,2}})(?P<s2>{_DASH}|\.)(?P<b>\d{{1,2}})(?P=s2)(?P<y2>\d{{4}}|\d\d)(?!\w)
    | (?<!\w)(?P<m3>{_NAME})\.?(?:{_GAP}|{_DASH})(?:the{_GAP})?(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?
      (?:,?{_GAP}|,|{_DASH})(?:of{_GAP})?(?P<y3>\d{{4}}|['’]\d\d)(?!\w)
    | (?<![\w./-])(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\.?(?:{_GAP}|{_DASH})(?:day{_GAP})?(?:of{_GAP})?(?P<m4>{_NAME})
      \.?(?:,?{_GAP}|,|{_DASH})(?:of{_GAP})?(?P<y4>\d{{4}}|['’]?\d\d)(?!\w)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_GOES_ON: Final = re.compile(r"[-/.]\d")
"""What makes a date the beginning of something longer: a version, a number, an account."""


def dates_in(text: str, *, order: DateOrder = "month_first", other_order: bool = False) -> tuple[FoundDate, ...]:
    """Return the days that a text names, in its order.

    ``03/14/2019`` and ``03-14-2019`` are read in ``order``; ``14.03.2019`` is day first, as wherever dots are written,
    and a year that stands first is followed by the month. Two digits are the years 1969 to 2068, as POSIX has it. What
    names no day (30 February) is passed over; with ``other_order`` it is read the other way round, and says so.

    >>> [found.day.isoformat() for found in dates_in("Signed Mar. 14, 2019; due 04/02/2019.")]
    ['2019-03-14', '2019-04-02']
    >>> dates_in("02/29/2019"), dates_in("29/02/2020"), dates_in("29/02/2020", other_order=True)[0].is_swapped
    ((), (), True)
    """
    return tuple(_found(text, order, other_order=other_order))


def read_date(text: str, *, order: DateOrder = "month_first", other_order: bool = False) -> date | None:
    """Return the day that a whole text is, or None where it is not exactly one day.

    >>> read_date("3/14/19"), read_date("14 March 2019 or later")
    (datetime.date(2019, 3, 14), None)
    """
    found = dates_in(text, order=order, other_order=other_order)
    is_whole = len(found) == 1 and not (text[: found[0].start] + text[found[0].end :]).strip()
    return found[0].day if is_whole else None


def _found(text: str, order: DateOrder, *, other_order: bool) -> Iterator[FoundDate]:
    for match in _DATE.finditer(text):
        if _GOES_ON.match(text, match.end()):
            continue
        readings = list(_readings(match, order))
        for is_swapped, (year, month, day) in enumerate(readings):
            if is_swapped and not other_order:
                break
            try:
                named = date(year, month, day)
            except ValueError:
                continue
            yield FoundDate(named, match.start(), match.end(), bool(is_swapped))
            break


def _readings(match: re.Match[str], order: DateOrder) -> Iterator[tuple[int, int, int]]:
    """Yield year, month and day: as the order has it, then the other way round where there is one."""
    got = match.groupdict()
    if got["y1"]:
        yield int(got["y1"]), int(got["m1"]), int(got["d1"])
    elif got["a"]:
        first, second, year = int(got["a"]), int(got["b"]), _year(got["y2"])
        is_day_first = order == "day_first" or got["s2"] == "."
        ways = [(year, second, first), (year, first, second)]
        yield from ways if is_day_first else reversed(ways)
    else:
        kind = "3" if got["m3"] else "4"
        yield _year(got[f"y{kind}"]), _MONTHS[got[f"m{kind}"].lower()], int(got[f"d{kind}"])


def _year(digits: str) -> int:
    digits = digits.lstrip("'’")
    year = int(digits)
    if len(digits) == 4:  # noqa: PLR2004 - a year that is written out
        return year
    return year + (1900 if year >= 69 else 2000)  # noqa: PLR2004 - as POSIX reads two digits
