"""Rates over cases that share clusters: how far these go together, the interval, and the bound to decide by.

The interval says what is plausible; the bound to decide by is one that no further failure raises (docs/decisions/0011
and 0015). Independent cases, means and quantiles are in ``rates.py``.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from spancheck_pipeline.stats.rates import CONFIDENCE, FEW_CLUSTERS, Interval, score_interval, t_quantile


class ClusterInterval(NamedTuple):
    """Confidence interval of a rate over cases that share clusters, with what it rests on."""

    low: float
    high: float
    n_effective: float
    """How many independent cases the cases are worth."""
    n_clusters: int
    icc: float
    """Intra-cluster correlation in [0, 1] that the interval reckons with."""

    @property
    def few_clusters(self) -> bool:
        """Whether the clusters are too few for the interval to be taken at its word."""
        return self.n_clusters < FEW_CLUSTERS


class DecidingBound(NamedTuple):
    """A lower bound to decide by."""

    low: float
    n_further: int
    """Failures beyond the observed ones at which the interval has this bound; 0: it is the observed result's own."""


class _Spread(NamedTuple):
    """How failures lie over clusters: all that the interval needs to know of it."""

    n_failures: int
    squares: float
    """Σ f²/m over clusters with f failures among m cases: the larger, the more they go together."""
    n_with_failure: int
    n_with_pass: int


def intra_cluster_correlation(passes: Sequence[float], sizes: Sequence[int]) -> float:
    """Return the ANOVA estimate of the intra-cluster correlation of a boolean outcome, clipped to [0, 1].

    With k clusters of sizes m_i, N = Σm_i, f_i failures in a cluster and f in all: MSB = (Σf_i²/m_i − f²/N)/(k − 1),
    MSW = (f − Σf_i²/m_i)/(N − k), m_0 = (N − Σm_i²/N)/(k − 1), ICC = (MSB − MSW) / (MSB + (m_0 − 1)·MSW).
    Source: Donner 1986, Int. Stat. Review 54:67-82.

    Where the data say nothing of it (one cluster; all cases alike) it is 1, the cautious end. Where every cluster has
    one case it plays no part and is 0.
    """
    return _Clusters(sizes).correlation(_spread(passes, sizes))


def wilson_clustered(
    passes: Sequence[float], sizes: Sequence[int], *, confidence: float = CONFIDENCE
) -> ClusterInterval | None:
    """Return Wilson's interval on the effective sample size of cases that share clusters; None without cases.

    ``passes`` and ``sizes`` hold, per cluster, the passing cases and all cases. n_eff = n / (1 + (m̄ − 1)·ICC) with m̄
    the size that the average *case* meets, Σm_i²/Σm_i; the quantile is t on clusters − 1. ICC is the ANOVA estimate
    drawn towards 1 by one imagined cluster: (w·ICC + 1) / (w + 1), where w is the number of clusters that hold a pass
    or the number that hold a failure, whichever is smaller: only those tell how far cases of one cluster go
    together. With one cluster the interval is [0, 1]. Sources: Kish 1965 (design effect); Wilson 1927;
    docs/decisions/0011 for m̄ and the imagined cluster, with the coverage that they give.
    """
    kept = [(passed, size) for passed, size in zip(passes, sizes, strict=True) if size > 0]
    if not kept:
        return None
    passes, sizes = [passed for passed, _ in kept], [size for _, size in kept]
    clusters, spread = _Clusters(sizes), _spread(passes, sizes)
    icc = clusters.cautious_correlation(spread)
    low, high = clusters.interval(spread, t_quantile(confidence, clusters.k - 1))
    return ClusterInterval(low, high, clusters.worth(icc), clusters.k, icc)


def deciding_bound(
    passes: Sequence[int], sizes: Sequence[int], *, confidence: float = CONFIDENCE
) -> DecidingBound | None:
    """Return the largest lower bound of ``wilson_clustered`` among a result and all those with further failures.

    How far cases of a cluster go together is learnt from clusters in which something fails, so that the interval may
    get narrower with a further failure. A bound to decide by must not rise with one: of two results the one with more
    failures has fewer to choose from here. The interval knows of failures only their number F, Σf²/m and the numbers of
    clusters with a failure and with a pass, so for each of these the smallest Σf²/m is best: a failure in each of the
    largest clusters that have none, then always the case that adds least. Source: docs/decisions/0015.

    >>> deciding_bound([10] * 20, [10] * 20).n_further
    4
    """
    kept = [(size - passed, size) for passed, size in zip(passes, sizes, strict=True) if size > 0]
    if not kept:
        return None
    clusters = _Clusters([size for _, size in kept])
    quantile = t_quantile(confidence, clusters.k - 1)
    n_observed = sum(failures for failures, _ in kept)
    best = DecidingBound(-1.0, 0)
    failing, free = [pair for pair in kept if pair[0]], sorted((m for f, m in kept if not f), reverse=True)
    for n_opened in range(len(free) + 1):
        if n_opened and 1 - (n_observed + n_opened) / clusters.n <= best.low:
            break
        opened = [*failing, *((1, size) for size in free[:n_opened])]
        for spread in _filled(opened, free[n_opened:]):
            # A bound lies below its rate, and the rate falls with every failure.
            if spread.n_failures and 1 - spread.n_failures / clusters.n <= best.low:
                break
            low = clusters.interval(spread, quantile).low
            if low > best.low:
                best = DecidingBound(low, spread.n_failures - n_observed)
            if clusters.correlation(spread) == 0:
                break  # as far apart as they can be: more failures only lower the rate
    return best


def _filled(opened: Sequence[tuple[int, int]], free: Sequence[int]) -> Iterator[_Spread]:
    """Yield how failures lie as more of the cases of clusters with a failure fail, the one that adds least first."""
    n_failures, squares = sum(f for f, _ in opened), math.fsum(f * f / m for f, m in opened)
    n_with_pass = len(free) + sum(f < m for f, m in opened)
    yield _Spread(n_failures, squares, len(opened), n_with_pass)
    heap = [((2 * f + 1) / m, f, m) for f, m in opened if f < m]
    heapq.heapify(heap)
    while heap:
        added, f, m = heap[0]
        n_failures, squares = n_failures + 1, squares + added
        n_with_pass -= f + 1 == m
        if f + 1 < m:
            heapq.heapreplace(heap, ((2 * f + 3) / m, f + 1, m))
        else:
            heapq.heappop(heap)
        yield _Spread(n_failures, squares, len(opened), n_with_pass)


def _spread(passes: Sequence[float], sizes: Sequence[int]) -> _Spread:
    failures = [size - passed for passed, size in zip(passes, sizes, strict=True)]
    return _Spread(
        n_failures=int(sum(failures)),
        squares=math.fsum(failed * failed / size for failed, size in zip(failures, sizes, strict=True)),
        n_with_failure=sum(failed > 0 for failed in failures),
        n_with_pass=sum(passed > 0 for passed in passes),
    )


class _Clusters:
    """The sizes of clusters: what stays the same however failures lie over them."""

    def __init__(self, sizes: Sequence[int]) -> None:
        squares = math.fsum(size * size for size in sizes)
        self.k, self.n = len(sizes), sum(sizes)
        self.met_size = squares / self.n
        self.usual_size = (self.n - squares / self.n) / (self.k - 1) if self.k > 1 else 0.0

    def correlation(self, spread: _Spread) -> float:
        """Return the ANOVA estimate."""
        if self.n == self.k:
            return 0.0
        if self.k == 1 or spread.n_failures in {0, self.n}:
            return 1.0
        between = (spread.squares - spread.n_failures**2 / self.n) / (self.k - 1)
        within = (spread.n_failures - spread.squares) / (self.n - self.k)
        total = between + (self.usual_size - 1) * within
        return min(1.0, max(0.0, (between - within) / total)) if total > 0 else 1.0

    def cautious_correlation(self, spread: _Spread) -> float:
        """Return the estimate drawn towards 1 by one imagined cluster."""
        if self.n == self.k:
            return 0.0
        weight = min(spread.n_with_pass, spread.n_with_failure)
        return (weight * self.correlation(spread) + 1) / (weight + 1)

    def worth(self, icc: float) -> float:
        """Return how many independent cases the cases are worth."""
        return self.n / (1 + (self.met_size - 1) * icc)

    def interval(self, spread: _Spread, quantile: float) -> Interval:
        """Return the score interval of the pass rate."""
        rate = (self.n - spread.n_failures) / self.n
        return score_interval(rate, self.worth(self.cautious_correlation(spread)), quantile)
