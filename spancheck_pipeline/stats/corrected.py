"""A rate that a judge measured, corrected for the errors that a gold set shows it to make.

How good a judge is, is measured in ``judged.py``; which of the two corrections a gold set allows is decided in
``decision/judged_rates.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from spancheck_pipeline.stats.judged import Confusion, Estimate
from spancheck_pipeline.stats.rates import CONFIDENCE


def rogan_gladen(
    n_pass: float,
    n: float,
    table: Confusion,
    *,
    n_positive: float | None = None,
    n_negative: float | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate | None:
    """Return a judge's raw pass rate corrected for its errors, clipped to [0, 1]; None where it cannot be.

    For a gold set whose share of failures differs from production's. θ = (p̂ + spec − 1)/(sens + spec − 1), from
    ``n_pass`` of ``n`` judged answers. It cannot be where nothing is judged, where a side of the gold set is empty, or
    where the judge is no better than chance. The interval has the uncertainty of all three parts: it is θ′ + Δ ± z·s,
    with p′ = (n·p̂ + z²/2)/(n + z²), sens′ = (n₁·sens + 1)/(n₁ + 2), spec′ likewise, θ′ from these, and
    Δ = 2z²(θ′·v₁ − (1 − θ′)·v₂), s² = (p′(1−p′)/(n + z²) + θ′²·v₁ + (1−θ′)²·v₂)/(sens′ + spec′ − 1)², where v₁, v₂ are
    sens′(1−sens′)/(n₁ + 2) and spec′(1−spec′)/(n₂ + 2). Where answers or gold items share clusters, ``n`` (with its
    ``n_pass``), ``n_positive`` and ``n_negative`` are how many independent ones they are worth.
    Sources: Rogan & Gladen 1978, Am. J. Epidemiology 107:71-76; Lang & Reiczigel 2014, Prev. Vet. Medicine 113:13-22.
    """
    sensitivity, specificity = table.sensitivity, table.specificity
    if not n or sensitivity is None or specificity is None or sensitivity + specificity <= 1:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    value = _corrected(n_pass / n, sensitivity, specificity)
    rate = (n_pass + z * z / 2) / (n + z * z)
    n1 = (table.n_positive if n_positive is None else n_positive) + 2
    n2 = (table.n_negative if n_negative is None else n_negative) + 2
    sens, spec = (sensitivity * (n1 - 2) + 1) / n1, (specificity * (n2 - 2) + 1) / n2
    if sens + spec <= 1:
        return None
    theta = _corrected(rate, sens, spec)
    v1, v2 = sens * (1 - sens) / n1, spec * (1 - spec) / n2
    shift = 2 * z * z * (theta * v1 - (1 - theta) * v2)
    variance = rate * (1 - rate) / (n + z * z) + theta**2 * v1 + (1 - theta) ** 2 * v2
    half = z * math.sqrt(variance) / (sens + spec - 1)
    value = min(1.0, max(0.0, value))
    low, high = max(0.0, theta + shift - half), min(1.0, theta + shift + half)
    return Estimate(value, min(low, value), max(high, value))


def _corrected(rate: float, sensitivity: float, specificity: float) -> float:
    return (rate + specificity - 1) / (sensitivity + specificity - 1)


def prediction_powered(
    labels: Sequence[float],
    judged: Sequence[float],
    unlabelled: Sequence[float],
    *,
    n_labelled: float | None = None,
    n_unlabelled: float | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate | None:
    """Return a rate from a few human labels and many judge answers (PPI++), clipped to [0, 1]; None without both.

    For a gold set that is a random slice of the same answers: ``labels`` and ``judged`` are people's and the judge's
    values of its n items, ``unlabelled`` the judge's of the N others. θ = λ·mean(unlabelled) +
    mean(labels − λ·judged), with λ = cov(labels, judged) / ((1 + n/N)·var(all judged)) clipped to [0, 1], and variance
    λ²·var(unlabelled)/N + var(labels − λ·judged)/n. Where items share clusters, ``n_labelled`` and ``n_unlabelled`` are
    how many independent ones they are worth, and take the places of n and N in the variance. Source: Angelopoulos,
    Duchi & Zrnic 2023, arXiv 2311.01453.
    """
    n, n_other = len(labels), len(unlabelled)
    if not n or not n_other:
        return None
    mean_label, mean_judged = math.fsum(labels) / n, math.fsum(judged) / n
    pairs = zip(labels, judged, strict=True)
    covariance = math.fsum((y - mean_label) * (f - mean_judged) for y, f in pairs) / n
    everything = [*judged, *unlabelled]
    spread = _variance(everything) * len(everything) / (len(everything) - 1)
    power = min(1.0, max(0.0, covariance / ((1 + n / n_other) * spread))) if spread else 0.0
    corrections = [y - power * f for y, f in zip(labels, judged, strict=True)]
    value = power * math.fsum(unlabelled) / n_other + math.fsum(corrections) / n
    worth, worth_other = n_labelled or n, n_unlabelled or n_other
    error = math.sqrt(power**2 * _variance(unlabelled) / worth_other + _variance(corrections) / worth)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * error
    value, low, high = (min(1.0, max(0.0, x)) for x in (value, value - half, value + half))
    return Estimate(value, low, high)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / len(values)
