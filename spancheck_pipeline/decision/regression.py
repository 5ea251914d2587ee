"""What the comparisons with the baselines make of a night: each gating grader's answer, and what could have been seen.

The comparisons are made in ``comparison.py``, the formulas are in ``stats/paired.py``; ``gate.py`` joins these answers
with thresholds and budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spancheck_pipeline import stats
from spancheck_pipeline.decision.comparison import Baseline, ComparisonDocument, PairedFigures
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.rule import Answer, RuleResult, gravest, ignored
from spancheck_pipeline.decision.suite import Regression

_BASELINES: Final[dict[Baseline, str]] = {
    "release": "the release baseline",
    "last_good": "the last good run",
    "given": "the baseline",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionTest:
    """One grader against one baseline, tested together with all the others of the night."""

    grader: str
    baseline_kind: Baseline
    figures: PairedFigures
    p_adjusted: float
    """Holm over all tests of the night."""
    alpha: float
    """What the strictest step of Holm leaves for this test, which is what a promise of power must reckon with."""

    @property
    def detectable_drop(self) -> float | None:
        """The smallest true drop that four nights in five would have seen; None where there is none."""
        n = int(self.figures.n_independent)
        return stats.detectable_drop(n, self.figures.churn, self.alpha) if n else None


def regression_name(grader: str) -> str:
    """Return the name of the rule that watches a grader for regressions."""
    return f"regression_{grader}"


def regression_rules(
    comparisons: Sequence[ComparisonDocument],
    settings: Regression,
    graders: Iterable[str],
    *,
    is_blocking: bool,
    scorecard: ScorecardDocument | None = None,
) -> Iterator[RuleResult]:
    """Yield one result a gating grader, over every baseline that the run is comparable with.

    FAIL where the one-sided exact test is significant after Holm; PASS where it is not and the run could have seen a
    drop of ``detect``; else INCONCLUSIVE. With a ``margin``, PASS is an interval wholly above −margin. A grader of the
    ``scorecard`` that rests on a judge which may not gate is not tested, and takes no part in Holm's adjustment.
    """
    names = list(graders)
    left_out = {name for name in names if scorecard is not None and scorecard.not_gating(name)}
    tests = regression_tests(comparisons, settings, [name for name in names if name not in left_out])
    for name in names:
        of_grader = [test for test in tests if test.grader == name]
        if not of_grader:
            rule = RuleResult(
                rule=regression_name(name),
                kind="regression",
                subject=name,
                answer=Answer.INCONCLUSIVE,
                reason=f"{name}: no comparable baseline; the thresholds alone decide",
                is_blocking=is_blocking,
            )
            yield rule if scorecard is None else ignored(rule, scorecard)
            continue
        yield _joined(name, of_grader, settings, is_blocking=is_blocking)


def regression_tests(
    comparisons: Sequence[ComparisonDocument], settings: Regression, graders: Sequence[str]
) -> list[RegressionTest]:
    """Return every test of the night: each gating grader against each comparable baseline.

    A run that is both the release baseline and the last good one is tested once.
    """
    found: dict[tuple[str, str], tuple[Baseline, PairedFigures]] = {}
    for comparison in comparisons:
        if comparison.is_comparable:
            for name in graders:
                if name in comparison.graders:
                    key = (name, comparison.baseline.run_id)
                    found.setdefault(key, (comparison.baseline_kind, comparison.graders[name]))
    adjusted = stats.holm([figures.p_value for _, figures in found.values()])
    return [
        RegressionTest(
            grader=name,
            baseline_kind=kind,
            figures=figures,
            p_adjusted=p_adjusted,
            alpha=settings.alpha / len(found),
        )
        for ((name, _), (kind, figures)), p_adjusted in zip(found.items(), adjusted, strict=True)
    ]


def _joined(name: str, tests: Sequence[RegressionTest], settings: Regression, *, is_blocking: bool) -> RuleResult:
    said = [(test, *_answer(test, settings)) for test in tests]
    answer = gravest({what for _, what, _ in said})
    decisive = next(test for test, what, _ in said if what is answer)
    needed = None
    if answer is Answer.INCONCLUSIVE:
        needed = stats.cases_needed(settings.margin or settings.detect, decisive.figures.churn, decisive.alpha)
    return RuleResult(
        rule=regression_name(name),
        kind="regression",
        subject=name,
        threshold=settings.margin or settings.detect,
        observed=decisive.figures.difference.value,
        answer=answer,
        reason=f"{name}: " + "; ".join(reason for _, _, reason in said),
        p_value=min(test.p_adjusted for test in tests),
        detectable_drop=decisive.detectable_drop,
        cases_needed=needed,
        is_blocking=is_blocking,
    )


def _answer(test: RegressionTest, settings: Regression) -> tuple[Answer, str]:
    figures, against = test.figures, _BASELINES[test.baseline_kind]
    if not figures.n_pairs:
        return Answer.INCONCLUSIVE, f"no case is measured both here and in {against}; the thresholds alone decide"
    flips = (
        f"{figures.n_newly_failing} newly failing and {figures.n_newly_passing} newly passing of {figures.n_pairs} "
        f"pairs with {against}"
    )
    low = figures.difference.low
    if settings.margin is not None and low is not None and low > -settings.margin:
        return Answer.PASS, f"{flips}; a drop of {_points(settings.margin)} is excluded"
    if test.p_adjusted <= settings.alpha:
        return Answer.FAIL, f"{flips} (p = {test.p_adjusted:.2g}); look at the newly failing cases"
    if settings.margin is not None:
        return _not_excluded(test, settings.margin, flips)
    drop = test.detectable_drop
    if drop is not None and drop <= settings.detect:
        return Answer.PASS, f"{flips}; no regression found, and one of {_points(drop)} would have been seen"
    seen = "no drop at all" if drop is None else f"only a drop of {_points(drop)}"
    return Answer.INCONCLUSIVE, f"{flips}; {seen} would have been seen{_needed(settings.detect, test)}"


def _not_excluded(test: RegressionTest, margin: float, flips: str) -> tuple[Answer, str]:
    """Return the answer where non-inferiority was asked for and not shown: that lets nothing pass (decision 0012)."""
    said = f"{flips}; a drop of {_points(margin)} is not excluded"
    observed = test.figures.difference.value
    if observed is not None and observed <= -margin:
        return Answer.FAIL, f"{said}, and one of {_points(-observed)} was seen; look at the newly failing cases"
    return Answer.NOT_MEASURED, f"{said}{_needed(margin, test)}; quality is not what failed: measure more cases"


def _needed(drop: float, test: RegressionTest) -> str:
    n = stats.cases_needed(drop, test.figures.churn, test.alpha)
    return "" if n is None else f"; about {n} independent cases would see {_points(drop)}"


def _points(share: float) -> str:
    return f"{share * 100:.3g} points"
