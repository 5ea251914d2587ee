"""What comparisons with the baselines make of a night, by hand and over simulated nights."""

from __future__ import annotations

import numpy as np
import pytest

from spancheck_pipeline import stats
from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, compare
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts
from spancheck_pipeline.decision.gate_settings import Regression
from spancheck_pipeline.decision.paired_tests import regression_tests
from spancheck_pipeline.decision.regression import regression_rules
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.stats.paired import mcnemar_worse


def run(passes, *, run_id, graders):
    """One pass flag per case; the same for every grader."""
    flags = [bool(flag) for flag in passes]
    return ComparedRun(
        run_id=run_id,
        cases={str(i): ComparedCase(question_digest=str(i)) for i in range(len(flags))},
        scores=[
            ScoreFacts(grader=g, case_id=str(i), outcome=Outcome.PASS if flag else Outcome.FAIL, value=float(flag))
            for g in graders
            for i, flag in enumerate(flags)
        ],
    )


def comparison(both, failing, passing, neither, *, kind="release", run_id="base", graders=("cites",)):
    old = [1] * both + [1] * failing + [0] * passing + [0] * neither
    new = [1] * both + [0] * failing + [1] * passing + [0] * neither
    sides = (run(new, run_id="new", graders=graders), run(old, run_id=run_id, graders=graders))
    return compare(*sides, suite="leases", graders=graders, baseline_kind=kind)


def rule(*comparisons, graders=("cites",), **settings):
    return next(regression_rules(comparisons, Regression(**settings), graders, is_blocking=True))


def test_more_newly_failing_cases_than_chance_explains_fail_the_night():
    found = rule(comparison(170, 16, 4, 10))
    # P(X ≥ 16), X ~ Bin(20, ½) = 6196/1048576 = .0059
    assert found.answer is Answer.FAIL
    assert found.p_value == pytest.approx(0.0059, abs=5e-5)
    assert found.reason == (
        "cites: 16 newly failing and 4 newly passing of 200 pairs with the release baseline (p = 0.0059); "
        "look at the newly failing cases"
    )


def test_no_regression_is_a_pass_only_where_one_would_have_been_seen():
    quiet = rule(comparison(186, 2, 2, 10))
    assert quiet.answer is Answer.PASS
    assert quiet.detectable_drop <= 0.1
    few = rule(comparison(36, 2, 1, 1))
    assert few.answer is Answer.INCONCLUSIVE
    assert few.detectable_drop > 0.1
    assert few.cases_needed > 40
    assert "would have been seen" in few.reason


def test_without_a_comparable_baseline_the_thresholds_alone_decide():
    other = compare(
        run([1], run_id="a", graders=["cites"]),
        ComparedRun(run_id="b", cases={}, scores=()),
        suite="leases",
        graders=["cites"],
    )
    for comparisons in ((), (other,)):
        found = rule(*comparisons)
        assert (found.answer, found.reason) == (
            Answer.INCONCLUSIVE,
            "cites: no comparable baseline; the thresholds alone decide",
        )


def test_holm_runs_over_all_gating_graders_and_both_baselines():
    graders = ("a", "b")
    comparisons = [
        comparison(90, 7, 1, 2, graders=graders),  # P(X ≥ 7 of 8) = 9/256 = .035
        comparison(95, 2, 2, 1, kind="last_good", run_id="last", graders=graders),
    ]
    tests = regression_tests(comparisons, Regression(), graders)
    assert len(tests) == 4
    assert tests[0].alpha == pytest.approx(0.05 / 4)
    assert tests[0].p_adjusted == pytest.approx(4 * 9 / 256)
    assert rule(*comparisons, graders=graders).answer is not Answer.FAIL
    assert rule(comparisons[0], graders=("a",)).answer is Answer.FAIL


def test_one_run_that_is_both_baselines_is_tested_once():
    both = [comparison(90, 7, 1, 2), comparison(90, 7, 1, 2, kind="last_good")]
    assert len(regression_tests(both, Regression(), ["cites"])) == 1


def test_the_gravest_answer_over_the_baselines_stands():
    found = rule(comparison(180, 4, 6, 10), comparison(170, 18, 2, 10, kind="last_good", run_id="last"))
    assert found.answer is Answer.FAIL
    assert "the release baseline" in found.reason
    assert "the last good run" in found.reason


def test_a_margin_asks_for_a_drop_to_be_excluded_and_lets_a_small_one_pass():
    wide = comparison(1800, 60, 30, 110)  # −1.5 points, significant
    assert rule(wide).answer is Answer.FAIL
    assert rule(wide, margin=0.05).answer is Answer.PASS
    few = rule(comparison(36, 2, 1, 1), margin=0.05)
    assert few.answer is Answer.NOT_MEASURED, "it was asked to be excluded, and that lets nothing pass"
    assert "not excluded" in few.reason
    dropped = rule(comparison(36, 4, 0, 0), margin=0.02)  # −10 points of 40 cases
    assert dropped.answer is Answer.FAIL
    assert "one of 10 points was seen" in dropped.reason


def measured(new, old, *, clusters=None, graders=("cites",), kind="given", run_id="old"):
    """Two runs whose cases are passed (P), failed (F), unmeasured (U) or not applicable (N)."""
    words = {"P": Outcome.PASS, "F": Outcome.FAIL, "U": Outcome.UNMEASURED, "N": Outcome.NOT_APPLICABLE}

    def side(said, name):
        return ComparedRun(
            run_id=name,
            cases={
                str(i): ComparedCase(question_digest=str(i), cluster=clusters and f"d{i % clusters}")
                for i in range(len(said))
            },
            scores=[
                ScoreFacts(grader=g, case_id=str(i), outcome=words[w], value=float(w == "P") if w in "PF" else None)
                for g in graders
                for i, w in enumerate(said)
            ],
        )

    return compare(side(new, "new"), side(old, run_id), suite="leases", graders=graders, baseline_kind=kind)


def test_a_grader_that_pairs_nothing_says_so_and_is_not_measured_where_this_run_could_not():
    nothing_there = rule(measured("P" * 40, "U" * 40))
    assert (nothing_there.answer, nothing_there.reason) == (
        Answer.INCONCLUSIVE,
        (
            "cites: no case is measured both here and in the baseline, so that no regression was looked for; the "
            "thresholds alone decide"
        ),
    )
    assert rule(measured("N" * 40, "N" * 40)).answer is Answer.INCONCLUSIVE
    neither = rule(measured("U" * 40, "U" * 40))
    assert neither.answer is Answer.NOT_MEASURED
    assert "40 cases of this run could not be measured, so that a regression cannot be looked for" in neither.reason


def test_cases_that_are_no_longer_measured_are_taken_once_as_passing_and_once_as_failing():
    for settings in ({}, {"margin": 0.05}):
        half = rule(measured("U" * 100 + "P" * 100, "P" * 200), **settings)
        assert half.answer is Answer.NOT_MEASURED
        assert half.reason == (
            "cites: 0 newly failing and 0 newly passing of 100 pairs with the baseline; 100 cases more that it "
            "measured could not be measured now, and these decide; quality is not what failed: look at the unmeasured "
            "cases"
        )
        assert rule(measured("U" * 200, "P" * 200), **settings).answer is Answer.NOT_MEASURED
    # One of 200: newly failing it would be p = 1/2, so that it decides nothing.
    one = rule(measured("U" + "P" * 199, "P" * 200))
    assert one.answer is Answer.PASS
    assert "1 case more that it measured could not be measured now, and with these taken as passing" in one.reason
    # P(X ≥ 5), X ~ Bin(5, ½) = 1/32 already without the one that is lost.
    assert rule(measured("U" + "F" * 5 + "P" * 194, "P" * 200)).answer is Answer.FAIL
    # Four are p = 1/16; with the lost one as a fifth 1/32.
    assert rule(measured("U" + "F" * 4 + "P" * 195, "P" * 200)).answer is Answer.NOT_MEASURED
    # What failed in the baseline and is not measured now can be no regression.
    assert rule(measured("U" * 20 + "P" * 180, "F" * 20 + "P" * 180)).answer is Answer.PASS


def test_what_helps_the_unmeasured_is_said_by_their_reason_codes():
    scores = [
        ScoreFacts(grader="cites", case_id=str(i), outcome=Outcome.UNMEASURED, reason_code="no_contexts")
        for i in range(200)
    ]
    rows = [RowFacts(case_id=str(i), answered=True) for i in range(200)]
    graders = [GraderFacts(name="cites", measurement="cites")]
    card = build_scorecard(suite="leases", run_id="new", rows=rows, scores=scores, graders=graders)
    comparisons = [measured("U" * 200, "P" * 200)]
    found = next(regression_rules(comparisons, Regression(), ["cites"], is_blocking=True, scorecard=card))
    assert found.reason.endswith(
        "quality is not what failed: 200 of 200 unmeasured scores say no_contexts: let the target return the passages "
        "with their text"
    )


def test_with_too_few_documents_no_drop_can_be_shown_and_the_answer_says_how_many_would_do():
    four = rule(measured("F" * 100, "P" * 100, clusters=4))
    assert (four.answer, four.p_value) == (Answer.INCONCLUSIVE, 0.0625)  # 2⁻⁴
    assert four.reason.endswith(
        "; with 4 documents that passed there no drop can be shown, however large; at least 5 documents would be needed"
    )
    assert (four.cases_needed, four.clusters_needed) == (None, 5)
    assert rule(measured("F" * 100, "P" * 100, clusters=5)).answer is Answer.FAIL
    # Flips that spread let 400 cases look like many independent ones; four documents stay four.
    spread = ["F" if i % 25 == 0 else "P" for i in range(400)]
    assert rule(measured(spread, "P" * 400, clusters=4)).answer is Answer.INCONCLUSIVE
    # Two graders halve the level: 2⁻⁵ = .031 is more than .025.
    pair = measured("F" * 100, "P" * 100, clusters=5, graders=("a", "b"))
    assert (
        "with 5 documents that passed there no drop can be shown, however large; at least 6"
        in rule(pair, graders=("a", "b")).reason
    )
    fallen = rule(measured("F" * 100, "F" * 100, clusters=20))
    assert "with 0 documents that passed there no drop can be shown, however large; at least 5 such" in fallen.reason
    alone = rule(measured("FFFF", "PPPP"))
    assert "with 4 cases that passed there no drop can be shown, however large; at least 5 cases" in alone.reason


def test_where_documents_are_what_is_short_documents_are_asked_for():
    few = rule(measured("P" * 120, "P" * 120, clusters=12))
    assert few.answer is Answer.INCONCLUSIVE
    assert few.cases_needed is None
    assert few.clusters_needed > 12
    assert f"about {few.clusters_needed} documents would see 10 points" in few.reason
    assert "independent cases" not in few.reason
    asked = rule(measured("P" * 120, "P" * 120, clusters=12), margin=0.02)
    assert asked.answer is Answer.NOT_MEASURED
    assert asked.reason.endswith("quality is not what failed: measure more documents")


def test_an_answer_that_rests_on_no_better_a_run_says_so():
    same = rule(measured("P" * 300, "P" * 300, clusters=30))
    assert same.answer is Answer.PASS
    assert "(as with 2 more newly failing; no run is judged worse for failing less)" in same.reason
    assert same.detectable_drop <= 0.1
    better = rule(measured("P" * 60, "F" * 30 + "P" * 30), detect=0.2)
    assert better.answer is Answer.PASS
    assert "fewer newly passing; no run is judged worse" in better.reason


def test_what_is_wanted_of_a_difference_is_a_difference():
    one_of_forty = measured("F" + "P" * 39, "P" * 40)
    assert (rule(one_of_forty).threshold, rule(one_of_forty).observed) == (None, -0.025)
    asked = rule(one_of_forty, margin=0.0525)
    assert (asked.threshold, asked.observed) == (-0.0525, -0.025)
    assert "a drop of 5.25 points" in asked.reason


# Simulated nights. A case passes with a chance of its own, drawn from Beta(8, 1); a night is one draw a case.
SEED = 20261130


def flips(rng, n, *, nights, drop=0.0):
    """Newly failing and newly passing counts of simulated nights, with the chance of every case lowered by ``drop``."""
    chance = rng.beta(8, 1, size=(nights, n))
    old = rng.random((nights, n)) < chance
    new = rng.random((nights, n)) < np.maximum(0, chance - drop)
    return (old & ~new).sum(axis=1), (~old & new).sum(axis=1)


def failed(failing, passing, alpha=0.05):
    return np.array([mcnemar_worse(b, c) <= alpha for b, c in zip(failing.tolist(), passing.tolist(), strict=True)])


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_an_unchanged_system_is_failed_on_at_most_one_night_in_twenty(n):
    rng = np.random.default_rng([SEED, n])
    failing, passing = flips(rng, n, nights=2000)
    # The exact test keeps its level for certain; 1.1 points are more than two standard errors of 2 000 nights.
    assert failed(failing, passing).mean() <= 0.05 + 0.011
    # The rule "fail when today is lower than yesterday" fails it nearly every second night.
    assert 0.40 <= (failing > passing).mean() <= 0.50


def test_a_drop_of_ten_points_at_200_cases_is_failed_on_four_nights_in_five():
    failing, passing = flips(np.random.default_rng(SEED), 200, nights=2000, drop=0.10)
    assert failed(failing, passing).mean() >= 0.80


def test_a_drift_of_a_point_a_night_is_failed_against_the_release_baseline_within_20_nights():
    rng = np.random.default_rng(SEED)
    caught = []
    for _ in range(300):
        chance = rng.beta(8, 1, size=200)
        release = rng.random(200) < chance
        nights = rng.random((20, 200)) < np.maximum(0, chance - 0.01 * np.arange(1, 21)[:, None])
        caught.append(failed((release & ~nights).sum(axis=1), (~release & nights).sum(axis=1)).any())
    assert np.mean(caught) >= 0.95


def test_documents_that_go_together_do_not_raise_the_false_alarms():
    # 30 documents of 10 cases; a document's cases share most of the night's luck, drawn anew for both runs.
    rng = np.random.default_rng(SEED)
    alarms, naive = [], []
    for _ in range(400):
        shifts = rng.beta(0.4, 0.1, size=(2, 30, 1))  # ICC = 1/(1 + .5) = .67 within a night
        old, new = rng.random((2, 30, 10)) < shifts
        losses = (old.astype(int) - new).sum(axis=1)
        alarms.append(stats.worse_by_chance(losses.tolist()) <= 0.05)
        naive.append(mcnemar_worse(int((old & ~new).sum()), int((~old & new).sum())) <= 0.05)
    assert np.mean(alarms) <= 0.05 + 0.022
    assert np.mean(naive) >= 0.15
