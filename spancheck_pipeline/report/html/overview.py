"""What stands on the page without a script: decision, rules, rates, trend, cost and latency, coverage, provenance.

It is put together from the record's head and the trend; figures are shown as they were decided, none is computed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from spancheck_pipeline.decision.adjudication import Adjudication
from spancheck_pipeline.decision.audit import AuditHead
from spancheck_pipeline.decision.difference import DifferenceDocument, difference_of
from spancheck_pipeline.decision.figures import Cost, GraderFigures, JudgeFigures, Rate, ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.rule import Answer, RuleResult
from spancheck_pipeline.decision.trend import TrendDocument
from spancheck_pipeline.report.html import wording
from spancheck_pipeline.report.html.beside import Beside, beside
from spancheck_pipeline.report.html.provenance import Sealing, check_command, decisions_about, provenance
from spancheck_pipeline.report.plots import figure_svg, rate_svg

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


def link(**filters: str) -> str:
    """Return the part of the address that shows the table of cases with some filters."""
    return urlencode({"view": "cases", **filters})


def overview(facts: ReportFacts) -> Section:
    """Return everything that the template shows."""
    head = facts.head
    card, decision = head.summary, head.decision
    baselines = beside(head.comparisons)
    settings = decision.settings.regression if decision else None
    differences = [difference_of(item.comparison, settings) for item in baselines]
    number = decision.revision if decision else None
    is_latest = number is None or all((item.revision or 0) <= number for item in facts.decisions)
    return {
        "head": head,
        "card": card,
        "decision": decision,
        "sentence": wording.sentence(decision),
        "rules": _rules(decision.rules if decision else ()),
        "headline": list(_headline(card, baselines)),
        "baselines": [_baseline(item) for item in baselines],
        "graders": [_grader(name, card, differences, _thresholds(head)) for name in card.graders],
        "trend": list(_trend(facts.trend)) if facts.trend else [],
        "n_nights": len(facts.trend.nights) if facts.trend else 0,
        "categories": _categories(card),
        "coverage": list(_coverage(card, head, baselines)),
        "judges": [_judge(judge) for judge in card.judges.values()],
        "people": list(_people(card)),
        "specs": {name: json.dumps(spec, ensure_ascii=False, indent=2) for name, spec in head.graders.items()},
        "manifest": json.dumps(head.manifest.model_dump(mode="json"), ensure_ascii=False, indent=2)
        if head.manifest
        else None,
        "unpriced": _unpriced(card.headline.cost),
        "decisions": decisions_about(head, facts.decisions),
        "provenance": provenance(head, facts.sealing),
        "sealing": facts.sealing,
        "check": check_command(head, facts.sealing, is_latest=is_latest),
    }


def _rules(rules: Sequence[RuleResult]) -> list[Section]:
    ordered = sorted(rules, key=lambda rule: _GRAVITY.index(rule.answer))
    return [{"rule": rule, "answer": wording.ANSWERS[rule.answer], "tests": _tests(rule)} for rule in ordered]


def _tests(rule: RuleResult) -> str:
    facts = []
    if rule.p_value is not None:
        facts.append(f"p = {rule.p_value:.2g}")
    if rule.detectable_drop is not None:
        facts.append(f"would have seen a drop of {rule.detectable_drop * 100:.3g} points")
    if rule.cases_needed is not None:
        facts.append(f"about {wording.count(rule.cases_needed, 'independent case')} needed")
    return "; ".join(facts)


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
    yield _card("Hallucination rate", rate, "asserting answer", "No grader of this suite measures it.", [])


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
    if figures is None or figures.difference.value is None:
        return None
    return f"{wording.points(figures.difference.value)} points against {baseline.label}"


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
        "p": None if test is None else f"{test.p_adjusted:.2g}",
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


# -- what was not measured --------------------------------------------------------------------------------------


def _coverage(card: ScorecardDocument, head: AuditHead, baselines: Sequence[Beside]) -> Iterator[Section]:
    """Yield what is missing or rests on little, each a sentence with a link to the cases where there is one."""
    if card.errors:
        errors = ", ".join(f"{wording.visible(name)} × {n}" for name, n in card.errors.items())
        n = wording.count(sum(card.errors.values()), "call")
        yield {"text": f"{n} failed for good: {errors}.", "link": "view=cases&flag=error"}
    for name, figures in card.graders.items():
        yield from _unmeasured(name, figures)
    cost, latency = card.headline.cost, card.headline.latency
    if cost.n_unpriced:
        models = ", ".join(map(wording.model, cost.unpriced_models))
        yield _said(f"{wording.count(cost.n_unpriced, 'answer')} without a known cost; model: {models}.")
    if latency.n_unknown:
        yield _said(f"{wording.count(latency.n_unknown, 'row')} without a known time.")
    yield from _uncompared(head, baselines)


def _unmeasured(name: str, figures: GraderFigures) -> Iterator[Section]:
    counts = figures.counts
    if counts.n_unmeasured:
        applicable = wording.count(counts.n_applicable, "applicable case")
        text = f"{wording.visible(name)}: {counts.n_unmeasured} of {applicable} could not be measured."
        yield {"text": text, "link": link(grader=name, outcome="u")}
    elif not counts.n_measured:
        text = f"{wording.visible(name)}: there was nothing to measure in any case."
        yield {"text": text, "link": link(grader=name, outcome="n")}


def _unpriced(cost: Cost) -> str | None:
    """Return what the card of costs says of answers without a price; None where there are none."""
    if not cost.n_unpriced:
        return None
    known = f"the others cost {wording.usd(cost.priced_total_usd)}" if cost.n_priced else "no cost is known"
    return f"{wording.count(cost.n_unpriced, 'answer')} without a known price; {known}"


def _uncompared(head: AuditHead, baselines: Sequence[Beside]) -> Iterator[Section]:
    for baseline in baselines:
        for reason in baseline.comparison.not_comparable:
            yield _said(f"Not compared with {baseline.label}: {wording.visible(reason)}.")
    if not baselines:
        yield _said("There was no baseline to compare with: thresholds alone decided.")
    for rule in head.decision.rules if head.decision else ():
        if rule.answer is Answer.INCONCLUSIVE:
            yield _said(f"{rule.rule} could not have seen the drop that the suite asks for.")


def _said(text: str) -> Section:
    return {"text": text, "link": None}
