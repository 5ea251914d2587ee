"""Comparisons with their tests: the family is the gate's, and a run that is both baselines stands there once."""

from __future__ import annotations

import pytest

from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, compare
from spancheck_pipeline.decision.difference import difference_of, differences_of, differences_of_gate
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts
from spancheck_pipeline.decision.gate import decide
from spancheck_pipeline.decision.gate_settings import GateSettings, Regression
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.grading.score import Outcome

GRADERS = ("a", "b", "c")


def scores(n_failing, n=100):
    return [
        ScoreFacts(
            grader=grader,
            case_id=str(i),
            outcome=Outcome.FAIL if i < n_failing else Outcome.PASS,
            value=float(i >= n_failing),
        )
        for grader in GRADERS
        for i in range(n)
    ]


def comparison(n_failing, *, kind="release", run_id="base"):
    sides = [
        ComparedRun(run_id=name, cases={str(i): ComparedCase(question_digest=str(i)) for i in range(100)}, scores=found)
        for name, found in (("new", scores(n_failing)), (run_id, scores(0)))
    ]
    return compare(*sides, suite="s", graders=GRADERS, baseline_kind=kind)


def decided(n_failing, comparisons, **settings):
    rows = [RowFacts(case_id=str(i), answered=True) for i in range(100)]
    graders = [GraderFacts(name=name, measurement=name) for name in GRADERS]
    card = build_scorecard(suite="s", run_id="new", rows=rows, scores=scores(n_failing), graders=graders)
    return decide(card, GateSettings(**settings), comparisons=comparisons)


def test_a_rule_and_the_table_beside_it_give_the_same_p_value():
    # P(X ≥ 6), X ~ Bin(6, ½) = 1/64; two graders gate, against two runs: Holm times four.
    comparisons = [comparison(6), comparison(6, kind="last_good", run_id="last")]
    decision = decided(6, comparisons, min_pass_rate={"a": 0.5, "b": 0.5}, regression=Regression())
    rule = next(rule for rule in decision.rules if rule.rule == "regression_a")
    assert rule.p_value == pytest.approx(4 / 64)
    for found in differences_of_gate(decision, comparisons):
        assert found.tests["a"].p_adjusted == rule.p_value
        assert (found.tests["c"].p_value, found.tests["c"].p_adjusted, found.tests["c"].is_worse) == (
            1 / 64,
            None,
            False,
        )


def test_one_run_that_is_both_baselines_stands_there_once():
    (found,) = differences_of([comparison(6), comparison(6, kind="last_good")])
    assert found.baseline_kinds == ("release", "last_good")
    assert found.tests["a"].p_adjusted == pytest.approx(3 / 64)
    assert found.tests["a"].is_worse is (3 / 64 <= 0.05)


def test_without_a_gate_every_grader_is_in_the_family_and_with_one_those_that_gate():
    assert difference_of(comparison(6)).tests["a"].p_adjusted == pytest.approx(3 / 64)
    alone = difference_of(comparison(6), Regression(), ["a"])
    assert (alone.tests["a"].p_adjusted, alone.tests["b"].p_adjusted) == (1 / 64, None)


def test_a_gate_without_regression_rules_leaves_the_table_its_own_tests():
    comparisons = [comparison(6)]
    (found,) = differences_of_gate(decided(6, comparisons, min_pass_rate={"a": 0.5}), comparisons)
    assert found.tests["c"].p_adjusted == pytest.approx(3 / 64)
