"""Planning a run: calls, tokens and USD, worked by hand."""

from __future__ import annotations

import pytest

from spancheck_pipeline.decision.plan import AnswerFacts, History, JudgeLoad, plan
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import ModelPrice, Usage

CASES = [Case(f"q{n}", "x" * 40) for n in range(10)]  # 40 characters are 10 tokens


def suite(**fields) -> Suite:
    base = {"contract": 1, "name": "s", "target": {"callable": "t.py:a", "retries": 1}, "graders": {}, "epochs": 2}
    return Suite.model_validate({**base, **fields})


def m1(input_usd: float = 1.0, output_usd: float = 10.0) -> dict:
    return {"m1": {"input_usd_per_mtok": input_usd, "output_usd_per_mtok": output_usd}}


def history(*tokens: tuple[int, int], model: str | None = "m1", attempts: int = 1, failed: int = 0) -> History:
    rows = [AnswerFacts(Usage(input_tokens=i, output_tokens=o), model, attempts) for i, o in tokens]
    return History("s-1", rows + [AnswerFacts(None, None, 2)] * failed)


def test_calls_are_cases_times_epochs_and_what_retries_add():
    [calls] = plan(suite(), CASES, history=history((100, 10), attempts=1, failed=1)).calls

    # 10 cases × 2 epochs. The captured run made 3 calls for 2 rows; at most 2 attempts in each of 2 passes.
    assert (calls.n_calls.low, calls.n_calls.expected, calls.n_calls.high) == (20, 30, 80)


def test_tokens_and_cost_come_from_a_captured_run():
    planned = plan(suite(prices=m1()), CASES, history=history((1000, 100), (3000, 100)))
    [calls] = planned.calls

    assert (calls.basis, calls.run_id, calls.models) == ("captured_run", "s-1", ("m1",))
    # The 10 % quantile of 1000 and 3000 is 1200, their mean 2000, the 95 % quantile 2900.
    assert (calls.input_tokens.low, calls.input_tokens.expected, calls.input_tokens.high) == (1200, 2000, 2900)
    # An answer cost 0.002 or 0.004 USD: 0.0022, 0.003, 0.0039; times 20, 20 and 80 calls.
    assert planned.cost_usd.low == pytest.approx(0.044)
    assert planned.cost_usd.expected == pytest.approx(0.06)
    assert planned.cost_usd.high == pytest.approx(0.312)


def test_without_a_captured_run_the_question_is_counted_and_the_rest_is_assumed():
    planned = plan(suite(prices=m1()), CASES)
    [calls] = planned.calls

    assert calls.basis == "assumptions"
    assert (calls.input_tokens.low, calls.input_tokens.expected, calls.input_tokens.high) == (10, 2010, 8010)
    # 20 calls and one in fifty twice, at 2010 × 1 + 300 × 10 USD per million.
    assert planned.cost_usd.expected == pytest.approx(20 * 1.02 * (2010 + 3000) / 1e6)
    assert planned.cost_usd.low == pytest.approx(20 * (10 + 500) / 1e6)
    assert planned.cost_usd.high == pytest.approx(80 * (8010 + 10_000) / 1e6)


def test_a_model_without_a_price_has_no_cost_and_never_a_cost_of_nothing():
    planned = plan(suite(prices=m1()), CASES, history=history((1000, 100), model="m2"))

    assert planned.cost_usd is None
    assert planned.calls[0].unpriced_models == ("m2",)
    assert plan(suite(), CASES).cost_usd is None
    assert plan(suite(), CASES, history=history((1, 1), model=None)).calls[0].unpriced_models == ("(not reported)",)


def test_one_unpriced_answer_among_priced_ones_leaves_the_cost_unknown():
    mixed = History("s-1", [*history((1000, 100)).rows, *history((1000, 100), model="m2").rows])

    assert plan(suite(prices=m1()), CASES, history=mixed).cost_usd is None


def test_what_is_free_costs_nothing_and_says_so():
    assert plan(suite(prices=m1(0, 0)), CASES, history=history((1000, 100))).cost_usd.expected == 0.0


def test_several_prices_bound_the_cost_of_an_unknown_model():
    both = m1() | {"m2": {"input_usd_per_mtok": 2.0, "output_usd_per_mtok": 20.0}}
    planned = plan(suite(prices=both), CASES)

    assert planned.cost_usd.low == pytest.approx(20 * (10 + 500) / 1e6)
    assert planned.cost_usd.expected == pytest.approx(20 * 1.02 * (2010 * 2 + 300 * 20) / 1e6)


def test_recorded_answers_are_no_calls():
    planned = plan(suite(target={"recorded": "answers.jsonl"}), CASES)

    assert (planned.calls[0].n_calls.high, planned.cost_usd.high) == (0, 0)


def test_criteria_that_need_a_judge_are_counted():
    case = Case(
        "f", "x", criteria=[{"id": "k", "type": "faithful"}, {"id": "l", "type": "absence", "target": {"text": "x"}}]
    )

    assert plan(suite(), [case, *CASES]).n_unjudged == 2
    assert plan(suite(), [case, *CASES], asks_faithful=True).n_unjudged == 0


def load(**fields):
    told = {"name": "j", "runs": 1, "retries": 1, "n_packets": 0, "n_rows": 0, "prompt_tokens": 500.0}
    return JudgeLoad(**{**told, "answers": (), "prices": {"j1": JUDGE_PRICE}, **fields})


JUDGE_PRICE = ModelPrice(input_usd_per_mtok=1, output_usd_per_mtok=5)


def test_the_calls_of_a_judge_are_priced_from_the_packets_of_a_captured_run():
    used = [AnswerFacts(Usage(input_tokens=400, output_tokens=20), "j1", 1)] * 4

    (target, judge) = plan(suite(), CASES, judges=[load(n_packets=15, n_rows=5, runs=2, answers=used)]).calls

    assert (target.what, judge.what, judge.basis) == ("target", "j", "captured_run")
    # Ten cases and two epochs, three packets an answer, asked twice each; at most two attempts in each of two passes.
    assert (judge.n_calls.low, judge.n_calls.expected, judge.n_calls.high) == (0, 120, 480)
    assert judge.cost_usd.expected == pytest.approx(120 * (400 * 1 + 20 * 5) / 1e6)


def test_without_a_captured_run_the_calls_of_a_judge_are_assumed():
    judge = plan(suite(), CASES, judges=[load()]).calls[1]

    assert judge.basis == "assumptions"
    assert judge.n_calls.expected == 40
    assert judge.cost_usd.expected == pytest.approx(40 * (500 * 1 + 80 * 5) / 1e6)


def test_a_judge_without_a_price_makes_the_whole_cost_unknown_and_a_free_one_does_not():
    priced = suite(prices=m1())

    assert plan(priced, CASES, judges=[load(prices={})]).cost_usd is None
    free = plan(priced, CASES, judges=[load(prices={}, is_free=True)])
    assert free.cost_usd == plan(priced, CASES).cost_usd


def test_the_budget_is_held_against_the_expected_cost():
    within, above = (suite(prices=m1(), budget={"max_run_cost_usd": usd}) for usd in (0.06, 0.0599))
    past = history((1000, 100), (3000, 100))

    assert plan(within, CASES, history=past).is_over_budget is False
    assert plan(above, CASES, history=past).is_over_budget is True
    assert plan(suite(prices=m1()), CASES).is_over_budget is None


def test_a_run_of_nothing_but_failures_tells_nothing():
    assert plan(suite(prices=m1()), CASES, history=history(failed=5)).calls[0].basis == "assumptions"
