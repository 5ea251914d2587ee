"""The phrasebook: plain text at the same offsets, and the language of a text."""

from __future__ import annotations

import pytest

from spancheck_pipeline.grading.phrasebook import flatten, language_of, pattern_problem, phrasebook


def test_a_text_becomes_lower_case_and_plain_at_the_same_offsets() -> None:
    assert flatten("I DON’T **know** — that！") == "i don't   know   ; that!"


def test_a_quotation_inside_a_text_is_blanked_and_a_quoted_text_is_not() -> None:
    assert flatten("He said “yes” twice") == 'he said "   " twice'
    assert flatten("“yes”") == '"yes"'


def test_a_letter_whose_lower_case_is_longer_keeps_its_place() -> None:
    assert len(flatten("İstanbul ß ﬁ")) == len("İstanbul ß ﬁ")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the rent is due on the first", "en"),
        ("le loyer est dû le premier du mois", "fr"),
        ("договор не содержит и это так", "ru"),
        ("це є договір та він у силі", "uk"),
        ("", None),
        ("acme", None),
        ("קיים", "und-hebrew"),
    ],
)
def test_the_language_is_told_by_script_and_function_words(text: str, language: str | None) -> None:
    assert language_of(text).language == language


def test_a_sentence_is_divided_at_connectives() -> None:
    flat = "the fee is 5 euros, but i do not know the rest; so ask"
    parts = [(flat[start:end].strip(" ,;"), opener) for start, end, opener in phrasebook("en").clauses(flat, (0, len(flat)))]
    assert parts == [("the fee is 5 euros", "start"), ("i do not know the rest", "contrast"), ("ask", "conclude")]


def test_a_pattern_that_cannot_run_says_why() -> None:
    assert pattern_problem("fine") is None
    assert "invalid" in str(pattern_problem("(?=x)"))
