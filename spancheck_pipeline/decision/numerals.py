"""Numbers as the gate's sentences write them: what a suite states with all its digits, what is estimated with a few.

Which sentences there are lives with the rules: ``threshold.py``, ``regression.py``, ``budget.py``, ``demands.py``.
"""

from __future__ import annotations

from decimal import Decimal

from spancheck_pipeline import stats


def exact(value: float) -> Decimal:
    """Return a number as the decimal that it is written as, and not as the float beside it.

    >>> exact(0.1) * 3 == exact(0.3)
    True
    """
    return Decimal(repr(float(value)))


def stated(value: float) -> str:
    """Return a stated number with all its digits.

    >>> stated(0.9500000001), stated(1.0), stated(6000.0)
    ('0.9500000001', '1', '6000')
    """
    return _written(exact(value))


def percent(share: float) -> str:
    """Return a stated share in percent, with all its digits.

    >>> percent(0.95), percent(0.9500000001)
    ('95 %', '95.00000001 %')
    """
    return f"{_written(exact(share) * 100)} %"


def points(share: float) -> str:
    """Return a stated drop of a rate in percentage points, with all its digits.

    >>> points(0.1), points(0.0525)
    ('10 points', '5.25 points')
    """
    return f"{_written(exact(share) * 100)} points"


def about_points(share: float) -> str:
    """Return an estimated drop in percentage points, to three digits."""
    return f"{share * 100:.3g} points"


def beside(value: float, limit: float) -> str:
    """Return an estimate with as few digits as keep it on its side of a limit, at least four.

    >>> beside(0.94996, 0.95), beside(0.8203193, 0.95)
    ('0.94996', '0.8203')
    """
    shortest = (f"{value:.{digits}g}" for digits in range(4, 18))
    return next((text for text in shortest if (float(text) >= limit) == (value >= limit)), repr(value))


def cases(n: int) -> str:
    """Return a number of cases.

    >>> cases(1), cases(2)
    ('1 case', '2 cases')
    """
    return f"{n} case" if n == 1 else f"{n} cases"


def _written(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def clusters_said(n: int | None) -> str:
    """Return a number of clusters, marked where they are few; a dash where every case stands for itself.

    >>> clusters_said(24), clusters_said(7), clusters_said(None)
    ('24', '7 (few)', '–')
    """
    if n is None:
        return "–"
    return f"{n} (few)" if n < stats.FEW_CLUSTERS else str(n)


def in_clusters(n: int | None) -> str:
    """Return the clusters that a count falls into, as a part of a sentence; empty where every case stands for itself.

    >>> in_clusters(7), in_clusters(1), in_clusters(None)
    (' in 7 clusters (few)', ' in 1 cluster (few)', '')
    """
    if n is None:
        return ""
    noun = "cluster" if n == 1 else "clusters"
    return f" in {n} {noun}" + (" (few)" if n < stats.FEW_CLUSTERS else "")
