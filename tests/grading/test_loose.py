"""Loose reading: hyphens at line ends that may be part of their words or not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.text import fold_loosely
from spancheck_pipeline.grading.loose import Hyphens, Loose


def found(quote, passage):
    reading = Loose.of(fold_loosely(passage))
    span = reading.span_of(fold_loosely(quote).text)
    if span is None:
        return None
    place = reading.original(*span)
    return passage[place.start : place.end]


def test_a_line_end_is_a_hyphen_or_none_as_the_quote_has_it():
    passage = "The termi-\nnation of a long-\nterm lease."
    assert found("the termination of a long-term lease", passage) == passage[:-1]


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("a long-\nterm lease", "a long-term lease"),
        ("the termi- nation date", "the termination date"),
        ("pre- and post-war rents", "pre-\nand post-war rents"),
        ("The tenant pays", "<b>T</b>he tenant pays"),
        ("rent - if any - is due", "rent\n– if any – is due"),
        ("rent and tax - if any - is due", "\n- rent and\n- tax - if any\n- is due"),
    ],
)
def test_the_same_words_with_other_line_ends_are_found(quote, passage):
    assert found(quote, passage) is not None


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("the recreation area", "the re-creation area"),
        ("the re-creation area", "the recreation area"),
        ("nation of the lease", "termi-\nnation of the lease"),
        ("of the termi", "of the termi-\nnation"),
        ("a longterm lease", "a long term lease"),
        ("the rent if any", "the rent - if any"),
        ("the rent - if any", "the rent if any"),
    ],
)
def test_a_real_hyphen_is_never_taken_away_and_no_word_torn(quote, passage):
    assert found(quote, passage) is None


@given(st.text("ab-\0 ", max_size=40), st.data())
def test_a_place_without_hyphens_is_a_place_with_them(text, data):
    hyphens = Hyphens(text)
    if not hyphens.text:
        return
    start = data.draw(st.integers(0, len(hyphens.text) - 1))
    end = data.draw(st.integers(start + 1, len(hyphens.text)))
    span = hyphens.original(start, end)
    assert Hyphens(text[span.start : span.end]).text == hyphens.text[start:end]
