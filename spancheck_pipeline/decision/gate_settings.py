"""What a suite's gate is asked to hold: thresholds, regression tests and budgets.

What the gate decides by them lives in ``gate.py``; the suite that states them in ``suite.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.standing import CalibrationPolicy

_STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

Share = Annotated[float, Field(ge=0, le=1)]


class Regression(BaseModel):
    """When a drop against a baseline counts."""

    model_config = _STRICT

    alpha: float = Field(default=0.05, gt=0, lt=1)
    detect: float = Field(default=0.10, gt=0, lt=1)
    """Drop of a pass rate that a night should be able to see; PASS says that it would have been seen."""
    margin: float | None = Field(default=None, gt=0, lt=1)
    """Non-inferiority in its place: PASS says that a drop of this size is excluded by the interval."""


class Budget(BaseModel):
    """Bounds on what an answer may cost and how long it may take."""

    model_config = _STRICT

    mean_cost_usd: float | None = Field(default=None, ge=0)
    p95_latency_ms: float | None = Field(default=None, ge=0)


class GateSettings(BaseModel):
    """Thresholds, regression tests and budgets of a suite."""

    model_config = _STRICT

    min_pass_rate: dict[str, Share] = Field(default_factory=dict)
    """Grader → lowest pass rate that is good enough. ``completion`` always gates, at 1.0 unless it stands here."""
    min_measured: int | None = Field(default=None, ge=1)
    """Cases that a threshold must rest on; None: 30, or half of the applicable cases if fewer."""
    confidence: Literal["count", "lower"] = "count"
    """Whether a threshold is decided by the count, or by the lower bound of the rate's 95 % interval."""
    max_flaky: Share | None = None
    """Largest share of flaky cases among a gating grader's measured ones."""
    max_unmeasured: Share | None = None
    """Largest share of unmeasured cases among a gating grader's applicable ones."""
    regression: Regression | None = None
    judges: CalibrationPolicy = CalibrationPolicy()
    """What a judge's calibration must show before scores that rest on it may decide."""
    budget: Budget = Budget()
    adjudicated: bool = False
    """Whether pass rates and caps are decided with people's signed-off dispositions, waivers until they expire among
    them. Otherwise these are shown and decide nothing."""
    blocking: bool = True
    """Whether a failed rule is an error (and holds back the promotion) or a warning."""
