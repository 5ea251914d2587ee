"""A suite over its dates: every rate with its interval, and where a grader, the target or the cases are other ones.

The caller reads the scorecards; drawing them lives in ``report/trend_svg.py``. A step that stands at a mark may be the
mark's doing: what a rate means has changed there, or who it is about.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.figures import Rate, ScorecardDocument
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.evidence.canonical import CONTRACT

Marks = tuple[Literal["grader", "target", "cases", "epochs"], ...]
"""What is another one than on the date before."""

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NightFacts(BaseModel):
    """What the trend needs of one date, made by the caller from stored files."""

    model_config = _FROZEN

    scorecard: ScorecardDocument
    target_version: str | None = None
    dataset_digest: str = ""
    epochs: int = 1
    answer: Answer | None = None
    """None where nothing was decided."""


class TrendPoint(BaseModel):
    """One figure of one date."""

    model_config = _FROZEN

    date: str
    value: float | None = None
    """None where nothing was measured, or no price is known."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval; None for a figure that has none."""
    n: int = 0
    n_clusters: int | None = None
    """Clusters that these fall into; None where every case stands for itself, and for a figure without an interval."""
    marks: Marks = ()
    """What is another one than on the date before."""


class TrendNight(BaseModel):
    """One date: which run it is, and what the gate said."""

    model_config = _FROZEN

    date: str
    run_id: str
    target_version: str | None = None
    answer: Answer | None = None


class TrendDocument(BaseModel):
    """A suite's figures over its dates, in order."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    suite: str
    nights: tuple[TrendNight, ...]
    rates: dict[str, tuple[TrendPoint, ...]] = Field(default_factory=dict)
    """By grader its pass rate, and ``hallucination_rate``."""
    numbers: dict[str, tuple[TrendPoint, ...]] = Field(default_factory=dict)
    """``mean_cost_usd`` and ``p95_latency_ms``."""
    missed: tuple[str, ...] = ()
    """Dates on which the suite's schedule, as it is now, wanted a night that was never captured."""
    gone: tuple[str, ...] = ()
    """Dates that were recorded, as their seals or promotions say, and whose record is gone."""


def trend_of(
    suite: str, nights: Iterable[NightFacts], *, missed: Iterable[str] = (), gone: Iterable[str] = ()
) -> TrendDocument:
    """Return the trend of a suite's dates, whatever order they come in."""
    ordered = sorted(nights, key=lambda night: night.scorecard.date or "")
    rates: dict[str, list[TrendPoint]] = {}
    numbers: dict[str, list[TrendPoint]] = {}
    specs: dict[str, str] = {}
    before: NightFacts | None = None
    for night in ordered:
        card = night.scorecard
        others = _marks(before, night)
        for name, figures in card.graders.items():
            is_other = specs.get(name, figures.spec_digest) != figures.spec_digest
            specs[name] = figures.spec_digest
            marks = (*(("grader",) if is_other else ()), *others)
            rates.setdefault(name, []).append(_point(card, figures.pass_rate, marks))
        if card.headline.hallucination is not None:
            of_grader = rates[card.headline.hallucination.grader][-1].marks
            point = _point(card, card.headline.hallucination.rate, of_grader)
            rates.setdefault("hallucination_rate", []).append(point)
        for name, value, n in _numbers(card):
            point = TrendPoint(date=card.date or "", value=value, n=n, marks=others)
            numbers.setdefault(name, []).append(point)
        before = night
    return TrendDocument(
        suite=suite,
        nights=tuple(
            TrendNight(
                date=night.scorecard.date or "",
                run_id=night.scorecard.run_id,
                target_version=night.target_version,
                answer=night.answer,
            )
            for night in ordered
        ),
        rates={name: tuple(points) for name, points in rates.items()},
        numbers={name: tuple(points) for name, points in numbers.items()},
        missed=tuple(sorted(missed)),
        gone=tuple(sorted(gone)),
    )


def _marks(before: NightFacts | None, night: NightFacts) -> Marks:
    if before is None:
        return ()
    marks: list[Literal["grader", "target", "cases", "epochs"]] = []
    if before.target_version != night.target_version:
        marks.append("target")
    if before.dataset_digest != night.dataset_digest:
        marks.append("cases")
    if before.epochs != night.epochs:
        marks.append("epochs")
    return tuple(marks)


def _point(card: ScorecardDocument, rate: Rate, marks: Marks) -> TrendPoint:
    return TrendPoint(
        date=card.date or "",
        value=rate.value,
        low=rate.low,
        high=rate.high,
        n=rate.n,
        n_clusters=rate.n_clusters,
        marks=marks,
    )


def _numbers(card: ScorecardDocument) -> tuple[tuple[str, float | None, int], ...]:
    cost, latency = card.headline.cost, card.headline.latency.answer
    return (
        ("mean_cost_usd", cost.mean_usd, cost.n_priced),
        ("p95_latency_ms", latency.p95_ms, latency.n),
    )
