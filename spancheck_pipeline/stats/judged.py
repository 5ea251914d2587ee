"""How good a measuring judge is against people, and what its errors do to a rate that it measured.

A *positive* is an item that people call a pass. Which calibration may be used for which judge is decided elsewhere;
here are the figures and the two corrections of a raw rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from spancheck_pipeline.stats.rates import CONFIDENCE, Interval, wilson


class Confusion(NamedTuple):
    """A judge's answers against people's, counted."""

    n_true_pass: int
    """Both say pass."""
    n_false_pass: int
    """The judge passes what people fail."""
    n_false_fail: int
    """The judge fails what people pass."""
    n_true_fail: int

    @property
    def n(self) -> int:
        """All items."""
        return sum(self)

    @property
    def n_positive(self) -> int:
        """Items that people pass."""
        return self.n_true_pass + self.n_false_fail

    @property
    def n_negative(self) -> int:
        """Items that people fail."""
        return self.n_true_fail + self.n_false_pass

    @property
    def agreement(self) -> float | None:
        """Share of items on which both say the same; None without items."""
        return (self.n_true_pass + self.n_true_fail) / self.n if self.n else None

    @property
    def sensitivity(self) -> float | None:
        """Share of people's passes that the judge passes; None without any."""
        return self.n_true_pass / self.n_positive if self.n_positive else None

    @property
    def specificity(self) -> float | None:
        """Share of people's failures that the judge fails; None without any."""
        return self.n_true_fail / self.n_negative if self.n_negative else None

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity; None where either is."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2

    @property
    def mcc(self) -> float | None:
        """Matthews correlation coefficient in [−1, 1]; None where a row or column of the table is empty.

        (TP·TN − FP·FN) / √((TP+FP)(TP+FN)(TN+FP)(TN+FN)). Source: Matthews 1975, BBA 405:442-451.
        """
        a, b, c, d = self
        product = (a + b) * (a + c) * (d + b) * (d + c)
        return (a * d - b * c) / math.sqrt(product) if product else None


class Estimate(NamedTuple):
    """A figure with its confidence interval."""

    value: float
    low: float
    high: float


def kappa(table: Confusion, *, confidence: float = CONFIDENCE) -> Estimate | None:
    """Return Cohen's kappa with its large-sample interval, clipped to [−1, 1]; None where chance alone would agree.

    κ = (p_o − p_e)/(1 − p_e) with p_e from the two margins; the standard error is that of Fleiss, Cohen & Everitt 1969.
    Sources: Cohen 1960, Educ. Psych. Measurement 20:37-46; Fleiss, Cohen & Everitt 1969, Psych. Bulletin 72:323-327.
    """
    n = table.n
    if not n:
        return None
    p11, p12, p21, p22 = (cell / n for cell in table)
    rows, columns = (p11 + p12, p21 + p22), (p11 + p21, p12 + p22)
    expected = rows[0] * columns[0] + rows[1] * columns[1]
    if math.isclose(expected, 1.0):
        return None
    value = (p11 + p22 - expected) / (1 - expected)
    same = sum(p * (1 - (r + c) * (1 - value)) ** 2 for p, r, c in zip((p11, p22), rows, columns, strict=True))
    other = (1 - value) ** 2 * (p12 * (columns[0] + rows[1]) ** 2 + p21 * (columns[1] + rows[0]) ** 2)
    variance = (same + other - (value - expected * (1 - value)) ** 2) / (n * (1 - expected) ** 2)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(max(0.0, variance))
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half))


def brier(probabilities: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the mean squared distance of graded scores from people's labels; None without items.

    Source: Brier 1950, Monthly Weather Review 78:1-3.

    >>> brier([1.0, 0.5], [True, False])
    0.125
    """
    if not labels:
        return None
    return math.fsum((p - label) ** 2 for p, label in zip(probabilities, labels, strict=True)) / len(labels)


def rogan_gladen(n_pass: int, n: int, table: Confusion, *, confidence: float = CONFIDENCE) -> Estimate | None:
    """Return a judge's raw pass rate corrected for its errors, clipped to [0, 1]; None where it cannot be.

    For a gold set whose share of failures differs from production's. θ = (p̂ + spec − 1)/(sens + spec − 1), from
    ``n_pass`` of ``n`` judged answers. It cannot be where nothing is judged, where a side of the gold set is empty, or
    where the judge is no better than chance. The interval has the uncertainty of all three parts: it is θ′ + Δ ± z·s,
    with p′ = (n·p̂ + z²/2)/(n + z²), sens′ = (n₁·sens + 1)/(n₁ + 2), spec′ likewise, θ′ from these, and
    Δ = 2z²(θ′·v₁ − (1 − θ′)·v₂), s² = (p′(1−p′)/(n + z²) + θ′²·v₁ + (1−θ′)²·v₂)/(sens′ + spec′ − 1)², where v₁, v₂ are
    sens′(1−sens′)/(n₁ + 2) and spec′(1−spec′)/(n₂ + 2).
    Sources: Rogan & Gladen 1978, Am. J. Epidemiology 107:71-76; Lang & Reiczigel 2014, Prev. Vet. Medicine 113:13-22.
    """
    sensitivity, specificity = table.sensitivity, table.specificity
    if not n or sensitivity is None or specificity is None or sensitivity + specificity <= 1:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    value = _corrected(n_pass / n, sensitivity, specificity)
    rate = (n_pass + z * z / 2) / (n + z * z)
    n1, n2 = table.n_positive + 2, table.n_negative + 2
    sens, spec = (table.n_true_pass + 1) / n1, (table.n_true_fail + 1) / n2
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
    labels: Sequence[float], judged: Sequence[float], unlabelled: Sequence[float], *, confidence: float = CONFIDENCE
) -> Estimate | None:
    """Return a rate from a few human labels and many judge answers (PPI++), clipped to [0, 1]; None without both.

    For a gold set that is a random slice of the same answers: ``labels`` and ``judged`` are people's and the judge's
    values of its n items, ``unlabelled`` the judge's of the N others. θ = λ·mean(unlabelled) +
    mean(labels − λ·judged), with λ = cov(labels, judged) / ((1 + n/N)·var(all judged)) clipped to [0, 1], and variance
    λ²·var(unlabelled)/N + var(labels − λ·judged)/n. Source: Angelopoulos, Duchi & Zrnic 2023, arXiv 2311.01453.
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
    error = math.sqrt(power**2 * _variance(unlabelled) / n_other + _variance(corrections) / n)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * error
    value, low, high = (min(1.0, max(0.0, x)) for x in (value, value - half, value + half))
    return Estimate(value, low, high)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / len(values)


def sensitivity_interval(table: Confusion, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Wilson's interval of the sensitivity; None without items that people pass."""
    return wilson(table.n_true_pass, table.n_positive, confidence=confidence)


def specificity_interval(table: Confusion, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Wilson's interval of the specificity; None without items that people fail."""
    return wilson(table.n_true_fail, table.n_negative, confidence=confidence)
