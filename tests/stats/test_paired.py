"""Tests and intervals of two runs over the same cases, against the papers, brute force and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline import stats
from spancheck_pipeline.stats.paired import mcnemar_worse

LOSSES = st.lists(st.integers(-3, 3), max_size=9)


def test_ten_newly_failing_against_two_newly_passing_is_rarely_chance():
    # P(X ≥ 10), X ~ Bin(12, ½) = (66 + 12 + 1)/4096
    assert stats.worse_by_chance([1] * 10 + [-1] * 2 + [0] * 100) == pytest.approx(79 / 4096)


@settings(deadline=None)  # the first call imports scipy
@given(LOSSES)
def test_the_chance_of_so_many_losses_is_the_share_of_sign_choices_that_reach_them(losses):
    sizes = [abs(loss) for loss in losses]
    sums = [
        sum(s * z for s, z in zip(signs, sizes, strict=True)) for signs in itertools.product((1, -1), repeat=len(sizes))
    ]
    expected = sum(total >= sum(losses) for total in sums) / len(sums)
    assert stats.worse_by_chance(losses) == pytest.approx(expected)


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_units_of_one_case_give_the_exact_mcnemar_test(newly_failing, newly_passing):
    by_hand = sum(
        math.comb(newly_failing + newly_passing, k) for k in range(newly_failing, newly_failing + newly_passing + 1)
    )
    p = stats.worse_by_chance([1] * newly_failing + [-1] * newly_passing)
    assert p == pytest.approx(by_hand / 2 ** (newly_failing + newly_passing))
    assert mcnemar_worse(newly_failing, newly_passing) == pytest.approx(p)


def test_losses_of_one_document_count_as_one_surprise():
    assert stats.worse_by_chance([8]) == pytest.approx(0.5)
    assert stats.worse_by_chance([1] * 8) == pytest.approx(1 / 256)


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17:2635-2650, method 10; (e, f, g, h) with f − g the difference.
    [
        ((36, 2, 12, 0), 0.0569, 0.3404),
        ((18, 2, 12, 18), 0.0562, 0.3290),
        ((53, 0, 0, 1), -0.0729, 0.0729),
    ],
)
def test_the_paired_difference_has_the_bounds_of_newcombes_examples(pairs, low, high):
    assert stats.paired_difference(*pairs) == pytest.approx((low, high), abs=5e-5)


def test_no_pairs_have_no_difference():
    assert stats.paired_difference(0, 0, 0, 0) is None


@given(*[st.integers(0, 50)] * 4)
def test_the_paired_difference_lies_in_its_interval_and_turns_round_with_the_runs(both, worse, better, neither):
    interval = stats.paired_difference(both, worse, better, neither)
    if interval is None:
        return
    assert -1 <= interval.low <= (better - worse) / (both + worse + better + neither) + 1e-12
    assert (better - worse) / (both + worse + better + neither) - 1e-12 <= interval.high <= 1
    turned = stats.paired_difference(both, better, worse, neither)
    assert turned == pytest.approx((-interval.high, -interval.low))


def test_pairs_of_clusters_are_worth_what_their_flips_say():
    # Effect Σ(sums)²/Σ(losses)² = (4 + 1)/3 = 5/3 from w = 2, m̄ = 3 once: (2·5/3 + 3)/3 = 19/9; 9/(19/9)
    assert stats.independent_pairs([[1, 1, 0], [0, 1, 0], [0, 0, 0]]) == pytest.approx(81 / 19)
    assert stats.independent_pairs([[0, 0, 0]] * 5) == 5.0  # no flip: a cluster is worth one pair
    assert stats.independent_pairs([[1], [0], [-1]]) == 3.0  # every case its own
    assert stats.independent_pairs([]) == 0.0


def test_one_cluster_says_nothing_of_a_difference():
    assert stats.paired_difference(8, 2, 0, 0, n_independent=1.0, n_clusters=1) == (-1.0, 1.0)


def test_the_difference_over_clusters_covers_the_truth():
    # 30 documents of 10 cases; a document is good or bad in both runs and its chance moves by ±.2 between them.
    rng = np.random.default_rng(20261130)
    held, naive = [], []
    for _ in range(600):
        base = rng.choice([0.3, 0.9], p=[0.2, 0.8], size=(30, 1))
        moved = np.clip(base + rng.choice([-0.25, 0.0, 0.05], size=(30, 1)), 0, 1)  # mean change −.0667
        old, new = rng.random((30, 10)) < base, rng.random((30, 10)) < moved
        losses = old.astype(int) - new
        cells = [int(x.sum()) for x in (old & new, old & ~new, ~old & new, ~old & ~new)]
        worth = stats.independent_pairs(losses.tolist())
        low, high = stats.paired_difference(*cells, n_independent=worth, n_clusters=30)
        held.append(low <= -0.2 / 3 <= high)
        low, high = stats.paired_difference(*cells)
        naive.append(low <= -0.2 / 3 <= high)
    assert np.mean(held) >= 0.93
    assert np.mean(naive) < np.mean(held)


def test_holm_steps_down_and_never_below_an_earlier_step():
    # Ascending .01·3 = .03, .03·2 = .06, .04·1 = .04 → held at .06
    assert stats.holm([0.04, 0.01, 0.03]) == pytest.approx((0.06, 0.03, 0.06))
    assert stats.holm([]) == ()
    assert stats.holm([0.7, 0.9]) == (1.0, 1.0)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_agrees_with_statsmodels(p_values):
    from statsmodels.stats.multitest import multipletests

    assert stats.holm(p_values) == pytest.approx(tuple(multipletests(p_values, method="holm")[1]))


def test_power_over_five_pairs_that_can_only_get_worse_is_the_chance_of_five_losses():
    # Without churn only 5 of 5 losses reach 1/32 ≤ .05: .5⁵
    assert stats.power_to_see(0.5, n=5, churn=0.0, alpha=0.05) == pytest.approx(0.5**5)


def test_power_is_what_a_simulation_finds():
    rng = np.random.default_rng(20261130)
    failing, passing, _ = rng.multinomial(200, [0.19, 0.09, 0.72], size=4000).T
    seen = [mcnemar_worse(b, c) <= 0.05 for b, c in zip(failing.tolist(), passing.tolist(), strict=True)]
    # Standard error of a share near .8 over 4 000: .006
    assert stats.power_to_see(0.10, n=200, churn=0.09, alpha=0.05) == pytest.approx(np.mean(seen), abs=0.02)


def test_the_detectable_drop_is_the_smallest_tenth_of_a_point_with_the_power():
    drop = stats.detectable_drop(200, 0.09, 0.05)
    assert stats.power_to_see(drop, n=200, churn=0.09, alpha=0.05) >= 0.8
    assert stats.power_to_see(drop - 0.001, n=200, churn=0.09, alpha=0.05) < 0.8
    assert stats.detectable_drop(3, 0.1, 0.05) is None


def test_more_cases_see_smaller_drops_and_more_tests_see_less():
    assert stats.detectable_drop(1000, 0.09, 0.05) < stats.detectable_drop(200, 0.09, 0.05)
    assert stats.detectable_drop(200, 0.09, 0.05 / 4) > stats.detectable_drop(200, 0.09, 0.05)


def test_the_cases_needed_would_see_the_drop_and_a_third_fewer_would_not():
    n = stats.cases_needed(0.05, 0.09, 0.05)
    assert stats.power_to_see(0.05, n=n, churn=0.09, alpha=0.05) >= 0.8
    assert stats.power_to_see(0.05, n=n * 2 // 3, churn=0.09, alpha=0.05) < 0.8
    assert stats.cases_needed(1e-5, 0.3, 0.05) is None
