"""Latency: did one answer come in time?

Percentiles over a run live in ``decision/scorecard.py``; measuring the time lives in ``capture``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.score import Score
from spancheck_pipeline.grading.shipped import ShippedGrader


@dataclass(frozen=True)
class Latency(ShippedGrader):
    """Pass when the attempt that answered took at most ``max_ms`` milliseconds; earlier attempts do not count."""

    measurement: ClassVar[str] = "latency"
    version: ClassVar[str] = "1"

    max_ms: float
    name: str = "latency"

    def __post_init__(self) -> None:
        if not (self.max_ms >= 0 and math.isfinite(self.max_ms)):
            raise ValueError(f"max_ms must be a number of milliseconds, at least 0, not {self.max_ms}")

    def grade(self, evidence: Evidence) -> Score:
        """Return pass or fail, or unmeasured where nobody took the time."""
        taken = evidence.row.latency_ms
        if taken is None:
            reason = "No latency was recorded for this answer; a file of answers may state it (latency_ms)."
            return Score.unmeasured("no_latency", reason)
        passed = taken <= self.max_ms
        reason = f"The answer took {taken:.0f} ms; at most {self.max_ms:g} ms are allowed."
        return Score.judged(passed, float(passed), reason=reason, reason_code="ok" if passed else "too_slow")
