"""Where a judge stands: what its calibration must show before its scores may gate, and what was found.

Finding out lives in ``trust.py``, the figures of a calibration in ``judged_figures.py``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.evidence.gold import Domain

_STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
Share = Annotated[float, Field(ge=0, le=1)]


class CalibrationPolicy(BaseModel):
    """What a judge's calibration must show before its scores may gate."""

    model_config = _STRICT

    min_gold: int = Field(default=100, ge=1)
    """Measured gold items."""
    min_negatives: int = Field(default=30, ge=1)
    """Measured gold items that people fail."""
    min_sensitivity: Share = 0.8
    """Compared with the lower bound of the 95 % interval, the unmeasured items taken as errors."""
    min_specificity: Share = 0.8
    """As the sensitivity."""
    allow_borrowed: bool = False
    """Whether a calibration on another domain's gold set counts."""
    domain: Domain | None = None
    """The domain of the suite's answers; None: the suite's own name."""


class Trust(StrEnum):
    """What can be said of a judge."""

    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    """It is calibrated, and the calibration does not show what the policy asks for."""
    UNCALIBRATED = "uncalibrated"
    """No calibration is of exactly this judge, served model, prompt version and threshold."""
    BORROWED = "borrowed"
    """Its calibration is on another domain's gold set."""
    NOT_A_JUDGE = "not_a_judge"
    """The stub, alone or in a panel."""


class Standing(BaseModel):
    """Where a judge stands, and why."""

    model_config = _STRICT

    trust: Trust
    gates: bool
    """Whether thresholds on its scores may decide: trusted, or borrowed where the suite allows it."""
    reason: str
    """One sentence with the numbers, and what to do."""
    calibration: str | None = None
    """Digest of the calibration that this rests on; None where none is of this judge."""
    domain: str | None = None
    """Domain of that calibration's gold set."""


NOT_KNOWN = Standing(
    trust=Trust.UNCALIBRATED,
    gates=False,
    reason="no calibration is at hand here: calibrate it, and decide in its project",
)
"""Of a judge that nothing is known about."""
