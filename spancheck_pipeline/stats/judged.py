"""How good a measuring judge is against people, and how far people agree with each other.

A *positive* is an item that people call a pass. What a judge's errors do to a rate that it measured is in
``corrected.py``; which calibration may be used for which judge is decided in ``decision/trust.py``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple, Protocol

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


def sensitivity_interval(table: Confusion, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Wilson's interval of the sensitivity; None without items that people pass."""
    return wilson(table.n_true_pass, table.n_positive, confidence=confidence)


def specificity_interval(table: Confusion, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Return Wilson's interval of the specificity; None without items that people fail."""
    return wilson(table.n_true_fail, table.n_negative, confidence=confidence)


def balanced_interval(sensitivity: Rated, specificity: Rated) -> Interval:
    """Return the interval of (sensitivity + specificity) / 2, from each one's value and interval.

    (a + b)/2 − ½√((a − l_a)² + (b − l_b)²) and likewise above: the two are independent, being of different items.
    Source: Zou & Donner 2008, Statistics in Medicine 27:1693-1702 (MOVER).
    """
    parts = (sensitivity, specificity)
    middle = math.fsum(part.value for part in parts) / 2
    below = math.hypot(*(part.value - part.low for part in parts)) / 2
    above = math.hypot(*(part.high - part.value for part in parts)) / 2
    return Interval(max(0.0, middle - below), min(1.0, middle + above))


class Rated(Protocol):
    """A share with its interval."""

    @property
    def value(self) -> float:
        """The share."""

    @property
    def low(self) -> float:
        """Lower bound."""

    @property
    def high(self) -> float:
        """Upper bound."""


class Bin(NamedTuple):
    """The items whose graded scores lie in one stretch of [0, 1]."""

    low: float
    high: float
    """The stretch is half-open, [low, high); the last one holds 1 too."""
    n: int
    n_positive: int
    mean_score: float


def reliability(scores: Sequence[float], labels: Sequence[bool], *, n_bins: int = 10) -> list[Bin]:
    """Return the items of a judge with graded scores by stretches of equal width; stretches without items are left out.

    A judge whose scores mean what they say has, in each, a mean score equal to the share of items that people pass.

    >>> [(b.low, b.n, b.n_positive) for b in reliability([0.1, 0.12, 0.9, 1.0], [False, True, True, True], n_bins=2)]
    [(0.0, 2, 1), (0.5, 2, 2)]
    """
    members: dict[int, list[tuple[float, bool]]] = {}
    for score, label in zip(scores, labels, strict=True):
        members.setdefault(min(n_bins - 1, int(score * n_bins)), []).append((score, label))
    return [
        Bin(
            low=index / n_bins,
            high=(index + 1) / n_bins,
            n=len(items),
            n_positive=sum(label for _, label in items),
            mean_score=math.fsum(score for score, _ in items) / len(items),
        )
        for index, items in sorted(members.items())
    ]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Return the mean distance of scores from the share of positives, over bins weighted by items; None without items.

    Σ n_b·|share_b − mean score_b| / n. Source: Naeini, Cooper & Hauskrecht 2015, AAAI 29 (expected calibration error).
    """
    n = sum(part.n for part in bins)
    return math.fsum(abs(part.n_positive - part.n * part.mean_score) for part in bins) / n if n else None


def best_threshold(scores: Sequence[float], labels: Sequence[bool], *, prefer: float) -> float | None:
    """Return the threshold (a score ≥ it passes) with the largest balanced accuracy; None where a label is missing.

    Candidates lie half-way between neighbouring scores, and at the lowest, which all pass. Of equally good ones the
    nearest to ``prefer`` is taken, and ``prefer`` itself where it is as good. Source: Youden 1950, Cancer 3:32-35.

    >>> best_threshold([0.2, 0.4, 0.8, 0.9], [False, False, True, True], prefer=0.7)
    0.7
    """
    n_positive = sum(labels)
    if not 0 < n_positive < len(labels):
        return None
    distinct = sorted(set(scores))
    between = (((low + high) / 2, low, high) for low, high in pairwise(distinct))
    # The middle of two numbers that have none between them is the lower one.
    candidates = [prefer, distinct[0], *(middle if middle > low else high for middle, low, high in between)]
    positives = sorted(score for score, label in zip(scores, labels, strict=True) if label)
    negatives = sorted(score for score, label in zip(scores, labels, strict=True) if not label)

    def gained(threshold: float) -> int:
        true_pass = len(positives) - bisect_left(positives, threshold)
        false_pass = len(negatives) - bisect_left(negatives, threshold)
        # In whole numbers, so that equal gains are equal: sensitivity − (1 − specificity), times both sizes.
        return true_pass * len(negatives) - false_pass * len(positives)

    return max(candidates, key=lambda threshold: (gained(threshold), -abs(threshold - prefer)))


class Concord(NamedTuple):
    """How far several people agree on the same items."""

    n_items: int
    """Items with two labels or more."""
    agreement: float
    """Chance that two different people's labels of an item are the same, averaged over items."""
    against_others: Confusion
    """Each label against the majority of the item's other labels; where these are split, it is left out."""


def concord(votes: Sequence[Sequence[bool]]) -> Concord | None:
    """Return how far people agree with each other: what a judge can at best be asked for; None without two on an item.

    >>> concord([[True, True, False], [False, False]]).agreement
    0.6666666666666666
    """
    shared = [item for item in votes if len(item) > 1]
    if not shared:
        return None
    same = []
    cells: Counter[tuple[bool, bool]] = Counter()
    for item in shared:
        n, n_pass = len(item), sum(item)
        same.append((math.comb(n_pass, 2) + math.comb(n - n_pass, 2)) / math.comb(n, 2))
        for vote in item:
            others = 2 * (n_pass - vote) - (n - 1)
            if others:
                cells[vote, others > 0] += 1
    table = Confusion(cells[True, True], cells[True, False], cells[False, True], cells[False, False])
    return Concord(len(shared), math.fsum(same) / len(same), table)
