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
        found = any(phrase.pattern.search(clause) for phrase in (*book.decline, *book.refuse, *book.neutral))
        assert book.knows(clause) == found, clause
    assert len(clauses) > 5
