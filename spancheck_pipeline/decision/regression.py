"""What the comparisons with the baselines make of a night: each gating grader's answer, and its reason.

The comparisons are made in ``comparison.py``, their tests in ``paired_tests.py``; ``gate.py`` joins these answers with
thresholds and budgets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from spancheck_pipeline import stats
from spancheck_pipeline.decision.comparison import BASELINES, ComparisonDocument, PairedFigures
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.gate_settings import Regression
from spancheck_pipeline.decision.numerals import about_points, cases, in_clusters, points
from spancheck_pipeline.decision.paired_figures import Lost
from spancheck_pipeline.decision.paired_tests import Needed, RegressionTest, regression_tests
from spancheck_pipeline.decision.remedies import remedy
from spancheck_pipeline.decision.rule import Answer, RuleResult, gravest, ignored


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
    drop of ``detect``; else INCONCLUSIVE. With a ``margin``, PASS is an interval wholly above −margin. What the
    baseline measured and this run could not is taken once as passing and once as failing; where that turns an answer
    that lets a run go on into one that does not, NOT_MEASURED. A grader of the ``scorecard`` that rests on a judge
    which may not gate is not tested, and takes no part in Holm's adjustment.
    """
    names = list(graders)
    family = tested_graders(names, scorecard)
    by_lost = {lost: regression_tests(comparisons, settings, family, lost=lost) for lost in _LOST}
    for name in names:
        of_grader = [tests for tests in zip(*by_lost.values(), strict=True) if tests[0].grader == name]
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
        codes = scorecard.graders[name].unmeasured_codes if scorecard and name in scorecard.graders else {}
        said = [_said(tests, settings, remedy(codes)) for tests in of_grader]
        yield _joined(name, said, settings, is_blocking=is_blocking)


def tested_graders(names: Sequence[str], scorecard: ScorecardDocument | None) -> list[str]:
    """Return those of the gating graders that are tested: all but those that rest on a judge which may not gate."""
    return [name for name in names if scorecard is None or not scorecard.not_gating(name)]


_LOST: Final[tuple[Lost, ...]] = ("left out", "passing", "failing")


class _Said(NamedTuple):
    """What is said of a grader against one baseline."""

    test: RegressionTest
    """Over the pairs that both runs measured."""
    answer: Answer
    reason: str


def _joined(name: str, said: Sequence[_Said], settings: Regression, *, is_blocking: bool) -> RuleResult:
    answer = gravest({item.answer for item in said})
    decisive = next(item.test for item in said if item.answer is answer)
    needed = decisive.needed if answer is Answer.INCONCLUSIVE and not decisive.too_few_units else Needed(None, None)
    if answer is Answer.INCONCLUSIVE and decisive.too_few_units and decisive.flips.is_clustered:
        needed = Needed(None, stats.fewest_units(decisive.alpha))
    return RuleResult(
        rule=regression_name(name),
        kind="regression",
        subject=name,
        threshold=None if settings.margin is None else -settings.margin,
        observed=decisive.figures.difference.value,
        answer=answer,
        reason=f"{name}: " + "; ".join(item.reason for item in said),
        p_value=min(item.test.p_adjusted for item in said),
        detectable_drop=decisive.detectable_drop,
        cases_needed=needed.n_cases,
        clusters_needed=needed.n_clusters,
        is_blocking=is_blocking,
    )


def _said(tests: Sequence[RegressionTest], settings: Regression, helps: str) -> _Said:
    """Return the answer at both extremes of what was measured only in the baseline; the tests are as in ``_LOST``."""
    test, if_passing, if_failing = tests
    figures, against = test.figures, BASELINES[test.baseline_kind]
    n_lost = len(figures.newly_unmeasured_case_ids)
    if not figures.n_pairs and not n_lost:
        return _Said(test, *_nothing_paired(figures, against, helps))
    flips = (
        f"{figures.n_newly_failing} newly failing and {figures.n_newly_passing} newly passing of {figures.n_pairs} "
        f"pairs{in_clusters(test.figures.difference.n_clusters)} with {against}"
    )
    if not n_lost:
        answer, why = _answer(test, settings)
        return _Said(test, answer, f"{flips}{why}")
    lost = f"{flips}; {cases(n_lost)} more that it measured could not be measured now"
    (best, if_best), (worst, if_worst) = _answer(if_passing, settings), _answer(if_failing, settings)
    if not figures.n_pairs or (best.is_ok and not worst.is_ok):
        return _Said(test, Answer.NOT_MEASURED, f"{lost}, and these decide; quality is not what failed: {helps}")
    if best.is_ok and best is not gravest({best, worst}):
        return _Said(test, worst, f"{lost}, and with these taken as failing{if_worst}")
    return _Said(test, best, f"{lost}, and with these taken as passing{if_best}")


def _nothing_paired(figures: PairedFigures, against: str, helps: str) -> tuple[Answer, str]:
    """Return the answer where no case that is measured here was measured there."""
    if figures.n_unmeasured:
        return Answer.NOT_MEASURED, (
            f"no case is measured both here and in {against}, and {cases(figures.n_unmeasured)} of this run could not "
            f"be measured, so that a regression cannot be looked for; quality is not what failed: {helps}"
        )
    return Answer.INCONCLUSIVE, (
        f"no case is measured both here and in {against}, so that no regression was looked for; the thresholds alone "
        "decide"
    )


def _answer(test: RegressionTest, settings: Regression) -> tuple[Answer, str]:
    if settings.margin is not None and (shown := _excluded(test, settings.margin)) is not None:
        return Answer.PASS, f"; a drop of {points(settings.margin)} is excluded{_reckoned(shown, test)}"
    if test.p_adjusted <= settings.alpha:
        return Answer.FAIL, f" (p = {test.p_adjusted:.2g}); look at the newly failing cases"
    if settings.margin is not None:
        return _not_excluded(test, settings.margin)
    if test.too_few_units:
        return Answer.INCONCLUSIVE, f"; {_too_few(test)}"
    seen = test.seen
    if seen.is_enough:
        assert seen.drop is not None
        would = f"one of {about_points(seen.drop)} would have been seen{_reckoned(seen.flips, test)}"
        return Answer.PASS, f"; no regression found, and {would}"
    what = "no drop at all" if seen.drop is None else f"only a drop of {about_points(seen.drop)}"
    return Answer.INCONCLUSIVE, f"; {what} would have been seen{_needed(test)}"


def _excluded(test: RegressionTest, margin: float) -> stats.Flips | None:
    """Return the pairs whose interval excludes a drop of the margin: the run's own, or those of no better a run."""
    for flips in test.flips.no_better(lambda flips: (flips.difference or 0.0) > -margin):
        if flips.interval is not None and flips.interval.low > -margin:
            return flips
    return None


def _not_excluded(test: RegressionTest, margin: float) -> tuple[Answer, str]:
    """Return the answer where non-inferiority was asked for and not shown: that lets nothing pass (decision 0012)."""
    said = f"; a drop of {points(margin)} is not excluded"
    observed = test.flips.difference
    if observed is not None and observed <= -margin:
        return Answer.FAIL, f"{said}, and one of {about_points(-observed)} was seen; look at the newly failing cases"
    more = "documents" if test.flips.is_clustered else "cases"
    return Answer.NOT_MEASURED, f"{said}{_needed(test)}; quality is not what failed: measure more {more}"


def _too_few(test: RegressionTest) -> str:
    noun = "documents" if test.flips.is_clustered else "cases"
    n, fewest = test.flips.n_fallible, stats.fewest_units(test.alpha)
    n_units = len(test.flips.units) if test.flips.is_clustered else test.flips.n
    such = "such " if n < n_units else ""
    return (
        f"with {n} {noun[:-1] if n == 1 else noun} that passed there no drop can be shown, however large; at least "
        f"{fewest} {such}{noun} would be needed"
    )


def _needed(test: RegressionTest) -> str:
    needed = str(test.needed)
    return f"; {needed} would see {points(test.detect)}" if needed else ""


def _reckoned(shown: stats.Flips, test: RegressionTest) -> str:
    """Return, where a run's answer rests on the pairs of no better a run, in what these differ."""
    more = shown.total.newly_failing - test.flips.total.newly_failing
    fewer = test.flips.total.newly_passing - shown.total.newly_passing
    if not more and not fewer:
        return ""
    parts = [f"{more} more newly failing"] * bool(more) + [f"{fewer} fewer newly passing"] * bool(fewer)
    return f" (as with {' and '.join(parts)}; no run is judged worse for failing less)"
