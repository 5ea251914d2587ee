"""Counts and rates of the results of a run in memory, and the facts that they are counted from.

How they are counted lives in ``decision/scorecard.py``; the run itself in ``run.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from spancheck_pipeline.api.case_result import CaseResult, score_of
from spancheck_pipeline.api.facts import criteria_of, row_facts_of
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts, judge_names
from spancheck_pipeline.decision.figures import JudgeFigures, ScorecardDocument
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.evidence.run import Manifest, Prices
from spancheck_pipeline.grading.attribution import attribution_of
from spancheck_pipeline.grading.score import GradeResult, Outcome
from spancheck_pipeline.importers.spancheck_1_0 import MAKER


class Scorecard:
    """Counts and rates of a run. ``document`` holds all of them, with intervals, and no text."""

    def __init__(self, results: Sequence[CaseResult], document: ScorecardDocument | None = None) -> None:
        self._results = list(results)
        self.document: ScorecardDocument = document or scorecard_document(self._results)

    def by_grader(self) -> dict[str, dict[str, Any]]:
        """Return per grader ``score`` (mean), ``pass_rate``, ``n`` (measured cases) and all counts."""
        return {
            name: {
                "score": figures.mean_score.value,
                "pass_rate": figures.pass_rate.value,
                "n": figures.counts.n_measured,
                "low": figures.pass_rate.low,
                "high": figures.pass_rate.high,
                **figures.counts.model_dump(),
            }
            for name, figures in self.document.graders.items()
        }

    def by_category(self) -> dict[str, dict[str, float | None]]:
        """Return per category the pass rate of each grader; None where nothing was measured."""
        rates: dict[str, dict[str, float | None]] = {}
        for name, figures in self.document.graders.items():
            for category, part in figures.by_category.items():
                rates.setdefault(category, {})[name] = part.pass_rate.value
        return rates

    def overall_pass_rate(self) -> float | None:
        """Return the share of measured case–grader pairs that passed; None where nothing was measured."""
        counts = [figures.counts for figures in self.document.graders.values()]
        n_measured = sum(item.n_measured for item in counts)
        return sum(item.n_pass for item in counts) / n_measured if n_measured else None

    def failures(self, grader: str | None = None) -> list[tuple[CaseResult, list[GradeResult]]]:
        """Return the results with at least one failed grade (of one grader, where named), with those grades."""
        found = []
        for result in self._results:
            failed = [g for g in result.grades if g.outcome is Outcome.FAIL and grader in {None, g.grader}]
            if failed:
                found.append((result, failed))
        return found


def scorecard_document(
    results: Sequence[CaseResult],
    *,
    suite: str = "adhoc",
    run_id: str = "",
    manifest: Manifest | None = None,
    specs: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    prices: Prices = MappingProxyType({}),
    judges: Iterable[JudgeFigures] = (),
    is_redacted: bool = False,
) -> ScorecardDocument:
    """Return counts and rates of results; ``specs`` are the readable specs of the graders, ``judges`` where they stand.

    What a document of schema 1.0 says has no findings: the hallucination rate, which rests on them, is not known then.
    """
    facts = {grade.grader: grade for result in results for grade in result.grades}
    is_earlier = any(grade.spec_digest == MAKER for grade in facts.values())
    document = build_scorecard(
        suite=suite,
        run_id=run_id,
        date=manifest.date if manifest else None,
        config=manifest.config if manifest else None,
        rows=row_facts(results, prices, is_redacted=is_redacted),
        scores=score_facts(results),
        graders=[
            GraderFacts(
                name=name,
                measurement=str(specs.get(name, {}).get("measurement", name)),
                version=grade.grader_version,
                spec_digest=grade.spec_digest,
                judges=judge_names(specs.get(name, {})),
            )
            for name, grade in facts.items()
        ],
        attributions=() if is_earlier else _attributions(results, specs),
        criteria=() if is_earlier else _criteria(results),
        judges=judges,
    )
    if not is_earlier:
        return document
    # Not known is not 0.
    headline = document.headline.model_copy(update={"hallucination": None})
    return document.model_copy(update={"headline": headline})


def row_facts(results: Iterable[CaseResult], prices: Prices, *, is_redacted: bool = False) -> Iterator[RowFacts]:
    """Yield what is counted of each call."""
    for result in results:
        facts = row_facts_of(
            result.captured(), category=result.category, cluster=result.as_case().cluster, prices=prices
        )
        # What is empty in a redacted copy may have been left out of it.
        yield replace(facts, is_empty=None) if is_redacted and facts.is_empty else facts


def score_facts(results: Iterable[CaseResult]) -> Iterator[ScoreFacts]:
    """Yield what is counted of each grade."""
    for result in results:
        for grade in result.grades:
            yield ScoreFacts(
                grader=grade.grader,
                case_id=result.case_id,
                epoch=result.epoch,
                category=result.category,
                cluster=result.as_case().cluster,
                outcome=grade.outcome,
                value=grade.score,
                reason_code=grade.reason_code,
                n_unsupported=sum(finding.outcome is Outcome.FAIL for finding in grade.findings),
                criteria=criteria_of(grade.findings),
            )


def _criteria(results: Iterable[CaseResult]) -> Iterator[tuple[str, str]]:
    for result in results:
        yield from ((result.case_id, criterion.id) for criterion in result.as_case().criteria)


def _attributions(results: Iterable[CaseResult], specs: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for result in results:
        if result.output is not None:
            failed = {
                str(specs.get(grade.grader, {}).get("measurement", grade.grader)): score_of(grade)
                for grade in result.grades
                if grade.outcome is Outcome.FAIL
            }
            if failed and (reason := attribution_of(result.as_case(), result.output, failed)) is not None:
                yield result.case_id, reason.value
