"""Dates that a text names, compared as dates: ``March 14, 2026`` is ``2026-03-14``.

Bare years are numbers (``numbers.py``); this module reads a day or a month with what stands beside it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from spancheck_pipeline.grading.support.lexicon import LEXICON


class Date(NamedTuple):
    """A date as far as it is told; None where it is not."""

    year: int | None
    month: int | None
    day: int | None


class Dated(NamedTuple):
    """A place of a text that names a date, in each of its readings (14/03 and 03/14)."""

    text: str
    readings: tuple[Date, ...]
    start: int
    end: int
    """Half-open, in code points of the folded text."""


MONTHS = {
    name: index + 1 for index, names in enumerate(LEXICON["months"].strip().splitlines()) for name in names.split()
}

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_CHINESE = "[0-9〇零一二三四五六七八九十廿]"
_DATE = re.compile(
    rf"""
    (?=[\d〇零一二三四五六七八九十廿]|(?<!\w)[^\W\d_])(?:   # where one can start, told at once
      (?<![\w.,/-])(?P<y1>[12]\d{{3}})[-/.](?P<m1>0?[1-9]|1[0-2])[-/.](?P<d1>3[01]|[12]\d|0?[1-9])
      (?:(?=t\d\d:)|(?![\w/-]))
    | (?<![\w.,/-])(?P<a>3[01]|[12]\d|0?[1-9])[-/.](?P<b>3[01]|[12]\d|0?[1-9])[-/.](?P<y2>[12]\d{{3}}|\d\d)(?![\w/-])
    | (?<!\w)(?P<m3>{_MONTH})\.?[ ](?:the[ ])?(?P<d3>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\w%])(?!\.\d)
      (?:,?[ ](?:of[ ])?(?P<y3>[12]\d{{3}})(?!\w))?
    | (?<![\w.,])(?P<d4>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|er|º|°|\.)?[ ](?:of[ ]|de[ ]|day[ ]of[ ])?
      (?P<m4>{_MONTH})(?!\w)
      \.?(?:,?[ ](?:de[ ])?(?P<y4>[12]\d{{3}})(?!\w))?
    | (?<!\w)(?P<m5>{_MONTH})\.?,?[ ](?:of[ ]|de[ ])?(?P<y5>[12]\d{{3}})(?!\w)
    | (?:(?P<y6>(?:[0-9]{{4}}|[〇零一二三四五六七八九]{{4}}))[ ]?年[ ]?)?
      (?P<m6>{_CHINESE}{{1,3}})[ ]?月(?:[ ]?(?P<d6>{_CHINESE}{{1,3}})[ ]?[日号])?)
    """,
    re.VERBOSE,
)
_DIGIT = re.compile(r"[0-9]")
_BETWEEN = re.compile(r"[-/.](?=[0-9])")
_RUN = re.compile(r"\w+")
_DIGITS = {char: index for index, char in enumerate("零一二三四五六七八九")} | {"〇": 0}


def dates(folded: str) -> tuple[Dated, ...]:
    """Return the dates of a folded text in order.

    >>> dates("the lease starts on march 14, 2026.")[0].readings
    (Date(year=2026, month=3, day=14),)
    """
    if not _can_hold(folded):
        return ()
    found: list[Dated] = []
    for match in _DATE.finditer(folded):
        readings = () if _is_modal(match, folded) else _readings(match)
        if readings:
            found.append(Dated(match.group(), readings, match.start(), match.end()))
    return tuple(found)


def _can_hold(folded: str) -> bool:
    """Say whether a text can hold a date: most cannot, which is told without trying each place."""
    if "月" in folded:
        return True
    if _DIGIT.search(folded) is None:
        return False
    return _BETWEEN.search(folded) is not None or not MONTHS.keys().isdisjoint(_RUN.findall(folded))


def _is_modal(match: re.Match[str], folded: str) -> bool:
    """Say whether a day before *may* is a number before the verb: children aged 12 may enter, but not on 12 may."""
    if match["m4"] != "may" or match["y4"]:
        return False
    if _DAY_BEFORE_MAY.search(folded, max(0, match.start() - 12), match.start()):
        return False
    return not match.group().startswith(_ORDINAL_DAY) and _VERB.match(folded, match.end()) is not None


_DAY_BEFORE_MAY = re.compile(r"(?<!\w)(?:on|the|from|by|until|till|since|before|after|of|and|between|dated) \Z")
_ORDINAL_DAY = tuple(f"{day}{ending}" for day in range(1, 32) for ending in ("st", "nd", "rd", "th"))
_VERB = re.compile(
    r" (?!(?:a[nst]?|the|and|or|in|of|on|to|for|from|with|by|until|is|was|were|it|he|she|they|we|this)\b)[a-z]"
)


def _readings(match: re.Match[str]) -> tuple[Date, ...]:
    get = match.groupdict()
    if get["y1"]:
        return (Date(int(get["y1"]), int(get["m1"]), int(get["d1"])),)
    if get["a"]:
        return _both_ways(int(get["a"]), int(get["b"]), get["y2"])
    for number in "345":
        name = get.get(f"m{number}")
        if name:
            year, day = get.get(f"y{number}"), get.get(f"d{number}")
            return (Date(int(year) if year else None, MONTHS[name], int(day) if day else None),)
    month = chinese_number(get["m6"] or "")
    day_number = chinese_number(get["d6"]) if get["d6"] else None
    if month is None or not 1 <= month <= 12:  # noqa: PLR2004 - months of a year
        return ()
    year_text = "".join(str(_DIGITS.get(char, char)) for char in get["y6"] or "")
    return (Date(int(year_text) if year_text else None, month, day_number),)


def _both_ways(first: int, second: int, year_text: str) -> tuple[Date, ...]:
    year = int(year_text)
    if len(year_text) == 2:  # noqa: PLR2004 - 26 is 2026, 87 is 1987
        year += 2000 if year < 70 else 1900  # noqa: PLR2004 - as POSIX reads two digits, near enough
    ways = [Date(year, month, day) for day, month in ((first, second), (second, first))]
    return tuple(dict.fromkeys(way for way in ways if way.month is not None and way.month <= 12))  # noqa: PLR2004 - months


def chinese_number(text: str) -> int | None:
    """Return the value of digits or of a Chinese numeral below ten thousand, or None where it is none.

    >>> chinese_number("十二"), chinese_number("三百零五"), chinese_number("14")
    (12, 305, 14)
    """
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    total, digit = 0, None
    for char in text.replace("廿", "二十").replace("两", "二"):
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in "十百千":
            total += (1 if digit is None else digit) * {"十": 10, "百": 100, "千": 1000}[char]
            digit = None
        else:
            return None
    return total + (digit or 0)


def agree(claimed: Date, told: Date) -> bool:
    """Say whether two dates can be one: every part that both tell is equal, and they share a part.

    >>> agree(Date(2026, 3, None), Date(2026, 3, 14)), agree(Date(2026, 3, 15), Date(2026, 3, 14))
    (True, False)
    """
    shared = [(a, b) for a, b in zip(claimed, told, strict=True) if a is not None and b is not None]
    return bool(shared) and all(a == b for a, b in shared)
