"""The figures of a calibration: how a judge or grader did on a gold set. Numbers, ids and digests; no text.

They are computed in ``calibration.py``; whether they suffice is said in ``trust.py``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.figures import Rate
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.evidence.gold import Sampling
from spancheck_pipeline.stats import Confusion

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Subject(BaseModel):
    """Who was measured: everything that makes a calibration one of exactly this judge."""

    model_config = _FROZEN

    name: str
    kind: Literal["judge", "panel", "grader"]
    identity: str
    """Digest of what makes it itself; of a grader, its spec's."""
    client: str | None = None
    """``openai``, ``command``, ``stub`` …; None for a grader."""
    model: str | None = None
    """The model that is asked for; None where none is named."""
    prompt: str | None = None
    prompt_digest: str | None = None
    threshold: float = Field(ge=0, le=1)
    runs: int = Field(default=1, ge=1)
    members: tuple[Subject, ...] = ()
    """Of a panel."""

    @property
    def is_stub(self) -> bool:
        """Whether it is no judge, or has a member that is none."""
        return self.client == "stub" or any(member.is_stub for member in self.members)


class GoldFacts(BaseModel):
    """Which gold set it was measured against."""

    model_config = _FROZEN

    name: str
    digest: str
    """Of items, labels, domain, sampling and labelling policy."""
    policy_digest: str | None = None
    """Of the labelling policy's text alone; None where the set states none."""
    domain: str
    sampling: Sampling
    n_items: int = Field(ge=1)


class ErrorTable(BaseModel):
    """Answers against people's labels, counted. Items without an answer are not in it."""

    model_config = _FROZEN

    n_true_pass: int = Field(ge=0)
    n_false_pass: int = Field(ge=0)
    """It passes what people fail."""
    n_false_fail: int = Field(ge=0)
    """It fails what people pass."""
    n_true_fail: int = Field(ge=0)

    @property
    def confusion(self) -> Confusion:
        """The same for the formulas of ``stats``."""
        return Confusion(self.n_true_pass, self.n_false_pass, self.n_false_fail, self.n_true_fail)


class ErrorRate(Rate):
    """Sensitivity or specificity."""

    n_effective: float = Field(default=0, ge=0)
    """How many independent items the items are worth; ``n`` where they share no groups."""
    n_unmeasured: int = Field(default=0, ge=0)
    """Items of this label without an answer; they are not in ``n``."""
    low_at_worst: float | None = Field(default=None, ge=0, le=1)
    """Lower bound with the unmeasured items taken as errors; None where there are no items of this label."""


class Coefficient(BaseModel):
    """A figure in [-1, 1] with its 95 % interval."""

    model_config = _FROZEN

    value: float = Field(ge=-1, le=1)
    low: float = Field(ge=-1, le=1)
    high: float = Field(ge=-1, le=1)


class JudgedFigures(BaseModel):
    """How it did on some items."""

    model_config = _FROZEN

    n_items: int = Field(ge=0)
    n_measured: int = Field(ge=0)
    """Items with an answer; the figures below rest on these."""
    prevalence: float | None = Field(default=None, ge=0, le=1)
    """Share of the measured items that people pass; None without any."""
    table: ErrorTable
    agreement: Rate
    sensitivity: ErrorRate
    """Share of people's passes that it passes."""
    specificity: ErrorRate
    """Share of people's failures that it fails."""
    balanced_accuracy: Rate
    """Mean of sensitivity and specificity; no value where one label is missing."""
    kappa: Coefficient | None = None
    """Cohen's; None where chance alone would agree. Its interval takes every item as independent."""
    mcc: float | None = Field(default=None, ge=-1, le=1)
    """Matthews' correlation coefficient; None where a side of the table is empty."""


class ReliabilityBin(BaseModel):
    """Items whose scores lie in one tenth of [0, 1]."""

    model_config = _FROZEN

    low: float
    high: float
    n: int = Field(ge=1)
    mean_score: float
    positive: Rate
    """Share of them that people pass."""


class HeldOutThreshold(BaseModel):
    """The threshold that is best on one half of the items, and its figures on the other half."""

    model_config = _FROZEN

    threshold: float
    n_chosen_on: int
    """Measured items of the half that it was chosen on. Groups are never torn apart."""
    seed: int
    best: JudgedFigures
    """On the other half, at this threshold."""
    present: JudgedFigures
    """On the other half, as it answers now."""


class GradedFigures(BaseModel):
    """What its graded scores are worth."""

    model_config = _FROZEN

    n: int
    """Measured items."""
    brier: float = Field(ge=0, le=1)
    """Mean squared distance of the score from people's label; 0 is perfect, 0.25 what a constant 0.5 has."""
    calibration_error: float = Field(ge=0, le=1)
    """Mean distance of scores from the share of passes, over the bins."""
    bins: tuple[ReliabilityBin, ...]
    held_out: HeldOutThreshold | None = None
    """None where a half would lack one of the labels."""


class Consistency(BaseModel):
    """Whether it says the same when it is asked again."""

    model_config = _FROZEN

    n_items: int = Field(ge=1)
    """Items with two answers or more."""
    stable: Rate
    """Share of these on which all answers fall on the same side of the threshold."""


class People(BaseModel):
    """How far people agree with each other: the ceiling."""

    model_config = _FROZEN

    n_items: int = Field(ge=1)
    """Items with two labels or more, those on which people are evenly divided among them."""
    agreement: float = Field(ge=0, le=1)
    """Chance that two people's labels of an item are the same."""
    table: ErrorTable
    """Each label against the majority of the item's other labels, ties left out."""
    balanced_accuracy: float | None = Field(default=None, ge=0, le=1)
    """Of one person against the others."""
    kappa: float | None = Field(default=None, ge=-1, le=1)


class CalibrationDocument(BaseModel):
    """One judge or grader, measured against one gold set."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    subject: Subject
    gold: GoldFacts
    served_models: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Judge that was asked → the models that answered, as reported; of a panel, one entry a member."""
    figures: JudgedFigures
    failures: dict[str, int] = Field(default_factory=dict)
    """Items without an answer, by reason code. They are in no rate, and never count as 0."""
    graded: GradedFigures | None = None
    """None without a measured item."""
    by_stratum: dict[str, JudgedFigures] = Field(default_factory=dict)
    consistency: Consistency | None = None
    """None where nothing was asked twice."""
    people: People | None = None
    """None where no item has two labellers."""

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical document."""
        return digest(self.model_dump(mode="json"))
