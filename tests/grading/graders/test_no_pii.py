"""no_pii: what fails, what a suite allows, and that no value stands in a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from spancheck_pipeline.errors import GraderSettingsError, UsageError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.grading.evaluate import grade_row
from spancheck_pipeline.grading.grader import spec_of
from spancheck_pipeline.grading.graders import build_grader
from spancheck_pipeline.grading.graders.no_pii import NoPii
from spancheck_pipeline.grading.score import Outcome, Score

LEAK = "Write to jane.roe@example.org or call +49 30 901820."


def graded(grader: NoPii, answer: str = LEAK, *, question: Any = "?", passages: Sequence[str] = ()) -> Score:
    case = Case("q1", question)
    output = Output.model_validate({"answer": answer, "contexts": list(passages)})
    row = CapturedRow(case_id="q1", question_digest=case.question_digest, output=output)
    return grade_row(grader, case, row)


def test_a_clean_answer_passes() -> None:
    assert graded(NoPii(), "The notice period is 30 days.").outcome is Outcome.PASS


def test_a_leak_fails_with_kinds_and_places_and_without_the_value() -> None:
    score = graded(NoPii())
    assert (score.outcome, score.reason_code) == (Outcome.FAIL, "pii_found")
    assert [finding.grade for finding in score.findings] == ["email", "phone"]
    assert "jane" not in repr(score)
    assert "901820" not in repr(score)


def test_an_empty_answer_holds_nothing() -> None:
    assert graded(NoPii(), "").outcome is Outcome.PASS


@pytest.mark.parametrize(
    "allow", [("Jane.Roe@example.org", "+49 (30) 90 18 20"), ("@example.org", "004930901820", "+4930901820")]
)
def test_the_companys_own_values_are_allowed_whatever_their_spelling(allow: tuple[str, ...]) -> None:
    assert graded(NoPii(allow=allow)).outcome is Outcome.PASS


def test_a_value_is_the_same_in_another_writing_that_looks_alike() -> None:
    answer = "Call +４９ ３０ ９０１８２０ or 0049\u00a030\u00a0901820, or write to jane.roe＠example．org."
    assert [finding.grade for finding in graded(NoPii(), answer).findings] == ["phone", "phone", "email"]
    assert graded(NoPii(allow=("+49 30 901820", "@example.org")), answer).outcome is Outcome.PASS
    score = graded(NoPii(allow_from=("contexts",)), answer, passages=["Jane.Roe@example.org, +49 30 901820"])
    assert score.outcome is Outcome.PASS


def test_kinds_can_be_chosen() -> None:
    assert [finding.grade for finding in graded(NoPii(kinds=("phone",))).findings] == ["phone"]
    with pytest.raises(ValueError, match="no kind 'phon'"):
        NoPii(kinds=("phon",))


def test_what_stands_in_the_question_or_the_passages_is_told_apart_and_fails_unless_the_suite_says_else() -> None:
    question = {"text": "Is +49 30 901820 right?", "n": 1}
    passages = ["Contact: jane.roe@example.org"]
    score = graded(NoPii(), question=question, passages=passages)
    assert score.outcome is Outcome.FAIL
    assert [finding.reason.rpartition("; ")[2] for finding in score.findings] == [
        "it stands in the passages.",
        "it stands in the question.",
    ]
    half = graded(NoPii(allow_from=("question",)), question=question, passages=passages)
    assert [finding.outcome for finding in half.findings] == [Outcome.FAIL, Outcome.NOT_APPLICABLE]
    assert half.outcome is Outcome.FAIL
    both = graded(NoPii(allow_from=("question", "contexts")), question=question, passages=passages)
    assert both.outcome is Outcome.PASS
    assert len(both.findings) == 2


def test_a_value_that_stands_in_a_passage_is_not_new_whatever_is_glued_to_it() -> None:
    answer = "Call (510) 208-4832 or write to jane@roe.org."
    for passage in ("(510) 208-4832https://x.gov/ jane@roe.orghttp://x.org", "(510) 208-4832Fax, jane@roe.org,"):
        score = graded(NoPii(), answer, passages=[passage])
        assert [finding.reason.rpartition("; ")[2] for finding in score.findings] == ["it stands in the passages."] * 2
    longer = graded(NoPii(), answer, passages=["(510) 208-48321, mary.jane@roe.org"])
    assert {finding.reason.rpartition("; ")[2] for finding in longer.findings} == {"it is new here."}


def test_a_number_with_a_web_address_glued_to_it_is_found() -> None:
    score = graded(NoPii(), "Call (510) 208-4832https://x.gov/ or jane@roe.orghttps://x.gov/")
    assert [finding.grade for finding in score.findings] == ["phone", "email"]


def names(text: str) -> list[tuple[str, int, int]]:
    """A detector of one name."""
    at = text.find("Jane Roe")
    return [("person", at, at + 8)] if at >= 0 else []


def test_a_further_detector_can_be_added_and_is_part_of_the_spec() -> None:
    score = graded(NoPii(detector=names), "Ask Jane Roe.")
    assert [(finding.grade, finding.answer_start) for finding in score.findings] == [("person", 4)]
    assert spec_of(NoPii(detector=names)).digest != spec_of(NoPii()).digest


def test_where_our_own_find_stands_a_detectors_is_left_out_and_of_two_of_its_own_the_longer_stays() -> None:
    def over(text: str) -> list[tuple[str, int, int]]:
        return [("person", 9, 17), ("name", 0, 5), ("person", 0, 5), ("first_name", 0, 3), ("nothing", 2, 2)]

    answer = "Write to jane.roe@example.org"
    assert [(finding.grade, finding.answer_end) for finding in graded(NoPii(detector=over), answer).findings] == [
        ("name", 5),
        ("email", 29),
    ]
    only = NoPii(detector=over, kinds=("person",))
    assert [finding.answer_start for finding in graded(only, answer).findings] == [0, 9]


@dataclass(frozen=True)
class FakePresidio:
    """Stands in for the extra: a class that is made without arguments, and says its version in its fields."""

    library: str = "9.9"

    def __call__(self, text: str) -> list[tuple[str, int, int]]:
        return names(text)


def test_presidio_is_a_word_in_a_suite_file_whose_class_the_builder_loads() -> None:
    asked: list[str] = []

    def load(reference: str) -> Any:
        asked.append(reference)
        return FakePresidio

    grader = build_grader("no_pii", {"detector": "presidio"}, load=load)
    assert asked == ["spancheck_pipeline.clients.presidio:PresidioDetector"]
    assert spec_of(grader).as_dict()["settings"]["detector"] == {"library": "9.9"}
    case = Case("q1", "?")
    row = CapturedRow(case_id="q1", question_digest=case.question_digest, output=Output(answer="Ask Jane Roe."))
    assert [finding.grade for finding in grade_row(grader, case, row).findings] == ["person"]


def test_a_word_that_is_no_detector_and_an_extra_that_is_missing_are_said_with_their_setting() -> None:
    def missing(reference: str) -> Any:
        def make() -> Any:
            raise UsageError("it comes with the extra")

        return make

    for word, said in (("presido", "detector: must be presidio"), ("presidio", "detector: it comes with the extra")):
        with pytest.raises(GraderSettingsError, match=said):
            build_grader("no_pii", {"detector": word}, load=missing)
    with pytest.raises(GraderSettingsError, match="cannot be loaded here"):
        build_grader("no_pii", {"detector": "presidio"})


def test_the_number_plans_are_part_of_the_spec() -> None:
    assert "phonenumbers" in spec_of(NoPii()).data
