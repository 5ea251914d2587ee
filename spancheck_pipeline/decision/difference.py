"""What ``spancheck diff`` says: a comparison with its tests, and what the runs could have seen.

The pairs are in ``comparison.py`` and ``paired_figures.py``, the tests' rules in ``regression.py``. Nothing is decided
here: no suite's gate is asked, and every grader is tested.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline import stats
from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.decision.regression import regression_tests
from spancheck_pipeline.decision.suite import Regression
from spancheck_pipeline.evidence.canonical import CONTRACT

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class GraderTest(BaseModel):
    """The test of one grader's pairs, among those of all graders."""

    model_config = _FROZEN

    p_adjusted: float = Field(ge=0, le=1)
    """One-sided (is the candidate worse?), Holm-adjusted over all graders."""
    is_worse: bool
    """Whether that is at most ``alpha``."""
    detectable_drop: float | None = None
    """Smallest true drop that would have been seen four times in five; None where no drop would have been."""
    cases_needed: int | None = None
    """About how many independent pairs would see a drop of ``detect``; None where these pairs do."""


class DifferenceDocument(BaseModel):
    """A candidate against one baseline: pairs, tests, and what could have been seen."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    comparison: ComparisonDocument
    alpha: float
    detect: float
    tests: dict[str, GraderTest]
    """By grader; those that pair no case are left out."""


def difference_of(comparison: ComparisonDocument, settings: Regression | None = None) -> DifferenceDocument:
    """Return a comparison with the test of every grader."""
    settings = settings or Regression()
    tests = {}
    for test in regression_tests([comparison], settings, list(comparison.graders)):
        if not test.figures.n_pairs:
            continue
        drop = test.detectable_drop
        is_seen = drop is not None and drop <= settings.detect
        tests[test.grader] = GraderTest(
            p_adjusted=test.p_adjusted,
            is_worse=test.p_adjusted <= settings.alpha,
            detectable_drop=drop,
            cases_needed=None if is_seen else stats.cases_needed(settings.detect, test.figures.churn, test.alpha),
        )
    return DifferenceDocument(comparison=comparison, alpha=settings.alpha, detect=settings.detect, tests=tests)
