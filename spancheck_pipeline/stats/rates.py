"""One run's rates, means and quantiles with their intervals.

Cases that share clusters are in ``clustered.py``, two runs in ``paired.py``. All intervals are two-sided and 95 %
unless a confidence is given.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Final, NamedTuple

CONFIDENCE: Final = 0.95
FEW_CLUSTERS: Final = 20
"""Below so many clusters no interval for clustered data keeps its promise; such intervals are marked."""


class Interval(NamedTuple):
    """Two-sided confidence interval."""

    low: float
    high: float


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
    return score_interval(n_pass / n, n, NormalDist().inv_cdf((1 + confidence) / 2))


def score_interval(p: float, n: float, z: float) -> Interval:
    """Return the score interval of a rate ``p`` over ``n`` independent cases with the quantile ``z`` (``wilson``)."""
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
        low, high = score_interval((mean - floor) / (ceiling - floor), g, t)
        return Mean(mean, floor + low * (ceiling - floor), floor + high * (ceiling - floor), n, g)
    return Mean(mean, max(floor, mean - t * error), min(ceiling, mean + t * error), n, g)


def quantile(values: Iterable[float], q: float) -> float | None:
    """Return the q-quantile by linear interpolation between order statistics; None without values.

    With h = (n − 1)·q: x_⌊h⌋ + (h − ⌊h⌋)·(x_⌊h⌋+1 − x_⌊h⌋), 0-based. Numbers are taken as the decimals that they are
    written as, so that the quantile of 1, 2, … 100 at .95 is 95.05 and no float beside it. Infinite values are
    allowed. Source: Hyndman & Fan 1996, type 7 (the default of numpy and R).

    >>> quantile([4, 1, 3, 2], 0.5)
    2.5
    """
    ordered = sorted(values)
    if not ordered:
        return None
    place = (len(ordered) - 1) * Fraction(repr(float(q)))
    below = math.floor(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    if place == below or low == high or math.isinf(high):
        return float(low if place == below else high)
    first, last = Fraction(repr(float(low))), Fraction(repr(float(high)))
    return float(first + (place - below) * (last - first))


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
