"""Cost: did one answer stay within its price?

How tokens become dollars lives in ``evidence/run.py``; sums over a run live in ``decision/scorecard.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from spancheck_pipeline.evidence.run import ModelPrice, cost_usd
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.score import Score
from spancheck_pipeline.grading.shipped import ShippedGrader


@dataclass(frozen=True)
class Cost(ShippedGrader):
    """Pass when one answer cost at most ``max_usd`` US dollars."""

    measurement: ClassVar[str] = "cost"
    version: ClassVar[str] = "1"

    max_usd: float
    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    """Served model → price. They are settings, so that a new price list is a new spec."""
    name: str = "cost"

    def __post_init__(self) -> None:
        if not (self.max_usd >= 0 and math.isfinite(self.max_usd)):
            raise ValueError(f"max_usd must be an amount in US dollars, at least 0, not {self.max_usd}")

    def grade(self, evidence: Evidence) -> Score:
        """Return pass or fail, or unmeasured where the price is not known: unknown is not free."""
        cost = cost_usd(evidence.output, self.prices)
        if cost is None:
            return Score.unmeasured("unknown_cost", self._what_is_missing(evidence))
        passed = cost <= self.max_usd
        reason = f"The answer cost {cost:.6g} USD; at most {self.max_usd:g} USD are allowed."
        return Score.judged(passed, float(passed), reason=reason, reason_code="ok" if passed else "too_dear")

    def _what_is_missing(self, evidence: Evidence) -> str:
        usage = evidence.output.usage
        if usage.input_tokens is None or usage.output_tokens is None:
            return "The system reported neither a cost nor both token counts."
        if evidence.output.served_model is None:
            return "The system did not say which model answered, so its tokens have no price."
        return "The price list has no entry for the model that answered."
