"""Numbers that a text names, with units, currencies, percent and scale words: 30 is thirty is 30.0, 5 mg is not 5 g.

Dates are read first (``dates.py``), so that a day of a month is no number; which numbers decide is said in
``checks.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import re2

from spancheck_pipeline.grading.support.dates import Dated, chinese_number, dates
from spancheck_pipeline.grading.support.lexicon import LEXICON, by_word


class Quantity(NamedTuple):
    """One number of a text, in each of its readings."""

    text: str
    values: tuple[float, ...]
    """In base units of the dimension; ``1.500`` has two readings."""
    dimension: str | None
    """``percent``, ``currency:usd``, ``mass`` …; None for a bare number."""
    noun: str
    """The word after a bare number, else empty."""
    is_word: bool
    """Whether it is small and written out (*two reasons*), or a bare digit: it counts only against one of its noun."""
    slack: float
    """By how much it may be off, as a share of it: what the text says is about, nearly, over … so many, or a share."""
    is_in_name: bool
    """Whether a letter follows at once (401k, 12(a)): such a number can be told, but a claim's is no number."""
    start: int
    end: int
    """Half-open, in code points of the folded text."""


_TENS = {word: int(value) for word, value in by_word("tens").items()}
_SMALL = {word: int(value) for word, value in by_word("small_numbers").items()}
_SMALL |= {
    unit + joint + ten: value + _TENS[ten]
    for joint, units, tens in LEXICON["joined_numbers"]
    for value, unit in enumerate(units.split(), start=1)
    for ten in tens.split()
    if unit != "-"
}
"""Numbers below twenty, and those below a hundred that a language writes as one word: einundzwanzig, eenentwintig."""
_COUNTING = {word: int(value) for word, value in by_word("numbers_before_nouns").items()}
"""Words that are numbers only before some nouns: Italian *due anni*, but English *due date*."""
_COUNTED = "|".join(LEXICON["nouns_after_numbers"].split())
_SHARES = {word: int(value) for word, value in by_word("shares").items()}
_COUNTS = {word: int(value) for word, value in by_word("share_counts").items()}
_SCALES = {word: float(value) for word, value in by_word("scales").items()}
_CURRENCY = by_word("currencies", divided_by="|")
UNITS = {
    name: (dimension, float(factor))
    for dimension, factors in LEXICON["units"].items()
    for factor, names in factors.items()
    for name in names.split("|")
}


def _any_of(names: Iterable[str]) -> str:
    """Return a pattern of the names, longest first, so that ``mg`` is not read as ``m``; by first letter, for speed."""
    by_letter: dict[str, list[str]] = {}
    for name in sorted(names, key=len, reverse=True):
        by_letter.setdefault(name[0], []).append(re.escape(name[1:]))
    return "|".join(f"{re.escape(letter)}(?:{'|'.join(tails)})" for letter, tails in by_letter.items())


_BELOW_TEN = rf"(?:[- ]|[- ](?:et|e|y)[- ])(?:{_any_of(_SMALL)}|une?|uno|um)(?!\w)"
_BELOW_100 = rf"(?:{_any_of(_TENS)})(?:{_BELOW_TEN})?|(?:{_any_of(_SMALL)})"
"""Thirty, thirty-five, five, vingt et un; but *nine and ten* are two numbers."""
_COUNTING_NOUN = rf"(?:{'|'.join(_COUNTING)})(?=[ ](?:{_COUNTED})(?!\w))"
_HALVES = tuple(word for word, below in _SHARES.items() if below == 2)  # noqa: PLR2004 - one of two
_OF = r"of|the|der|des|du|de|del|di|dei|do|da|dos|van"
_SHARE = (
    rf"(?<!first[ ])(?<!second[ ])(?<!latter[ ])(?<!other[ ])(?<!better[ ])(?<!\w)(?:"
    rf"(?:(?:{'|'.join(_COUNTS)})[- ])(?:{_any_of(_SHARES)})(?=[ ](?:{_OF})(?!\w)|s(?!\w))s?"
    rf"|(?:{'|'.join(_HALVES)})(?=[ ](?:{_OF})(?!\w)))"
)
"""A third of, two-thirds, half of the: but not the third of May, nor the first half of the year."""
_BIG = _any_of(_SCALES)
_ROUGHLY = (
    "about", "approximately", "around", "roughly", "nearly", "almost", "over", "more[ ]than", "some", "circa", r"ca\.?",
    r"approx\.?", "etwa", "rund", "environ", "unos",
)  # fmt: skip
_CODES = (
    "usd", "eur", "gbp", "chf", "cad", "aud", "jpy", "inr", "cny", "rmb", "sek", "nok", "dkk", "pln", "mxn", "brl",
    "krw", "zar", "sgd", "hkd", "nzd",
)  # fmt: skip
_SINGLE = "decade|fortnight|dozen|hundred|thousand|million|billion|trillion"
_WORD_START = (
    _any_of({word.rstrip(r"\.?")[:3] for word in (*_SMALL, *_TENS, *_ROUGHLY, *_CODES, *_COUNTING, *_HALVES)})
    + rf"|(?:{'|'.join(_COUNTS)})[-\x20](?:{'|'.join(_SHARES)}|{_SINGLE})"
)
_DOLLARS = r"(?:us|a|ca?|nz|hk|r)\$"
_NUMBER = re.compile(
    rf"""
    (?=[\d~≈$€£¥₹₽½¼¾⅓⅔⅛〇零一二三四五六七八九十百千两-]|{_DOLLARS}|(?<!\w)(?:{_WORD_START}))   # where one can start
    (?P<rough>(?:(?<!\w)(?:{"|".join(_ROUGHLY)})[ ]|~[ ]?|≈[ ]?))?
    (?:(?P<before>{_DOLLARS}|[$€£¥₹₽]|(?<!\w)(?:{"|".join(_CODES)}))[ ]?)?
    (?:
        (?P<clock>(?<![\d:.,])(?:[01]?\d|2[0-4])(?::[0-5]\d(?![\d:])(?:[ ]?[ap]\.?m\b)?|[ ]?[ap]\.?m\b))
      | (?P<sign>(?<![\w)])-)?
        (?P<digits>(?<![A-Za-z_\d.])\d+(?:['\u202f]\d{{3}}(?!\d)|[.,]\d+)*(?:[ ]\d{{3}}(?!\d))*)
        (?P<part>[½¼¾⅓⅔⅛]|[ ]?\d/\d(?![\d/]))?
        (?P<super>[⁰¹²³⁴-⁹]+|/\d{{1,2}}(?![\d/]))?
      | (?P<alone>[½¼¾⅓⅔⅛])
      | (?P<share>{_SHARE})
      | (?<!\w)(?P<half>half[ ]an?)(?!\w)
      | (?<!\w)(?P<single>an?)(?=[ ](?:{_SINGLE})(?!\w))
      | (?<!\w)(?P<words>{_COUNTING_NOUN}
          | (?:{_BELOW_100})(?:[- ](?:hundred|hundert|cent)(?:[- ](?:and[ ])?(?:{_BELOW_100}))?)?)(?!\w)
      | (?P<cjk>[〇零一二三四五六七八九十百千两]+)(?=[ ]?(?:年|个?月|日|天|元|円|周|小时|万|亿|億|%|岁|人|次|倍))
    )
    (?P<ordinal>(?:st|nd|rd|th)(?!\w))?
    (?P<and_half>[ ]and[ ]a[ ]half(?!\w))?
    (?:[ -]?(?P<scales>(?:(?:{_BIG})(?![a-zа-я])[ -]?)+))?
    (?:[ ]?\(\d+\))?
    (?:[ -]?(?P<after>(?:{_any_of([*UNITS, *_CURRENCY])})(?![a-zа-яß²³])))?
    """,
    re.VERBOSE,
)
_ASCII_DIGIT = re.compile(r"[0-9]")
_CAN_BE = re.compile(r"[\d½¼¾⅓⅔⅛〇零一二三四五六七八九十百千两]")
_RUN = re.compile(r"\w+")
_NUMBER_WORDS = frozenset({*_SMALL, *_TENS})
_MAY_SPELL = re2.compile(rf"(?:^|[^a-z])(?:{'|'.join(sorted(_NUMBER_WORDS))})(?:$|[^a-z])")
_IN_WORDS = (
    rf"(?:{'|'.join(_COUNTING)}) (?:{_COUNTED})|an? (?:{_SINGLE})|half an?|"
    rf"(?:{'|'.join(_COUNTS)})[- ](?:{'|'.join(_SHARES)})|"
    rf"(?:{'|'.join(_HALVES)}) (?:{_OF})"
)
_MAY_SHARE = re2.compile(_IN_WORDS)
_MAY_SAY = re2.compile(rf"(?:^|[^a-z])(?:{'|'.join(sorted(_NUMBER_WORDS))})(?:$|[^a-z])|{_IN_WORDS}")
"""What RE2 tells many times faster of most texts: that no number is written out there."""
_PARTS = {"½": 1 / 2, "¼": 1 / 4, "¾": 3 / 4, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 1 / 8}
_NEXT_WORD = re.compile(r"[ -]?([^\W\d_]{3,30})")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_ENUMERATION = re.compile(r"[ ]?[.)](?:\s|\Z)")
_SMALL_WORD = 12


def quantities(folded: str, named: Sequence[Dated] | None = None) -> tuple[Quantity, ...]:
    """Return the numbers of a folded text in order, dates left out, but for their years.

    ``named`` are its dates, where they were read already.

    >>> [(q.values, q.dimension) for q in quantities("about $2.5 million, 1,5 prozent, thirty (30) days")]
    [((2500000.0,), 'currency:usd'), ((1.5,), 'percent'), ((2592000.0,), 'time')]
    """
    can_be = _ASCII_DIGIT if folded.isascii() else _CAN_BE
    if can_be.search(folded) is None and not _says_a_number(folded):
        return ()
    found = []
    at = 0
    named = dates(folded) if named is None else named
    for dated in named:
        found += _between(folded, at, dated.start)
        at = dated.end
    found += _between(folded, at, len(folded))
    years = {reading.year for dated in named for reading in dated.readings if reading.year}
    return (*found, *(_year(year) for year in sorted(years)))


def _says_a_number(folded: str) -> bool:
    """Say whether a text without digits may name a number, or a share."""
    encoded = folded.encode("utf-8", "replace")
    return _MAY_SAY.search(encoded) is not None and (_spells(folded) or _MAY_SHARE.search(encoded) is not None)


def _spells(folded: str) -> bool:
    """Say whether any word of a text is a number's."""
    if _MAY_SPELL.search(folded.encode("utf-8", "replace")) is None:
        return False
    return not _NUMBER_WORDS.isdisjoint(_RUN.findall(folded))


def may_count(word: str) -> bool:
    """Say whether a folded word is a number in digits or a small one in words."""
    return word[0].isdigit() or word in _NUMBER_WORDS


def _year(year: int) -> Quantity:
    return Quantity(
        text=str(year), values=(float(year),), dimension=None, noun="", is_word=False, slack=0.0, is_in_name=False,
        start=0, end=0,
    )  # fmt: skip


def _between(folded: str, start: int, end: int) -> list[Quantity]:
    part = folded[start:end]
    found: list[Quantity] = []
    ends: list[int] = []
    for match in _NUMBER.finditer(part):
        if match.group("digits") and match.start() == 0 == start and _ENUMERATION.match(part, match.end("digits")):
            continue
        quantity = None if _points_at_passage(match, part) else _quantity(match, part, start)
        if quantity is None:
            continue
        if found and part[ends[-1] : match.start()].strip() in _RANGE_SIGNS:
            found[-1] = _with_unit_of(found[-1], quantity)
            quantity = _with_century_of(quantity, found[-1])
        found.append(quantity)
        ends.append(match.end())
    return found


_RANGE_SIGNS = frozenset({"-", "to", "and", "or", "bis", "und", "à", "a", "y", "или", "до", "至", "到"})


_AFTER_LETTER = re.compile(r"[a-z]-\Z")
_POINTS_AT = re.compile(
    r"(?<!\w)(?:passages?|contexts?|references?|sources?|documents?|citations?|results?|snippets?|according to|id) \Z"
)


def _points_at_passage(match: re.Match[str], text: str) -> bool:
    """Say whether digits only point at a passage (passage 3), and count nothing."""
    if not match.group("digits"):
        return False
    return _POINTS_AT.search(text, max(0, match.start() - 17), match.start()) is not None


_LETTER_FOLLOWS = re.compile(r"[a-z]|\([a-z]\)")


def _is_in_name(match: re.Match[str], text: str) -> bool:
    """Say whether digits are part of a name: 4700u, 401(k)."""
    if not match.group("digits") or not text[match.end() - 1].isdigit():
        return False
    return _LETTER_FOLLOWS.match(text, match.end()) is not None


def _with_century_of(second: Quantity, first: Quantity) -> Quantity:
    """Return the second year of 2018-19 in full."""
    year, short = first.values[0], second.values[0]
    is_year, is_short = 1000 <= year <= 2100, 0 <= short < 100  # noqa: PLR2004 - years, and two digits of one
    if first.dimension or second.dimension or not (is_year and is_short):
        return second
    return second._replace(values=(year // 100 * 100 + short, short))


def _with_unit_of(first: Quantity, second: Quantity) -> Quantity:
    """Return the first number of a range in the unit that stands after the second: 3-5 years."""
    if first.dimension is not None or second.dimension is None or not second.values:
        return first
    match = _NUMBER.match(second.text)
    bare = _values(match)[0] if match and _values(match) else 0.0
    factor = second.values[0] / bare if bare else 1.0
    return first._replace(values=tuple(value * factor for value in first.values), dimension=second.dimension)


def _quantity(match: re.Match[str], text: str, offset: int) -> Quantity | None:
    values = _values(match)
    if not values:
        return None
    scales = match.group("scales")
    scale = math.prod(_SCALES[name] for name in re.findall(_BIG, scales)) if scales else 1.0
    before, after = match.group("before"), match.group("after")
    dimension, factor = None, 1.0
    if match.group("clock"):
        dimension = "time of day"
    elif match.group("share"):
        dimension = "percent"
    elif before:
        dimension = f"currency:{_CURRENCY[before]}"
        if after == "m":
            scale *= 1e6
    elif after in _CURRENCY:
        dimension = f"currency:{_CURRENCY[after]}"
    elif after is not None:
        dimension, factor = UNITS[after]
    following = None if after else _NEXT_WORD.match(text, match.end())
    return Quantity(
        text=match.group().strip(),
        values=tuple(value * scale * factor for value in values),
        dimension=dimension,
        noun=following.group(1) if following else "",
        is_word=bool(match.group("share"))
        or (dimension is None and scale == 1 and _is_weak(match, values[0], following is not None)),
        slack=_slack(is_rough=bool(match.group("rough")), is_share=bool(match.group("share"))),
        is_in_name=_is_in_name(match, text),
        start=offset + match.start(),
        end=offset + match.end(),
    )


_ROUGH, _ROUGH_SHARE = 0.05, 0.15


def _slack(*, is_rough: bool, is_share: bool) -> float:
    """Return how far a number may be off: a third is 33 %, and about a fifth may well be 17 %."""
    if is_rough and is_share:
        return _ROUGH_SHARE
    return _ROUGH if is_rough or is_share else 0.0


def _is_weak(match: re.Match[str], value: float, has_noun: bool) -> bool:
    if match.group("words"):
        return value <= _SMALL_WORD
    if _AFTER_LETTER.search(match.string, max(0, match.start() - 2), match.start()):
        return True  # covid-19
    return not has_noun and 0 <= value < 10 and value == int(value)  # noqa: PLR2004 - a bare digit: "part 1", "n > 2"


def values_of(text: str) -> tuple[float, ...]:
    """Return the values of the number that a folded text opens with, before its unit and scale."""
    match = _NUMBER.match(text)
    return _values(match) if match else ()


def _values(match: re.Match[str]) -> tuple[float, ...]:
    extra = 0.5 if match.group("and_half") else 0.0
    if match.group("digits"):
        return _values_of_digits(match, extra)
    if match.group("clock"):
        return (_minutes(match.group("clock")),)
    if match.group("cjk"):
        value = chinese_number(match.group("cjk"))
        return () if value is None else (float(value),)
    if match.group("alone"):
        return _as_share((_PARTS[match.group("alone")],))
    return (_value_in_words(match) + extra,)


def _value_in_words(match: re.Match[str]) -> float:
    if match.group("share"):
        return _share(match.group("share"))
    if match.group("words"):
        return _spelled(match.group("words"))
    return 0.5 if match.group("half") else 1.0


def _values_of_digits(match: re.Match[str], extra: float) -> tuple[float, ...]:
    values = tuple(value + extra for value in _readings(match.group("digits")))
    if part := match.group("part"):
        sign = part.strip()
        beside = _PARTS[sign] if sign in _PARTS else int(sign[0]) / int(sign[2]) if int(sign[2]) else 0.0
        values = tuple(value + beside for value in values)
    top = match.group("super") or ""
    if top.startswith("/"):
        below = int(top[1:])
        values = _as_share(tuple(value / below for value in values if below))
    elif top:
        power = int(top.translate(_SUPERSCRIPTS))
        is_prose = power <= 30  # noqa: PLR2004 - beyond is an overflow
        values = tuple(value**power for value in values if is_prose and value < 1e6)  # noqa: PLR2004 - as above
    return tuple(-value for value in values) if match.group("sign") else values


def _as_share(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return what a fraction can mean, 2/3 of a cup or 2/3 of the members: itself, and what it is in percent."""
    return (*values, *(value * 100 for value in values if 0 < value < 1))


def _share(text: str) -> float:
    """Return a share in words as percent."""
    first, _, last = text.replace("-", " ").rpartition(" ")
    return 100 * (_COUNTS[first] if first else 1) / _SHARES[last if last in _SHARES else last[:-1]]


def _minutes(clock: str) -> float:
    """Return a time of day in minutes after midnight: 5 pm is 17:00."""
    parts = re.findall(r"\d+", clock)
    hour, minute = int(parts[0]), int(parts[1]) if len(parts) > 1 else 0
    if "p" in clock and hour < 12:  # noqa: PLR2004 - hours of half a day
        hour += 12
    if "a" in clock and hour == 12:  # noqa: PLR2004 - as above
        hour = 0
    return hour * 60.0 + minute


def _readings(digits: str) -> tuple[float, ...]:
    """Return what digits with points and commas can mean: ``2,500`` is 2500, ``1,5`` is 1.5, ``1.500`` is either."""
    if len(digits) > 40:  # noqa: PLR2004 - no number that prose compares
        return ()
    bare = digits.replace("'", "").replace("\u202f", "").replace(" ", "")
    signs = [char for char in bare if char in ".,"]
    if not signs:
        return (float(bare),)
    last = max(bare.rfind("."), bare.rfind(","))
    tail = bare[last + 1 :]
    whole = float(re.sub("[.,]", "", bare))
    point = float(re.sub("[.,]", "", bare[:last]) + "." + tail)
    if len(set(signs)) == 2:  # noqa: PLR2004 - both signs: the last one is the decimal one
        return (point,)
    if len(signs) > 1:
        return (whole,)
    if len(tail) != 3 or bare[:last] == "0":  # noqa: PLR2004 - three digits make a group
        return (point,)
    return (whole,) if signs[0] == "," else (point, whole)


def _spelled(text: str) -> float:
    total, current = 0.0, 0.0
    for word in re.split(r"[- ]", text.replace("quatre-vingt", "quatrevingt")):
        if word in {"hundred", "hundert", "cent"}:
            current = (current or 1) * 100
        else:
            current += _SMALL.get(word) or _TENS.get(word) or _COUNTING.get(word) or _COUNTS.get(word, 0)
    return total + current
