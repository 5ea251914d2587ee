"""Citation accuracy: the ladder, claims, support, and what the citations of an answer add up to."""

import gc
import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline.evidence.citation import Citation
from spancheck_pipeline.evidence.run import CapturedRow, Output, normalize
from spancheck_pipeline.evidence.text import fold
from spancheck_pipeline.grading.grader import Evidence, spec_of
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy, verify_citation
from spancheck_pipeline.grading.score import Outcome
from tests import scenario

LEASE = "Either party may end the lease with 30 days written notice, except during the first year."
BILLS = "Invoices are payable within 45 days of receipt. Late payments incur a fee of 1.5% per month."
BOTH = [{"source_id": "lease", "text": LEASE}, {"source_id": "bills", "text": BILLS}]


def verdict(quote, contexts=BOTH, source=None, **settings):
    return verify_citation(
        {"quote": quote, "source_id": source, "claim": settings.pop("claim", quote)}, contexts, **settings
    )


def score(answer="", contexts=BOTH, citations=(), grader=None, **fields):
    output = normalize({"answer": answer, "contexts": contexts, "citations": list(citations), **fields})
    of = scenario.case()
    row = CapturedRow(case_id=of.id, question_digest="0" * 64, output=output)
    return (grader or CitationAccuracy()).grade(Evidence(case=of, output=output, row=row))


def test_a_quote_that_is_there_and_carries_its_claim_is_ok():
    found = verdict("Invoices are payable within 45 days of receipt", source="bills")
    assert (found.provenance, found.ok, found.source_id, found.source_start, found.source_end) == (
        "exact", True, "bills", 0, 46,
    )  # fmt: skip


LADDER = [
    ("INVOICES are  payable within 45 days", None, "typographic"),
    ("“Invoices are payable within 45 days”", None, "typographic"),
    ("Either party may end … with 30 days written notice", None, "elided"),
    ("Invoices are payable within 45 days of receipt", "lease", "misattributed"),
    ("Invoices are payable within 45 days of receipt", "nowhere", "misattributed"),
    ("Invoices are payable within 60 days of receipt", None, "altered"),
    ("Invoices are not payable within 45 days of receipt", "bills", "altered"),
    ("written notice", None, "too_short"),
    ("The landlord mows the lawn every spring", None, "fabricated"),
    ("The landlord mows the lawn every spring", "lease", "fabricated"),
    ("The landlord mows the lawn every spring", "nowhere", "dangling"),
    ("a fee ... payable within 45 days", None, "fabricated"),
    (None, "lease", "passage"),
    (None, "nowhere", "dangling"),
]


@pytest.mark.parametrize(("quote", "source", "grade"), LADDER)
def test_the_ladder(quote, source, grade):
    assert verdict(quote, source=source, claim="Any claim.").provenance == grade


@pytest.mark.parametrize(
    ("quote", "passage", "grade"),
    [
        ("30 days written notice is enough", "A total of 130 days written notice is enough.", "altered"),
        ("5 degrees outside right now", "It is -5 degrees outside right now.", "altered"),
        ("the tenant can sublet the flat", "the tenant can’t sublet the flat", "altered"),
        ("the deposit is refundable in full", "the deposit is non-refundable in full", "altered"),
        ("El ano fiscal termina en junio", "El año fiscal termina en junio.", "altered"),
        ("an area of 102 square metres", "an area of 10² square metres", "altered"),
        ("The tenant is ... liable for repairs", "The tenant is not liable for repairs.", "ellipsis_hides"),
        (
            "The landlord may enter … with notice",
            "The landlord may enter only in emergencies, with notice",
            "ellipsis_hides",
        ),
        ("one two three four", "one, two, three, four", "altered"),
        ("long-term lease of the flat", "A long-\nterm lease of the flat", "typographic"),
        ("合同自一月一日起生效", "本合同自一月一日起生效。", "exact"),
        ("生效日", "合同生效日", "too_short"),
        ("किरायेदार किराया देता है", "किरायेदार किराया देता है।", "exact"),
        ("rent and utilities each month", "rent and\n- utilities each month", "typographic"),
    ],
)
def test_what_is_and_what_is_not_the_same(quote, passage, grade):
    assert verdict(quote, [passage]).provenance == grade


def test_a_quote_must_lie_in_one_passage():
    spliced = verdict("alpha beta gamma delta epsilon", ["it ends with alpha beta", "gamma delta epsilon starts it"])
    assert spliced.provenance == "fabricated"


def test_fragments_far_apart_are_two_quotes():
    far = "The rent is due monthly. " + "Other terms follow here. " * 20 + "Pets are allowed inside."
    assert verdict("The rent is due ... Pets are allowed inside", [far]).provenance == "fabricated"


def test_a_link_without_text_proves_and_disproves_nothing():
    link = {"source_id": "web", "uri": "https://example.org"}
    assert verdict("Rent includes heating and water", [*BOTH, link]).provenance == "no_evidence_text"
    named = verdict("Rent includes heating and water", [*BOTH, link], source="web")
    assert (named.provenance, named.found, named.ok) == ("no_evidence_text", None, None)
    assert verdict("Rent includes heating and water", [*BOTH, link], source="lease").provenance == "fabricated"


def test_a_quote_that_stops_before_what_qualifies_it_is_warned_about():
    cut = "end the lease with 30 days written notice"
    assert verdict(cut).warnings == ("cut_before_qualifier",)
    assert verdict(cut).ok is True
    assert verdict(cut, qualifier_cut="fail").ok is False
    assert verdict(LEASE).warnings == ()


def test_a_quote_cut_off_its_negation_does_not_carry_the_claim():
    cut = verdict(
        "liable for repairs to the roof",
        ["The tenant is not liable for repairs to the roof."],
        claim="The tenant is liable for repairs to the roof.",
    )
    assert (cut.found, cut.supported, cut.ok) == (True, False, False)
    assert "cut_after_negation" in cut.warnings


def test_offsets_that_point_elsewhere_are_told():
    citation = {
        "quote": "payable within 45 days",
        "claim": "payable within 45 days",
        "source_start": 0,
        "source_end": 9,
    }
    assert "offset_mismatch" in verify_citation(citation, [BILLS]).warnings


def test_the_earlier_names_still_work():
    found = verify_citation(
        {"claim": "Invoices are payable.", "span": "Invoices are payable within 45 days"},
        [BILLS],
        "",
        0.6,
        None,
        {"a": LEASE},
        False,
    )
    assert (found.span, found.span_found, found.claim_supported, found.scoped) == (
        "Invoices are payable within 45 days", True, True, False,
    )  # fmt: skip


def test_a_support_function_replaces_the_word_check():
    said = verify_citation(
        {"quote": "payable within 45 days", "claim": "anything at all"}, [BILLS], support_fn=lambda *_: (True, 0.9)
    )
    assert (said.supported, said.support) == (True, 0.9)


def test_the_value_is_the_share_of_citations_and_claims_that_hold():
    # Two citations hold, one is altered, one sentence has none: 2 of 4.
    answer = f"{BILLS} Notice is 90 days. Pets sleep outside."
    result = score(answer, citations=[
        {"claim": "Invoices are payable within 45 days of receipt.", "quote": "payable within 45 days of receipt"},
        {"claim": "Late payments incur a fee of 1.5% per month.", "quote": "incur a fee of 1.5% per month"},
        {"claim": "Notice is 90 days.", "quote": "end the lease with 90 days written notice"},
    ])  # fmt: skip
    assert (result.outcome, result.value, result.reason_code) == (Outcome.FAIL, 0.5, "citation_not_found")
    assert [(f.item, f.kind, f.grade) for f in result.findings] == [
        ("citation[0]", "citation", "exact"),
        ("citation[1]", "citation", "exact"),
        ("citation[2]", "citation", "altered"),
        ("claim[0]", "uncited_claim", "uncited"),
    ]
    last = result.findings[-1]
    assert answer[last.answer_start : last.answer_end] == "Pets sleep outside."


def test_uncited_claims_count_only_where_citations_are_required():
    assert score("Rent is due monthly.").outcome is Outcome.FAIL
    relaxed = score("Rent is due monthly.", grader=CitationAccuracy(require_citation=False))
    assert relaxed.outcome is Outcome.NOT_APPLICABLE


def test_an_abstention_cites_nothing():
    assert score("I don't know.").outcome is Outcome.NOT_APPLICABLE


def test_what_could_not_be_measured_decides_only_where_it_could_change_the_outcome():
    link = {"source_id": "web", "uri": "https://example.org"}
    unseen = {"claim": "Rent is due monthly.", "quote": "Rent is due every month", "source_id": "web"}
    wrong = {"claim": "Rent is due monthly.", "quote": "The landlord mows the lawn in spring", "source_id": "lease"}
    assert score("Rent is due monthly.", [*BOTH, link], [unseen]).outcome is Outcome.UNMEASURED
    assert score("Rent is due monthly.", [*BOTH, link], [unseen, wrong]).outcome is Outcome.FAIL


@pytest.mark.parametrize("citation", [{"source_id": "1"}, {"quote": "Rent is due every month"}])
def test_where_no_passage_was_recorded_nobody_can_say_what_was_not_retrieved(citation):
    result = score("Rent is due monthly.", [], [citation])
    assert (result.outcome, result.findings[0].grade) == (Outcome.UNMEASURED, "no_evidence_text")
    assert score("Rent is due monthly [1].", []).outcome is Outcome.UNMEASURED
    assert score("Rent is due monthly.", []).reason_code == "uncited_claim"
    assert verdict("so short", [], source="1").provenance == "too_short"


def test_a_marker_beside_recorded_citations_is_checked_and_its_sentence_is_not_uncited():
    answer = "Invoices are payable within 45 days of receipt [2]. Either party may end the lease [1]. Dogs bark [9]."
    recorded = [{"quote": "Invoices are payable within 45 days of receipt", "source_id": "bills"}]
    findings = [(f.item, f.grade, f.source_id, f.outcome) for f in score(answer, citations=recorded).findings]
    assert findings == [
        ("citation[0]", "exact", "bills", Outcome.PASS),
        ("marker[0]", "passage", "lease", Outcome.PASS),
        ("claim[0]", "uncited", None, Outcome.FAIL),
    ]


def test_a_marker_whose_passage_does_not_carry_its_sentence_is_no_pass():
    answer = "Invoices are payable within 45 days of receipt [2]. Pets sleep outside [1]."
    recorded = [{"quote": "Invoices are payable within 45 days of receipt", "source_id": "bills"}]
    assert score(answer, citations=recorded).reason_code == "claim_not_supported"


def test_a_reason_says_what_a_name_names():
    assert verdict("Invoices are payable within 45 days", [BILLS]).reason.startswith("The quote stands in passage 1 ")
    assert verdict("Invoices are payable within 45 days").reason.startswith("The quote stands in source bills ")


def test_markers_of_an_answer_without_citations_are_read():
    result = score("Invoices are payable within 45 days of receipt [2]. The lawn is mown weekly [7].")
    assert [f.grade for f in result.findings] == ["passage", "dangling"]


def test_a_citation_without_a_place_is_for_the_sentences_that_it_carries():
    result = score("Invoices are payable within 45 days of receipt.", citations=[{"source_id": "bills"}])
    assert result.outcome is Outcome.PASS


def test_every_setting_and_word_list_stands_in_the_spec():
    spec = spec_of(CitationAccuracy())
    assert {"support_threshold", "min_words", "qualifier_cut", "read_markers"} <= set(spec.settings)
    assert "support/lexicon.toml" in spec.data
    assert spec.digest != spec_of(CitationAccuracy(min_words=4)).digest


@pytest.mark.parametrize("wrong", [{"support_threshold": 1.5}, {"pass_threshold": -0.1}, {"min_words": 0}])
def test_a_setting_out_of_range_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        CitationAccuracy(**wrong)


@given(st.permutations([0, 1, 2]))
def test_the_order_of_citations_changes_no_value(order):
    citations = [
        {"quote": "payable within 45 days"},
        {"quote": "with 30 days written notice"},
        {"quote": "never written at all"},
    ]
    answer = "Invoices are payable within 45 days."
    assert score(answer, citations=[citations[i] for i in order]).value == score(answer, citations=citations).value


NASTY = st.text(
    st.one_of(st.sampled_from(list("a1 .,-[]()<>*_|…\"'’\n²合\u0301\u00ad\u200b%$")), st.characters()), max_size=50
)


@settings(max_examples=150)
@given(NASTY, st.lists(NASTY, max_size=3), NASTY)
def test_any_unicode_is_graded_without_a_crash_and_places_slice(quote, passages, answer):
    contexts = [{"source_id": str(index), "text": text} for index, text in enumerate(passages)]
    output = normalize({"answer": answer, "contexts": contexts, "citations": [{"quote": quote}, {"source_id": "0"}]})
    of = scenario.case()
    result = CitationAccuracy().grade(Evidence(case=of, output=output, row=scenario.row(of, output)))
    for finding in result.findings:
        if finding.source_start is not None:
            text = output.sources[finding.source_id]
            assert 0 <= finding.source_start <= finding.source_end <= len(text)
        if finding.grade in {"exact", "typographic"} and finding.source_start is not None:
            assert fold(text[finding.source_start : finding.source_end]).text or not fold(quote).text


@pytest.mark.parametrize(
    "unit", ["a", "the tenant pays rent. ", "[1] ", "…", "a ... b ", "<b>", "1,", "* a", "合同。", "not "]
)
def test_megabytes_take_no_more_time_per_character(unit):
    def per_char(size):
        text = (unit * size)[:size]
        started = time.process_time()
        verify_citation(Citation(quote=text[: size // 2] + " x y z"), [text + "!"], text)
        verify_citation(Citation(quote="the tenant ... pays all the rent"), [text + "?"], "Rent is paid.")
        return (time.process_time() - started) / size

    per_char(2000)
    assert per_char(100_000) <= 5 * max(per_char(9_999), per_char(10_000)) + 2e-6


def test_repeated_grading_is_identical():
    rng = random.Random(7)
    pieces = ["rent ", "is ", "due ", "30 ", "days ", "not ", "[1] ", "… ", "1.5% ", "Acme "]
    for _ in range(50):
        text = "".join(rng.choices(pieces, k=20))
        first = verify_citation({"quote": text[:40]}, [text], text)
        assert first == verify_citation({"quote": text[:40]}, [json.loads(json.dumps(text))], text)
        assert isinstance(Output(answer=text), Output)


@pytest.mark.parametrize(
    "answer",
    [
        "Invoices are payable within 45 days of receipt [2].\n\nReferences:\n[1] The lease of 2020\n[2] Terms of bills",
        "Invoices are payable within 45 days of receipt [bills].\n\nSources: the terms of bills, 2020",
        "As [2] says, invoices are payable within 45 days of receipt. [2] adds that late payments incur a fee of 1.5%.",
        "| What | When |\n|---|---|\n| Invoices are payable | within 45 days of receipt [2] |",
    ],
)
def test_lists_of_sources_and_headings_of_tables_are_no_claims_and_markers_may_speak(answer):
    assert score(answer).outcome is Outcome.PASS


MARKED = [
    "[1] ",
    "[1]",
    "[^1]",
    "¹",
    "<sup>[1]</sup>",
    "【1】",
    "[1], ",
    "- [1]\n",
    '<cite id="lease">',
    "[lease] ",
    "x [1] ",
]


@pytest.mark.parametrize("marker", MARKED)
def test_time_grows_no_faster_than_a_run_of_markers(marker):
    def took(n, unlike=""):  # what was read before is kept
        answer = unlike + (marker * n)[:n]
        output = normalize({"answer": answer, "contexts": [*BOTH, {"source_id": "1", "text": LEASE}]})
        gc.collect()
        gc.disable()  # a collection is the whole process's, not this answer's
        started = time.process_time()
        CitationAccuracy()._score(output, None)
        gc.enable()
        return time.process_time() - started

    took(100)
    small = min(took(1_000, f"{number} ") for number in range(3))
    assert min(took(8_000, f"{number} ") for number in range(2)) < 8 * 3 * small + 0.05


def test_one_claim_cites_a_source_once_however_often_it_is_marked():
    found = score("Invoices are payable within 45 days of receipt [2][2] [2].").findings
    assert [(finding.item, finding.source_id) for finding in found] == [("citation[0]", "bills")]
