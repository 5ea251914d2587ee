"""The plain form of a text at the same offsets, and the language of a text."""

from __future__ import annotations

import pytest

from spancheck_pipeline.grading.language import flatten, language_of


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
