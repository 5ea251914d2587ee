"""The phrasebook: clauses, and what cannot be a phrase."""

from __future__ import annotations

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
