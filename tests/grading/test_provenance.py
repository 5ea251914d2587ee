"""How one quote stands in one passage, and the nearest window where it does not."""

import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from spancheck_pipeline.evidence.text import Span, fold
from spancheck_pipeline.grading.nearness import nearest_window
from spancheck_pipeline.grading.provenance import Provenance, Quote, locate, match_at, nearest
from spancheck_pipeline.grading.verified import verify_citation

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "provenance_cases.jsonl").read_text("utf-8").splitlines()
]

PIECES = st.sampled_from(
    ["rent ", "is ", "due ", "30 ", "days ", "not ", "<b>", "</b>", "*", "[1]", "&amp;", "\n- ", "’", "“", "–", "1.5",
     "合同",
     "é",
     "e\u0301", "\u00ad", "-\n", " ", "|", "(", ")", "²", "ﬁ", "\u200b", "…", "..."]
)  # fmt: skip


def test_the_same_characters_are_exact_with_their_place():
    passage = "So the rent is due monthly, always."
    match = locate(Quote.of("the rent is due"), passage)
    assert match is not None
    assert (match.grade, passage[match.span.start : match.span.end]) == (Provenance.EXACT, "the rent is due")


@given(st.lists(PIECES, min_size=1, max_size=14), st.data())
def test_a_slice_at_token_boundaries_is_found_and_its_place_folds_to_it(pieces, data):
    passage = "".join(pieces)
    start = data.draw(st.integers(0, len(passage)))
    end = data.draw(st.integers(start, len(passage)))
    quote = Quote.of(passage[start:end])
    match = locate(quote, passage)
    assume(match is not None and match.grade in {Provenance.EXACT, Provenance.TYPOGRAPHIC})
    there = fold(passage[match.span.start : match.span.end]).text
    assert Quote.of(there).bare.replace("-", "") == quote.bare.replace("-", "") or match.grade is Provenance.EXACT


@given(st.text(max_size=40), st.text(max_size=80))
def test_any_match_slices_the_passage(quote, passage):
    for match in (locate(Quote.of(quote), passage), nearest(Quote.of(quote), passage)):
        if match is not None:
            assert 0 <= match.span.start <= match.span.end <= len(passage)


@given(st.text("abcdef ", min_size=8, max_size=40), st.text("abcdef ", max_size=120))
def test_a_near_window_is_as_near_as_it_says(quote, text):
    window = nearest_window(quote, text, cutoff=0.8)
    if window is not None:
        distance = Levenshtein.distance(quote, text[window.start : window.end])
        longer = max(len(quote), window.end - window.start)
        assert window.similarity == pytest.approx(1 - distance / longer)
        assert window.similarity >= 0.8


@given(st.text("abcdefghijklmnop ", min_size=20, max_size=60), st.integers(0, 19), st.text("xyz ", max_size=50))
def test_one_changed_letter_is_always_near(quote, place, before):
    changed = quote[:place] + "#" + quote[place + 1 :]
    assert nearest_window(quote, before + changed + before, cutoff=0.8) is not None


def test_a_long_quote_is_near_when_few_of_its_words_differ():
    text = " ".join(f"word{index} of the lease" for index in range(200))
    window = nearest_window(text[100:3000].replace("word77", "sword7"), text, cutoff=0.8)
    assert window is not None
    assert window.similarity > 0.98


def test_what_differs_is_told_with_its_place():
    passage = "Invoices are payable within 45 days of receipt."
    match = nearest(Quote.of("Invoices are payable within 60 days of receipt"), passage)
    assert match is not None
    [difference] = match.differences
    assert (difference.quoted, difference.source) == ("60", "45")
    assert passage[difference.start : difference.end] == "45"


@pytest.mark.parametrize("kind", sorted({case["kind"] for case in CASES}))
def test_each_kind_of_quote_gets_its_grade_its_place_and_its_warnings(kind):
    for case in CASES:
        if case["kind"] == kind:
            assert _told(case) == (case["grade"], case.get("warnings"), case.get("slice")), case


def _told(case):
    """Return the grade, and the warnings and the marked words where the case says them."""
    citation = {"quote": case["quote"], "source_id": case.get("source_id"), "claim": "The rent is due."}
    found = verify_citation(citation, case["contexts"])
    warnings = list(found.warnings) if "warnings" in case else None
    if "slice" not in case:
        return found.provenance.value, warnings, None
    [text] = [text for text in case["contexts"] if isinstance(text, str)]
    return found.provenance.value, warnings, text[found.source_start : found.source_end]


def test_a_quote_that_stands_twice_is_placed_where_the_producer_says():
    passage = "The rent is due now. The rent is due now, unless waived."
    told = verify_citation({"quote": "The RENT is due now", "source_start": 21, "source_end": 40}, [passage])
    assert (told.source_start, told.source_end, told.warnings) == (21, 40, ("cut_before_qualifier",))
    wrong = verify_citation({"quote": "The RENT is due now", "source_start": 22, "source_end": 41}, [passage])
    assert (wrong.source_start, wrong.source_end, wrong.warnings) == (0, 19, ("offset_mismatch",))


def test_offsets_over_an_honest_ellipsis_agree_with_it():
    passage = "The rent is due now, in full."
    covering = verify_citation({"quote": "The rent … in full", "source_start": 0, "source_end": 28}, [passage])
    assert (covering.provenance, covering.warnings) == (Provenance.ELIDED, ())
    less = verify_citation({"quote": "The rent … in full", "source_start": 0, "source_end": 12}, [passage])
    assert less.warnings == ("offset_mismatch",)


@given(st.text("ab c-1.", min_size=1, max_size=30), st.integers(-3, 33), st.integers(-3, 33))
def test_what_stands_at_one_place_stands_in_the_passage(passage, start, end):
    quote = Quote.of("ab c")
    match = match_at(quote, passage, Span(start, end))
    if match is not None:
        assert locate(quote, passage) is not None
