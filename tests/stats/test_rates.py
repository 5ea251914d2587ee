"""Formulas against values from the papers, values worked by hand, and independent implementations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline import stats

COUNTS = st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
CLUSTERS = st.lists(
    st.integers(1, 12).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m))), min_size=1, max_size=12
)


@pytest.mark.parametrize(
    ("n_pass", "n", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_bounds_of_newcombes_table(n_pass, n, low, high):
    assert stats.wilson(n_pass, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_of_five_passes_in_five_is_bounded_by_one_over_one_plus_z_squared_over_n():
    # p = 1: (1 + z²/2n - z²/2n) / (1 + z²/n) = 1 / (1 + 3.841459/5) = 0.565518
    assert stats.wilson(5, 5) == pytest.approx((0.565518, 1.0), abs=1e-6)


def test_wilson_of_nothing_is_none():
    assert stats.wilson(0, 0) is None


@settings(deadline=None)  # the first call imports statsmodels
@given(COUNTS)
def test_wilson_holds_the_rate_and_agrees_with_statsmodels(counts):
    from statsmodels.stats.proportion import proportion_confint

    n_pass, n = counts
    interval = stats.wilson(n_pass, n)
    if n == 0:
        assert interval is None
        return
    assert 0 <= interval.low <= n_pass / n <= interval.high <= 1
    assert interval == pytest.approx(proportion_confint(n_pass, n, method="wilson"), abs=1e-9)


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


def test_the_mean_of_independent_values_has_the_textbook_interval():
    # 0, .5, 1, .5: mean .5, s² = .5/3, SE = √(.166667/4) = .204124, t(3) = 3.182446, half = .649615
    mean = stats.mean_interval([0, 0.5, 1, 0.5])
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.5, -0.149615, 1.149615), abs=1e-6)
    assert stats.mean_interval([0, 0.5, 1, 0.5], bounds=(0, 1))[1:3] == (0.0, 1.0)


def test_the_mean_over_clusters_has_the_cluster_robust_interval():
    # Residual sums -.5 and .5: SE² = 2/1·(.25 + .25)/16 = .0625, SE = .25, t(1) = 12.706205, half = 3.176551
    mean = stats.mean_interval([0, 0.5, 1, 0.5], ["a", "a", "b", "b"])
    assert (mean.low, mean.high) == pytest.approx((0.5 - 3.176551, 0.5 + 3.176551), abs=1e-5)
    assert mean.n_clusters == 2


def test_the_cluster_robust_error_is_that_of_statsmodels():
    import statsmodels.api as sm

    values = [0.1, 0.4, 0.9, 0.3, 0.8, 0.2, 0.6]
    groups = [0, 0, 1, 1, 1, 2, 3]
    fit = sm.OLS(np.array(values), np.ones(7)).fit(cov_type="cluster", cov_kwds={"groups": np.array(groups)})
    mean = stats.mean_interval(values, groups)
    half = stats.t_quantile(0.95, 3) * float(fit.bse[0])
    assert mean.high - mean.value == pytest.approx(half)


def test_values_that_are_all_alike_are_not_certain():
    # Ten ones: Wilson of 10 of 10 with t(9) = 2.262157, t² = 5.117355: 1/(1 + .5117355) = .661491
    assert stats.mean_interval([1.0] * 10, bounds=(0, 1))[:3] == pytest.approx((1.0, 0.661491, 1.0), abs=1e-6)
    assert stats.mean_interval([0.5], bounds=(0, 1))[:3] == (0.5, 0.0, 1.0)
    assert stats.mean_interval([0.5])[:3] == (0.5, None, None)
    assert stats.mean_interval([]) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=30), st.randoms())
def test_a_mean_lies_in_its_interval_whatever_the_order(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    means = [stats.mean_interval([v for v, _ in p], [c for _, c in p], bounds=(0, 1)) for p in (pairs, shuffled)]
    assert means[0] == means[1]
    assert 0 <= means[0].low <= means[0].value + 1e-12
    assert means[0].value - 1e-12 <= means[0].high <= 1


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.sampled_from([0.0, 0.25, 0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_is_numpys_linear_one(values, q):
    assert stats.quantile(values, q) == pytest.approx(float(np.quantile(values, q)), abs=1e-6)


def test_quantiles_of_nothing_and_of_endless_values_are_said():
    assert stats.quantile([], 0.5) is None
    assert stats.quantile([1.0, math.inf, math.inf], 0.95) == math.inf
    assert stats.quantile([1.0, math.inf], 0.0) == 1.0


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_hat_k_is_the_share_of_k_runs_that_all_pass(counts):
    n, n_pass, k = counts
    runs = [True] * n_pass + [False] * (n - n_pass)
    chosen = list(itertools.combinations(runs, k))
    assert stats.pass_hat_k(n, n_pass, k) == pytest.approx(sum(all(c) for c in chosen) / len(chosen))


def test_pass_hat_k_refuses_more_runs_than_there_are():
    with pytest.raises(ValueError, match="k=3"):
        stats.pass_hat_k(2, 1, 3)
