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
