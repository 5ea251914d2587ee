"""Comparisons with their tests, and what the runs could have seen: what ``spancheck diff`` and the reports show.

The pairs are in ``comparison.py`` and ``paired_figures.py``, the tests in ``paired_tests.py``. Nothing is decided
here; where a gate decided, the tests are those that it saw.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.comparability import Differing
from spancheck_pipeline.decision.comparison import Baseline, ComparisonDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.gate_settings import Regression
from spancheck_pipeline.decision.paired_tests import RegressionTest, regression_tests
from spancheck_pipeline.evidence.canonical import CONTRACT

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class GraderTest(BaseModel):
    """The test of one grader's pairs, among those of all graders that gate."""

    model_config = _FROZEN

    p_value: float = Field(ge=0, le=1)
    """One-sided (is the candidate worse?), of this grader alone."""
    p_adjusted: float | None = Field(default=None, ge=0, le=1)
    """The same, Holm-adjusted over all tests of the graders that gate; None where this one does not gate."""
    is_worse: bool
    """Whether that is at most ``alpha``; a grader that does not gate is not said to be worse."""
    detectable_drop: float | None = None
    """Smallest true drop that would have been seen four times in five; None where no drop would have been."""
    cases_needed: int | None = None
    """About how many independent pairs would see a drop of ``detect``; None where these pairs do, or share clusters."""
    clusters_needed: int | None = None
    """The same in clusters (documents), where pairs share them."""


class DifferenceDocument(BaseModel):
    """A candidate against one baseline: pairs, tests, and what could have been seen."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    comparison: ComparisonDocument
    alpha: float
    detect: float
    tests: dict[str, GraderTest]
    """By grader; those that pair no case are left out."""
    baseline_kinds: tuple[Baseline, ...] = ()
    """All that the baseline is: one run may be the release and the last good one."""
    differences: tuple[Differing, ...] = ()
    """Everything in which the runs differ, where they cannot be compared and both have a manifest; else empty."""


def difference_of(
    comparison: ComparisonDocument, settings: Regression | None = None, gating: Sequence[str] | None = None
) -> DifferenceDocument:
    """Return a comparison with the test of every grader; ``gating`` are those that gate, None: all."""
    return differences_of([comparison], settings, gating)[0]


def differences_of(
    comparisons: Sequence[ComparisonDocument],
    settings: Regression | None = None,
    gating: Sequence[str] | None = None,
) -> tuple[DifferenceDocument, ...]:
    """Return a night's comparisons with their tests, in one family as the gate has them; each baseline run once.

    Graders that do not gate are tested each by itself and are in nobody's family.
    """
    settings = settings or Regression()
    names = list(dict.fromkeys(name for item in comparisons for name in item.graders))
    family = names if gating is None else [name for name in names if name in gating]
    tests = {(test.baseline_run_id, test.grader): test for test in regression_tests(comparisons, settings, family)}
    return tuple(
        DifferenceDocument(
            comparison=comparison,
            alpha=settings.alpha,
            detect=settings.margin or settings.detect,
            tests=dict(_tests(comparison, settings, tests)),
            baseline_kinds=kinds,
        )
        for comparison, kinds in each_baseline(comparisons)
    )


def each_baseline(
    comparisons: Sequence[ComparisonDocument],
) -> tuple[tuple[ComparisonDocument, tuple[Baseline, ...]], ...]:
    """Return every baseline run once, with all that it is: one run may be the release and the last good one."""
    by_run: dict[str, list[ComparisonDocument]] = {}
    for item in comparisons:
        by_run.setdefault(item.baseline.run_id, []).append(item)
    return tuple((items[0], tuple(dict.fromkeys(item.baseline_kind for item in items))) for items in by_run.values())


def differences_of_gate(
    decision: GateDecision, comparisons: Sequence[ComparisonDocument]
) -> tuple[DifferenceDocument, ...]:
    """Return the comparisons that a decision saw, with the very tests that its rules speak of."""
    tested = [rule.subject for rule in decision.rules if rule.kind == "regression" and not rule.is_ignored]
    return differences_of(comparisons, decision.settings.regression, tested if decision.settings.regression else None)


def _tests(
    comparison: ComparisonDocument, settings: Regression, gating: Mapping[tuple[str, str], RegressionTest]
) -> Iterator[tuple[str, GraderTest]]:
    for name, figures in comparison.graders.items():
        if not figures.n_pairs:
            continue
        found = gating.get((comparison.baseline.run_id, name))
        test = found or regression_tests([comparison], settings, [name])[0]
        needed = None if test.seen.is_enough else test.needed
        yield (
            name,
            GraderTest(
                p_value=figures.p_value,
                p_adjusted=found.p_adjusted if found else None,
                is_worse=found is not None and found.p_adjusted <= settings.alpha,
                detectable_drop=test.detectable_drop,
                cases_needed=needed.n_cases if needed else None,
                clusters_needed=needed.n_clusters if needed else None,
            ),
        )
