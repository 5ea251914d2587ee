"""The graders that need no reading: completion, texts and patterns, latency, cost."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, ModelPrice, Output
from spancheck_pipeline.grading import graders
from spancheck_pipeline.grading.evaluate import grade_row
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.grading.graders.completion import Completion
from spancheck_pipeline.grading.graders.contains import Contains, NotContains
from spancheck_pipeline.grading.graders.cost import Cost
from spancheck_pipeline.grading.graders.expected_contains import ExpectedContains
from spancheck_pipeline.grading.graders.latency import Latency
from spancheck_pipeline.grading.graders.regex_match import RegexMatch
from spancheck_pipeline.grading.score import Outcome, Score

CASE = Case("q1", "What is the notice period?")
PRICES = {"m": ModelPrice(input_usd_per_mtok=3, output_usd_per_mtok=15)}


def graded(grader: Grader, output: Any = "", *, case: Case = CASE, **row: Any) -> Score:
    made = Output(answer=output) if isinstance(output, str) else Output.model_validate(output)
    captured = CapturedRow(case_id=case.id, question_digest=case.question_digest, output=made, **row)
    return grade_row(grader, case, captured)


def failed_call(grader: Grader) -> Score:
    row = CapturedRow(case_id="q1", question_digest=CASE.question_digest, error_class="TimeoutError")
    return grade_row(grader, CASE, row)


def test_completion_passes_an_answer() -> None:
    assert graded(Completion(), "30 days").outcome is Outcome.PASS


@pytest.mark.parametrize("answer", ["", "  \n\t", "\u200b\u00a0"])
def test_completion_fails_an_empty_answer(answer: str) -> None:
    score = graded(Completion(), answer)
    assert (score.outcome, score.reason_code) == (Outcome.FAIL, "empty_answer")


def test_completion_fails_an_empty_answer_that_says_that_it_abstained() -> None:
    assert graded(Completion(), {"answer": "", "abstained": True}).outcome is Outcome.FAIL


def test_completion_fails_a_failed_call_that_is_unmeasured_for_others() -> None:
    assert (failed_call(Completion()).outcome, failed_call(Completion()).reason_code) == (Outcome.FAIL, "call_failed")
    assert failed_call(Contains("x")).outcome is Outcome.UNMEASURED


@pytest.mark.parametrize(
    ("substr", "answer", "sensitive", "present"),
    [
        ("Notice", "the NOTICE period", False, True),
        ("Notice", "the NOTICE period", True, False),
        ("straße", "In der STRASSE", False, True),
        ("cafe\u0301", "Le caf\u00e9", False, True),
        ("合同", "合同生效", False, True),
        ("absent", "the notice", False, False),
    ],
)
def test_contains_and_not_contains_are_opposites(substr: str, answer: str, sensitive: bool, present: bool) -> None:
    has = graded(Contains(substr, case_sensitive=sensitive), answer)
    has_not = graded(NotContains(substr, case_sensitive=sensitive), answer)
    assert (has.outcome is Outcome.PASS) is present
    assert (has_not.outcome is Outcome.PASS) is not present


def test_an_empty_text_to_look_for_is_refused() -> None:
    with pytest.raises(ValueError, match="substr is empty"):
        Contains("")


def test_regex_match_finds_a_pattern_and_says_where() -> None:
    score = graded(RegexMatch(r"\d+ DAYS"), "ä 30 days")
    assert score.outcome is Outcome.PASS
    assert (score.findings[0].answer_start, score.findings[0].answer_end) == (2, 9)


@pytest.mark.parametrize(
    ("pattern", "flags", "answer", "matches"),
    [
        ("days", 0, "30 DAYS", False),
        ("^days$", re.MULTILINE, "30\ndays\n", True),
        ("^days$", 0, "30\ndays\n", False),
        ("30.days", re.DOTALL, "30\ndays", True),
        ("30.days", 0, "30\ndays", False),
    ],
)
def test_regex_match_keeps_the_standard_flags(pattern: str, flags: int, answer: str, matches: bool) -> None:
    assert (graded(RegexMatch(pattern, flags=flags), answer).outcome is Outcome.PASS) is matches


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?=a)", r"(", r"(?<!x)y"])
def test_a_pattern_that_cannot_run_in_linear_time_is_refused_when_built(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern cannot be used"):
        RegexMatch(pattern)


def test_an_unsupported_flag_is_refused() -> None:
    with pytest.raises(ValueError, match="flags 64"):
        RegexMatch("a", flags=re.VERBOSE)


def test_a_pattern_that_kills_a_backtracking_engine_is_quick() -> None:
    start = time.process_time()
    assert graded(RegexMatch(r"(a+)+$"), "a" * 100_000 + "!").outcome is Outcome.FAIL
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("expected", "answer", "outcome"),
    [
        ("30 days", "The notice is 30\n  DAYS.", Outcome.PASS),
        (["one month", "30 days"], "It is 30 days.", Outcome.PASS),
        (["one month", "30 days"], "It is a year.", Outcome.FAIL),
        (30, "30", Outcome.PASS),
        (None, "anything", Outcome.NOT_APPLICABLE),
        ("  ", "anything", Outcome.NOT_APPLICABLE),
        ([], "anything", Outcome.NOT_APPLICABLE),
    ],
)
def test_expected_contains_reads_a_text_or_alternatives(expected: Any, answer: str, outcome: Outcome) -> None:
    assert graded(ExpectedContains(), answer, case=Case("q1", "?", expected=expected)).outcome is outcome


def test_latency_compares_the_attempt_that_answered() -> None:
    assert graded(Latency(100), "x", latency_ms=100.0, latency_total_ms=900.0).outcome is Outcome.PASS
    assert graded(Latency(100), "x", latency_ms=100.1).reason_code == "too_slow"
    assert graded(Latency(100), "x").outcome is Outcome.UNMEASURED


def test_cost_prices_the_tokens_of_the_served_model() -> None:
    output = {"answer": "x", "served_model": "m", "usage": {"input_tokens": 1000, "output_tokens": 100}}
    # 1000 × 3 / 10^6 + 100 × 15 / 10^6 = 0.003 + 0.0015 = 0.0045
    assert graded(Cost(0.0045, PRICES), output).outcome is Outcome.PASS
    assert graded(Cost(0.0044, PRICES), output).reason_code == "too_dear"


@pytest.mark.parametrize(
    "output",
    [
        "x",
        {"answer": "x", "usage": {"input_tokens": 1, "output_tokens": 1}},
        {"answer": "x", "served_model": "n", "usage": {"input_tokens": 1, "output_tokens": 1}},
    ],
)
def test_an_unknown_cost_is_unmeasured_and_not_free(output: Any) -> None:
    assert graded(Cost(1, PRICES), output).reason_code == "unknown_cost"


def test_a_reported_cost_of_zero_is_free() -> None:
    assert graded(Cost(0), {"answer": "x", "usage": {"cost_usd": 0.0}}).outcome is Outcome.PASS


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf")])
def test_a_limit_that_is_no_amount_is_refused(limit: float) -> None:
    with pytest.raises(ValueError, match="max_ms"):
        Latency(limit)
    with pytest.raises(ValueError, match="max_usd"):
        Cost(limit)


def test_prices_are_part_of_the_spec() -> None:
    assert spec_of(Cost(1, PRICES)).digest != spec_of(Cost(1)).digest


def test_a_grader_can_be_called_with_case_and_output() -> None:
    result = graders.contains("30")(CASE, {"answer": "30 days", "latency_ms": 5})
    assert (result.grader, result.score, result.passed, result.outcome) == ("contains", 1.0, True, Outcome.PASS)
    assert graders.max_latency(4)(CASE, {"answer": "30 days", "latency_ms": 5}).passed is False
    assert graders.expected_contains()(CASE, "x").passed is None
