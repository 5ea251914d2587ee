"""Labels that cases carry and nothing of a suite reads."""

from scenario import case

from spancheck_pipeline.api.unread_labels import unread_labels
from spancheck_pipeline.evidence.case import Criterion
from spancheck_pipeline.grading.grader import grader as own_grader
from spancheck_pipeline.grading.graders.criteria import Criteria
from spancheck_pipeline.grading.graders.expected_contains import ExpectedContains
from spancheck_pipeline.grading.graders.no_pii import NoPii

PLAIN = case("a")
EXPECTED = case("b", expected="30 days")
STATED = case("c", expected="30 days", criteria=[Criterion(id="days", type="presence", target={"text": "30 days"})])


def test_an_expected_answer_that_nothing_reads_is_said_with_its_count_and_the_fix():
    [said] = unread_labels([PLAIN, EXPECTED], [NoPii()])

    assert said == (
        "1 case has `expected`, and no grader of the suite reads it: add expected_contains to its graders, "
        "or state criteria"
    )


def test_nothing_is_said_where_it_is_read_or_stated_by_criteria_or_not_there():
    assert list(unread_labels([PLAIN, EXPECTED], [NoPii(), ExpectedContains()])) == []
    assert list(unread_labels([PLAIN, STATED], [NoPii(), Criteria()])) == []
    assert list(unread_labels([PLAIN], [NoPii()])) == []


def test_criteria_that_nothing_reads_are_said_too():
    said = list(unread_labels([EXPECTED, STATED], [NoPii()]))
    assert said[0].startswith("2 cases have `expected`")
    assert said[1] == "1 case has `criteria`, and no grader of the suite reads them: add criteria to its graders"


def test_a_grader_of_ones_own_may_read_anything():
    @own_grader("tone")
    def tone(case, output):
        return output.answer == case.expected

    assert list(unread_labels([EXPECTED], [NoPii(), tone])) == []
