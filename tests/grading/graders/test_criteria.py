"""The criteria grader: one finding a criterion, and a score that is as boolean as they are."""

from __future__ import annotations

import pytest
from scenario import case, output

from spancheck_pipeline.errors import GraderSettingsError
from spancheck_pipeline.evidence.case import CRITERION_TYPES
from spancheck_pipeline.grading.criteria import check
from spancheck_pipeline.grading.graders import build_grader
from spancheck_pipeline.grading.score import Outcome

RENT = {"id": "rent", "type": "presence", "target": {"text": "2,400"}}
WEEKLY = {"id": "weekly", "type": "absence", "target": {"text": "weekly"}}
FAITHFUL = {"id": "faithful", "type": "faithful", "target": {"claim": "the rent is right"}}


def grade(answer: str, *criteria: dict, **settings):
    return build_grader("criteria", settings)(case(criteria=list(criteria)), output(answer))


def test_a_score_passes_when_every_criterion_held():
    result = grade("The rent is 2,400, monthly.", RENT, WEEKLY)

    assert (result.outcome, result.score, result.detail) == (Outcome.PASS, 1.0, "2 of 2 criteria held.")
    assert [(f.item, f.kind, f.outcome, f.grade) for f in result.findings] == [
        ("rent", "criterion", Outcome.PASS, "held"),
        ("weekly", "criterion", Outcome.PASS, "held"),
    ]


def test_one_that_did_not_hold_fails_the_score_whose_value_is_the_share_that_held():
    result = grade("The rent is 2,400, weekly.", RENT, WEEKLY)

    assert (result.outcome, result.score, result.reason_code) == (Outcome.FAIL, 0.5, "criteria_failed")
    assert [f.outcome for f in result.findings] == [Outcome.PASS, Outcome.FAIL]


def test_faithful_without_a_judge_is_unmeasured_and_is_never_a_comparison_of_strings():
    held = grade("The rent is 2,400: the rent is right.", RENT, FAITHFUL)
    failed = grade("The rent is right.", RENT, FAITHFUL)

    assert (held.outcome, held.score) == (Outcome.UNMEASURED, None)
    assert held.detail == "1 of 1 criteria held; 1 could not be checked."
    assert [(f.outcome, f.grade, f.value) for f in held.findings][1] == (Outcome.UNMEASURED, "no_judge", None)
    assert (failed.outcome, failed.score) == (Outcome.FAIL, 0.0)


def test_a_case_without_criteria_is_not_applicable():
    assert grade("anything").outcome is Outcome.NOT_APPLICABLE


def test_a_suite_says_how_dates_are_read():
    april = {"id": "due", "type": "presence", "target": {"date": "2019-04-02"}}

    assert grade("Due 04/02/2019", april).passed
    assert not grade("Due 04/02/2019", april, date_order="day_first").passed
    assert not grade("Due 14/04/2019", {**april, "target": {"date": "2019-04-14"}}).passed
    swapped = grade("Due 14/04/2019", {**april, "target": {"date": "2019-04-14"}}, other_order=True)
    assert swapped.passed
    assert "the other way round" in swapped.findings[0].reason


def test_a_date_order_that_there_is_not_is_refused():
    with pytest.raises(GraderSettingsError, match=r"graders.criteria.date_order: Input should be 'month_first' or"):
        build_grader("criteria", {"date_order": "us"})


def test_an_answer_that_is_an_object_is_read_as_one():
    criteria = [{"id": "n", "type": "identity", "target": {"field": ["a", 0, "n"], "value": 1}}]
    grader = build_grader("criteria", {})

    assert grader(case(criteria=criteria), {"answer": {"a": [{"n": 1}]}}).passed
    assert not grader(case(criteria=criteria), {"answer": {"a": [{"n": True}]}}).passed


def test_where_a_day_stands_is_in_its_finding():
    answer = "Due on 2 April 2019."
    [finding] = grade(answer, {"id": "due", "type": "presence", "target": {"date": "2019-04-02"}}).findings

    assert answer[finding.answer_start : finding.answer_end] == "2 April 2019"


@pytest.mark.parametrize("kind", CRITERION_TYPES)
def test_every_type_is_decided(kind):
    targets = {
        "presence": {"text": "a"}, "absence": {"text": "zz"}, "structure": {"circled": "a"}, "identity": {"text": "a"},
        "abstention": {"forbidden_terms": []}, "faithful": {},
    }  # fmt: skip
    [criterion] = case(criteria=[{"id": "k", "type": kind, "target": targets[kind]}]).criteria
    answer = "[x] a\n[illegible]"

    expected = Outcome.UNMEASURED if kind == "faithful" else Outcome.PASS
    assert check(criterion, answer, date_order="month_first", other_order=False).outcome is expected
