"""Days in texts: formats, order of day and month, what is no day, and what only looks like one."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline.evidence.dates import dates_in, read_date

DAYS = st.dates(min_value=date(1970, 1, 1), max_value=date(2068, 12, 31))
FORMATS = [
    "{0:%Y-%m-%d}", "{0:%Y/%m/%d}", "{0:%m/%d/%Y}", "{0:%m-%d-%Y}", "{0.month}/{0.day}/{0:%y}", "{0:%d.%m.%Y}",
    "{0.day} {0:%B} {0.year}", "{0:%b}. {0.day}, {0.year}", "{0:%B} {0.day}th {0.year}", "{0.day}-{0:%b}-{0:%y}",
    "the {0.day}th day of {0:%B}, {0.year}", "{0:%Y-%m-%d}T10:00:00Z",
]  # fmt: skip


def days(text: str, **settings) -> list[str]:
    return [found.day.isoformat() for found in dates_in(text, **settings)]


def test_the_usual_formats_are_one_day():
    text = (
        "2019-03-14, 03/14/2019, 03-14-2019, 14 March 2019, Mar. 14, 2019, 2019/03/14, 3/14/19, 14.03.2019, "
        "March\n14th, 2019, 14-MAR-19, the 14th of march 2019"
    )

    assert days(text) == ["2019-03-14"] * 11


def test_numbers_are_month_first_unless_a_suite_says_otherwise():
    assert days("04/02/2019 and 04-02-2019") == ["2019-04-02", "2019-04-02"]
    assert days("04/02/2019 and 04-02-2019", order="day_first") == ["2019-02-04", "2019-02-04"]


def test_a_year_that_stands_first_is_followed_by_the_month_in_every_order():
    assert days("2019/04/02", order="day_first") == ["2019-04-02"]


def test_dots_are_written_day_first_in_every_order():
    assert days("02.04.2019") == days("02.04.2019", order="day_first") == ["2019-04-02"]


def test_an_impossible_reading_is_tried_the_other_way_only_where_allowed_and_says_so():
    assert days("14/03/2019") == []
    [found] = dates_in("14/03/2019", other_order=True)
    assert (found.day, found.is_swapped) == (date(2019, 3, 14), True)
    [found] = dates_in("04/02/2019", other_order=True)
    assert (found.day, found.is_swapped) == (date(2019, 4, 2), False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("02/29/2020", ["2020-02-29"]),
        ("29 February 2019", []),
        ("02/29/1900", []),  # a century is no leap year
        ("02/29/2000", ["2000-02-29"]),  # but every fourth one is
        ("April 31, 2020", []),
        ("00/10/2020", []),
        ("13/13/2020", []),
    ],
)
def test_a_day_that_the_calendar_lacks_is_no_day(text, expected):
    assert days(text) == expected


def test_two_digits_of_a_year_are_1969_to_2068():
    assert days("3/14/68, 3/14/69, 14 Mar '70") == ["2068-03-14", "1969-03-14", "1970-03-14"]


@pytest.mark.parametrize("text", ["０３／１４／２０１９", "٠٣/١٤/٢٠١٩", "2019‑03‑14", "2019–03–14"])
def test_unicode_digits_slashes_and_dashes_are_read(text):
    assert days(text) == ["2019-03-14"]


@pytest.mark.parametrize(
    "text",
    ["v2019.03.14.5", "12-03-14-2019", "03-14-2019-7", "20190314", "March 2019", "03/14", "x03/14/2019", "1/2-2019"],
)
def test_what_only_looks_like_a_day_is_none(text):
    assert days(text) == []


def test_a_place_is_given_in_code_points_of_the_text():
    text = "🙂 due Mar. 14, 2019."
    [found] = dates_in(text)
    assert text[found.start : found.end] == "Mar. 14, 2019"


def test_days_beside_commas_and_dashes_between_two_are_read():
    assert days("2019-03-14,2019-03-15") == ["2019-03-14", "2019-03-15"]
    assert days("03/14/2019–03/20/2019") == ["2019-03-14", "2019-03-20"]


def test_a_whole_text_is_one_day_or_none():
    assert read_date(" 14 March 2019 ") == date(2019, 3, 14)
    assert read_date("14 March 2019 or later") is None
    assert read_date("2019-03-14 2019-03-14") is None


@settings(deadline=None)
@given(DAYS, st.sampled_from(FORMATS))
def test_every_day_is_read_from_every_format(day, form):
    assert days(f"It was {form.format(day)}, they say.") == [day.isoformat()]
