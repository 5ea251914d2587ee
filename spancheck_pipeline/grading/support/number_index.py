"""The numbers of a text ready to be looked up, in every reading and in what else they may be.

How numbers are read is said in ``numbers.py``; which numbers decide in ``checks.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from spancheck_pipeline.grading.support.numbers import UNITS, Quantity, values_of


class NumberIndex:
    """The numbers of a text by value, so that a claim's number is looked up and not compared with each of them."""

    def __init__(self, told: Sequence[Quantity]) -> None:
        entries: dict[tuple[float, str | None, bool, float], None] = {}
        for quantity in told:
            for value in quantity.values:
                entries[value, quantity.dimension, False, quantity.slack] = None
            for value in _before_unit(quantity):
                entries[value, quantity.dimension, True, quantity.slack] = None
            for value, dimension in _also(quantity):
                entries[value, dimension, False, quantity.slack] = None
        self._entries = sorted(entries, key=lambda entry: (entry[0], str(entry[1]), entry[2]))
        self._values = [entry[0] for entry in self._entries]
        self._slack = max((quantity.slack for quantity in told), default=0.0)

    def has(self, claimed: Quantity) -> bool:
        """Say whether a quantity stands in the text in one of its readings, in the same dimension or without one.

        A rough one, here or there, may be off by its slack. Where only one side has a unit, the number before the
        unit counts.
        """
        return (
            any(self._has(value, claimed, is_before_unit=False) for value in claimed.values)
            or any(self._has(value, claimed, is_before_unit=True) for value in _before_unit(claimed))
            or any(
                self._has(value, claimed._replace(dimension=dimension), is_before_unit=False)
                for value, dimension in _also(claimed)
            )
        )

    def _has(self, value: float, claimed: Quantity, *, is_before_unit: bool) -> bool:
        slack = max(claimed.slack, self._slack)
        reach = abs(value) * (slack / (1 - slack) + _EXACT) + _EXACT
        low, high = bisect_left(self._values, value - reach), bisect_right(self._values, value + reach)
        for told, dimension, told_before_unit, its_slack in self._entries[low : min(high, low + _MOST_NEAR)]:
            if abs(told - value) > max(claimed.slack, its_slack, _EXACT) * max(abs(told), abs(value)):
                continue
            if is_before_unit or told_before_unit:
                if is_before_unit != told_before_unit and (claimed.dimension is None or dimension is None):
                    return True
            elif claimed.dimension == dimension or claimed.dimension is None or dimension is None:
                return True
        return False


_EXACT = 1e-9
_MOST_NEAR = 500
"""Numbers near a claimed one that are looked at."""


def _before_unit(quantity: Quantity) -> tuple[float, ...]:
    """Return the number before its unit: 30 of 30 days. Of money it is the amount itself."""
    if quantity.dimension is None or quantity.dimension.startswith("currency"):
        return ()
    return values_of(quantity.text)


def _also(quantity: Quantity) -> list[tuple[float, str]]:
    """Return what a quantity is as well: pounds are money or a weight, cents a hundredth of a dollar or euro."""
    if quantity.dimension == "currency:cent":
        return [(value / 100, f"currency:{code}") for value in quantity.values for code in ("usd", "eur", "cad", "aud")]
    if quantity.dimension == "currency:usd" and not quantity.text.startswith("us"):
        return [(value, f"currency:{code}") for value in quantity.values for code in _OTHER_DOLLARS]
    if quantity.dimension == "mass" and _POUNDS.search(quantity.text):
        pound = UNITS["pound"][1]
        return [(value / pound, "currency:gbp") for value in quantity.values]
    return []


_OTHER_DOLLARS = ("aud", "cad", "nzd", "hkd", "sgd")
"""Money that is called dollars where no other dollars are about."""
_POUNDS = re.compile(r"pounds?\Z")
