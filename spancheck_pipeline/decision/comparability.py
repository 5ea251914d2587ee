"""Whether two captured runs can be compared, and everything in which they differ: said before any figure is made.

Pairing and figures live in ``comparison.py``; here only manifests, digests and ids are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from spancheck_pipeline.decision.comparison import MIN_OVERLAP, compare
from spancheck_pipeline.decision.paired_figures import ComparedCase, ComparedRun
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.run import Manifest

_FROZEN = ConfigDict(frozen=True, extra="forbid")

Effect = Literal["refused", "costs_not_compared", "regraded", "none"]
"""What a difference does: no comparison; none of costs; the baseline is graded again; nothing, since it may differ."""


class RunTerms(NamedTuple):
    """What a run was captured and graded under."""

    manifest: Manifest
    cases: Mapping[str, ComparedCase]
    """Case id → digests of its question and labels."""
    graders: Mapping[str, str]
    """Grader → digest of the spec that made its scores."""


class Differing(BaseModel):
    """One thing in which two runs differ. Versions, digests and counts; no text of a case."""

    model_config = _FROZEN

    what: str
    baseline: str
    candidate: str
    effect: Effect

    def __str__(self) -> str:
        """Return it in words, with both sides."""
        effects = {
            "refused": "they cannot be compared",
            "costs_not_compared": "costs are not compared",
            "regraded": "the baseline is graded again, offline",
            "none": "this may differ",
        }
        return (
            f"{self.what}: {self.baseline} in the baseline, {self.candidate} in the candidate; {effects[self.effect]}"
        )


class Comparability(BaseModel):
    """Whether two runs can be compared, over which cases, and in what they differ."""

    model_config = _FROZEN

    ok: bool
    shared: tuple[str, ...]
    """Ids of cases whose question is the same in both."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    reworded: tuple[str, ...]
    """The same id, another question: not compared."""
    relabelled: tuple[str, ...]
    """The same question, other labels: both sides are graded with the candidate's."""
    differences: tuple[Differing, ...]
    """Those that refuse the comparison first."""


def comparable(candidate: RunTerms, baseline: RunTerms, *, min_overlap: float = MIN_OVERLAP) -> Comparability:
    """Return whether a candidate can be compared with a baseline.

    Question digests say which cases are the same. Other labels and other graders are no hindrance: the baseline is
    graded again. Other epochs and too few shared questions are.
    """
    sides = [
        ComparedRun(run_id=run.manifest.run_id, epochs=run.manifest.epochs, cases=run.cases, scores=())
        for run in (candidate, baseline)
    ]
    document = compare(*sides, suite=candidate.manifest.suite, graders=[], min_overlap=min_overlap)
    same = {name for name, case in candidate.cases.items() if _asks_the_same(case, baseline.cases.get(name))}
    found = list(_differences(candidate, baseline))
    if any("questions are shared" in reason for reason in document.not_comparable):
        found.append(
            Differing(
                what="shared questions",
                baseline=f"{len(same)} of {len(baseline.cases)}",
                candidate=f"{len(same)} of {len(candidate.cases)}",
                effect="refused",
            )
        )
    return Comparability(
        ok=document.is_comparable,
        shared=tuple(sorted(same)),
        added=document.added_case_ids,
        removed=document.removed_case_ids,
        reworded=document.reworded_case_ids,
        relabelled=document.relabelled_case_ids,
        differences=tuple(sorted(found, key=lambda item: item.effect != "refused")),
    )


def _asks_the_same(case: ComparedCase, other: ComparedCase | None) -> bool:
    return other is not None and other.question_digest == case.question_digest


def _differences(candidate: RunTerms, baseline: RunTerms) -> Iterator[Differing]:
    here, there = _facts(candidate.manifest), _facts(baseline.manifest)
    for what, (effect, value) in here.items():
        if value != there[what][1]:
            yield Differing(what=what, baseline=_shown(there[what][1]), candidate=_shown(value), effect=effect)
    for name in sorted(candidate.graders.keys() | baseline.graders.keys()):
        one, other = candidate.graders.get(name), baseline.graders.get(name)
        if one != other:
            yield Differing(
                what=f"grader {name}", baseline=_shown(other and other[:12]), candidate=_shown(one and one[:12]),
                effect="regraded",
            )  # fmt: skip


def _facts(manifest: Manifest) -> dict[str, tuple[Effect, Any]]:
    prices = {model: price.model_dump(mode="json") for model, price in manifest.prices.items()}
    return {
        "epochs": ("refused", manifest.epochs),
        "prices": ("costs_not_compared", digest(prices)[:12]),
        "target": ("none", f"{manifest.target.kind} {manifest.target.reference}"),
        "target version": ("none", manifest.target.version),
        "target settings": ("none", manifest.target.settings_digest[:12]),
        "config": ("none", manifest.config),
        "served models": ("none", ", ".join(sorted(manifest.served_models))),
        "parts": ("none", "; ".join(f"{name} {', '.join(found)}" for name, found in sorted(manifest.versions.items()))),
        "dataset": ("none", manifest.dataset_digest[:12]),
        "package version": ("none", manifest.package_version),
        "Python version": ("none", manifest.python_version),
        "git commit": ("none", manifest.git_commit and manifest.git_commit[:12]),
    }


def _shown(value: object) -> str:
    return "not stated" if value in (None, "") else str(value)


__all__ = ["Comparability", "Differing", "RunTerms", "comparable"]
