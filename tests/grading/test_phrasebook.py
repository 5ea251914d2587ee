"""The phrasebook: clauses, and what cannot be a phrase."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from spancheck_pipeline.grading.language import LANGUAGES, flatten
from spancheck_pipeline.grading.phrasebook import pattern_problem, phrasebook


def test_a_sentence_is_divided_at_connectives() -> None:
    flat = "the fee is 5 euros, but i do not know the rest; so ask"
    parts = [
        (flat[start:end].strip(" ,;"), opener) for start, end, opener in phrasebook("en").clauses(flat, (0, len(flat)))
    ]
    assert parts == [("the fee is 5 euros", "start"), ("i do not know the rest", "contrast"), ("ask", "conclude")]


def clauses(language: str, text: str) -> list[tuple[str, str]]:
    flat = flatten(text)
    found = phrasebook(language).clauses(flat, (0, len(flat)))
    return [(flat[start:end].strip(" ,;."), opener) for start, end, opener in found]


def test_what_although_opens_is_conceded_up_to_its_comma() -> None:
    assert clauses("en", "Although the date is not given, the visit was in May.") == [
        ("the date is not given", "concede"),
        ("the visit was in may", "contrast"),
    ]
    assert clauses("de", "Obwohl das Datum fehlt, war es Mai.") == [
        ("das datum fehlt", "concede"),
        ("war es mai", "contrast"),
    ]
    assert clauses("en", "Although nobody knows") == [("nobody knows", "contrast")]


def test_however_between_commas_divides_nothing() -> None:
    assert len(clauses("en", "The year, however, is not given in the text.")) == 1
    assert len(clauses("en", "The fee is due; however, it is low.")) == 2


def test_a_condition_that_a_verb_opens_declines_nothing() -> None:
    book = phrasebook("de")
    assert book.declines("enthält das protokoll keine angaben zu mängeln, gilt die wohnung als mangelfrei.") is None
    assert book.declines("dazu enthält das dokument keine angaben.") is not None


def test_an_idiom_declines_nothing() -> None:
    book = phrasebook("en")
    assert book.declines("i cannot stress enough that the filter must be cleaned.") is None
    assert book.declines("i cannot open your account.") is not None


def test_what_a_source_is_about_asserts_nothing_but_what_it_tells_does() -> None:
    book = phrasebook("en")
    assert book.is_about("the first passage discusses the roof")
    assert not book.is_about("the first passage mentions that the roof leaks")
    assert not book.is_about("the first passage mentions 12 roofs")
    assert not book.is_about("the tenant discusses the roof")


def test_a_word_that_affirms_answers_alone() -> None:
    assert phrasebook("en").is_neutral("sorry.")
    assert not phrasebook("en").is_neutral("yes.")
    assert not phrasebook("en").is_neutral("$20")


def test_a_pattern_that_cannot_run_says_why() -> None:
    assert pattern_problem("fine") is None
    assert "invalid" in str(pattern_problem("(?=x)"))


TEXTS = tomllib.loads((Path(__file__).parent / "abstention_texts.toml").read_text("utf-8"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_one_search_for_any_phrase_misses_no_phrase(language: str) -> None:
    book = phrasebook(language)
    texts = [text for group in TEXTS.get(language, {}).values() for kind in group.values() for text in kind]
    clauses = [flat[start:end] for flat in map(flatten, texts) for start, end, _ in book.clauses(flat, (0, len(flat)))]
    for clause in clauses:
        found = any(
            phrase.pattern.search(clause) for phrase in (*book.decline, *book.refuse, *book.neutral, *book.about)
        )
        assert book.knows(clause) == found, clause
    assert len(clauses) > 5
