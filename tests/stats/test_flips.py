"""The pairs of two runs unit by unit, and what they would say if more of them failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline import stats
from spancheck_pipeline.stats import Cells, Flips

CELLS = st.builds(Cells, *[st.integers(0, 3)] * 4).filter(sum)


def test_the_figures_are_those_of_the_formulas_over_cases_and_over_clusters():
    alone = Flips(units=(Cells(90, 7, 1, 2),), is_clustered=False)
    assert (alone.n, alone.n_clusters, alone.n_independent, alone.difference) == (100, None, 100.0, -0.06)
    assert alone.p_value == pytest.approx(9 / 256)  # P(X ≥ 7), X ~ Bin(8, ½)
    assert alone.interval == stats.paired_difference(90, 7, 1, 2)
    # Documents with nets 2, 0 (one each way) and -1: p = P(±2 ±1 ≥ 1) = 2/4
    documents = Flips(units=(Cells(1, 2, 0, 0), Cells(0, 1, 1, 0), Cells(0, 0, 1, 1)), is_clustered=True)
    assert documents.p_value == pytest.approx(0.5)
    assert documents.n_independent == stats.independent_pairs([[0, 1, 1], [1, -1], [-1, 0]])
    assert (documents.total, documents.n_clusters, documents.n_fallible) == (Cells(1, 3, 2, 1), 3, 2)


def test_fewer_units_than_five_can_show_no_loss_at_five_percent():
    # 2⁻⁴ = .0625, 2⁻⁵ = .03125; two tests of a night leave .025 and ask for six.
    assert [stats.fewest_units(alpha) for alpha in (0.05, 0.025, 0.0625)] == [5, 6, 4]
    lost = [Flips(units=(Cells(0, 9, 0, 0),) * n, is_clustered=True).p_value for n in (4, 5)]
    assert lost == [0.0625, 0.03125]


def test_a_further_loss_goes_where_nothing_flips_and_a_lost_gain_where_most_was_gained():
    pairs = Flips(units=(Cells(5, 1, 0, 0), Cells(3, 0, 0, 0), Cells(1, 0, 2, 1)), is_clustered=True)
    assert pairs.with_a_loss().units[1] == Cells(2, 1, 0, 0)
    assert pairs.without_a_gain().units[2] == Cells(1, 0, 1, 2)
    assert Flips(units=(Cells(0, 1, 0, 2),), is_clustered=True).with_a_loss() is None
    assert Flips(units=(Cells(3, 1, 0, 2),), is_clustered=True).without_a_gain() is None


def test_no_better_results_begin_with_the_own_one_and_end_where_they_are_not_worth_a_look():
    pairs = Flips(units=(Cells(10, 0, 2, 0),), is_clustered=False)
    found = [
        (item.total.newly_failing, item.total.newly_passing) for item in pairs.no_better(lambda f: f.total.net < 1)
    ]
    assert found == [(0, 2), (1, 2), (2, 2), (0, 1), (1, 1), (0, 0)]


@given(st.lists(CELLS, min_size=1, max_size=6), st.booleans())
def test_a_further_failure_never_raises_the_p_value_or_the_difference(units, is_clustered):
    pairs = Flips(units=tuple(units), is_clustered=is_clustered)
    for i, unit in enumerate(units):
        worse = [unit.with_a_loss()] * bool(unit.both_pass) + [unit.without_a_gain()] * bool(unit.newly_passing)
        for cells in worse:
            other = Flips(units=(*units[:i], cells, *units[i + 1 :]), is_clustered=is_clustered)
            assert other.p_value <= pairs.p_value + 1e-12
            assert other.difference < pairs.difference
            assert other.n_fallible == pairs.n_fallible


def test_whether_a_drop_is_seen_is_what_the_exact_power_says():
    for n in (40, 68, 110, 200):
        for churn in (0.01, 0.05):
            power = stats.power_to_see(0.1, n=n, churn=churn, alpha=0.05)
            assert stats.sees_drop(0.1, n, churn, 0.05) == (power >= 0.8)
    assert not stats.sees_drop(0.1, 0, 0.1, 0.05)
