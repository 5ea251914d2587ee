"""Comparing a run with a baseline, paired by case, or saying why that is impossible.

The baseline comes re-graded with today's graders and labels; the caller does that, and makes the facts. What the pairs
say lives in ``paired_figures.py``; which regressions fail a night in ``regression.py``. A comparison holds counts, ids
and digests, and no text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.paired_figures import (
    CALL_FIGURES,
    ComparedCase,
    ComparedRun,
    Difference,
    PairedFigures,
    Pairs,
    hallucination_difference,
    paired_figures,
)
from spancheck_pipeline.errors import NotComparableError
from spancheck_pipeline.evidence.canonical import CONTRACT, digest

MIN_OVERLAP: Final = 0.8
"""Share of the larger run's cases that both must have asked."""

Baseline = Literal["release", "last_good", "given"]
"""Pinned by a person; the latest run that its gate let pass; or whatever the caller named."""

BASELINES: Final[dict[Baseline, str]] = {
    "release": "the release baseline",
    "last_good": "the last good run",
    "given": "the baseline",
}
"""Baseline → what it is called in a sentence."""

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class RunIdentity(BaseModel):
    """Which run a side of a comparison is."""

    model_config = _FROZEN

    run_id: str
    date: str | None = None
    config: str | None = None
    target_version: str | None = None
    """What is allowed to differ."""


class ComparisonDocument(BaseModel):
    """A candidate against one baseline. Where they are not comparable, it holds the reasons and no figure."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    suite: str
    baseline_kind: Baseline
    candidate: RunIdentity
    baseline: RunIdentity
    not_comparable: tuple[str, ...] = ()
    n_shared: int
    added_case_ids: tuple[str, ...] = ()
    removed_case_ids: tuple[str, ...] = ()
    reworded_case_ids: tuple[str, ...] = ()
    """The same id, another question: not compared."""
    relabelled_case_ids: tuple[str, ...] = ()
    """The same question, other labels: both sides were graded with the candidate's."""
    graders: dict[str, PairedFigures] = Field(default_factory=dict)
    hallucination: Difference = Difference()
    """Of the hallucination rate: above 0 is worse. Without a value where no grader measures it."""
    latency_ms: Difference = Difference()
    latency_total_ms: Difference = Difference()
    cost_usd: Difference = Difference()
    cost_not_compared: str = ""
    """Why costs are not compared; empty where they are."""
    inputs: dict[str, str] = Field(default_factory=dict)

    @property
    def is_comparable(self) -> bool:
        """Whether there are figures."""
        return not self.not_comparable

    @property
    def case_changes(self) -> str:
        """How many cases are not as they were in the baseline, or are no longer measured, in words; empty for none."""
        unmeasured = {case_id for figures in self.graders.values() for case_id in figures.newly_unmeasured_case_ids}
        counts = {
            "added": len(self.added_case_ids),
            "removed": len(self.removed_case_ids),
            "reworded": len(self.reworded_case_ids),
            "relabelled": len(self.relabelled_case_ids),
            "no longer measured": len(unmeasured),
        }
        said = [f"{n} {what}" for what, n in counts.items() if n]
        return f"cases: {', '.join(said)}" if said else ""

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical document."""
        return digest(self.model_dump(mode="json"))

    def require_comparable(self) -> None:
        """Raise ``NotComparableError`` with every reason, for callers that were asked for exactly this comparison."""
        if self.not_comparable:
            raise NotComparableError(self.not_comparable)


def compare(
    candidate: ComparedRun,
    baseline: ComparedRun,
    *,
    suite: str,
    graders: Sequence[str],
    grounded: str | None = None,
    baseline_kind: Baseline = "given",
    min_overlap: float = MIN_OVERLAP,
    inputs: Mapping[str, str] | None = None,
) -> ComparisonDocument:
    """Return the comparison of two runs over the cases whose question digest both share.

    ``graders`` are today's, and ``grounded`` the one of them that the hallucination rate is of. Scores of other graders
    and of cases that are not shared are passed over.
    """
    sets = _CaseSets.of(candidate.cases, baseline.cases)
    reasons = _reasons(candidate, baseline, sets, graders, min_overlap=min_overlap)
    document = ComparisonDocument(
        suite=suite,
        baseline_kind=baseline_kind,
        candidate=_identity(candidate),
        baseline=_identity(baseline),
        not_comparable=reasons,
        n_shared=len(sets.shared),
        added_case_ids=sets.added,
        removed_case_ids=sets.removed,
        reworded_case_ids=sets.reworded,
        relabelled_case_ids=sets.relabelled,
        inputs=dict(sorted((inputs or {}).items())),
    )
    if reasons:
        return document
    pairs = Pairs(sets.shared, candidate, baseline)
    return document.model_copy(
        update={
            "graders": {name: paired_figures(name, pairs) for name in graders},
            "hallucination": Difference() if grounded is None else hallucination_difference(grounded, pairs),
            **_call_differences(pairs),
        }
    )


def grounded_of(measurements: Mapping[str, str]) -> str | None:
    """Return the first of some graders (name → measurement) that the hallucination rate is of; None without one."""
    return next((name for name, what in measurements.items() if what.replace("_", "").lower() == "groundedness"), None)


class _CaseSets(NamedTuple):
    shared: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    reworded: tuple[str, ...]
    relabelled: tuple[str, ...]

    @classmethod
    def of(cls, candidate: Mapping[str, ComparedCase], baseline: Mapping[str, ComparedCase]) -> _CaseSets:
        both = sorted(candidate.keys() & baseline.keys())
        same = [c for c in both if candidate[c].question_digest == baseline[c].question_digest]
        return cls(
            shared=tuple(same),
            added=tuple(sorted(candidate.keys() - baseline.keys())),
            removed=tuple(sorted(baseline.keys() - candidate.keys())),
            reworded=tuple(c for c in both if candidate[c].question_digest != baseline[c].question_digest),
            relabelled=tuple(c for c in same if candidate[c].label_digest != baseline[c].label_digest),
        )


def _reasons(
    candidate: ComparedRun, baseline: ComparedRun, sets: _CaseSets, graders: Sequence[str], *, min_overlap: float
) -> tuple[str, ...]:
    reasons = []
    if candidate.epochs != baseline.epochs:
        reasons.append(
            f"epochs differ: {candidate.epochs} in the candidate, {baseline.epochs} in the baseline; "
            "capture both with the same number"
        )
    larger = max(len(candidate.cases), len(baseline.cases))
    if not sets.shared or len(sets.shared) < min_overlap * larger:
        reasons.append(
            f"only {len(sets.shared)} of {larger} questions are shared (at least {min_overlap:.0%} must be); "
            "compare with a run of the same cases"
        )
    for name in graders:
        missing = baseline.missing_verdicts.get(name, 0) + candidate.missing_verdicts.get(name, 0)
        if missing:
            reasons.append(
                f"re-grading {name} needs {missing} judge verdicts that are not recorded; "
                "have them asked first (a nightly of the baseline's date asks judges and no target), "
                "or compare without it"
            )
    return tuple(reasons)


def _identity(run: ComparedRun) -> RunIdentity:
    return RunIdentity(run_id=run.run_id, date=run.date, config=run.config, target_version=run.target_version)


def _call_differences(pairs: Pairs) -> dict[str, Difference | str]:
    found: dict[str, Difference | str] = {}
    for name in CALL_FIGURES:
        if name == "cost_usd" and not pairs.same_prices:
            found["cost_not_compared"] = "the price tables differ"
            continue
        sides = [side.means(side.calls[name]) for side in (pairs.candidate, pairs.baseline)]
        found[name] = pairs.difference(*sides)
    return found


__all__ = [
    "ComparedCase", "ComparedRun", "ComparisonDocument", "Difference", "PairedFigures", "RunIdentity", "compare",
]  # fmt: skip
