"""The rate that a judge measured in a run, and what its errors make of it.

Which calibration speaks for the judge is decided in ``trust.py``; the two corrections are formulas in
``stats/corrected.py``; the scorecard takes the figures in as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spancheck_pipeline import stats
from spancheck_pipeline.decision.figures import CorrectedRate, JudgeFigures, Rate
from spancheck_pipeline.decision.judged_figures import CalibrationDocument, ErrorRate, Subject
from spancheck_pipeline.decision.standing import CalibrationPolicy, Trust
from spancheck_pipeline.decision.trust import model_name, standing


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPacket:
    """What a judge came to say about one packet."""

    cluster: tuple[bool, str]
    """The cluster of the case that it is of; or the case, where that has none."""
    supported: bool | None
    """None where there is no verdict."""
    code: str = "ok"
    is_stable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A calibration, with the pairs of values behind it."""

    document: CalibrationDocument
    pairs: tuple[tuple[bool, bool], ...] = ()
    """(label, answer) of every measured gold item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFacts:
    """What a scorecard needs of one judge."""

    subject: Subject
    graders: tuple[str, ...]
    """The graders whose scores rest on it."""
    packets: Sequence[JudgedPacket] = ()
    """Each distinct packet once."""
    served_models: Mapping[str, Sequence[str]]
    calibrations: Sequence[Calibrated] = ()


def judge_figures(facts: JudgeFacts, policy: CalibrationPolicy, *, domain: str) -> JudgeFigures:
    """Return a judge's raw rate, the corrected one, and where the judge stands."""
    subject = facts.subject
    stands = standing(subject, facts.served_models, [c.document for c in facts.calibrations], policy, domain=domain)
    used = next((c for c in facts.calibrations if c.document.digest == stands.calibration), None)
    judged = [packet for packet in facts.packets if packet.supported is not None]
    raw, n_effective = _raw(judged)
    corrected = _corrected(judged, n_effective, used, domain=policy.domain or domain)
    return JudgeFigures(
        name=subject.name,
        kind="panel" if subject.kind == "panel" else "judge",
        client=subject.client or "",
        model=subject.model,
        prompt=subject.prompt,
        prompt_digest=subject.prompt_digest,
        threshold=subject.threshold,
        runs=subject.runs,
        graders=facts.graders,
        served_models={
            name: tuple(sorted(set(map(model_name, models)))) for name, models in sorted(facts.served_models.items())
        },
        n_packets=len(facts.packets),
        failures=dict(sorted(Counter(p.code for p in facts.packets if p.supported is None).items())),
        n_unstable=sum(packet.is_stable is False for packet in facts.packets),
        raw=raw,
        corrected=corrected,
        standing=stands,
    )


def _raw(judged: Sequence[JudgedPacket]) -> tuple[Rate, float]:
    """Return the share of supported packets, and how many independent packets they are worth."""
    if not judged:
        return Rate(), 0.0
    clusters: dict[tuple[bool, str], list[bool]] = {}
    for packet in judged:
        clusters.setdefault(packet.cluster, []).append(packet.supported is True)
    found = stats.wilson_clustered([sum(c) for c in clusters.values()], [len(c) for c in clusters.values()])
    assert found is not None
    is_clustered = len(clusters) < len(judged)
    n_supported = sum(packet.supported is True for packet in judged)
    low, high = (found.low, found.high) if is_clustered else stats.wilson(n_supported, len(judged)) or (0.0, 1.0)
    rate = Rate(
        value=n_supported / len(judged),
        low=low,
        high=high,
        n=len(judged),
        n_clusters=found.n_clusters if is_clustered else None,
        few_clusters=is_clustered and found.few_clusters,
    )
    return rate, found.n_effective


def _corrected(
    judged: Sequence[JudgedPacket], n_effective: float, used: Calibrated | None, *, domain: str
) -> CorrectedRate | None:
    """Return the rate without the judge's errors: PPI++ on a slice of this domain's answers, else Rogan-Gladen."""
    if used is None or not judged:
        return None
    gold, figures = used.document.gold, used.document.figures
    n_supported = sum(packet.supported is True for packet in judged)
    if gold.sampling == "slice" and gold.domain == domain:
        worth = _worth(figures.sensitivity, figures.specificity)
        found = stats.prediction_powered(
            [float(label) for label, _ in used.pairs],
            [float(answer) for _, answer in used.pairs],
            [float(packet.supported is True) for packet in judged],
            n_labelled=len(used.pairs) * worth,
            n_unlabelled=n_effective,
        )
        return _rate("ppi++", found)
    found = stats.rogan_gladen(
        n_supported * n_effective / len(judged),
        n_effective,
        figures.table.confusion,
        n_positive=figures.sensitivity.n_effective,
        n_negative=figures.specificity.n_effective,
    )
    return _rate("rogan_gladen", found)


def _worth(*sides: ErrorRate) -> float:
    """Return how many independent items one gold item is worth."""
    n = sum(side.n for side in sides)
    return sum(side.n_effective for side in sides) / n if n else 1.0


def _rate(method: str, found: stats.Estimate | None) -> CorrectedRate | None:
    if found is None:
        return None
    return CorrectedRate.model_validate({"method": method, "value": found.value, "low": found.low, "high": found.high})


__all__ = ["Calibrated", "JudgeFacts", "JudgedPacket", "Trust", "judge_figures"]
