"""abstention_correct: declining exactly what has no answer."""

from __future__ import annotations

from typing import Any

import pytest

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.grading.evaluate import grade_row
from spancheck_pipeline.grading.grader import spec_of
from spancheck_pipeline.grading.graders.abstention_correct import AbstentionCorrect
from spancheck_pipeline.grading.score import Outcome, Score


def graded(answerable: bool | None, output: Any, grader: AbstentionCorrect | None = None) -> Score:
    case = Case("q1", "?", answerable=answerable)
    made = Output(answer=output) if isinstance(output, str) else Output.model_validate(output)
    row = CapturedRow(case_id="q1", question_digest=case.question_digest, output=made)
    return grade_row(grader or AbstentionCorrect(), case, row)


@pytest.mark.parametrize(
    ("answerable", "answer", "outcome", "code"),
    [
        (False, "I don't know.", Outcome.PASS, "ok"),
        (True, "The notice period is 30 days.", Outcome.PASS, "ok"),
        (True, "I don't know.", Outcome.FAIL, "wrongly_declined"),
        (False, "The notice period is 30 days.", Outcome.FAIL, "wrongly_answered"),
        (False, "I don't know the date, but it was in 2019 in Paris.", Outcome.FAIL, "wrongly_answered"),
        (True, "I don't know the date, but it was in 2019 in Paris.", Outcome.PASS, "ok"),
        (False, "", Outcome.PASS, "ok"),
        (None, "I don't know.", Outcome.NOT_APPLICABLE, "answerable_unknown"),
        (True, "ไม่พบข้อมูลนี้ในเอกสาร", Outcome.UNMEASURED, "unknown_language"),
    ],
)
def test_declining_is_right_exactly_where_there_is_no_answer(
    answerable: bool | None, answer: str, outcome: Outcome, code: str
) -> None:
    score = graded(answerable, answer)
    assert (score.outcome, score.reason_code) == (outcome, code)


def test_a_contradicted_flag_is_a_finding_and_the_text_is_graded() -> None:
    score = graded(answerable=False, output={"answer": "The deposit is 2,000 euros.", "abstained": True})
    assert score.outcome is Outcome.FAIL
    assert [(finding.item, finding.grade) for finding in score.findings] == [
        ("answer", "answered"),
        ("flag", "contradicted"),
    ]


def test_the_finding_says_where_the_declining_words_stand() -> None:
    finding = graded(answerable=False, output="Sorry, I don't know that.").findings[0]
    assert (finding.grade, finding.answer_start) == ("abstained", 7)


def test_the_phrase_files_are_part_of_the_spec() -> None:
    assert "en.toml" in spec_of(AbstentionCorrect()).data
    assert spec_of(AbstentionCorrect(patterns=("nope",))).digest != spec_of(AbstentionCorrect()).digest


def test_an_always_abstaining_system_fails_every_answerable_case() -> None:
    assert graded(answerable=True, output={"answer": "", "abstained": True}).outcome is Outcome.FAIL
