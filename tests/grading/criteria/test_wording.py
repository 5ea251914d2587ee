"""Presence, absence and identity of texts and days."""

from __future__ import annotations

import pytest

from spancheck_pipeline.grading.criteria.wording import holds_exactly, holds_text, lacks_text, names_day
from spancheck_pipeline.grading.score import Outcome

MONTH_FIRST = {"order": "month_first", "other_order": False}


def test_presence_minds_neither_case_nor_white_space():
    assert holds_text("Payable\n  MONTHLY\u00a0in advance", "monthly in").code == "held"
    assert holds_text("Payable weekly", "monthly").code == "text_missing"


def test_presence_takes_composed_and_decomposed_letters_for_the_same():
    assert holds_text("Cafe\u0301", "CAFÉ").code == "held"


def test_absence_is_presence_turned_round():
    assert lacks_text("Payable MONTHLY", "monthly").code == "text_present"
    assert lacks_text("Payable weekly", "monthly").code == "held"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("Ref. AB-7 / x", "held"),
        ("Ref. AB-7\n/ x", "held"),
        ("ref. ab-7 / x", "other_case"),
        ("AB-8 / x", "text_missing"),
    ],
)
def test_identity_minds_every_letter_and_collapses_white_space_only(answer, code):
    assert holds_exactly(answer, "AB-7  / x").code == code


def test_identity_tells_composed_from_decomposed_letters():
    assert holds_exactly("Cafe\u0301", "Café").code == "other_case"


@pytest.mark.parametrize(
    "text",
    [
        "2019-03-14", "03/14/2019", "03-14-2019", "14 March 2019", "Mar. 14, 2019", "2019/03/14", "3/14/19",
        "on 14 March\n2019.", "```\n03/14/2019\n```", "1. item\n   - 3/14/2019", "| Date | 03/14/2019 |",
    ],
)  # fmt: skip
def test_a_day_is_present_in_whatever_format(text):
    held = names_day(text, "2019-03-14", **MONTH_FIRST)

    assert held.outcome is Outcome.PASS
    assert held.span is not None


def test_a_slash_date_is_read_month_first_and_never_as_another_day():
    assert names_day("04/02/2019", "2019-04-02", **MONTH_FIRST).code == "held"
    assert names_day("04/02/2019", "2019-02-04", **MONTH_FIRST).code == "other_date"
    assert names_day("04/02/2019", "2019-02-04", order="day_first", other_order=False).code == "held"


def test_dates_are_compared_as_days_and_not_as_texts():
    assert names_day("The text 2019-03-14 is not the day", "2019-03-15", **MONTH_FIRST).code == "other_date"
    assert names_day("v2019-03-14.5", "2019-03-14", **MONTH_FIRST).code == "date_missing"


def test_another_order_is_tried_only_where_allowed_and_the_finding_says_so():
    assert names_day("14/03/2019", "2019-03-14", **MONTH_FIRST).code == "date_missing"
    held = names_day("14/03/2019", "2019-03-14", order="month_first", other_order=True)
    assert held.reason == "The answer names 2019-03-14 when read the other way round: month first it is no day."


def test_a_target_that_is_no_day_in_the_suites_order_is_unmeasured_and_not_guessed():
    held = names_day("14 March 2019", "14/03/2019", **MONTH_FIRST)

    assert (held.outcome, held.code) == (Outcome.UNMEASURED, "date_order")
    assert names_day("14 March 2019", "14/03/2019", order="day_first", other_order=False).code == "held"
