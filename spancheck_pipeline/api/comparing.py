"""Two runs in memory: what changed between them, and whether one is good enough beside the other. Nothing is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from spancheck_pipeline.api.run import Run
from spancheck_pipeline.decision.comparison import ComparisonDocument, compare
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.suite import GateSettings, Regression
from spancheck_pipeline.errors import NotComparableError, UsageError


def diff(baseline: Run, current: Run) -> dict[str, dict[str, Any]]:
    """Return per grader the pass rates of two runs over the cases that both asked, and which cases changed.

    ``delta`` is current minus baseline, with ``low`` and ``high``; None where nothing was measured in both.

    Raises:
        NotComparableError: with every reason, when the runs share too few questions, or grades were made by different
            graders and cannot be made again here.
    """
    document = comparison(baseline, current)
    return {
        name: {
            "baseline": figures.baseline_rate,
            "current": figures.candidate_rate,
            "delta": figures.difference.value,
            "low": figures.difference.low,
            "high": figures.difference.high,
            "p_value": figures.p_value,
            "n_shared": figures.n_pairs,
            "newly_failing": list(figures.newly_failing_case_ids),
            "newly_passing": list(figures.newly_passing_case_ids),
        }
        for name, figures in document.graders.items()
    }


def comparison(baseline: Run, current: Run) -> ComparisonDocument:
    """Return the comparison of two runs, the baseline graded as the current one is.

    Raises:
        NotComparableError: with every reason.
    """
    regraded = _regraded(baseline, current)
    document = compare(
        current.compared(), regraded.compared(), suite=current.suite, graders=list(current.spec_digests())
    )
    document.require_comparable()
    return document


def gate(
    current: Run,
    thresholds: Mapping[str, float],
    baseline: Run | None = None,
    max_regression: float = 0.0,
) -> GateDecision:
    """Return whether a run is good enough: ``.ok`` and ``.reasons``, and it unpacks as ``(ok, reasons)``.

    ``thresholds`` are lowest pass rates by grader; ``completion`` always gates. With a baseline, each of these graders
    (without thresholds: all) must also not be worse than there over the shared cases, by an exact paired test;
    ``max_regression`` above 0 asks for non-inferiority with that margin: a drop of this size must be excluded.

    Raises:
        UsageError: for a grader that the run does not have (the nearest is named), or a number out of range.
        NotComparableError: when the baseline cannot be compared, with every reason.
    """
    try:
        regression = Regression(margin=max_regression or None) if baseline is not None else None
        settings = GateSettings(min_pass_rate=dict(thresholds), regression=regression)
    except ValidationError:
        raise UsageError("a threshold is a number from 0 to 1, and max_regression one below 1") from None
    comparisons = [] if baseline is None else [comparison(baseline, current)]
    return current.decide(settings, comparisons=comparisons)


def _regraded(baseline: Run, current: Run) -> Run:
    """Return the baseline under the current run's graders: as it is where the specs are equal, else graded again."""
    ours, theirs = current.spec_digests(), baseline.spec_digests()
    differing = sorted(name for name, spec in ours.items() if theirs.get(name) != spec)
    if not differing:
        return baseline
    if {grader.name for grader in current.graders} >= ours.keys():
        return baseline.rescore(current.graders)
    raise NotComparableError(
        [
            (
                f"the grades of {', '.join(differing)} were made by other graders; "
                "grade both runs again first (Run.rescore; CLI: --regrade)"
            )
        ]
    )
