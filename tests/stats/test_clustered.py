"""Rates over cases that share clusters: the interval, and the bound that a gate decides by."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline import stats

CLUSTERS = st.lists(
    st.integers(1, 12).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))), min_size=1, max_size=12
)


def test_the_intra_cluster_correlation_of_three_small_clusters_is_one_half():
    # Clusters 2/2, 0/2, 1/2; p = 0.5. MSB = (2·.25 + 2·.25 + 0)/2 = 0.5; MSW = (0 + 0 + 2·.25)/3 = 1/6;
    # m0 = (6 - 12/6)/2 = 2; ICC = (1/2 - 1/6)/(1/2 + 1/6) = 0.5
    assert stats.intra_cluster_correlation([2, 0, 1], [2, 2, 2]) == pytest.approx(0.5)


def test_the_intra_cluster_correlation_is_clipped_at_zero_and_cautious_where_the_data_are_silent():
    assert stats.intra_cluster_correlation([1, 1], [2, 2]) == 0.0  # clusters more alike than chance makes them
    assert stats.intra_cluster_correlation([3, 3], [3, 3]) == 1.0  # all pass: the data say nothing of it
    assert stats.intra_cluster_correlation([2], [4]) == 1.0  # one cluster
    assert stats.intra_cluster_correlation([1, 0, 1], [1, 1, 1]) == 0.0  # every case its own


def test_wilson_on_the_effective_sample_size_follows_the_hand_worked_figures():
    # As above: ICC = 0.5 from w = 2 clusters with a failure, drawn towards 1: (2·0.5 + 1)/3 = 2/3.
    # n = 6, m̄ = 12/6 = 2, n_eff = 6/(1 + 2/3) = 3.6; t(2) = 4.302653, t² = 18.51282.
    # half = 4.302653·√(.25/3.6 + 18.51282/51.84) / (1 + 18.51282/3.6) = 4.302653·0.653115/6.142450 = 0.457493
    interval = stats.wilson_clustered([2, 0, 1], [2, 2, 2])
    assert interval.icc == pytest.approx(2 / 3)
    assert interval.n_effective == pytest.approx(3.6)
    assert interval.n_clusters == 3
    assert interval.few_clusters
    assert (interval.low, interval.high) == pytest.approx((0.042507, 0.957493), abs=2e-6)


def test_the_size_that_counts_is_the_one_that_the_average_case_meets():
    # Sizes 9 and 1, all pass: ICC 1, m̄ = 82/10 = 8.2, n_eff = 10/8.2
    assert stats.wilson_clustered([9, 1], [9, 1]).n_effective == pytest.approx(10 / 8.2)


def test_a_first_failure_moves_the_lower_bound_by_less_than_a_point():
    # Without the imagined cluster the correlation would jump from 1 (nothing known) to 0 and the bound by 2 points.
    all_pass = stats.wilson_clustered([3] * 100, [3] * 100)
    one_fails = stats.wilson_clustered([2] + [3] * 99, [3] * 100)
    assert abs(one_fails.low - all_pass.low) < 0.01


def test_clusters_that_all_pass_are_worth_one_case_each_and_one_cluster_says_nothing():
    assert stats.wilson_clustered([10] * 25, [10] * 25).n_effective == pytest.approx(25)
    assert stats.wilson_clustered([10] * 25, [10] * 25).low < 0.9
    assert stats.wilson_clustered([7], [9])[:2] == (0.0, 1.0)
    assert stats.wilson_clustered([], []) is None


def simulated(n_clusters, sizes, *, nights, seed):
    """Passes and sizes of documents whose rates are Beta distributed around .9 with an ICC of .7, for many nights."""
    rng = np.random.default_rng([seed, n_clusters])
    spread = 1 / 0.7 - 1
    for _ in range(nights):
        m = rng.choice(sizes[0], size=n_clusters, p=sizes[1])
        yield rng.binomial(m, rng.beta(0.9 * spread, 0.1 * spread, n_clusters)).tolist(), m.tolist()


@pytest.mark.parametrize("n_clusters", [20, 50, 100])
@pytest.mark.parametrize("sizes", [([10], [1.0]), ([1, 2, 3, 30], [0.4, 0.3, 0.2, 0.1])], ids=["equal", "unequal"])
def test_the_clustered_interval_covers_the_true_rate_where_the_naive_one_does_not(n_clusters, sizes):
    held, naive = [], []
    for passes, m in simulated(n_clusters, sizes, nights=500, seed=20261130):
        low, high = stats.wilson_clustered(passes, m)[:2]
        held.append(low <= 0.9 <= high)
        low, high = stats.wilson(sum(passes), sum(m))
        naive.append(low <= 0.9 <= high)
    assert np.mean(held) >= 0.93
    assert np.mean(naive) <= 0.70


@given(CLUSTERS)
def test_the_clustered_interval_holds_the_rate_in_any_order_of_clusters(clusters):
    passes, sizes = zip(*clusters, strict=True)
    interval = stats.wilson_clustered(passes, sizes)
    assert 0 <= interval.low <= sum(passes) / sum(sizes) <= interval.high <= 1
    assert 0 <= interval.icc <= 1
    assert 1 - 1e-9 <= interval.n_effective <= sum(sizes) + 1e-9
    assert stats.wilson_clustered(passes[::-1], sizes[::-1]) == interval


def test_no_run_fails_where_one_with_more_failures_passes():
    # 20 documents of 10: nothing failing tells nothing of the correlation, so ICC 1, n_eff 20: t(19)² = 2.093024² =
    # 4.380750, low = 20/24.380750 = .820319. Four failures in four documents: ICC 0 drawn towards 1 by one of five,
    # n_eff = 200/(1 + 9/5) = 71.4286, low = .908651 - and that is the most that any further failures reach.
    assert stats.wilson_clustered([10] * 20, [10] * 20).low == pytest.approx(0.820319, abs=1e-6)
    assert stats.wilson_clustered([9] * 4 + [10] * 16, [10] * 20).low == pytest.approx(0.908651, abs=1e-6)
    for n_failing in range(5):
        passes = [9] * n_failing + [10] * (20 - n_failing)
        bound = stats.deciding_bound(passes, [10] * 20)
        assert bound.low == pytest.approx(0.908651, abs=1e-6)
        assert bound.n_further == 4 - n_failing
    assert stats.deciding_bound([], []) is None


def test_the_bound_to_decide_by_is_the_intervals_own_where_failures_tell_enough_and_without_clusters():
    spread = [9] * 8 + [10] * 12
    assert stats.deciding_bound(spread, [10] * 20) == (stats.wilson_clustered(spread, [10] * 20).low, 0)
    alone = [1] * 35 + [0] * 5
    assert stats.deciding_bound(alone, [1] * 40) == (stats.wilson_clustered(alone, [1] * 40).low, 0)


SMALL = st.lists(st.integers(1, 4).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))), min_size=1, max_size=4)


@given(SMALL)
def test_the_bound_to_decide_by_is_the_largest_over_all_results_with_more_failures(clusters):
    passes, sizes = zip(*clusters, strict=True)
    fewer = product(*(range(n_pass + 1) for n_pass in passes))
    largest = max(stats.wilson_clustered(found, sizes).low for found in fewer)
    assert stats.deciding_bound(passes, sizes).low == pytest.approx(largest, abs=1e-9)


def test_what_the_bound_to_decide_by_costs_in_coverage():
    # One-sided, nominal 97.5 %, 20 documents of 10 at .88: at a correlation of 1 all of them pass on 8 % of nights, and
    # the bound of such a night is that of four failures (decision 0015).
    rng = np.random.default_rng(20261130)
    held = []
    for _ in range(1000):
        passes = [10 if passed else 0 for passed in rng.random(20) < 0.88]
        held.append(stats.deciding_bound(passes, [10] * 20).low <= 0.88)
    assert 0.89 <= np.mean(held) <= 0.94
