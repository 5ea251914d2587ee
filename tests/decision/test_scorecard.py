"""Which scores enter which count, rate and interval."""

from __future__ import annotations

import math
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.scorecard import (
    CaseOutcome,
    GraderFacts,
    RowFacts,
    ScoreFacts,
    build_scorecard,
    error_name,
    reduce_epochs,
)
from spancheck_pipeline.grading.score import Outcome

CITATION = GraderFacts(name="citation_accuracy", measurement="CitationAccuracy", version="1", spec_digest="d" * 64)
ABSTENTION = GraderFacts(name="abstain", measurement="abstention_correct")
GROUNDED = GraderFacts(name="grounded", measurement="Groundedness")


def row(case_id, epoch=0, **changes):
    facts = {"answered": True, "latency_ms": 100.0, "latency_total_ms": 150.0, "cost_usd": 0.5, "served_model": "m-1"}
    return RowFacts(case_id=case_id, epoch=epoch, **{**facts, **changes})


def failed(case_id, error_class="TimeoutError", **changes):
    nothing = dict.fromkeys(("latency_ms", "latency_total_ms", "cost_usd", "served_model"))
    return row(case_id, answered=False, error_class=error_class, **{**nothing, **changes})


def score(case_id, outcome, *, grader="citation_accuracy", value=None, **changes):
    outcome = Outcome(outcome)
    if value is None and outcome.is_measured:
        value = float(outcome is Outcome.PASS)
    return ScoreFacts(grader=grader, case_id=case_id, outcome=outcome, value=value, reason_code="ok", **changes)


def card(rows=(), scores=(), graders=(CITATION,), **changes):
    return build_scorecard(suite="leases", run_id="r1", rows=rows, scores=scores, graders=graders, **changes)


def test_a_night_becomes_counts_rates_cost_and_latency():
    scores = [score("a", "pass"), score("b", "pass"), score("c", "fail"), score("d", "not_applicable")]
    found = card([row("a"), row("b"), row("c", latency_ms=300.0), row("d")], scores, date="2026-11-29")
    figures = found.graders["citation_accuracy"]
    assert figures.counts.model_dump() == {
        "n_cases": 4, "n_pass": 2, "n_fail": 1, "n_flaky": 0, "n_not_applicable": 1, "n_unmeasured": 0,
    }  # fmt: skip
    # Wilson of 2 of 3: (2/3 + 3.841459/6 ± 1.959964·√(2/27 + 3.841459/36)) / (1 + 3.841459/3) = .207660, .938508
    assert figures.pass_rate.value == 2 / 3
    assert (figures.pass_rate.low, figures.pass_rate.high) == pytest.approx((0.207660, 0.938508), abs=1e-6)
    assert figures.failing_case_ids == ("c",)
    assert found.headline.citation_accuracy == figures.pass_rate
    assert (found.headline.cost.total_usd, found.headline.cost.mean_usd) == (2.0, 0.5)
    assert found.headline.latency.answer.max_ms == 300.0
    assert found.headline.latency.total.p50_ms == 150.0
    assert found.calls.n_pass == found.n_answered == 4


def test_nothing_measured_has_no_rate_and_no_interval():
    found = card([row("a")], [score("a", "not_applicable")]).graders["citation_accuracy"]
    assert found.pass_rate.value is found.pass_rate.low is found.pass_rate.high is None
    assert found.mean_score.value is None


def test_an_unmeasured_case_is_counted_and_kept_out_of_the_rate():
    found = card([row("a"), failed("b")], [score("a", "pass"), score("b", "unmeasured")]).graders["citation_accuracy"]
    assert (found.counts.n_pass, found.counts.n_unmeasured) == (1, 1)
    assert (found.pass_rate.value, found.pass_rate.n) == (1.0, 1)
    assert found.unmeasured_case_ids == ("b",)


def test_a_case_without_a_score_is_unmeasured_and_not_left_out():
    found = card([row("a"), row("b")], [score("a", "pass")], case_ids=["a", "b", "c"])
    figures = found.graders["citation_accuracy"]
    assert figures.counts.n_unmeasured == 2
    assert figures.reason_codes == {"no_score": 2, "ok": 1}
    assert (found.calls.n_pass, found.calls.n_unmeasured) == (2, 1)


def test_reasons_of_the_unmeasured_stand_apart():
    scores = [score("a", "pass"), ScoreFacts(grader="citation_accuracy", case_id="b", outcome=Outcome.UNMEASURED,
                                             reason_code="no_contexts")]  # fmt: skip
    figures = card([row("a"), row("b"), row("c")], scores).graders["citation_accuracy"]
    assert figures.reason_codes == {"no_contexts": 1, "no_score": 1, "ok": 1}
    assert figures.unmeasured_codes == {"no_contexts": 1, "no_score": 1}


def test_an_empty_answer_is_no_completed_call_whether_or_not_a_grader_says_so():
    rows = [row("a"), row("b", is_empty=True), failed("c"), row("d", is_empty=None)]
    counts = card(rows, graders=()).calls
    assert (counts.n_pass, counts.n_fail, counts.n_unmeasured) == (1, 2, 1)
    said = [score(c, o, grader="completion") for c, o in zip("abcd", ("pass", "fail", "fail", "fail"), strict=True)]
    graded = card(rows, said, graders=(GraderFacts(name="completion", measurement="completion"),))
    assert graded.calls == graded.graders["completion"].counts
    assert (graded.calls.n_pass, graded.calls.n_fail) == (1, 3)


def test_the_bound_to_decide_by_takes_the_unmeasured_as_failed_and_leaves_out_what_is_not_applicable():
    # 2 of 3 applicable passed at worst: Wilson's lower bound of 2 of 3 is .207660
    scores = [score("a", "pass"), score("b", "pass"), score("c", "unmeasured"), score("d", "not_applicable")]
    figures = card([row(c) for c in "abcd"], scores).graders["citation_accuracy"]
    assert figures.lower_bound.value == pytest.approx(0.207660, abs=1e-6)
    assert (figures.lower_bound.n_further_failures, figures.lower_bound.n_clusters) == (0, None)
    assert figures.pass_rate.low > figures.lower_bound.value
    nothing = card([row("a")], [score("a", "not_applicable")]).graders["citation_accuracy"]
    assert nothing.lower_bound is None


def test_an_answer_without_usage_is_told_from_one_whose_model_has_no_price():
    tokens = {"input_tokens": 5, "output_tokens": 5, "cost_usd": None}
    rows = [
        row("a"),
        row("b", cost_usd=None),
        row("c", served_model="m-2", **tokens),
        row("d", input_tokens=5, cost_usd=None),
    ]
    cost = card(rows, graders=()).headline.cost
    assert (cost.n_unpriced, cost.n_without_usage) == (3, 2)
    assert (cost.unpriced_models, cost.models_without_price) == (("m-1", "m-2"), ("m-2",))


def test_money_and_times_are_the_decimals_that_are_written():
    found = card([row(str(i), cost_usd=0.1, latency_ms=float(i)) for i in range(1, 101)], graders=()).headline
    assert (found.cost.total_usd, found.cost.mean_usd) == (10.0, 0.1)
    assert found.latency.answer.p95_ms == 95.05  # 95 + .05·1: in floats 95.05 and some


def test_failed_calls_are_counted_by_class_and_foreign_class_names_hold_no_text():
    rows = [failed("a"), failed("b", "my text, a secret"), failed("c", "x" * 101), failed("d", "httpx.ReadTimeout")]
    found = card(rows, graders=())
    assert found.errors == {"Error": 2, "TimeoutError": 1, "httpx.ReadTimeout": 1}
    assert error_name("Größe") == error_name(None) == error_name("A\n") == "Error"


def test_names_from_the_system_under_test_stay_names():
    found = card(
        [row("a", served_model="Sure! The rent is 900", cost_usd=None)],
        [ScoreFacts(grader="citation_accuracy", case_id="a", outcome=Outcome.FAIL, value=0.0, reason_code="the rent")],
    )
    assert "rent" not in found.model_dump_json()


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (("pass", "pass"), CaseOutcome.PASS),
        (("fail", "fail"), CaseOutcome.FAIL),
        (("pass", "fail"), CaseOutcome.FLAKY),
        (("pass", "not_applicable"), CaseOutcome.PASS),
        (("not_applicable", "not_applicable"), CaseOutcome.NOT_APPLICABLE),
        (("pass", "unmeasured"), CaseOutcome.UNMEASURED),
        ((), CaseOutcome.UNMEASURED),
    ],
)
def test_epochs_reduce_to_what_they_agree_on(outcomes, expected):
    assert reduce_epochs(Outcome(outcome) for outcome in outcomes) is expected


def test_a_flaky_case_counts_against_the_rate_and_pass_hat_k_says_how_often_all_runs_pass():
    outcomes = {"a": "pass pass pass", "b": "pass fail pass"}
    scores = [score(c, o, epoch=e) for c, text in outcomes.items() for e, o in enumerate(text.split())]
    found = card([row(c, e) for c, e in product("ab", range(3))], scores).graders["citation_accuracy"]
    assert found.pass_rate.value == 0.5
    assert found.flaky_case_ids == ("b",)
    # b: k=1 2/3; k=2 C(2,2)/C(3,2) = 1/3; k=3 0. Means with a's 1: 5/6, 2/3, 1/2
    assert [p.value for p in found.pass_hat_k] == pytest.approx([5 / 6, 2 / 3, 1 / 2])
    # Mean of 6 scores with the case as cluster: 5/6 over 2 clusters
    assert found.mean_score.value == pytest.approx(5 / 6)
    assert (found.mean_score.n, found.mean_score.n_clusters, found.mean_score.few_clusters) == (6, 2, True)


def test_a_mean_rests_on_the_cases_of_the_rate_and_is_none_where_no_case_was_measured():
    half = [score("a", "fail"), score("a", "unmeasured", epoch=1)]
    found = card([row("a"), failed("a", epoch=1)], half).graders["citation_accuracy"]
    assert (found.counts.n_fail, found.counts.n_unmeasured) == (0, 1)
    assert (found.mean_score.value, found.mean_score.n, found.pass_rate.value) == (None, 0, None)
    # With a case b that both epochs measured, (0.5 + 1) / 2 = 0.75: the half of a stays out.
    whole = [score("b", "fail", value=0.5), score("b", "fail", value=1.0, epoch=1)]
    found = card([row(c, e) for c, e in product("ab", range(2))], [*half, *whole]).graders["citation_accuracy"]
    assert (found.mean_score.value, found.mean_score.n, found.pass_rate.n) == (0.75, 2, 1)


def test_a_missing_epoch_makes_its_case_unmeasured():
    found = card([row("a")], [score("a", "pass")], epochs=2)
    assert found.graders["citation_accuracy"].counts.n_unmeasured == 1
    assert found.calls.n_unmeasured == 1


def test_cases_that_share_a_document_widen_the_interval():
    cases = [(f"{d}-{i}", f"doc{d}") for d in range(25) for i in range(4)]
    scores = [score(c, "fail" if d in {"doc0", "doc1"} else "pass", cluster=d) for c, d in cases]
    clustered = card(scores=scores).graders["citation_accuracy"].pass_rate
    alone = card(scores=[score(s.case_id, s.outcome) for s in scores]).graders["citation_accuracy"].pass_rate
    assert clustered.value == alone.value == 0.92
    assert (clustered.n_clusters, clustered.few_clusters, alone.n_clusters) == (25, False, None)
    assert clustered.low < alone.low - 0.05


def test_a_case_without_a_cluster_is_its_own_and_never_meets_a_cluster_of_its_name():
    scores = [score("a", "pass", cluster="b"), score("b", "fail"), score("c", "fail", cluster="b")]
    assert card(scores=scores).graders["citation_accuracy"].pass_rate.n_clusters == 2


def test_categories_have_their_own_figures_and_add_up():
    scores = [score("a", "pass", category="money"), score("b", "fail", category="money"), score("c", "pass")]
    found = card(scores=scores).graders["citation_accuracy"]
    assert {name: c.pass_rate.value for name, c in found.by_category.items()} == {"(none)": 1.0, "money": 0.5}
    assert sum(c.counts.n_cases for c in found.by_category.values()) == found.counts.n_cases


def test_hallucination_counts_a_measured_asserting_case_once_whatever_its_grade():
    outcomes = [
        score("a", "pass", grader="grounded", n_unsupported=1),  # passes its threshold, and still asserts one too many
        score("b", "fail", grader="grounded", n_unsupported=3),
        score("c", "pass", grader="grounded"),
        score("d", "not_applicable", grader="grounded"),
        score("e", "unmeasured", grader="grounded", n_unsupported=2),
    ]
    found = card(scores=outcomes, graders=[GROUNDED]).headline.hallucination
    assert found.rate.value == 2 / 3
    assert (found.n_hallucinating, found.n_asserting, found.n_not_applicable, found.n_unmeasured) == (2, 3, 1, 1)


def test_the_headline_takes_the_first_grader_of_a_measurement_whatever_its_name():
    second = GraderFacts(name="abstain_too", measurement="abstention_correct")
    scores = [score("a", "pass", grader="abstain"), score("a", "fail", grader="abstain_too")]
    found = card(scores=scores, graders=[ABSTENTION, second]).headline
    assert found.abstention_correctness.value == 1.0
    assert found.citation_accuracy is None
    assert found.hallucination is None


def test_an_unknown_price_makes_the_cost_unknown_and_names_the_model():
    found = card([row("a"), row("b", cost_usd=None, served_model="m-2"), row("c", cost_usd=None, served_model=None)])
    cost = found.headline.cost
    assert (cost.total_usd, cost.mean_usd, cost.priced_total_usd) == (None, None, 0.5)
    assert (cost.n_priced, cost.n_unpriced) == (1, 2)
    assert cost.unpriced_models == ("(not reported)", "m-2")


def test_what_is_free_costs_nothing_rather_than_being_unknown():
    assert card([row("a", cost_usd=0.0)]).headline.cost.mean_usd == 0.0


def test_latency_bounds_take_unknown_times_as_nothing_and_as_endless():
    latency = card([row(str(i), latency_ms=float(i)) for i in range(1, 20)] + [failed("x")]).headline.latency
    # 19 times: p95 at place .95·18 = 17.1 of 1…19 = 18.1; with a 0 before: place 18.05 of 0,1…19 = 18.05
    assert latency.answer.p95_ms == pytest.approx(18.1)
    assert latency.p95_if_unknown_fast_ms == pytest.approx(18.05)
    assert latency.p95_if_unknown_slow_ms is None
    assert latency.n_unknown == 1


def test_tokens_are_summed_over_those_that_report_them():
    found = card([row("a", input_tokens=10, reasoning_tokens=0, attempts=3), row("b", input_tokens=5)])
    assert (found.tokens["input"].total, found.tokens["input"].n_reported) == (15, 2)
    assert (found.tokens["reasoning"].total, found.tokens["output"].total) == (0, None)
    assert (found.attempts, found.retries) == (4, 2)


def test_a_second_score_of_one_case_and_a_score_of_a_stranger_are_refused():
    with pytest.raises(ValueError, match="two scores"):
        card(scores=[score("a", "pass"), score("a", "fail")])
    with pytest.raises(ValueError, match="two rows"):
        card([row("a"), row("a")])
    with pytest.raises(ValueError, match="stranger"):
        card(scores=[score("a", "pass", grader="stranger")])


SCORES = st.dictionaries(
    st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 2)),
    st.tuples(st.sampled_from(list(Outcome)), st.floats(0, 1), st.booleans()),
    max_size=20,
)


@settings(deadline=None, max_examples=60)  # the first call imports scipy
@given(SCORES, st.booleans(), st.randoms())
def test_counts_add_up_rates_keep_their_bounds_and_order_plays_no_part(stored, has_clusters, random):
    places = {
        c: {"category": c if c < "d" else None, "cluster": c if has_clusters and c < "c" else None} for c in "abcdefgh"
    }
    scores = [
        score(c, o, epoch=e, grader="grounded", value=v if o.is_measured else None, n_unsupported=int(u), **places[c])
        for (c, e), (o, v, u) in stored.items()
    ]
    shuffled = list(scores)
    random.shuffle(shuffled)
    found = card(scores=scores, graders=[GROUNDED])
    assert card(scores=shuffled, graders=[GROUNDED]) == found
    assert ScorecardDocument.model_validate_json(found.model_dump_json()) == found
    figures, counts = found.graders["grounded"], found.graders["grounded"].counts
    assert counts.n_measured + counts.n_not_applicable + counts.n_unmeasured == counts.n_cases == found.n_cases
    assert sum(figures.reason_codes.values()) == found.n_cases * found.epochs
    for rate in (figures.pass_rate, figures.mean_score, found.headline.hallucination.rate):
        assert (rate.value is None) == (rate.n == 0)
        if rate.value is not None:
            assert rate.low - 1e-12 <= rate.value <= rate.high + 1e-12
    values = [p.value for p in figures.pass_hat_k if p.n_cases == counts.n_measured]
    assert all(a >= b - 1e-12 or math.isclose(a, b) for a, b in pairwise(values))
