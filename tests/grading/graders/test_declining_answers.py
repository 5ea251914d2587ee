"""An answer that declines, by its text or by the provider's own word for it, is nobody's missing citation."""

import pytest

from spancheck_pipeline.evidence.run import CapturedRow, normalize
from spancheck_pipeline.grading.abstention import REFUSING_FINISH_REASONS
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy
from spancheck_pipeline.grading.graders.groundedness import Groundedness
from spancheck_pipeline.grading.score import Outcome
from tests import scenario

DECLINES = [
    {"answer": "I don't know."},
    {"answer": "I'm sorry, I can't help with that."},
    {"answer": "I'm sorry, I can't help with that.", "finish_reason": "refusal"},
    {"answer": "Je suis désolé, je ne peux pas vous aider.", "finish_reason": "content_filter"},
    {"answer": "ბოდიში.", "finish_reason": "refusal"},
]


@pytest.mark.parametrize("grader", [CitationAccuracy(), Groundedness()], ids=lambda grader: grader.name)
@pytest.mark.parametrize("said", DECLINES, ids=lambda said: said["answer"][:12] + said.get("finish_reason", ""))
def test_what_declines_has_nothing_to_cite_and_asserts_nothing(grader, said):
    assert grade(grader, said).outcome is Outcome.NOT_APPLICABLE


def test_a_finish_reason_that_the_text_contradicts_is_not_believed():
    said = {"answer": "The notice period is 30 days and the rent is due on Monday.", "finish_reason": "content_filter"}
    assert grade(CitationAccuracy(), said).outcome is Outcome.FAIL


def grade(grader, said):
    output = normalize({"contexts": [{"source_id": "lease", "text": scenario.PASSAGE}], **said})
    of = scenario.case()
    return grader.grade(
        Evidence(case=of, output=output, row=CapturedRow(case_id="q1", question_digest="0" * 64, output=output))
    )


@pytest.mark.parametrize("reason", sorted(REFUSING_FINISH_REASONS))
def test_every_providers_word_for_a_refusal_is_read_in_any_case(reason):
    said = {"answer": "ბოდიში.", "finish_reason": reason.upper()}
    assert grade(CitationAccuracy(), said).reason_code == "refused"


def test_what_a_query_engine_says_when_it_found_nothing_is_no_assertion():
    assert grade(CitationAccuracy(), {"answer": "Empty Response"}).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("courtesy", "n"),
    [("Gern geschehen!", 0), ("Merci pour votre question !", 0), ("Sure, the deposit is due on Monday.", 1)],
)
def test_a_courtesy_needs_no_citation_and_what_follows_one_does(courtesy, n):
    quote = "end the lease with 30 days written notice"
    said = {"answer": f"{scenario.PASSAGE} {courtesy}", "citations": [{"quote": quote, "claim": scenario.PASSAGE}]}
    found = [finding.kind for finding in grade(CitationAccuracy(), said).findings]
    assert found == ["citation", *["uncited_claim"] * n]
