"""Figures on a terminal: the scorecard and the decision as tables, the same as JSON, and text made safe to print."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from spancheck_pipeline.decision.figures import GraderFigures, Rate, ScorecardDocument
    from spancheck_pipeline.decision.gate import GateDecision

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_STYLES = {"PASS": "green", "FAIL": "bold red", "NOT_MEASURED": "bold yellow", "INCONCLUSIVE": "yellow"}


def safe(text: str) -> str:
    r"""Return a text without what moves a terminal's cursor or reorders it: such characters are written as escapes.

    >>> safe("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def console() -> Console:
    """Return a console on stdout; where that is no terminal, 120 columns wide and without styles."""
    from rich.console import Console

    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120, highlight=False)


def print_scorecard(scorecard: ScorecardDocument, decision: GateDecision | None) -> None:
    """Print the four headline figures, one row a grader, and what the gate said."""
    from rich.markup import escape
    from rich.table import Table

    out = console()
    where = scorecard.date or scorecard.run_id
    config = f" ({scorecard.config})" if scorecard.config else ""
    title = f"{scorecard.suite}{config} · {where} · {scorecard.n_cases} cases"
    out.print(f"[bold]{escape(safe(title))}[/bold]" + (f" × {scorecard.epochs} epochs" if scorecard.epochs > 1 else ""))
    out.print()
    for label, figure in headline(scorecard).items():
        out.print(f"  {label:<24} {escape(figure)}")
    out.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("  grader")
    for column in ("pass rate", "95 %", "mean", "pass", "fail", "flaky", "n/a", "unmeasured"):
        table.add_column(column, justify="right")
    for name, figures in scorecard.graders.items():
        table.add_row(f"  {name}", *_cells(figures))
    out.print(table)
    if scorecard.errors:
        errors = ", ".join(f"{name} × {n}" for name, n in scorecard.errors.items())
        out.print(f"\n  [bold]errors[/bold] {escape(safe(errors))}")
    if decision:
        print_decision(decision)


def print_decision(decision: GateDecision) -> None:
    """Print what each rule of the gate said, and the answer."""
    from rich.markup import escape

    out = console()
    out.print()
    for rule in decision.rules:
        style = _STYLES[rule.answer]
        out.print(f"  [{style}]{rule.answer.replace('_', ' '):<12}[/{style}] {escape(safe(rule.reason))}")
    style = _STYLES[decision.answer]
    number = f" (decision {decision.revision})" if decision.revision else ""
    out.print(f"\n[{style}]gate: {decision.answer.replace('_', ' ')}[/{style}]{number}")


def headline(scorecard: ScorecardDocument) -> dict[str, str]:
    """Return the four headline figures in words."""
    head = scorecard.headline
    cost, latency = head.cost, head.latency.answer
    if cost.mean_usd is not None:
        money = f"{cost.mean_usd:.6f} USD an answer, {cost.total_usd:.4f} USD in all"
    elif cost.n_unpriced:
        money = f"unknown: {cost.n_unpriced} answers without a price or usage"
    else:
        money = "unknown: nothing was answered"
    time = f"p50 {latency.p50_ms:.0f} ms, p95 {latency.p95_ms:.0f} ms" if latency.n else "not measured"
    hallucination = head.hallucination
    return {
        "citation accuracy": _rate(head.citation_accuracy),
        "abstention correctness": _rate(head.abstention_correctness),
        "hallucination rate": _rate(hallucination.rate if hallucination else None, "asserting answers"),
        "cost and latency": f"{money}; {time}",
    }


def _rate(rate: Rate | None, of: str = "measured cases") -> str:
    if rate is None:
        return "no grader for it in this suite"
    if rate.value is None or rate.low is None or rate.high is None:
        return "nothing measured"
    few = ", few clusters" if rate.few_clusters else ""
    clusters = f", {rate.n_clusters} clusters{few}" if rate.n_clusters is not None else ""
    return f"{rate.value:.1%}  [{rate.low:.1%}, {rate.high:.1%}] of {rate.n} {of}{clusters}"


def _cells(figures: GraderFigures) -> list[str]:
    rate, counts = figures.pass_rate, figures.counts
    interval = "–" if rate.low is None or rate.high is None else f"{rate.low:.1%} – {rate.high:.1%}"
    return [
        "–" if rate.value is None else f"{rate.value:.1%}",
        interval,
        "–" if figures.mean_score.value is None else f"{figures.mean_score.value:.3f}",
        *(str(n) for n in (counts.n_pass, counts.n_fail, counts.n_flaky, counts.n_not_applicable, counts.n_unmeasured)),
    ]


def as_json(scorecard: ScorecardDocument, decision: GateDecision | None, **more: Any) -> Mapping[str, Any]:
    """Return scorecard and decision as one JSON-ready object."""
    return {
        "scorecard": scorecard.model_dump(mode="json"),
        "decision": decision.model_dump(mode="json") if decision else None,
        **more,
    }


def exit_code(decision: GateDecision | None) -> int:
    """Return 0 for a decision that lets a run go on, 1 for any other."""
    return 0 if decision is None or decision.ok else 1
