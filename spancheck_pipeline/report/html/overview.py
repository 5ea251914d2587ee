"""What stands on the page without a script: decision, rules, rates, trend, cost and latency, coverage, provenance.

It is put together from the record's head and the trend; figures are shown as they were decided, none is computed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spancheck_pipeline.decision.adjudication import Adjudication
from spancheck_pipeline.decision.audit import AuditHead
from spancheck_pipeline.decision.difference import DifferenceDocument, differences_of, differences_of_gate
from spancheck_pipeline.decision.figures import GraderFigures, JudgeFigures, Rate, ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.numerals import clusters_said
from spancheck_pipeline.decision.paired_figures import Difference
from spancheck_pipeline.decision.rule import Answer, RuleResult
from spancheck_pipeline.decision.trend import TrendDocument
from spancheck_pipeline.report.html import wording
from spancheck_pipeline.report.html.beside import Beside, beside
from spancheck_pipeline.report.html.coverage import coverage, unpriced
from spancheck_pipeline.report.html.provenance import Sealing, check_command, decisions_about, provenance
from spancheck_pipeline.report.plots import figure_svg, rate_svg
from spancheck_pipeline.report.resting import rests_on

_GRAVITY: Final = (Answer.FAIL, Answer.NOT_MEASURED, Answer.INCONCLUSIVE, Answer.PASS)

Section = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """What a report is made from, besides the records."""

    head: AuditHead
    trend: TrendDocument | None = None
    """The last dates up to this one; None for a run that belongs to no date, or where a date cannot be read."""
    adjudications: tuple[Adjudication, ...] = ()
    """What people signed about findings of this place; those after the decision are not shown."""
    decisions: tuple[GateDecision, ...] = ()
    """Every decision that is kept about this place, the first one first; that of the head is among them."""
    sealing: Sealing | None = None
    """The audit log's digest and the head of its chain; None where the page is made from no stored log."""


def overview(facts: ReportFacts) -> Section:
    """Return everything that the template shows."""
    head = facts.head
    card, decision = head.summary, head.decision
    baselines = beside(head.comparisons)
    compared = [item for item in baselines if item.comparison.is_comparable]
    tested = differences_of_gate(decision, head.comparisons) if decision else differences_of(head.comparisons)
    by_run = {item.comparison.baseline.run_id: item for item in tested}
    differences = [by_run[item.comparison.baseline.run_id] for item in baselines]
    number = decision.revision if decision else None
    is_latest = number is None or all((item.revision or 0) <= number for item in facts.decisions)
    return {
        "head": head,
        "card": card,
        "decision": decision,
        "sentence": wording.sentence(decision),
        "rules": _rules(decision.rules if decision else ()),
        "headline": list(_headline(card, compared)),
        "spent": list(_spent(compared)),
        "rests_on": rests_on(head),
        "baselines": [_baseline(item) for item in baselines],
        "is_clustered": any(figures.pass_rate.n_clusters is not None for figures in card.graders.values()),
        "graders": [_grader(name, card, differences, _thresholds(head)) for name in card.graders],
        "trend": list(_trend(facts.trend)) if facts.trend else [],
        "n_nights": len(facts.trend.nights) if facts.trend else 0,
        "categories": _categories(card),
        "coverage": list(coverage(card, head, baselines)),
        "judges": [_judge(judge) for judge in card.judges.values()],
        "people": list(_people(card)),
        "specs": {name: json.dumps(spec, ensure_ascii=False, indent=2) for name, spec in head.graders.items()},
        "manifest": json.dumps(head.manifest.model_dump(mode="json"), ensure_ascii=False, indent=2)
        if head.manifest
        else None,
        "unpriced": unpriced(card.headline.cost),
        "decisions": decisions_about(head, facts.decisions),
        "provenance": provenance(head, facts.sealing),
        "sealing": facts.sealing,
        "check": check_command(head, facts.sealing, is_latest=is_latest),
    }


def _rules(rules: Sequence[RuleResult]) -> list[Section]:
    ordered = sorted(rules, key=lambda rule: _GRAVITY.index(rule.answer))
    return [{"rule": rule, "answer": wording.ANSWERS[rule.answer], "tests": rule.test_facts} for rule in ordered]


def _thresholds(head: AuditHead) -> Mapping[str, float | None]:
    rules = head.decision.rules if head.decision else ()
    return {rule.subject: rule.threshold for rule in rules if rule.kind == "threshold"}


# -- rates ------------------------------------------------------------------------------------------------------


def _headline(card: ScorecardDocument, baselines: Sequence[Beside]) -> Iterator[Section]:
    headline = card.headline
    hallucination = headline.hallucination
    of_grader = {figures.measurement.replace("_", "").lower(): name for name, figures in reversed(card.graders.items())}
    for title, key, rate in (
        ("Citation accuracy", "citationaccuracy", headline.citation_accuracy),
        ("Abstention correctness", "abstentioncorrect", headline.abstention_correctness),
    ):
        grader = of_grader.get(key)
        against = [_against(item, grader) for item in baselines] if grader else []
        yield _card(title, rate, "measured case", "No grader of this suite measures it.", [a for a in against if a])
    rate = hallucination.rate if hallucination else None
    against = [_points_against(item, item.comparison.hallucination) for item in baselines]
    missing = "No grader of this suite measures it."
    yield _card("Hallucination rate", rate, "asserting answer", missing, [a for a in against if a])


def _spent(baselines: Sequence[Beside]) -> Iterator[str]:
    """Yield what an answer costs more, and takes longer, than in each baseline."""
    for item in baselines:
        cost, latency = item.comparison.cost_usd, item.comparison.latency_ms
        said = [
            f"{wording.signed(change.value)} {unit}"
            for change, unit in ((cost, "USD"), (latency, "ms"))
            if change.value is not None
        ]
        if said:
            yield f"{' and '.join(said)} an answer against {item.label}"


def _card(title: str, rate: Rate | None, noun: str, missing: str, against: Sequence[str]) -> Section:
    lines = [missing]
    if rate is not None:
        lines = [f"95 %: {wording.interval(rate.low, rate.high)}", f"of {wording.count(rate.n, noun)}"]
        if rate.n_clusters is not None:
            few = ": too few to take the interval at its word" if rate.few_clusters else ""
            lines[1] += f" in {wording.count(rate.n_clusters, 'cluster')}{few}"
    return {"title": title, "value": wording.percent(rate.value if rate else None), "lines": [*lines, *against]}


def _against(baseline: Beside, grader: str) -> str | None:
    figures = baseline.comparison.graders.get(grader)
    return None if figures is None else _points_against(baseline, figures.difference)


def _points_against(baseline: Beside, change: Difference) -> str | None:
    if change.value is None:
        return None
    return f"{wording.points(change.value)} points against {baseline.label}"


def _baseline(shown: Beside) -> Section:
    comparison = shown.comparison
    baseline = comparison.baseline
    return {
        "label": shown.label,
        "where": shown.where,
        "run_id": baseline.run_id,
        "version": baseline.target_version,
        "not_comparable": comparison.not_comparable,
        "n_shared": comparison.n_shared,
        "ids": {
            "added": comparison.added_case_ids,
            "removed": comparison.removed_case_ids,
            "reworded": comparison.reworded_case_ids,
            "relabelled": comparison.relabelled_case_ids,
        },
        "calls": [
            ("latency", comparison.latency_ms, "ms"),
            ("cost", comparison.cost_usd, "USD an answer"),
        ],
        "cost_not_compared": comparison.cost_not_compared,
    }


def _grader(
    name: str,
    card: ScorecardDocument,
    differences: Sequence[DifferenceDocument],
    thresholds: Mapping[str, float | None],
) -> Section:
    figures = card.graders[name]
    shown = [_paired(item, name) for item in differences]
    drawn = next((pair["baseline_rate"] for pair in shown if pair), None)
    return {
        "name": name,
        "figures": figures,
        "rate": wording.percent(figures.pass_rate.value),
        "interval": wording.interval(figures.pass_rate.low, figures.pass_rate.high),
        "clusters": clusters_said(figures.pass_rate.n_clusters),
        "svg": rate_svg(figures.pass_rate, drawn, thresholds.get(name)),
        "threshold": thresholds.get(name),
        "paired": shown,
        "counts": _counts(figures),
    }


def _counts(figures: GraderFigures) -> list[tuple[str, str, int]]:
    counts = figures.counts
    return [
        ("pass", "p", counts.n_pass),
        ("fail", "f", counts.n_fail),
        ("flaky", "k", counts.n_flaky),
        ("n/a", "n", counts.n_not_applicable),
        ("unmeasured", "u", counts.n_unmeasured),
    ]


def _paired(difference: DifferenceDocument, grader: str) -> Section | None:
    figures = difference.comparison.graders.get(grader)
    if figures is None or figures.difference.value is None:
        return None
    change, test = figures.difference, difference.tests.get(grader)
    bounds = wording.NONE
    if change.low is not None and change.high is not None:
        bounds = f"{wording.points(change.low)} … {wording.points(change.high)}"
    return {
        "baseline_rate": figures.baseline_rate,
        "points": wording.points(change.value),
        "bounds": bounds,
        "failing": figures.n_newly_failing,
        "passing": figures.n_newly_passing,
        "clusters": None if change.n_clusters is None else clusters_said(change.n_clusters),
        "p": None if test is None or test.p_adjusted is None else f"{test.p_adjusted:.2g}",
        "is_worse": test is not None and test.is_worse,
    }


def _categories(card: ScorecardDocument) -> list[Section]:
    return [
        {
            "grader": name,
            "rows": [
                {
                    "category": category,
                    "rate": wording.percent(part.pass_rate.value),
                    "interval": wording.interval(part.pass_rate.low, part.pass_rate.high),
                    "clusters": clusters_said(part.pass_rate.n_clusters),
                    "svg": rate_svg(part.pass_rate),
                    "counts": part.counts,
                }
                for category, part in figures.by_category.items()
            ],
        }
        for name, figures in card.graders.items()
        if len(figures.by_category) > 1
    ]


def _trend(trend: TrendDocument) -> Iterator[Section]:
    answers = {night.date: night.answer for night in trend.nights}
    for is_rate, figures in ((True, trend.rates), (False, trend.numbers)):
        for name, points in figures.items():
            yield {"name": name, "svg": figure_svg(name, points, answers, is_rate=is_rate)}


# -- people and judges ------------------------------------------------------------------------------------------


def _people(card: ScorecardDocument) -> Iterator[Section]:
    """Yield the rates under what people signed, beside the raw ones."""
    if card.adjudicated is None:
        return
    for name, figures in card.adjudicated.graders.items():
        raw = card.graders[name].pass_rate
        yield {
            "name": name,
            "raw": f"{wording.percent(raw.value)} [{wording.interval(raw.low, raw.high)}]",
            "rate": wording.percent(figures.pass_rate.value),
            "bounds": wording.interval(figures.pass_rate.low, figures.pass_rate.high),
            "clusters": figures.pass_rate.n_clusters and clusters_said(figures.pass_rate.n_clusters),
            "signed": [
                ("confirmed", figures.n_confirmed),
                ("should pass", figures.n_passes),
                ("should fail", figures.n_fails),
                ("waived", figures.n_waived),
                ("expired", figures.n_expired),
                ("of what has changed since", figures.n_stale),
            ],
        }


def _judge(judge: JudgeFigures) -> Section:
    corrected = judge.corrected
    return {
        "figures": judge,
        "trust": judge.standing.trust.value.replace("_", " "),
        "served": sorted({model for models in judge.served_models.values() for model in models}),
        "raw": wording.percent(judge.raw.value),
        "raw_bounds": wording.interval(judge.raw.low, judge.raw.high),
        "corrected": wording.percent(corrected.value) if corrected else None,
        "corrected_bounds": wording.interval(corrected.low, corrected.high) if corrected else None,
        "n_failed": sum(judge.failures.values()),
    }
