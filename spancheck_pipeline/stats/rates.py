"""One run's rates, means and quantiles with their intervals.

Two runs are compared in ``paired.py``. All intervals are two-sided and 95 % unless a confidence is given.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import Final, NamedTuple

CONFIDENCE: Final = 0.95
FEW_CLUSTERS: Final = 20
"""Below so many clusters no interval for clustered data keeps its promise; such intervals are marked."""


class Interval(NamedTuple):
    """Two-sided confidence interval."""

    low: float
    high: float


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


class Mean(NamedTuple):
    """Mean with its confidence interval."""

    value: float
    low: float | None
    """None where one independent value gives no spread to judge by and the values have no bounds."""
    high: float | None
    n: int
    n_clusters: int


def wilson(n_pass: float, n: float, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Wilson's score interval of a proportion; None where nothing was measured.

    With p = x/n and z the normal quantile: (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n).
    Source: Wilson 1927, JASA 22:209-212.

    >>> [round(bound, 4) for bound in wilson(81, 263)]
    [0.2553, 0.3662]
    """
    if n <= 0:
        return None
    return _score_interval(n_pass / n, n, NormalDist().inv_cdf((1 + confidence) / 2))


def _score_interval(p: float, n: float, z: float) -> Interval:
    if math.isinf(z):
        return Interval(0.0, 1.0)
    z2 = z * z
    center = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(max(0.0, p * (1 - p)) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # Rounding must not move a bound past the observed rate: 5 of 5 has the upper bound 1.
    return Interval(max(0.0, min(p, center - half)), min(1.0, max(p, center + half)))


def t_quantile(confidence: float, df: float) -> float:
    """Return the two-sided t quantile; infinite for less than one degree of freedom."""
    if df < 1:
        return math.inf
    from scipy.special import stdtrit

    return float(stdtrit(df, (1 + confidence) / 2))


def intra_cluster_correlation(passes: Sequence[float], sizes: Sequence[int]) -> float:
    """Return the ANOVA estimate of the intra-cluster correlation of a boolean outcome, clipped to [0, 1].

    With k clusters of sizes m_i, N = Σm_i, p_i the rate in a cluster and p the rate over all:
    MSB = Σ m_i(p_i − p)²/(k − 1), MSW = Σ m_i·p_i(1 − p_i)/(N − k), m_0 = (N − Σm_i²/N)/(k − 1),
    ICC = (MSB − MSW) / (MSB + (m_0 − 1)·MSW). Source: Donner 1986, Int. Stat. Review 54:67-82.

    Where the data say nothing of it (one cluster; all cases alike) it is 1, the cautious end. Where every cluster has
    one case it plays no part and is 0.
    """
    k, n = len(sizes), sum(sizes)
    if n == k:
        return 0.0
    p = math.fsum(passes) / n
    if k == 1 or p in {0.0, 1.0}:
        return 1.0
    rates = [passed / size for passed, size in zip(passes, sizes, strict=True)]
    between = math.fsum(size * (rate - p) ** 2 for rate, size in zip(rates, sizes, strict=True)) / (k - 1)
    within = math.fsum(size * rate * (1 - rate) for rate, size in zip(rates, sizes, strict=True)) / (n - k)
    usual_size = (n - math.fsum(size * size for size in sizes) / n) / (k - 1)
    total = between + (usual_size - 1) * within
    return min(1.0, max(0.0, (between - within) / total)) if total > 0 else 1.0


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
    n, k = sum(sizes), len(sizes)
    icc = _cautious_correlation(passes, sizes)
    met_size = math.fsum(size * size for size in sizes) / n
    n_effective = n / (1 + (met_size - 1) * icc)
    low, high = _score_interval(math.fsum(passes) / n, n_effective, t_quantile(confidence, k - 1))
    return ClusterInterval(low, high, n_effective, k, icc)


def _cautious_correlation(passes: Sequence[float], sizes: Sequence[int]) -> float:
    if sum(sizes) == len(sizes):
        return 0.0
    with_pass = sum(passed > 0 for passed in passes)
    with_failure = sum(passed < size for passed, size in zip(passes, sizes, strict=True))
    weight = min(with_pass, with_failure)
    return (weight * intra_cluster_correlation(passes, sizes) + 1) / (weight + 1)


def mean_interval(
    values: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    confidence: float = CONFIDENCE,
) -> Mean | None:
    """Return the mean with a cluster-robust interval; None without values.

    SE² = G/(G − 1) · Σ_g (Σ_{i∈g} (x_i − x̄))² / n² over the G clusters, quantile t on G − 1; without clusters each
    value is its own and SE² = s²/n. The interval is clipped to ``bounds``. Values that are all alike show no spread,
    which does not make them certain: within bounds, Wilson's interval on G values stands in, since no bounded variable
    spreads more than a boolean one. Sources: Liang & Zeger 1986; Miller 2024, arXiv 2411.00640.
    """
    if not values:
        return None
    n = len(values)
    mean = math.fsum(values) / n
    residuals: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters if clusters is not None else range(n), strict=True):
        residuals.setdefault(cluster, []).append(value - mean)
    g = len(residuals)
    t = t_quantile(confidence, g - 1)
    sums = (math.fsum(items) for items in residuals.values())
    error = math.sqrt(g / (g - 1) * math.fsum(s * s for s in sums)) / n if g > 1 else math.inf
    if bounds is None:
        return Mean(mean, mean - t * error, mean + t * error, n, g) if g > 1 else Mean(mean, None, None, n, g)
    floor, ceiling = bounds
    if max(values) == min(values) or g == 1:
        low, high = _score_interval((mean - floor) / (ceiling - floor), g, t)
        return Mean(mean, floor + low * (ceiling - floor), floor + high * (ceiling - floor), n, g)
    return Mean(mean, max(floor, mean - t * error), min(ceiling, mean + t * error), n, g)


def quantile(values: Iterable[float], q: float) -> float | None:
    """Return the q-quantile by linear interpolation between order statistics; None without values.

    With h = (n − 1)·q: x_⌊h⌋ + (h − ⌊h⌋)·(x_⌊h⌋+1 − x_⌊h⌋), 0-based. Infinite values are allowed. Source: Hyndman & Fan
    1996, type 7 (the default of numpy and R).

    >>> quantile([4, 1, 3, 2], 0.5)
    2.5
    """
    ordered = sorted(values)
    if not ordered:
        return None
    place = (len(ordered) - 1) * q
    below = math.floor(place)
    weight = place - below
    if weight == 0:
        return float(ordered[below])
    low, high = ordered[below], ordered[below + 1]
    return float(low) if low == high else low + weight * (high - low)


def pass_hat_k(n: int, n_pass: int, k: int) -> float:
    """Return the unbiased estimate of the chance that k runs of a case all pass: C(c, k) / C(n, k).

    ``n`` measured runs of which ``n_pass`` passed. Source: the estimator of Chen et al. 2021 (arXiv 2107.03374) with
    passing in the place of failing.

    Raises:
        ValueError: unless 1 ≤ k ≤ n and 0 ≤ n_pass ≤ n.

    >>> pass_hat_k(4, 3, 2)
    0.5
    """
    if not (1 <= k <= n and 0 <= n_pass <= n):
        raise ValueError(f"pass^k needs 1 <= k <= n and 0 <= n_pass <= n, not k={k}, n={n}, n_pass={n_pass}")
    return math.comb(n_pass, k) / math.comb(n, k)
