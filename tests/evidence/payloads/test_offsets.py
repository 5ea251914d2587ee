"""Offsets of any text in any unit: to the same slice, and never moved."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.payloads.offsets import Unit, from_code_points, length_agrees, place, to_code_points
from spancheck_pipeline.evidence.word import Span

UNITS: tuple[Unit, ...] = ("code_points", "utf16", "utf8")
TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("e\u0301\u200d👩🏽‍⚖️\U00020000漢字ß שלוםaé\n"),
    ),
    max_size=40,
)


@st.composite
def slices(draw: st.DrawFn) -> tuple[str, int, int]:
    text = draw(TEXTS)
    start = draw(st.integers(0, len(text)))
    return text, start, draw(st.integers(start, len(text)))


def test_one_slice_has_three_pairs_of_offsets() -> None:
    # "é" is 1 code point, 1 UTF-16 unit, 2 bytes; "😀" is 1, 2 and 4; the slice is "😀x".
    text = "é😀x!"
    for unit, start, end in (("code_points", 1, 3), ("utf16", 1, 4), ("utf8", 2, 7)):
        assert to_code_points(text, start, end, unit) == Span(1, 3)


@given(slices())
def test_byte_utf16_and_code_point_offsets_of_a_slice_are_the_same_slice(drawn: tuple[str, int, int]) -> None:
    text, start, end = drawn
    for unit in UNITS:
        first, last = from_code_points(text, start, unit), from_code_points(text, end, unit)
        assert to_code_points(text, first, last, unit) == Span(start, end)
        assert place(text, first, last, text[start:end], unit=unit) == (Span(start, end), ())
        assert length_agrees(first, last, text[start:end], unit)


@given(slices())
def test_offsets_agree_with_what_the_encodings_themselves_say(drawn: tuple[str, int, int]) -> None:
    text, start, _ = drawn
    assert from_code_points(text, start, "utf8") == len(text[:start].encode("utf-8"))
    assert from_code_points(text, start, "utf16") == len(text[:start].encode("utf-16-le")) // 2


@given(TEXTS, st.integers(-2, 200), st.integers(-2, 200), st.sampled_from(UNITS))
def test_any_two_numbers_are_a_range_of_the_text_or_none(text: str, start: int, end: int, unit: Unit) -> None:
    span = to_code_points(text, start, end, unit)
    if span is not None:
        assert 0 <= span.start <= span.end <= len(text)
        assert from_code_points(text, span.start, unit) == start
        assert from_code_points(text, span.end, unit) == end


@given(slices(), st.integers(-3, 3), st.sampled_from(UNITS))
def test_words_that_do_not_stand_there_are_always_flagged(drawn: tuple[str, int, int], by: int, unit: Unit) -> None:
    text, start, end = drawn
    first, last = from_code_points(text, start, unit) + by, from_code_points(text, end, unit) + by
    placed = place(text, first, last, text[start:end], unit=unit)
    agrees = placed.span is not None and text[placed.span.start : placed.span.end] == text[start:end]
    assert agrees == ("offset_mismatch" not in placed.flags)
    assert placed.span == to_code_points(text, first, last, unit)  # never moved to where the words stand


def test_an_end_that_is_not_documented_takes_the_reading_that_its_words_confirm() -> None:
    for end in (17, 18):
        assert place("Notice is 30 days. More.", 0, end, "Notice is 30 days.", inclusive=None).flags == ()
    assert place("Notice is 30 days. More.", 0, 16, "Notice is 30 days.", inclusive=None).flags == ("offset_mismatch",)
    # Without words the half-open reading stands, also at the very end of the text.
    assert place("30 days", 0, 7, inclusive=None) == (Span(0, 7), ())
    assert place("30 days", 0, 8, inclusive=None) == (None, ("offset_mismatch",))


def test_an_offset_within_a_character_is_no_place() -> None:
    assert to_code_points("😀", 0, 2, "utf8") is None
    assert to_code_points("😀", 1, 2, "utf16") is None
