"""Which words of an answer a citation is for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.citation import Citation
from spancheck_pipeline.evidence.claim import claim_of, claim_spans, marked_claims
from spancheck_pipeline.evidence.run import Context

ANSWER = "Notice is 30 days. Rent is due monthly. Pets are allowed."


def carried(answer, **fields):
    contexts = fields.pop("contexts", ())
    split = fields.pop("split", True)
    claim = claim_of(Citation(**fields), answer, contexts=contexts, split=split)
    return claim.text, claim.basis


def test_what_the_producer_says_comes_first():
    assert carried(ANSWER, claim="Rent is due monthly.", answer_start=0, answer_end=18) == (
        "Rent is due monthly.",
        "explicit",
    )


def test_a_claim_in_other_typography_has_its_place_all_the_same():
    answer = "So **rent** is\ndue monthly. Notice is short."
    claim = claim_of(Citation(claim="Rent is due monthly."), answer)
    assert (claim.basis, answer[claim.start : claim.end]) == ("explicit", "rent** is\ndue monthly.")
    assert claim_of(Citation(claim="Rent is paid."), answer).start is None


def test_offsets_come_next():
    assert carried(ANSWER, quote="notice of 30 days", answer_start=19, answer_end=39) == (
        "Rent is due monthly.",
        "offsets",
    )


def test_an_insertion_point_stands_for_its_sentence():
    assert carried(ANSWER, source_id="a", answer_start=39) == ("Rent is due monthly.", "offsets")


def test_markers_come_next():
    answer = "Notice is 30 days [2]. Rent is due monthly [1]."
    contexts = [Context(source_id="lease"), Context(source_id="annex")]
    assert carried(answer, source_id="annex", contexts=contexts) == ("Notice is 30 days.", "marker")


def test_a_passage_is_named_by_its_address_or_title_as_well():
    answer = "Notice is 30 days [2]. Rent is due monthly [The Lease, 2020]."
    contexts = [Context(source_id="a", title="The Lease, 2020"), Context(source_id="b", uri="https://ex.org/b")]
    assert carried(answer, source_id="https://ex.org/b", contexts=contexts) == ("Notice is 30 days.", "marker")
    assert carried(answer, source_id="a", contexts=contexts) == ("Rent is due monthly.", "marker")


def test_offsets_tear_no_word():
    assert carried(ANSWER, answer_start=1, answer_end=15) == ("Notice is 30 days", "offsets")
    assert carried("It is 3.5 kg. Yes.", answer_start=0, answer_end=7) == ("It is 3.5", "offsets")


def test_else_the_sentence_that_is_nearest_to_the_quote():
    assert carried(ANSWER, quote="rent shall be due monthly") == ("Rent is due monthly.", "nearest")


def test_else_the_whole_answer():
    assert carried(ANSWER, quote="rent shall be due monthly", split=False) == (ANSWER, "answer")


def runs(answer):
    return [
        ([name for marker in found.markers for name in marker.ids], answer[found.claim.start : found.claim.end])
        for found in marked_claims(answer)
    ]


def test_a_run_of_markers_is_for_the_words_before_it():
    assert runs("Rent is 5 [1][2], fees are 6 [3]. Late fees apply.[4]") == [
        (["1", "2"], "Rent is 5"),
        (["3"], "fees are 6"),
        (["4"], "Late fees apply.[4]"),
    ]


def test_a_marker_that_opens_its_sentence_is_for_that_sentence():
    assert runs("According to [1], rent is due monthly.") == [(["1"], "According to [1], rent is due monthly.")]


def test_a_marker_may_enclose_its_claim():
    assert runs('So <cite id="s">rent is due</cite> now.') == [(["s"], "rent is due")]


def test_a_marker_that_speaks_is_for_what_it_says():
    answer = "As [1] says, rent is due. [2] states that notice is 30 days, while [3] adds that pets are allowed."
    assert runs(answer) == [
        (["1"], "rent is due."),
        (["2"], "notice is 30 days"),
        (["3"], "pets are allowed."),
    ]


def test_markers_that_open_the_answer_lead_their_sentences():
    assert runs("[1] Rent is due. [2] Notice is 30 days.") == [
        (["1"], "Rent is due."),
        (["2"], "Notice is 30 days."),
    ]
    mixed = "[1] and [2] tell of rent. Notice is 30 days [3]. Ask for more."
    assert runs(mixed)[-1] == (["3"], "Notice is 30 days [3].")


def test_a_clause_begins_after_what_joins_it():
    assert runs("合同生效[1]，有效期三年[2]。") == [(["1"], "合同生效"), (["2"], "有效期三年")]
    assert runs("Rent is due [1] — notice is 30 days [2].")[1] == (["2"], "notice is 30 days")


def test_the_list_of_sources_is_no_claim_and_binds_no_marker():
    answer = "Rent is due monthly [1].\n\nReferences:\n[1] The lease of 2020\n[2] The annex of 2021"
    assert runs(answer) == [(["1"], "Rent is due monthly [1].")]
    assert [answer[s.start : s.end] for s in claim_spans(answer)] == ["Rent is due monthly [1]."]


def test_the_heading_of_a_table_claims_nothing():
    answer = "| Item | Value |\n|---|---|\n| Rent | 500 |"
    assert [answer[s.start : s.end] for s in claim_spans(answer)] == ["| Rent | 500 |"]


def test_headings_questions_and_lead_ins_claim_nothing():
    answer = "# Rent\nHere are the terms:\n- Rent is due monthly.\n- Notice is 30 days.\nAnything else?"
    assert [answer[s.start : s.end] for s in claim_spans(answer)] == ["- Rent is due monthly.", "- Notice is 30 days."]


@given(st.text(st.sampled_from("ab. []123\n¹,<>"), max_size=60), st.integers(0, 70))
def test_a_claim_lies_in_the_answer(answer, at):
    for fields in ({"quote": "a b c"}, {"source_id": "1"}, {"answer_start": at, "answer_end": at + 3}):
        claim = claim_of(Citation(**fields), answer)
        assert claim.start is not None
        assert 0 <= claim.start <= claim.end <= len(answer)


@pytest.mark.parametrize(
    ("answer", "claims"),
    [
        ("Sure, the deposit is $5,000.", ["Sure, the deposit is $5,000."]),
        ("Of course, the landlord must repair the roof.", ["Of course, the landlord must repair the roof."]),
        ("Thanks for asking, the tenant pays.", ["Thanks for asking, the tenant pays."]),
        ("Certainly the tenant pays the water.", ["Certainly the tenant pays the water."]),
        ("You're welcome to sublet the flat.", ["You're welcome to sublet the flat."]),
        ("Please let the landlord know within a week.", ["Please let the landlord know within a week."]),
        ("Here is the answer: pets are allowed.", ["Here is the answer: pets are allowed."]),
        ("I hope this helps: rent is 5 euros.", ["I hope this helps: rent is 5 euros."]),
        ("Hello! Sure. Sure, here is what I found. Thank you for your question.", []),
        ("I hope this helps! Let me know if you need more. I'd be happy to help.", []),
    ],
)
def test_a_courtesy_is_no_claim_and_what_follows_it_is(answer, claims):
    assert [answer[span.start : span.end] for span in claim_spans(answer)] == claims
