"""A judge against people: figures by hand and by other implementations, corrections by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline import stats
from spancheck_pipeline.stats.judged import Confusion, sensitivity_interval, specificity_interval

CELLS = st.builds(Confusion, *[st.integers(0, 60)] * 4)


def test_a_judge_has_the_figures_that_its_table_gives():
    # 100 items: 45 passed by both, 5 only by the judge, 10 only by people, 40 failed by both.
    table = Confusion(45, 5, 10, 40)
    assert (table.n, table.n_positive, table.n_negative) == (100, 55, 45)
    assert table.agreement == 0.85
    assert table.sensitivity == pytest.approx(45 / 55)
    assert table.specificity == pytest.approx(40 / 45)
    assert table.balanced_accuracy == pytest.approx((45 / 55 + 40 / 45) / 2)
    # (45·40 − 5·10)/√(50·55·45·50) = 1750/2487.4686 = .703526
    assert table.mcc == pytest.approx(0.703526, abs=1e-6)
    # p_e = .5·.55 + .5·.45 = .5; κ = (.85 − .5)/.5 = .7
    assert stats.kappa(table).value == pytest.approx(0.7)
    assert sensitivity_interval(table) == stats.wilson(45, 55)
    assert specificity_interval(table) == stats.wilson(40, 45)


@settings(deadline=None, max_examples=50)  # the first call imports statsmodels
@given(st.builds(Confusion, *[st.integers(1, 60)] * 4))
def test_kappa_and_its_interval_are_those_of_statsmodels(table):
    from statsmodels.stats.inter_rater import cohens_kappa

    found = stats.kappa(table)
    a, b, c, d = table
    theirs = cohens_kappa(np.array([[a, b], [c, d]]))
    assert found.value == pytest.approx(theirs.kappa)
    bounds = (max(-1.0, theirs.kappa_low), min(1.0, theirs.kappa_upp))
    assert (found.low, found.high) == pytest.approx(bounds, abs=1e-6)


def test_what_a_table_cannot_say_is_none():
    assert stats.kappa(Confusion(0, 0, 0, 0)) is None
    assert stats.kappa(Confusion(9, 0, 0, 0)) is None
    assert Confusion(5, 0, 1, 0).specificity is Confusion(5, 0, 1, 0).mcc is None
    assert stats.rogan_gladen(5, 10, Confusion(5, 0, 5, 0)) is None  # no failures in the gold set
    assert stats.rogan_gladen(5, 10, Confusion(5, 5, 5, 5)) is None  # no better than chance
    assert stats.rogan_gladen(0, 0, Confusion(9, 1, 1, 9)) is None
    assert stats.prediction_powered([], [], [1.0]) is None
    assert stats.brier([], []) is None


def test_rogan_gladen_takes_the_judges_errors_out_of_the_rate():
    # sens .95, spec .80, raw .875: (.875 + .8 − 1)/(.95 + .8 − 1) = .675/.75 = .9
    found = stats.rogan_gladen(875, 1000, Confusion(95, 20, 5, 80))
    assert found.value == pytest.approx(0.9)
    # z² = 3.841459; p' = 876.920729/1003.841459 = .873565; sens' = 96/102, spec' = 81/102
    # θ' = .667683/.735294 = .908049
    # v1 = .941176·.058824/102 = .00054278; v2 = .794118·.205882/102 = .00160289
    # Δ = 7.682918·(.908049·.00054278 − .091951·.00160289) = .0026544
    # s² = .00011002 + .824553·.00054278 + .0084550·.00160289 = .00057113; s = .023898/.735294 = .032501; z·s = .063702
    assert (found.low, found.high) == pytest.approx((0.84700, 0.97440), abs=2e-4)


def test_a_perfect_judge_is_left_as_it_is():
    assert stats.rogan_gladen(90, 100, Confusion(1000, 0, 0, 1000)).value == pytest.approx(0.9)


def test_prediction_powered_inference_follows_its_formula():
    # n = 4, N = 6. labels 1 1 0 1, judged 1 1 0 0: cov = mean(yf) − .75·.5 = .5 − .375 = .125
    # all ten judged hold 6 ones: variance (n − 1) .6·.4·10/9 = .266667; λ = .125/((1 + 4/6)·.266667) = .28125
    # θ = .28125·4/6 + (.75 − .28125·.5) = .1875 + .609375 = .796875
    found = stats.prediction_powered([1, 1, 0, 1], [1, 1, 0, 0], [1, 1, 1, 1, 0, 0])
    assert found.value == pytest.approx(0.796875)
    # var(unlabelled) = 2/9; corrections .71875 .71875 0 1: mean .609375, var = .508301 − .371338 = .136963
    # SE² = .0791016·.222222/6 + .136963/4 = .0029297 + .0342407 = .0371704; SE = .192796; low = .796875 − .377874
    assert found.low == pytest.approx(0.419001, abs=1e-5)
    assert found.high == 1.0


def test_a_smaller_worth_of_answers_and_gold_widens_both_corrections():
    table = Confusion(95, 20, 5, 80)
    plain = stats.rogan_gladen(875, 1000, table)
    worth_less = stats.rogan_gladen(87.5, 100, table, n_positive=50, n_negative=50)
    assert worth_less.value == pytest.approx(plain.value)
    assert worth_less.low < plain.low
    columns = ([1, 1, 0, 1] * 20, [1, 1, 0, 0] * 20, [1, 1, 1, 1, 0, 0] * 50)
    wide, narrow = (
        stats.prediction_powered(*columns, n_labelled=20, n_unlabelled=75),
        stats.prediction_powered(*columns),
    )
    # Both sizes are a quarter, so the standard error is twice as large.
    assert wide.value == pytest.approx(narrow.value)
    assert wide.value - wide.low == pytest.approx(2 * (narrow.value - narrow.low))


def test_the_interval_of_the_balanced_accuracy_joins_those_of_its_two_sides():
    # sens .9 [.8, .95], spec .7 [.6, .78]: middle .8; below √(.1² + .1²)/2 = .070711; above √(.05² + .08²)/2 = .047170
    found = stats.balanced_interval(stats.Estimate(0.9, 0.8, 0.95), stats.Estimate(0.7, 0.6, 0.78))
    assert tuple(found) == pytest.approx((0.729289, 0.847170), abs=1e-6)


def test_reliability_puts_each_score_into_its_tenth():
    bins = stats.reliability([0.0, 0.05, 0.1, 0.95, 1.0], [False, True, True, True, True])
    assert [(part.low, part.n, part.n_positive) for part in bins] == [(0.0, 2, 1), (0.1, 1, 1), (0.9, 2, 2)]
    # |1 − .05| + |1 − .1| + |2 − 1.95| = .95 + .9 + .05 = 1.9; over 5 items .38
    assert stats.calibration_error(bins) == pytest.approx(0.38)
    assert stats.calibration_error([]) is None


def test_the_best_threshold_is_the_one_with_the_largest_balanced_accuracy():
    scores, labels = [0.1, 0.3, 0.35, 0.6, 0.8], [False, False, True, False, True]
    # ≥ .325 passes two of two and one of three failures: (1 + 2/3)/2 = .8333; ≥ .7 one of two, none of three: .75
    assert stats.best_threshold(scores, labels, prefer=0.5) == pytest.approx(0.325)
    assert stats.best_threshold([0.1, 0.9], [True, True], prefer=0.5) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=40))
def test_no_threshold_is_better_than_the_best(items):
    scores, labels = [score for score, _ in items], [label for _, label in items]

    def balanced(threshold):
        return Confusion(
            sum(s >= threshold and y for s, y in items),
            sum(s >= threshold and not y for s, y in items),
            sum(s < threshold and y for s, y in items),
            sum(s < threshold and not y for s, y in items),
        ).balanced_accuracy

    best = stats.best_threshold(scores, labels, prefer=0.5)
    if best is not None:
        assert balanced(best) >= max(map(balanced, [*scores, 0.5])) - 1e-12


def test_people_are_held_against_each_other():
    # Item 1: yes yes no: 1 of 3 pairs agree; item 2: no no: 1 of 1; mean (1/3 + 1)/2 = 2/3. Item 3 has one label.
    # Against the others: item 1 gives yes against a split (left out) twice, no against yes; item 2 no against no twice.
    found = stats.concord([[True, True, False], [False, False], [True]])
    assert (found.n_items, found.agreement) == (2, pytest.approx(2 / 3))
    assert found.against_others == Confusion(0, 0, 1, 2)
    assert stats.concord([[True], []]) is None


@given(st.integers(0, 100), CELLS)
def test_a_corrected_rate_lies_in_its_interval_within_zero_and_one(n_pass, table):
    found = stats.rogan_gladen(n_pass, 100, table)
    if found is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1


def test_corrected_rates_cover_the_truth_that_the_raw_rate_misses():
    # Truth .90, sensitivity .95, specificity .80, 200 gold items, 1 000 judged answers.
    rng = np.random.default_rng(20261130)

    def judge(truth):
        return rng.random(truth.size) < np.where(truth, 0.95, 0.20)

    raw, corrected, powered = [], [], []
    for _ in range(1500):
        judged = judge(rng.random(1000) < 0.9)
        low, high = stats.wilson(int(judged.sum()), 1000)
        raw.append(low <= 0.9 <= high)
        stress = np.arange(200) < 100  # half of the stress set are failures
        said = judge(stress)
        table = Confusion(*(int(x.sum()) for x in (stress & said, ~stress & said, stress & ~said, ~stress & ~said)))
        _, low, high = stats.rogan_gladen(int(judged.sum()), 1000, table)
        corrected.append(low <= 0.9 <= high)
        slice_truth = rng.random(200) < 0.9
        columns = (slice_truth.astype(float), judge(slice_truth).astype(float), judged.astype(float))
        _, low, high = stats.prediction_powered(*(c.tolist() for c in columns))
        powered.append(low <= 0.9 <= high)
    # Over 16 000 simulations: .27, .96, .94; a share near .94 over 1 500 has a standard error of .006.
    assert np.mean(raw) <= 0.40
    assert np.mean(corrected) >= 0.93
    assert np.mean(powered) >= 0.92
