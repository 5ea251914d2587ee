"""Two runs paired by case, and when that is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline import stats
from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, ComparisonDocument, compare
from spancheck_pipeline.decision.facts import RowFacts, ScoreFacts
from spancheck_pipeline.errors import NotComparableError
from spancheck_pipeline.grading.score import Outcome


def scores(outcomes, grader="cites"):
    """``{"a": "pass"}``, or with epochs ``{"a": "pass fail"}``."""
    return [
        ScoreFacts(
            grader=grader,
            case_id=case_id,
            epoch=epoch,
            outcome=Outcome(word),
            value=float(word == "pass") if word in {"pass", "fail"} else None,
        )
        for case_id, words in outcomes.items()
        for epoch, word in enumerate(words.split())
    ]


def run(outcomes, *, clusters=None, **changes):
    facts = {
        "run_id": "r",
        "cases": {c: ComparedCase(question_digest=f"q-{c}", cluster=(clusters or {}).get(c)) for c in outcomes},
        "scores": scores(outcomes),
        "epochs": max([len(words.split()) for words in outcomes.values()], default=1),
    }
    return ComparedRun(**{**facts, **changes})


def compared(new, old, **changes):
    return compare(new, old, suite="leases", graders=["cites"], **changes)


def test_flips_are_counted_and_listed_over_the_cases_that_both_measured():
    old = run({"a": "pass", "b": "pass", "c": "fail", "d": "fail", "e": "pass"}, run_id="r1")
    new = run({"a": "pass", "b": "fail", "c": "pass", "d": "fail", "e": "unmeasured"}, run_id="r2")
    found = compared(new, old).graders["cites"]
    assert (found.n_both_pass, found.n_newly_failing, found.n_newly_passing, found.n_both_fail) == (1, 1, 1, 1)
    assert (found.newly_failing_case_ids, found.newly_passing_case_ids) == (("b",), ("c",))
    assert (found.n_pairs, found.n_unpaired, found.newly_unmeasured_case_ids) == (4, 1, ("e",))
    assert (found.baseline_rate, found.candidate_rate, found.difference.value) == (0.5, 0.5, 0.0)
    assert found.p_value == pytest.approx(0.75)  # P(X ≥ 1), X ~ Bin(2, ½)
    assert found.churn == pytest.approx(3 / 10)  # (1 + 1 + 1)/(2·5)


def test_a_flaky_case_counts_as_failing_and_its_flip_is_laid_to_the_system():
    found = compared(run({"a": "pass fail", "b": "pass pass"}), run({"a": "pass pass", "b": "fail fail"}))
    figures = found.graders["cites"]
    assert (figures.newly_failing_case_ids, figures.newly_passing_case_ids) == (("a",), ("b",))
    assert figures.flaky_flip_case_ids == ("a",)


def test_a_flip_about_which_a_judge_contradicts_itself_is_laid_to_the_judge():
    old = run({"a": "pass", "b": "pass", "c": "pass"}, unstable_cases={"cites": {"b"}, "other": {"a"}})
    new = run({"a": "fail", "b": "fail", "c": "pass"}, unstable_cases={"cites": {"c"}})

    figures = compared(new, old).graders["cites"]

    assert (figures.newly_failing_case_ids, figures.judge_flip_case_ids) == (("a", "b"), ("b",))


def test_added_removed_reworded_and_relabelled_cases_are_listed_and_the_rest_is_compared():
    names = [f"c{i}" for i in range(20)]
    old = run(dict.fromkeys([*names, "gone"], "pass"))
    new = run(dict.fromkeys([*names, "new"], "pass"))
    new.cases["c0"] = ComparedCase(question_digest="another question")
    new.cases["c1"] = ComparedCase(question_digest="q-c1", label_digest="corrected")
    found = compared(new, old)
    assert found.is_comparable
    assert (found.added_case_ids, found.removed_case_ids) == (("new",), ("gone",))
    assert (found.reworded_case_ids, found.relabelled_case_ids) == (("c0",), ("c1",))
    assert (found.n_shared, found.graders["cites"].n_pairs) == (19, 19)


def test_every_reason_against_a_comparison_is_named_and_no_figure_is_given():
    old = run({"a": "pass", "b": "pass"}, missing_verdicts={"cites": 2})
    new = run({"a": "pass pass", "z": "pass pass"})
    found = compared(new, old)
    assert [reason.split(":")[0].split(" (")[0].split(";")[0] for reason in found.not_comparable] == [
        "epochs differ",
        "only 1 of 2 questions are shared",
        "re-grading cites needs 2 judge verdicts that are not recorded",
    ]
    assert found.graders == {}
    with pytest.raises(NotComparableError, match="epochs differ") as caught:
        found.require_comparable()
    assert caught.value.exit_code == 3


def test_the_overlap_is_of_the_larger_run_and_can_be_set():
    old, new = run(dict.fromkeys("abcdefghij", "pass")), run(dict.fromkeys("abcdefg", "pass"))
    assert not compared(new, old).is_comparable
    assert compared(new, old, min_overlap=0.7).is_comparable
    assert not compared(run({}), run({}), min_overlap=0.0).is_comparable


def rows(latencies, cost=1.0):
    return [
        RowFacts(case_id=c, answered=ms is not None, latency_ms=ms, cost_usd=cost if ms is not None else None)
        for c, ms in latencies.items()
    ]


def test_latency_and_cost_are_paired_over_answered_cases():
    outcomes = dict.fromkeys("abc", "pass")
    old = run(outcomes, rows=rows({"a": 100.0, "b": 200.0, "c": None}))
    new = run(outcomes, rows=rows({"a": 110.0, "b": 230.0, "c": 5.0}, cost=3.0))
    found = compared(new, old)
    # Changes 10 and 30: mean 20, s = 14.1421, SE = 10, t(1) = 12.7062
    assert (found.latency_ms.value, found.latency_ms.n) == (20.0, 2)
    assert found.latency_ms.high == pytest.approx(20 + 127.062, abs=1e-3)
    assert (found.cost_usd.value, found.cost_usd.low) == (2.0, None)  # no spread to judge by


def test_the_time_of_a_failed_call_is_not_an_answers_latency():
    outcomes = dict.fromkeys("ab", "pass")
    timed_out = RowFacts(case_id="b", answered=False, error_class="TimeoutError", latency_ms=60_000.0)
    old = run(outcomes, rows=rows({"a": 100.0, "b": 100.0}))
    found = compared(run(outcomes, rows=[*rows({"a": 110.0}), timed_out]), old)
    assert (found.latency_ms.value, found.latency_ms.n) == (10.0, 1)


def test_costs_under_other_prices_are_not_compared():
    outcomes = {"a": "pass"}
    found = compared(run(outcomes, prices_digest="p1"), run(outcomes, prices_digest="p2"))
    assert (found.cost_usd.value, found.cost_not_compared) == (None, "the price tables differ")


def test_flips_of_one_document_are_one_surprise():
    names = [f"{d}{i}" for d in "abcdefghij" for i in range(6)]
    old = run(dict.fromkeys(names, "pass"))
    outcomes = {c: "fail" if c[0] == "a" else "pass" for c in names}
    alone = compared(run(outcomes), old).graders["cites"]
    together = compared(run(outcomes, clusters={c: c[0] for c in names}), old).graders["cites"]
    assert alone.p_value == pytest.approx(1 / 64)
    assert together.p_value == pytest.approx(1 / 2)
    # 6 flips in one document: effect 36/6 = 6, and m̄ = 6: 60/6
    assert (alone.n_independent, together.n_independent) == (60.0, 10.0)
    assert together.difference.low < alone.difference.low
    assert together.difference.n_clusters == 10


def test_scores_are_compared_over_the_same_pairs():
    def graded(values):
        return [ScoreFacts(grader="cites", case_id=c, outcome=Outcome.PASS, value=v) for c, v in values.items()]

    outcomes = dict.fromkeys("ab", "pass")
    found = compared(
        run(outcomes, scores=graded({"a": 0.5, "b": 1.0})), run(outcomes, scores=graded({"a": 1.0, "b": 1.0}))
    )
    assert found.graders["cites"].score_difference.value == -0.25
    assert found.graders["cites"].difference.value == 0.0


def test_a_grader_without_any_score_has_no_pairs_and_no_figure():
    found = compare(run({"a": "pass"}), run({"a": "pass"}), suite="leases", graders=["other"]).graders["other"]
    assert (found.n_pairs, found.n_unpaired, found.p_value) == (0, 1, 1.0)
    assert found.difference.value is found.baseline_rate is None


WORDS = st.sampled_from(["pass", "fail", "not_applicable", "unmeasured"])


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(WORDS, WORDS), min_size=1), st.booleans())
def test_turning_the_runs_round_turns_the_comparison_round(pairs, has_clusters):
    clusters = {c: str(ord(c) % 3) for c in pairs} if has_clusters else None
    old = run({c: words[0] for c, words in pairs.items()}, clusters=clusters)
    new = run({c: words[1] for c, words in pairs.items()}, clusters=clusters)
    there, back = compared(new, old), compared(old, new)
    assert ComparisonDocument.model_validate_json(there.model_dump_json()) == there
    a, b = there.graders["cites"], back.graders["cites"]
    assert a.n_both_pass + a.n_newly_failing + a.n_newly_passing + a.n_both_fail == a.n_pairs
    assert a.n_pairs + a.n_unpaired == there.n_shared
    assert (a.n_newly_failing, a.n_newly_passing) == (b.n_newly_passing, b.n_newly_failing)
    if a.n_pairs:
        assert a.difference.value == pytest.approx(-b.difference.value)
        assert a.difference.low == pytest.approx(-b.difference.high)
        assert a.difference.low - 1e-12 <= a.difference.value <= a.difference.high + 1e-12
    assert a.p_value + b.p_value >= 1 - 1e-12  # both ways hold the outcome that was seen


def test_the_hallucination_rates_of_both_runs_are_compared_over_the_cases_that_both_measured():
    def flags(unsupported, **outcomes):
        facts = scores(outcomes)
        return [replace(fact, n_unsupported=int(fact.case_id in unsupported)) for fact in facts]

    names = {**dict.fromkeys("abcdefgh", "pass"), "i": "fail"}
    old = run(names, scores=flags({"a", "i"}, **names))
    new = run(names, scores=flags({"b", "c", "d", "i"}, **{**names, "h": "unmeasured"}))

    change = compared(new, old, grounded="cites").hallucination

    # a…g and i are measured in both: 2 of 8 hallucinated, 4 of 8 do now (b, c, d new, a no more, i as before).
    assert (change.n, change.value) == (8, pytest.approx(2 / 8))
    interval = stats.paired_difference(3, 3, 1, 1)  # neither, newly, no more, both
    assert (change.low, change.high) == (-interval.high, -interval.low)
    assert -0.2 < change.low < 0.25 < change.high < 0.7
    assert compared(new, old).hallucination.value is None  # no grader that measures it was named


def test_the_hallucination_difference_of_clustered_cases_names_its_clusters():
    names = dict.fromkeys("abcd", "pass")
    clusters = {"a": "x", "b": "x", "c": "y", "d": "y"}

    change = compared(run(names, clusters=clusters), run(names, clusters=clusters), grounded="cites").hallucination

    assert (change.value, change.n, change.n_clusters) == (0.0, 4, 2)
