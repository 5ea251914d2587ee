"""Two runs in memory: what changed between them, and whether one is good enough beside the other. Nothing is called."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from spancheck_pipeline.api.case_result import CaseResult
from spancheck_pipeline.api.run import Run
from spancheck_pipeline.decision.comparability import Comparability, RunTerms
from spancheck_pipeline.decision.comparability import comparable as _comparable
from spancheck_pipeline.decision.comparison import ComparisonDocument, compare, grounded_of
from spancheck_pipeline.decision.difference import DifferenceDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.gate_settings import GateSettings, Regression
from spancheck_pipeline.errors import GraderSettingsError, NotComparableError, UsageError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.grading.graders import MEASUREMENTS, build_grader


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


def comparison(baseline: Run, current: Run, graders: Sequence[Grader] = ()) -> ComparisonDocument:
    """Return the comparison of two runs, the baseline under the current run's graders and labels.

    Where the baseline was graded otherwise or has other labels, it is graded again, offline: with the graders that the
    current run holds, with ``graders``, or with shipped ones made from the specs that stand with its grades.

    Raises:
        NotComparableError: with every reason.
    """
    regraded = _on_current_terms(baseline, current, graders)
    document = compare(
        current.compared(),
        # The cases as the baseline has them: relabelled ones are listed by their digests.
        replace(regraded.compared(), cases=baseline.compared().cases),
        suite=current.suite,
        graders=list(current.spec_digests()),
        grounded=grounded_of(
            {name: str(current.specs.get(name, {}).get("measurement", name)) for name in current.spec_digests()}
        ),
    )
    document.require_comparable()
    return document


def not_comparable(baseline: Run, current: Run, reasons: Sequence[str]) -> DifferenceDocument:
    """Return what can be said of two runs that cannot be compared: every reason and difference, and no figure."""
    found = compare(current.compared(), baseline.compared(), suite=current.suite, graders=[])
    have_manifests = baseline.manifest is not None and current.manifest is not None
    return DifferenceDocument(
        comparison=ComparisonDocument(
            suite=found.suite,
            baseline_kind=found.baseline_kind,
            candidate=found.candidate,
            baseline=found.baseline,
            not_comparable=tuple(dict.fromkeys([*reasons, *found.not_comparable])),
            n_shared=found.n_shared,
            added_case_ids=found.added_case_ids,
            removed_case_ids=found.removed_case_ids,
            reworded_case_ids=found.reworded_case_ids,
            relabelled_case_ids=found.relabelled_case_ids,
        ),
        alpha=Regression().alpha,
        detect=Regression().detect,
        tests={},
        differences=comparable(baseline, current).differences if have_manifests else (),
    )


def comparable(baseline: Run, current: Run) -> Comparability:
    """Return whether two runs can be compared, over which cases, and everything in which they differ.

    Raises:
        UsageError: when a run has no manifest, as files of the earlier library have none.
    """
    return _comparable(_terms(current), _terms(baseline))


def _terms(run: Run) -> RunTerms:
    if run.manifest is None:
        raise UsageError("a run without a manifest does not say what it was captured under; capture or import it here")
    return RunTerms(manifest=run.manifest, cases=run.compared().cases, graders=run.spec_digests())


def gate(
    current: Run,
    thresholds: Mapping[str, float],
    baseline: Run | None = None,
    max_regression: float = 0.0,
    *,
    is_strict: bool = False,
) -> GateDecision:
    """Return whether a run is good enough: ``.ok`` and ``.reasons``, and it unpacks as ``(ok, reasons)``.

    ``thresholds`` are lowest pass rates by grader; ``completion`` always gates. With a baseline, each of these graders
    (without thresholds: all) must also not be worse than there over the shared cases, by an exact paired test;
    ``max_regression`` above 0 asks for non-inferiority with that margin: a drop of this size must be excluded. With
    ``is_strict`` an INCONCLUSIVE answer is not good enough.

    Raises:
        UsageError: for a grader that the run does not have (the nearest is named), or a number out of range.
        NotComparableError: when the baseline cannot be compared, with every reason.
    """
    if max_regression and baseline is None:
        raise UsageError("max_regression asks for a comparison; give the baseline too")
    settings = settings_of(thresholds, max_regression if baseline is not None else None)
    comparisons = [] if baseline is None else [comparison(baseline, current)]
    return current.decide(settings, comparisons=comparisons, is_strict=is_strict)


def settings_of(thresholds: Mapping[str, float], max_regression: float | None = None) -> GateSettings:
    """Return the gate that asks for lowest pass rates and, unless ``max_regression`` is None, for no regression.

    Raises:
        UsageError: for a number out of range.
    """
    try:
        regression = None if max_regression is None else Regression(margin=max_regression or None)
        return GateSettings(min_pass_rate=dict(thresholds), regression=regression)
    except ValidationError:
        raise UsageError("a threshold is a number from 0 to 1, and max_regression one below 1") from None


def _on_current_terms(baseline: Run, current: Run, graders: Sequence[Grader]) -> Run:
    """Return the baseline under the current run's graders and labels: as it is where both are equal, else regraded."""
    cases = {result.case_id: result.as_case() for result in current.results}
    relabelled = [_relabelled(result, cases) for result in baseline.results]
    ours, theirs = current.spec_digests(), baseline.spec_digests()
    differing = {name for name, spec in ours.items() if theirs.get(name) != spec}
    has_other_labels = any(new is not old for new, old in zip(relabelled, baseline.results, strict=True))
    if not differing and not has_other_labels:
        return baseline
    at_hand = {grader.name: grader for grader in (*_graders_of(current), *graders, *current.graders)}
    makers = {
        name: at_hand[name] for name, spec in ours.items() if _is_of(at_hand.get(name), spec, current.specs.get(name))
    }
    if missing := sorted(ours.keys() - makers.keys()):
        raise NotComparableError(
            [
                (
                    f"the grades of {', '.join(missing)} were made by other graders or labels, and these are not at "
                    "hand; grade both runs again first (Run.rescore; CLI: --regrade)"
                )
            ]
        )
    return Run(
        relabelled, manifest=baseline.manifest, suite=baseline.suite, run_id=baseline.run_id, prices=baseline.prices
    ).rescore(makers.values())


def _relabelled(result: CaseResult, cases: Mapping[str, Case]) -> CaseResult:
    """Return a result with the current labels of its case, where the question is the same and they differ."""
    case, today = result.as_case(), cases.get(result.case_id)
    if today is None or today.question_digest != case.question_digest or today.label_digest == case.label_digest:
        return result
    return CaseResult.of(today, result.captured(), [])


def _graders_of(run: Run) -> Iterator[Grader]:
    """Yield the shipped graders that the run's specs describe; others cannot be made from a spec."""
    for name, spec in run.specs.items():
        for use in (use for use, grader in MEASUREMENTS.items() if _measures(grader) == spec.get("measurement")):
            with contextlib.suppress(GraderSettingsError, TypeError, ValueError):
                yield build_grader(name, {**spec.get("settings", {}), "use": use})
            break


def _is_of(grader: Grader | None, spec_digest: str, spec: Mapping[str, Any] | None) -> bool:
    """Return whether a grader is what made some grades; a limit of 5 and one of 5.0 are the same."""
    return grader is not None and (spec_of(grader).digest == spec_digest or spec_of(grader).as_dict() == spec)


def _measures(grader: type) -> object:
    return getattr(grader, "measurement", None)
