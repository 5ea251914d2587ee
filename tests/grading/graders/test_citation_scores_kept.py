"""Scores that are kept: an output that comes back in another epoch or re-scoring is not graded anew."""

import pytest

from spancheck_pipeline.evidence.run import CapturedRow, Output, normalize
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy, _kept
from spancheck_pipeline.grading.score import Outcome
from tests import scenario

SAID = {
    "answer": "Either party may end the lease with 30 days written notice.",
    "contexts": [{"source_id": "lease", "text": "Either party may end the lease with 30 days written notice."}],
    "citations": [{"quote": "end the lease with 30 days written notice", "source_id": "lease"}],
}


def score(fields=SAID, grader=None, *, case_id="q1", epoch=0, latency_ms=None):
    output = fields if isinstance(fields, Output) else normalize(fields)
    of = scenario.case(case_id)
    row = CapturedRow(
        case_id=of.id, question_digest=of.question_digest, epoch=epoch, output=output, latency_ms=latency_ms
    )
    return (grader or CitationAccuracy()).grade(Evidence(case=of, output=output, row=row))


def test_the_same_answer_in_another_epoch_or_case_is_graded_once():
    _kept.cache_clear()
    first = score()
    assert first.outcome is Outcome.PASS
    again = [score(case_id="q2", epoch=epoch, latency_ms=float(epoch)) for epoch in range(3)]
    assert again == [first] * 3
    assert _kept.cache_info().misses == 1


CHANGES = [
    {"answer": "Either party may end the lease with 60 days written notice."},
    {"contexts": [{"source_id": "lease", "text": "The landlord repairs the roof."}]},
    {"contexts": [{"source_id": "lease"}]},
    {"contexts": [{"source_id": "other", "text": SAID["contexts"][0]["text"]}]},
    {"citations": []},
    {"citations": [{"quote": "end the lease with 60 days written notice", "source_id": "lease"}]},
    {"citations": [{"quote": "end the lease with 30 days written notice", "source_id": "deed"}]},
    {"answer": "I could not find it.", "abstained": True},
    {"answer": "…", "finish_reason": "content_filter"},
]


@pytest.mark.parametrize("change", CHANGES, ids="+".join)
def test_whatever_a_score_depends_on_tells_outputs_apart(change):
    kept = score()
    assert score({**SAID, **change}) != kept
    assert score() == kept


def test_the_systems_own_flag_tells_outputs_apart():
    unread = {**SAID, "answer": "ხელშეკრულება იდება წერილობით."}
    assert score(unread).outcome is not Outcome.NOT_APPLICABLE
    assert score({**unread, "abstained": True}).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("grader", "outcome"),
    [
        (CitationAccuracy(), Outcome.FAIL),
        (CitationAccuracy(pass_threshold=0.0), Outcome.PASS),
        (CitationAccuracy(support_threshold=0.1), Outcome.PASS),
        (CitationAccuracy(support_threshold=0.1, min_words=30), Outcome.FAIL),
    ],
)
def test_another_setting_is_another_score(grader, outcome):
    claim = "Either party may end the lease, repair roofs, mow lawns and paint walls."
    fields = {**SAID, "citations": [{**SAID["citations"][0], "claim": claim}]}
    assert score(fields, grader).outcome is outcome
    assert score(fields, grader) == grader._score(normalize(fields), None)


def test_a_function_of_ones_own_is_asked_each_time():
    asked = []

    def support(claim, evidence):
        asked.append(claim)
        return len(asked) % 2 == 0, 0.5

    grader = CitationAccuracy(support_fn=support)
    assert [score(SAID, grader).outcome for _ in range(2)] == [Outcome.FAIL, Outcome.PASS]


def test_a_long_output_is_graded_and_not_kept():
    _kept.cache_clear()
    text = SAID["contexts"][0]["text"] + " The landlord repairs the roof." * 3_000
    assert score({**SAID, "contexts": [{"source_id": "lease", "text": text}]}).outcome is Outcome.PASS
    assert _kept.cache_info().currsize == 0
