"""Calibration: a judge's or grader's answers about a gold set, and everything that they say about it.

Who is asked and where the answers are kept is ``api/calibrating.py``'s; the figures are models in
``judged_figures.py``, the formulas in ``stats/judged.py``; whether they suffice is said in ``trust.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spancheck_pipeline import stats
from spancheck_pipeline.decision.figures import Rate
from spancheck_pipeline.decision.judged_figures import (
    CalibrationDocument,
    Coefficient,
    Consistency,
    ErrorRate,
    ErrorTable,
    GoldFacts,
    GradedFigures,
    HeldOutThreshold,
    JudgedFigures,
    People,
    ReliabilityBin,
    Subject,
)
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.gold import GoldItem, GoldSet

SEED: Final = 20261130
"""Which of the many ways to halve a gold set is taken."""

Cluster = tuple[bool, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldAnswer:
    """What was said about one gold item."""

    supported: bool | None
    """None where there is no answer: the verdict failed, or there was nothing to check."""
    score: float | None = None
    """In [0, 1]; None without an answer."""
    code: str = "ok"
    """Why there is no answer."""
    repeats: tuple[bool, ...] = ()
    """Each single answer's side of the threshold, where it was asked several times."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """An item with its answer, which there is."""

    item: GoldItem
    cluster: Cluster
    supported: bool
    score: float


def calibrate(
    gold: GoldSet,
    answers: Mapping[str, GoldAnswer],
    subject: Subject,
    *,
    served_models: Mapping[str, Iterable[str]] | None = None,
    seed: int = SEED,
) -> CalibrationDocument:
    """Return what answers about a gold set, by item id, say about who gave them. An item without one is unmeasured.

    Items without an answer are counted by their code; they are in no rate. Where items share a group, intervals are
    those of clustered items. The order of items plays no part.
    """
    items = sorted(gold.items, key=lambda item: item.id)
    measured = [m for item in items if (m := _measured(gold, item, answers.get(item.id))) is not None]
    known = {m.item.id for m in measured}
    missing = [item for item in items if item.id not in known]
    codes = Counter(answers[item.id].code if item.id in answers else "missing_verdict" for item in missing)
    strata = sorted({item.stratum for item in items if item.stratum is not None})
    return CalibrationDocument(
        subject=subject,
        gold=_gold_facts(gold),
        served_models={name: tuple(sorted(set(models))) for name, models in sorted((served_models or {}).items())},
        figures=_figures(gold, measured, missing),
        failures=dict(sorted(codes.items())),
        graded=_graded(gold, measured, subject.threshold, seed) if measured else None,
        by_stratum={name: _stratum(gold, name, measured, missing) for name in strata},
        consistency=_consistency(gold, items, answers),
        people=_people(items, gold.tied),
    )


def _measured(gold: GoldSet, item: GoldItem, answer: GoldAnswer | None) -> _Measured | None:
    if answer is None or answer.supported is None or answer.score is None:
        return None
    return _Measured(item, gold.cluster(item), answer.supported, answer.score)


def _gold_facts(gold: GoldSet) -> GoldFacts:
    texts = sorted({text for text in (gold.policy, *(item.policy for item in gold.items)) if text})
    return GoldFacts(
        name=gold.name,
        digest=gold.digest,
        policy_digest=digest(texts) if texts else None,
        domain=gold.domain,
        sampling=gold.sampling,
        n_items=len(gold.items),
    )


def _stratum(gold: GoldSet, name: str, measured: Sequence[_Measured], missing: Sequence[GoldItem]) -> JudgedFigures:
    return _figures(
        gold,
        [m for m in measured if m.item.stratum == name],
        [item for item in missing if item.stratum == name],
    )


def _figures(
    gold: GoldSet,
    measured: Sequence[_Measured],
    missing: Sequence[GoldItem] = (),
    says: Callable[[_Measured], bool] = lambda m: m.supported,
) -> JudgedFigures:
    """Return the figures of some items; ``says`` is the answer that counts, where it is not the one that was given."""
    table = _table((says(m), m.item.label) for m in measured)
    confusion = table.confusion
    n_positive = sum(m.item.label for m in measured)
    sides = [
        _error_rate(
            [(m.cluster, says(m) is label) for m in measured if m.item.label is label],
            [gold.cluster(item) for item in missing if item.label is label],
            is_clustered=gold.has_groups,
        )
        for label in (True, False)
    ]
    kappa = stats.kappa(confusion)
    return JudgedFigures(
        n_items=len(measured) + len(missing),
        n_measured=len(measured),
        prevalence=n_positive / len(measured) if measured else None,
        table=table,
        agreement=_rate([(m.cluster, says(m) is m.item.label) for m in measured], is_clustered=gold.has_groups),
        sensitivity=sides[0],
        specificity=sides[1],
        balanced_accuracy=_balanced(*sides),
        kappa=Coefficient(value=kappa.value, low=kappa.low, high=kappa.high) if kappa else None,
        mcc=confusion.mcc,
    )


def _table(pairs: Iterable[tuple[bool, bool]]) -> ErrorTable:
    cells = Counter(pairs)
    return ErrorTable(
        n_true_pass=cells[True, True],
        n_false_pass=cells[True, False],
        n_false_fail=cells[False, True],
        n_true_fail=cells[False, False],
    )


def _rate(flags: Sequence[tuple[Cluster, bool]], *, is_clustered: bool) -> Rate:
    """Return the share of true flags with the interval that the items' groups ask for."""
    rate = _error_rate(flags, (), is_clustered=is_clustered)
    return Rate(**rate.model_dump(include=set(Rate.model_fields)))


def _error_rate(flags: Sequence[tuple[Cluster, bool]], missing: Sequence[Cluster], *, is_clustered: bool) -> ErrorRate:
    at_worst = _interval([*flags, *((cluster, False) for cluster in missing)], is_clustered=is_clustered)
    found = _interval(flags, is_clustered=is_clustered)
    if found is None:
        return ErrorRate(n_unmeasured=len(missing), low_at_worst=at_worst.low if at_worst else None)
    return ErrorRate(
        value=sum(flag for _, flag in flags) / len(flags),
        low=found.low,
        high=found.high,
        n=len(flags),
        n_clusters=found.n_clusters if is_clustered else None,
        few_clusters=is_clustered and found.few_clusters,
        n_effective=found.n_effective,
        n_unmeasured=len(missing),
        low_at_worst=at_worst.low if at_worst else None,
    )


def _interval(flags: Sequence[tuple[Cluster, bool]], *, is_clustered: bool) -> stats.ClusterInterval | None:
    if not is_clustered:
        plain = stats.wilson(sum(flag for _, flag in flags), len(flags))
        return stats.ClusterInterval(*plain, len(flags), len(flags), 0.0) if plain else None
    clusters: dict[Cluster, list[bool]] = {}
    for cluster, flag in flags:
        clusters.setdefault(cluster, []).append(flag)
    return stats.wilson_clustered([sum(c) for c in clusters.values()], [len(c) for c in clusters.values()])


def _balanced(sensitivity: ErrorRate, specificity: ErrorRate) -> Rate:
    sides = [
        stats.Estimate(side.value, side.low, side.high)
        for side in (sensitivity, specificity)
        if side.value is not None and side.low is not None and side.high is not None
    ]
    n = sensitivity.n + specificity.n
    if len(sides) < 2:  # noqa: PLR2004 - both sides
        return Rate(n=n)
    low, high = stats.balanced_interval(*sides)
    return Rate(
        value=(sides[0].value + sides[1].value) / 2,
        low=low,
        high=high,
        n=n,
        few_clusters=sensitivity.few_clusters or specificity.few_clusters,
    )


def _graded(gold: GoldSet, measured: Sequence[_Measured], threshold: float, seed: int) -> GradedFigures:
    scores, labels = [m.score for m in measured], [m.item.label for m in measured]
    bins = stats.reliability(scores, labels)
    brier, error = stats.brier(scores, labels), stats.calibration_error(bins)
    assert brier is not None
    assert error is not None
    return GradedFigures(
        n=len(measured),
        brier=brier,
        calibration_error=error,
        bins=tuple(_bin(part) for part in bins),
        held_out=_held_out(gold, measured, threshold, seed),
    )


def _bin(part: stats.Bin) -> ReliabilityBin:
    interval = stats.wilson(part.n_positive, part.n)
    assert interval is not None
    share = Rate(value=part.n_positive / part.n, low=interval.low, high=interval.high, n=part.n)
    return ReliabilityBin(low=part.low, high=part.high, n=part.n, mean_score=part.mean_score, positive=share)


def _held_out(gold: GoldSet, measured: Sequence[_Measured], threshold: float, seed: int) -> HeldOutThreshold | None:
    chosen_on, other = _halves(measured, seed)
    best = stats.best_threshold([m.score for m in chosen_on], [m.item.label for m in chosen_on], prefer=threshold)
    if best is None or len({m.item.label for m in other}) < 2:  # noqa: PLR2004 - both labels
        return None
    return HeldOutThreshold(
        threshold=best,
        n_chosen_on=len(chosen_on),
        seed=seed,
        best=_figures(gold, other, says=lambda m: m.score >= best),
        present=_figures(gold, other),
    )


def _halves(measured: Sequence[_Measured], seed: int) -> tuple[list[_Measured], list[_Measured]]:
    """Return two halves of the items: groups whole, each half with its share of groups that fail something."""
    groups: dict[Cluster, list[_Measured]] = {}
    for m in measured:
        groups.setdefault(m.cluster, []).append(m)

    def place(cluster: Cluster) -> tuple[float, str]:
        members = groups[cluster]
        return sum(m.item.label for m in members) / len(members), digest([seed, *cluster])

    halves: tuple[list[_Measured], list[_Measured]] = ([], [])
    for number, cluster in enumerate(sorted(groups, key=place)):
        halves[number % 2].extend(groups[cluster])
    return halves


def _consistency(gold: GoldSet, items: Sequence[GoldItem], answers: Mapping[str, GoldAnswer]) -> Consistency | None:
    asked_again = [
        (gold.cluster(item), len(set(answers[item.id].repeats)) == 1)
        for item in items
        if item.id in answers and len(answers[item.id].repeats) > 1
    ]
    if not asked_again:
        return None
    return Consistency(n_items=len(asked_again), stable=_rate(asked_again, is_clustered=gold.has_groups))


def _people(items: Sequence[GoldItem], tied: Sequence[Sequence[bool]]) -> People | None:
    # Without the ties, which have no label, two people would agree on everything by construction.
    found = stats.concord([*(item.labellers for item in items), *tied])
    if found is None:
        return None
    kappa = stats.kappa(found.against_others)
    return People(
        n_items=found.n_items,
        agreement=found.agreement,
        table=ErrorTable(**found.against_others._asdict()),
        balanced_accuracy=found.against_others.balanced_accuracy,
        kappa=kappa.value if kappa else None,
    )


__all__ = ["SEED", "GoldAnswer", "calibrate"]
