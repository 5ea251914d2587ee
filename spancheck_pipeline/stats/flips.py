"""The pairs of two runs over the same cases, unit by unit, and what they would say if more of them failed.

A unit is what is independent: a cluster, or a case that stands for itself. The formulas are in ``paired.py``; which
cases pair lives in ``decision/paired_figures.py``, what an answer makes of it in ``decision/regression.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from spancheck_pipeline.stats.paired import mcnemar_worse, paired_difference, worse_by_chance, worth_of_pairs
from spancheck_pipeline.stats.rates import Interval


class Cells(NamedTuple):
    """How many pairs of a unit, or of all, came out how."""

    both_pass: int = 0
    newly_failing: int = 0
    newly_passing: int = 0
    both_fail: int = 0

    @property
    def net(self) -> int:
        """Newly failing less newly passing."""
        return self.newly_failing - self.newly_passing

    @property
    def n_flips(self) -> int:
        """Pairs that came out differently."""
        return self.newly_failing + self.newly_passing

    def with_a_loss(self) -> Cells:
        """Return the cells with one case newly failing that passed in both runs."""
        return self._replace(both_pass=self.both_pass - 1, newly_failing=self.newly_failing + 1)

    def without_a_gain(self) -> Cells:
        """Return the cells with one newly passing case failing in both runs."""
        return self._replace(newly_passing=self.newly_passing - 1, both_fail=self.both_fail + 1)


@dataclass(frozen=True, kw_only=True)
class Flips:
    """The pairs of two runs. Without clusters ``units`` may hold them all in one, for each case is its own."""

    units: tuple[Cells, ...]
    is_clustered: bool

    @cached_property
    def total(self) -> Cells:
        """The cells of all pairs."""
        return Cells(*(sum(column) for column in zip(*self.units, strict=True))) if self.units else Cells()

    @property
    def n(self) -> int:
        """Pairs."""
        return sum(self.total)

    @property
    def n_clusters(self) -> int | None:
        """Clusters that the pairs fall into; None where every case stands for itself."""
        return len(self.units) if self.is_clustered else None

    @property
    def n_fallible(self) -> int:
        """Units in which something passed before, so that something could be lost."""
        if not self.is_clustered:
            return self.total.both_pass + self.total.newly_failing
        return sum(unit.both_pass + unit.newly_failing > 0 for unit in self.units)

    @property
    def difference(self) -> float | None:
        """The candidate's rate less the baseline's; None without pairs."""
        return -self.total.net / self.n if self.n else None

    @property
    def churn(self) -> float:
        """Estimated share of pairs that flip each way when nothing changes, half a flip added so that it is not 0."""
        return (self.total.n_flips + 1) / (2 * (self.n + 1))

    @cached_property
    def n_independent(self) -> float:
        """How many independent pairs the pairs are worth."""
        if not self.is_clustered:
            return float(self.n)
        return worth_of_pairs(
            sizes=[sum(unit) for unit in self.units],
            n_flips=self.total.n_flips,
            net_squares=sum(unit.net**2 for unit in self.units),
            n_flipped=sum(unit.n_flips > 0 for unit in self.units),
        )

    @cached_property
    def p_value(self) -> float:
        """One-sided: the chance of so many losses if nothing had changed; 1 without pairs."""
        if not self.is_clustered:
            return mcnemar_worse(self.total.newly_failing, self.total.newly_passing)
        return worse_by_chance([unit.net for unit in self.units])

    @cached_property
    def interval(self) -> Interval | None:
        """The interval of the difference; None without pairs."""
        n_independent = self.n_independent if self.is_clustered else None
        return paired_difference(*self.total, n_independent=n_independent, n_clusters=self.n_clusters)

    def no_better(self, is_worth_a_look: Callable[[Flips], bool]) -> Iterator[Flips]:
        """Yield this result and those in which more of the cases fail that pass now, as far as they are worth a look.

        Fewer newly passing cases, and further newly failing ones, each in a unit where nothing flips (while there are
        such units). What is not worth a look has nothing worth a look beyond it.
        """
        fewer: Flips | None = self
        while fewer is not None and is_worth_a_look(fewer):
            worse: Flips | None = fewer
            while worse is not None and is_worth_a_look(worse):
                yield worse
                worse = worse.with_a_loss()
            fewer = fewer.without_a_gain()

    def with_a_loss(self) -> Flips | None:
        """Return the result with one more newly failing, in a unit without flips if there is one; None without any."""
        open_units = [i for i, unit in enumerate(self.units) if unit.both_pass]
        if not open_units:
            return None
        chosen = min(open_units, key=lambda i: (self.units[i].n_flips > 0, self.units[i].net))
        return self._changed(chosen, self.units[chosen].with_a_loss())

    def without_a_gain(self) -> Flips | None:
        """Return the result with one newly passing less, where most were gained; None without any."""
        open_units = [i for i, unit in enumerate(self.units) if unit.newly_passing]
        if not open_units:
            return None
        chosen = min(open_units, key=lambda i: self.units[i].net)
        return self._changed(chosen, self.units[chosen].without_a_gain())

    def _changed(self, index: int, cells: Cells) -> Flips:
        return Flips(units=(*self.units[:index], cells, *self.units[index + 1 :]), is_clustered=self.is_clustered)


def fewest_units(alpha: float) -> int:
    """Return how many units there must be for a loss in every one of them to be significant: 2^−units ≤ alpha.

    >>> fewest_units(0.05), fewest_units(0.05 / 7)
    (5, 8)
    """
    return math.ceil(-math.log2(alpha))


__all__ = ["Cells", "Flips", "fewest_units"]
