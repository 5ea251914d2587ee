"""Two runs over the same cases: is the second worse, by how much, and what could have been seen.

Throughout, a case that passed in the baseline and fails in the candidate is *newly failing*, the other way round *newly
passing*; their shares of all pairs are the two kinds of churn. Which cases pair lives in ``decision/comparison.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from spancheck_pipeline.stats.rates import CONFIDENCE, Interval, score_interval, t_quantile

POWER = 0.8
_MOST_CASES = 1_000_000
_FAR_OFF = 0.2
"""How far below the wanted power the normal approximation must lie for the exact test to be left out."""


def worse_by_chance(losses: Sequence[int]) -> float:
    """Return the one-sided p-value of "the candidate is worse": the chance of so many losses if nothing had changed.

    ``losses`` holds, per independent unit, newly failing minus newly passing cases: one number a case, or one a
    cluster where cases of a document go together. If nothing has changed, each number might as well have the other
    sign, so that p = P(Σ ±|d| ≥ Σ d) over all equally likely signs, exactly. With one case a unit this is the exact
    one-sided McNemar test. Sources: McNemar 1947, Psychometrika 12:153-157; Fisher 1935 (sign flips);
    docs/decisions/0012 for clusters.

    >>> worse_by_chance([1, 1, 1, 1, 1])
    0.03125
    """
    sizes = [abs(loss) for loss in losses if loss]
    observed = sum(losses)
    if not sizes:
        return 1.0
    if max(sizes) == 1:
        return mcnemar_worse(sum(loss > 0 for loss in losses), sum(loss < 0 for loss in losses))
    import numpy as np

    total = sum(sizes)
    # chance[j] is the chance that the signs drawn so far give j more losses than −total.
    chance = np.zeros(2 * total + 1)
    chance[total] = 1.0
    for size in sorted(sizes):
        moved = np.zeros_like(chance)
        moved[size:] += chance[:-size] / 2
        moved[:-size] += chance[size:] / 2
        chance = moved
    return float(min(1.0, math.fsum(chance[total + observed :].tolist())))


def mcnemar_worse(n_newly_failing: int, n_newly_passing: int) -> float:
    """Return the exact one-sided McNemar p-value, P(X ≥ newly failing) for X ~ Binomial(all discordant pairs, ½)."""
    from scipy.stats import binom

    return float(binom.sf(n_newly_failing - 1, n_newly_failing + n_newly_passing, 0.5))


def paired_difference(
    n_both_pass: int,
    n_newly_failing: int,
    n_newly_passing: int,
    n_both_fail: int,
    *,
    n_independent: float | None = None,
    n_clusters: int | None = None,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """Return the interval of (candidate rate − baseline rate) over pairs; None without pairs.

    Newcombe's method 10: each rate's Wilson interval, joined with the correlation φ of the pairs (continuity corrected
    where positive). With d = p₁ − p₂, l and u the Wilson bounds: d − √((p₁−l₁)² − 2φ(p₁−l₁)(u₂−p₂) + (u₂−p₂)²) and
    d + √((u₁−p₁)² − 2φ(u₁−p₁)(p₂−l₂) + (p₂−l₂)²). Where pairs share clusters, ``n_independent`` says how many
    independent pairs they are worth (``independent_pairs``) and the quantile is t on clusters − 1, as for a rate.
    Source: Newcombe 1998, Statistics in Medicine 17:2635-2650.
    """
    n = n_both_pass + n_newly_failing + n_newly_passing + n_both_fail
    if not n:
        return None
    worth = 1.0 if n_independent is None else n_independent / n
    a, b, c, d = (worth * cell for cell in (n_both_pass, n_newly_passing, n_newly_failing, n_both_fail))
    normal = NormalDist().inv_cdf((1 + confidence) / 2)
    quantile = normal if n_clusters is None else t_quantile(confidence, n_clusters - 1)
    if math.isinf(quantile):
        return Interval(-1.0, 1.0)
    p1, p2 = (n_both_pass + n_newly_passing) / n, (n_both_pass + n_newly_failing) / n
    first, second = (score_interval(p, n * worth, quantile) for p in (p1, p2))
    phi = _correlation(a, b, c, d)
    below1, above1 = p1 - first.low, first.high - p1
    below2, above2 = p2 - second.low, second.high - p2
    low = p1 - p2 - math.sqrt(max(0.0, below1**2 - 2 * phi * below1 * above2 + above2**2))
    high = p1 - p2 + math.sqrt(max(0.0, above1**2 - 2 * phi * above1 * below2 + below2**2))
    return Interval(max(-1.0, low), min(1.0, high))


def independent_pairs(losses: Sequence[Sequence[int]]) -> float:
    """Return how many independent pairs clustered pairs are worth; ``losses`` holds each cluster's, case by case.

    If nothing has changed a loss has mean 0, so that Σ(cluster sum)²/Σ(loss)² estimates the design effect (at least 1).
    As for a rate, one imagined cluster that goes together entirely is added to the w clusters with a flip, since few
    flips say little: n / ((w·effect + m̄)/(w + 1)) with m̄ = Σm²/Σm (docs/decisions/0011 and 0012).
    """
    return worth_of_pairs(
        sizes=[len(cluster) for cluster in losses if cluster],
        n_flips=sum(loss * loss for cluster in losses for loss in cluster),
        net_squares=sum(sum(cluster) ** 2 for cluster in losses),
        n_flipped=sum(any(cluster) for cluster in losses),
    )


def worth_of_pairs(*, sizes: Sequence[int], n_flips: int, net_squares: int, n_flipped: int) -> float:
    """Return the same from what it depends on: Σ(cluster sum)² is ``net_squares``, w ``n_flipped``."""
    n = sum(sizes)
    if not n:
        return 0.0
    effect = max(1.0, net_squares / n_flips) if n_flips else 1.0
    met_size = sum(size * size for size in sizes) / n
    return n / ((n_flipped * effect + met_size) / (n_flipped + 1))


def _correlation(a: float, b: float, c: float, d: float) -> float:
    product = (a + b) * (c + d) * (a + c) * (b + d)
    if not product:
        return 0.0
    excess = a * d - b * c
    corrected = max(excess - (a + b + c + d) / 2, 0.0) if excess > 0 else float(excess)
    return corrected / math.sqrt(product)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return Holm's adjusted p-values, in the order given: reject those at most alpha.

    In ascending order p₍ᵢ₎ becomes the largest of (m − j + 1)·p₍ⱼ₎ over j ≤ i, at most 1. Source: Holm 1979, Scand. J.
    Statistics 6:65-70.

    >>> holm([0.04, 0.01, 0.03])
    (0.06, 0.03, 0.06)
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return tuple(adjusted)


def power_to_see(drop: float, *, n: int, churn: float, alpha: float) -> float:
    """Return the chance that the exact one-sided test sees a true drop over ``n`` pairs.

    ``churn`` is the share of pairs that flip each way when nothing changes; with the drop, newly failing is churn +
    drop. Exactly, with D ~ Binomial(n, 2·churn + drop): Σ_D P(D) · P(newly failing ≥ the critical count of D | D).
    """
    from scipy.stats import binom

    if n < 1:
        return 0.0
    failing, passing = min(1.0, churn + drop), min(churn, max(0.0, 1 - churn - drop))
    share = failing + passing
    if share <= 0:
        return 0.0
    discordant, chance = _discordant(n, min(1.0, share))
    critical = binom.isf(alpha, discordant, 0.5) + 1
    seen = binom.sf(critical - 1, discordant, failing / share)
    return float((chance * seen).sum())


def _discordant(n: int, share: float) -> tuple[Any, Any]:
    """Return the plausible numbers of discordant pairs (all but 1e-9 of the chance) and the chance of each."""
    import numpy as np
    from scipy.stats import binom

    low, high = binom.ppf(5e-10, n, share), binom.ppf(1 - 5e-10, n, share)
    counts = np.arange(max(0, int(low)), int(high) + 1)
    return counts, binom.pmf(counts, n, share)


@lru_cache(maxsize=4096)
def sees_drop(drop: float, n: int, churn: float, alpha: float, power: float = POWER) -> bool:
    """Return whether the exact one-sided test sees a true drop over ``n`` pairs with the given power.

    The normal approximation, which promises more than the exact test keeps, turns away what is far off.
    """
    if n < 1:
        return False
    spread = math.sqrt(max(0.0, 2 * churn + drop - drop * drop))
    normal = NormalDist()
    if spread and normal.cdf(drop * math.sqrt(n) / spread - normal.inv_cdf(1 - alpha)) < power - _FAR_OFF:
        return False
    return power_to_see(drop, n=n, churn=churn, alpha=alpha) >= power


@lru_cache(maxsize=1024)
def detectable_drop(n: int, churn: float, alpha: float, power: float = POWER) -> float | None:
    """Return the smallest true drop that ``n`` pairs would have seen with the given power; None where none would be.

    By bisection on ``power_to_see``, to a tenth of a point, rounded up.
    """
    most = max(0.0, 1 - 2 * churn)
    if power_to_see(most, n=n, churn=churn, alpha=alpha) < power:
        return None
    low, high = 0, math.floor(most * 1000)
    while high - low > 1:
        middle = (low + high) // 2
        if power_to_see(middle / 1000, n=n, churn=churn, alpha=alpha) >= power:
            high = middle
        else:
            low = middle
    return high / 1000


@lru_cache(maxsize=1024)
def cases_needed(drop: float, churn: float, alpha: float, power: float = POWER) -> int | None:
    """Return about how many pairs would see a true drop with the given power; None beyond a million.

    Power climbs in small saws, so that the figure is a guide: it is rounded up to two digits.
    """
    high = 1
    while power_to_see(drop, n=high, churn=churn, alpha=alpha) < power:
        high *= 2
        if high > _MOST_CASES:
            return None
    low = high // 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        if power_to_see(drop, n=middle, churn=churn, alpha=alpha) >= power:
            high = middle
        else:
            low = middle
    step = 10 ** max(0, len(str(high)) - 2)
    return int(math.ceil(high / step) * step)
