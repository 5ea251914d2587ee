"""A report in a few lines of Markdown: decision, headline figures, rules, baselines; no text of cases."""

from __future__ import annotations

from collections.abc import Iterator

from spancheck_pipeline.decision.audit import AuditHead
from spancheck_pipeline.decision.figures import Rate
from spancheck_pipeline.decision.numerals import clusters_said
from spancheck_pipeline.report.html import wording
from spancheck_pipeline.report.markdown import decision_markdown, text
from spancheck_pipeline.report.resting import rests_on


def summary_markdown(head: AuditHead) -> str:
    """Return what the first screen of a report says, for a place that shows Markdown."""
    return "\n".join(_lines(head)) + "\n"


def _lines(head: AuditHead) -> Iterator[str]:
    card = head.summary
    headline = card.headline
    yield f"**{text(wording.sentence(head.decision))}**"
    if rests := rests_on(head):
        yield ""
        yield text(rests)
    yield ""
    yield "| figure | value | 95 % | of |"
    yield "|---|--:|--:|--:|"
    yield _rate("citation accuracy", headline.citation_accuracy)
    yield _rate("abstention correctness", headline.abstention_correctness)
    yield _rate("hallucination rate", headline.hallucination.rate if headline.hallucination else None)
    cost, latency = headline.cost, headline.latency.answer
    yield f"| cost of an answer | {text(wording.usd(cost.mean_usd))} | | {cost.n_priced} |"
    yield f"| latency, p95 | {text(wording.milliseconds(latency.p95_ms))} | | {latency.n} |"
    unmeasured = {name: figures.counts.n_unmeasured for name, figures in card.graders.items()}
    missing = ", ".join(f"{text(name)} × {n}" for name, n in unmeasured.items() if n)
    errors = ", ".join(f"{text(name)} × {n}" for name, n in card.errors.items())
    yield ""
    cases = wording.count(card.n_cases, "case")
    yield f"{cases}. Not measured: {missing or 'nothing'}. Failed calls: {errors or 'none'}."
    if head.decision is not None:
        yield ""
        yield decision_markdown(head.decision, head.comparisons)


def _rate(name: str, rate: Rate | None) -> str:
    if rate is None:
        return f"| {name} | no grader measures it | | |"
    value, bounds = wording.percent(rate.value), wording.interval(rate.low, rate.high)
    clusters = "" if rate.n_clusters is None else f", clusters: {clusters_said(rate.n_clusters)}"
    return f"| {name} | {value} | {bounds} | {rate.n}{clusters} |"
