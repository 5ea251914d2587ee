"""Figures on a terminal: the scorecard and the decision as tables, and the same as JSON.

What every command prints with lives in ``terminal.py``; comparisons in ``show_difference.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spancheck_pipeline.cli.show_difference import _SHOWN_IDS, print_comparisons
from spancheck_pipeline.cli.terminal import console, print_table, say
from spancheck_pipeline.decision.numerals import clusters_said
from spancheck_pipeline.report.resting import signed_counts
from spancheck_pipeline.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spancheck_pipeline.decision.comparison import ComparisonDocument
    from spancheck_pipeline.decision.figures import GraderFigures, Rate, ScorecardDocument
    from spancheck_pipeline.decision.gate import GateDecision

_STYLES = {"PASS": "green", "FAIL": "bold red", "NOT_MEASURED": "bold yellow", "INCONCLUSIVE": "yellow"}


def print_scorecard(
    scorecard: ScorecardDocument, decision: GateDecision | None, comparisons: Sequence[ComparisonDocument] = ()
) -> None:
    """Print the four headline figures, one row a grader, the runs it was compared with, and what the gate said."""
    from rich.markup import escape

    out = console()
    where = scorecard.date or scorecard.run_id
    config = f" ({scorecard.config})" if scorecard.config else ""
    title = f"{scorecard.suite}{config} · {where} · {scorecard.n_cases} cases"
    epochs = f" × {scorecard.epochs} epochs" if scorecard.epochs > 1 else ""
    out.print(f"[bold]{escape(visible(title))}[/bold]{epochs}")
    out.print()
    for label, figure in headline(scorecard).items():
        out.print(f"  {label:<24} {escape(figure)}")
    out.print()
    is_clustered = any(figures.pass_rate.n_clusters is not None for figures in scorecard.graders.values())
    clusters = ("clusters",) if is_clustered else ()
    print_table(
        ("grader", "pass rate", "95 %", *clusters, "mean", "pass", "fail", "flaky", "n/a", "unmeasured"),
        [(name, *_cells(figures, is_clustered=is_clustered)) for name, figures in scorecard.graders.items()],
        indent="  ",
    )
    print_judges(scorecard)
    for name, figures in scorecard.graders.items():
        if figures.flaky_case_ids:
            out.print(f"\n  {escape(_flaky(name, figures))}")
    for line in _adjudicated(scorecard):
        out.print(f"\n  {escape(visible(line))}")
    _print_failures(scorecard)
    if comparisons:
        out.print()
        print_comparisons(comparisons)
    if decision:
        print_decision(decision)


def _print_failures(scorecard: ScorecardDocument) -> None:
    """Print which errors calls ended with, and why answers failed."""
    from rich.markup import escape

    out = console()
    if scorecard.errors:
        errors = ", ".join(f"{name} × {n}" for name, n in scorecard.errors.items())
        out.print(f"\n  [bold]errors[/bold] {escape(visible(errors))}")
    if scorecard.attributions:
        counts = ", ".join(f"{reason.replace('_', ' ')} × {len(ids)}" for reason, ids in scorecard.attributions.items())
        out.print(f"\n  [bold]why answers failed[/bold] {escape(visible(counts))}")


def print_judges(scorecard: ScorecardDocument) -> None:
    """Print one line a judge: what it said, what that is without its errors, and whether it is trusted."""
    from rich.markup import escape

    if not scorecard.judges:
        return
    rows = []
    for name, judge in scorecard.judges.items():
        found = judge.corrected
        corrected = ("–", "–", "–")
        if found is not None:
            corrected = (f"{found.value:.1%}", f"{found.low:.1%} – {found.high:.1%}", _METHODS[found.method])
        raw = "–" if judge.raw.value is None else f"{judge.raw.value:.1%}"
        counts = (str(judge.n_packets), str(sum(judge.failures.values())))
        rows.append((name, raw, *corrected, *counts, STANDINGS[judge.standing.trust]))
    out = console()
    out.print()
    columns = ("judge", "raw rate", "corrected", "95 %", "method", "packets", "failed", "standing")
    print_table(columns, rows, left={"standing"}, indent="  ")
    for name, judge in scorecard.judges.items():
        if not judge.standing.gates:
            used = ", ".join(judge.graders)
            out.print(f"  [dim]{escape(visible(f'{name} does not gate ({used}): {judge.standing.reason}'))}[/dim]")


STANDINGS = {
    "trusted": "trusted",
    "untrusted": "untrusted",
    "uncalibrated": "uncalibrated",
    "borrowed": "borrowed calibration",
    "not_a_judge": "not a judge",
}
_METHODS = {"rogan_gladen": "Rogan-Gladen", "ppi++": "PPI++"}


def _flaky(name: str, figures: GraderFigures) -> str:
    """Return which cases do not come out the same way each time, and how often all epochs pass."""
    ids = figures.flaky_case_ids
    shown = ", ".join(ids[:_SHOWN_IDS]) + (f" … {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else "")
    last = figures.pass_hat_k[-1] if figures.pass_hat_k else None
    return visible(f"flaky in {name}: {shown}" + (f"; pass^{last.k} {last.value:.1%}" if last else ""))


def _adjudicated(scorecard: ScorecardDocument) -> list[str]:
    """Return each grader's rate with people's dispositions beside the raw one; nothing where nobody signed any."""
    lines = []
    for name, people in scorecard.adjudicated.graders.items() if scorecard.adjudicated else ():
        raw, signed = _share(scorecard.graders[name].pass_rate), signed_counts(people)
        lines.append(f"{name}: {_share(people.pass_rate)} with people's dispositions ({signed}), {raw} without")
    return lines


def _share(rate: Rate) -> str:
    return "nothing measured" if rate.value is None else f"{rate.value:.1%}"


def print_decision(decision: GateDecision) -> None:
    """Print what each rule of the gate said, and the answer."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print()
    for rule in decision.rules:
        said = Table.grid(padding=(0, 1, 0, 0))  # a long reason goes on below itself
        said.add_column(width=14, no_wrap=True)
        said.add_row(Text(f"  {rule.answer.replace('_', ' ')}", _STYLES[rule.answer]), Text(visible(rule.reason)))
        if facts := rule.test_facts:
            said.add_row("", Text(facts, "dim"))
        out.print(said)
    style = _STYLES[decision.answer]
    number = f" (decision {decision.revision})" if decision.revision else ""
    out.print(f"\n[{style}]gate: {decision.answer.replace('_', ' ')}[/{style}]{number}")


def warn_inconclusive(decision: GateDecision) -> None:
    """Say on stderr that a decision lets a run go on without having been able to see a regression."""
    if decision.answer == "INCONCLUSIVE" and decision.ok:
        say("warning: inconclusive, and let pass; --strict fails on it")


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
        "hallucination rate": _rate(hallucination.rate if hallucination else None, "asserting answers")
        if hallucination or not _is_grounded(scorecard)
        else "not known: the document that was read holds no findings",
        "cost and latency": f"{money}; {time}",
    }


def _is_grounded(scorecard: ScorecardDocument) -> bool:
    """Return whether a groundedness grader was asked; without a rate then, its findings were not at hand."""
    return any(figures.measurement.lower() == "groundedness" for figures in scorecard.graders.values())


def _rate(rate: Rate | None, of: str = "measured cases") -> str:
    if rate is None:
        return "no grader for it in this suite"
    if rate.value is None or rate.low is None or rate.high is None:
        return "nothing measured"
    few = ", few clusters" if rate.few_clusters else ""
    clusters = f", {rate.n_clusters} clusters{few}" if rate.n_clusters is not None else ""
    return f"{rate.value:.1%}  [{rate.low:.1%}, {rate.high:.1%}] of {rate.n} {of}{clusters}"


def _cells(figures: GraderFigures, *, is_clustered: bool) -> list[str]:
    rate, counts = figures.pass_rate, figures.counts
    interval = "–" if rate.low is None or rate.high is None else f"{rate.low:.1%} – {rate.high:.1%}"
    return [
        "–" if rate.value is None else f"{rate.value:.1%}",
        interval,
        *((clusters_said(rate.n_clusters),) if is_clustered else ()),
        "–" if figures.mean_score.value is None else f"{figures.mean_score.value:.3f}",
        *(str(n) for n in (counts.n_pass, counts.n_fail, counts.n_flaky, counts.n_not_applicable, counts.n_unmeasured)),
    ]


def as_json(
    scorecard: ScorecardDocument,
    decision: GateDecision | None,
    *,
    comparisons: Sequence[ComparisonDocument] = (),
    **more: Any,
) -> Mapping[str, Any]:
    """Return scorecard, decision and comparisons as one JSON-ready object."""
    return {
        "scorecard": scorecard.model_dump(mode="json"),
        "decision": decision.model_dump(mode="json") if decision else None,
        "comparisons": [comparison.model_dump(mode="json") for comparison in comparisons],
        **more,
    }


def exit_code(decision: GateDecision | None) -> int:
    """Return 0 for a decision that lets a run go on, 1 for any other."""
    return 0 if decision is None or decision.ok else 1
