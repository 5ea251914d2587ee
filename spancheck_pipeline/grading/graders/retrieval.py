"""Retrieval: did the sources that a good answer needs come, and how high?

What a failing answer owes to retrieval and what to generation lives in ``grading/attribution.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from spancheck_pipeline.evidence.run import Context
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.grading.shipped import ShippedGrader

Metric = Literal["hit", "recall", "precision", "mrr", "ndcg"]


class Ranking(NamedTuple):
    """The retrieval measures of one output, each in [0, 1], over the first ``k`` distinct sources."""

    hit: float
    """1 when any needed source came."""
    recall: float
    """Share of the needed sources that came."""
    precision: float
    """Share of the distinct sources that came which are needed; 0 where nothing came."""
    mrr: float
    """1 / rank of the first needed source; 0 where none came."""
    ndcg: float
    """Discounted gain over the ideal one, gain 1 for a needed source, discount log2(rank + 1)."""


def ranking(retrieved: Sequence[str], needed: Sequence[str], k: int | None = None) -> Ranking:
    """Return the measures of a ranked list of distinct sources against the needed ones.

    Järvelin & Kekäläinen 2002 for nDCG, with binary gains.

    >>> ranking(["a", "x", "b"], ["a", "b"]).recall
    1.0

    Raises:
        ValueError: when nothing is needed.
    """
    wanted = set(needed)
    if not wanted:
        raise ValueError("nothing is needed, so nothing can be measured")
    kept = list(retrieved)[:k]
    ranks = [rank for rank, source in enumerate(kept, start=1) if source in wanted]
    ideal = range(1, min(len(wanted), k or len(wanted)) + 1)
    return Ranking(
        hit=float(bool(ranks)),
        recall=len(ranks) / len(wanted),
        precision=len(ranks) / len(kept) if kept else 0.0,
        mrr=1 / ranks[0] if ranks else 0.0,
        ndcg=sum(1 / math.log2(rank + 1) for rank in ranks) / sum(1 / math.log2(rank + 1) for rank in ideal),
    )


def retrieved_sources(contexts: Sequence[Context], needed: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct sources of the passages, best first; a needed one goes by the name that the case uses.

    The order is that of the producer's ranks where every passage has one, else that of the list.
    """
    ordered = list(contexts)
    if all(context.rank is not None for context in ordered):
        ordered.sort(key=lambda context: context.rank or 0)
    wanted = set(needed)
    names: dict[str, None] = {}
    for context in ordered:
        known = [name for name in (context.source_id, context.uri, context.title) if name]
        match = next((name for name in known if name in wanted), None)
        if match or known:
            names.setdefault(match or known[0])
    return tuple(names)


@dataclass(frozen=True)
class Retrieval(ShippedGrader):
    """Pass when ``metric`` over the first ``k`` distinct sources is at least ``threshold``."""

    measurement: ClassVar[str] = "retrieval"
    version: ClassVar[str] = "1"

    name: str = "retrieval"
    metric: Metric = "recall"
    threshold: float = 1.0
    """In [0, 1]."""
    k: int | None = None
    """Distinct sources that count, from the top; None counts all."""

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must be in [0, 1], not {self.threshold}")
        if self.k is not None and self.k < 1:
            raise ValueError(f"k must be at least 1, not {self.k}")

    def grade(self, evidence: Evidence) -> Score:
        """Return the measure, with one finding per needed source and one per measure."""
        needed = evidence.case.expected_sources
        if not needed:
            return Score.not_applicable("no_expected_sources", "Nobody said which sources this case needs.")
        contexts = evidence.output.contexts
        retrieved = retrieved_sources(contexts, needed)
        if contexts and not retrieved:
            return Score.unmeasured("no_source_ids", "No retrieved passage says which source it is from (source_id).")
        measures = ranking(retrieved, needed, self.k)
        value = float(getattr(measures, self.metric))
        passed = value >= self.threshold
        kept = retrieved[: self.k]
        came = len(set(needed) & set(kept))
        share = f"{came} of {len(set(needed))} needed sources came among {len(kept)}"
        reason = f"{share}; {self.metric} {value:.3f}."
        code = "ok" if passed else "not_retrieved"
        return Score.judged(
            passed, value, reason=reason, reason_code=code, findings=self._findings(retrieved, needed, measures)
        )

    def _findings(self, retrieved: Sequence[str], needed: Sequence[str], measures: Ranking) -> tuple[Finding, ...]:
        kept = list(retrieved[: self.k])
        sources = [
            Finding(
                item=f"source[{i}]",
                kind="source",
                outcome=Outcome.PASS if source in kept else Outcome.FAIL,
                value=1 / (kept.index(source) + 1) if source in kept else 0.0,
                grade="retrieved" if source in kept else "not_retrieved",
                reason=f"It came at rank {kept.index(source) + 1}." if source in kept else "It did not come.",
                source_id=source,
            )
            for i, source in enumerate(dict.fromkeys(needed))
        ]
        shown = [
            Finding(
                item=name, kind="measure", outcome=Outcome.NOT_APPLICABLE, value=value, reason=f"{name} {value:.3f}."
            )
            for name, value in measures._asdict().items()
        ]
        return (*sources, *shown)
