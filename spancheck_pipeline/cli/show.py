"""Figures on a terminal: the scorecard and the decision as tables, the same as JSON, and text made safe to print."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from spancheck_pipeline.decision.comparison import ComparisonDocument, Difference
    from spancheck_pipeline.decision.difference import DifferenceDocument
    from spancheck_pipeline.decision.figures import GraderFigures, Rate, ScorecardDocument
    from spancheck_pipeline.decision.gate import GateDecision
    from spancheck_pipeline.decision.rule import RuleResult

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


def print_scorecard(
    scorecard: ScorecardDocument, decision: GateDecision | None, comparisons: Sequence[ComparisonDocument] = ()
) -> None:
    """Print the four headline figures, one row a grader, the runs it was compared with, and what the gate said."""
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
    print_judges(scorecard)
    for name, figures in scorecard.graders.items():
        if figures.flaky_case_ids:
            out.print(f"\n  {escape(_flaky(name, figures))}")
    for line in _adjudicated(scorecard):
        out.print(f"\n  {escape(safe(line))}")
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
        out.print(f"\n  [bold]errors[/bold] {escape(safe(errors))}")
    if scorecard.attributions:
        counts = ", ".join(f"{reason.replace('_', ' ')} × {len(ids)}" for reason, ids in scorecard.attributions.items())
        out.print(f"\n  [bold]why answers failed[/bold] {counts}")


def print_judges(scorecard: ScorecardDocument) -> None:
    """Print one line a judge: what it said, what that is without its errors, and whether it is trusted."""
    from rich.markup import escape
    from rich.table import Table

    if not scorecard.judges:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("  judge")
    for column in ("raw rate", "corrected", "95 %", "method", "packets", "failed", "standing"):
        table.add_column(column, justify="left" if column == "standing" else "right")
    for name, judge in scorecard.judges.items():
        found = judge.corrected
        corrected = ("–", "–", "–")
        if found is not None:
            corrected = (f"{found.value:.1%}", f"{found.low:.1%} – {found.high:.1%}", _METHODS[found.method])
        raw = "–" if judge.raw.value is None else f"{judge.raw.value:.1%}"
        counts = (str(judge.n_packets), str(sum(judge.failures.values())))
        table.add_row(f"  {escape(safe(name))}", raw, *corrected, *counts, STANDINGS[judge.standing.trust])
    out = console()
    out.print()
    out.print(table)
    for name, judge in scorecard.judges.items():
        if not judge.standing.gates:
            used = ", ".join(judge.graders)
            out.print(f"  [dim]{escape(safe(f'{name} does not gate ({used}): {judge.standing.reason}'))}[/dim]")


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
    return safe(f"flaky in {name}: {shown}" + (f"; pass^{last.k} {last.value:.1%}" if last else ""))


def _adjudicated(scorecard: ScorecardDocument) -> list[str]:
    """Return each grader's rate with people's dispositions beside the raw one; nothing where nobody signed any."""
    lines = []
    for name, people in scorecard.adjudicated.graders.items() if scorecard.adjudicated else ():
        kinds = {"passes": people.n_passes, "fails": people.n_fails, "waived": people.n_waived}
        kinds |= {"confirmed": people.n_confirmed, "expired": people.n_expired, "stale": people.n_stale}
        signed = ", ".join(f"{n} {what}" for what, n in kinds.items() if n)
        raw = _share(scorecard.graders[name].pass_rate)
        lines.append(f"{name}: {_share(people.pass_rate)} with people's dispositions ({signed}), {raw} without")
    return lines


def _share(rate: Rate) -> str:
    return "nothing measured" if rate.value is None else f"{rate.value:.1%}"


def print_decision(decision: GateDecision) -> None:
    """Print what each rule of the gate said, and the answer."""
    from rich.markup import escape

    out = console()
    out.print()
    for rule in decision.rules:
        style = _STYLES[rule.answer]
        out.print(f"  [{style}]{rule.answer.replace('_', ' '):<12}[/{style}] {escape(safe(rule.reason))}")
        if facts := _test_facts(rule):
            out.print(f"  {'':<12} [dim]{facts}[/dim]")
    style = _STYLES[decision.answer]
    number = f" (decision {decision.revision})" if decision.revision else ""
    out.print(f"\n[{style}]gate: {decision.answer.replace('_', ' ')}[/{style}]{number}")


def _test_facts(rule: RuleResult) -> str:
    facts = []
    if rule.p_value is not None:
        facts.append(f"p = {rule.p_value:.2g}")
    if rule.detectable_drop is not None:
        facts.append(f"would have seen a drop of {rule.detectable_drop * 100:.3g} points")
    if rule.cases_needed is not None:
        facts.append(f"about {rule.cases_needed} independent cases needed")
    return "; ".join(facts)


def warn_inconclusive(decision: GateDecision) -> None:
    """Say on stderr that a decision lets a run go on without having been able to see a regression."""
    if decision.answer == "INCONCLUSIVE" and decision.ok:
        click.echo("spancheck: warning: inconclusive, and let pass; --strict fails on it", err=True)


_BASELINES = {"release": "the release baseline", "last_good": "the last good run", "given": "the baseline"}


def print_comparisons(comparisons: Sequence[ComparisonDocument]) -> None:
    """Print one line a baseline: which run it is, and how many cases flipped."""
    from rich.markup import escape

    out = console()
    for comparison in comparisons:
        what = f"{_BASELINES[comparison.baseline_kind]} ({comparison.baseline.date or comparison.baseline.run_id})"
        if comparison.not_comparable:
            said = "not comparable: " + "; ".join(comparison.not_comparable)
        else:
            failing = {c for figures in comparison.graders.values() for c in figures.newly_failing_case_ids}
            passing = {c for figures in comparison.graders.values() for c in figures.newly_passing_case_ids}
            said = f"{comparison.n_shared} shared cases, {len(failing)} newly failing, {len(passing)} newly passing"
        out.print(f"  against {escape(safe(what))}: {escape(safe(said))}")


def print_difference(difference: DifferenceDocument) -> None:
    """Print a comparison: per grader rates, difference with interval, test, what could have been seen; then the ids."""
    from rich.markup import escape
    from rich.table import Table

    comparison = difference.comparison
    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("grader", no_wrap=True)
    for column in ("baseline", "candidate", "points", "95 %", "pairs", "failing", "passing", "p (Holm)", "would see"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, figures in comparison.graders.items():
        test, change = difference.tests.get(name), figures.difference
        bounds = "–"
        if change.low is not None and change.high is not None:
            bounds = f"{change.low * 100:+.1f} … {change.high * 100:+.1f}"
        table.add_row(
            escape(safe(name)),
            *("–" if rate is None else f"{rate:.1%}" for rate in (figures.baseline_rate, figures.candidate_rate)),
            "–" if change.value is None else f"{change.value * 100:+.1f}",
            bounds,
            *(str(n) for n in (figures.n_pairs, figures.n_newly_failing, figures.n_newly_passing)),
            "–" if test is None else f"{test.p_adjusted:.2g}" + (" worse" if test.is_worse else ""),
            "–" if test is None or test.detectable_drop is None else f"{test.detectable_drop * 100:.1f} points",
        )
    out.print(table)
    for label, found, unit in (
        ("latency", comparison.latency_ms, "ms"), ("cost", comparison.cost_usd, "USD an answer"),
    ):  # fmt: skip
        out.print(f"{label}: {_change(found, unit)}")
    if comparison.cost_not_compared:
        out.print(f"cost not compared: {escape(safe(comparison.cost_not_compared))}")
    for what, ids in _changed_ids(comparison).items():
        shown = ", ".join(ids[:_SHOWN_IDS]) + (f" … {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else "")
        out.print(f"{escape(safe(what))}: {escape(safe(shown))}")
    out.print(
        "[dim]failing, passing: newly. p: one-sided (worse?), adjusted over all graders. would see: the smallest drop\n"
        f"seen four times in five; {difference.detect * 100:.3g} points are asked for.[/dim]"
    )


_SHOWN_IDS = 20


def _change(found: Difference, unit: str) -> str:
    if found.value is None:
        return "no pairs"
    bounds = "" if found.low is None or found.high is None else f"  [{found.low:+.4g}, {found.high:+.4g}]"
    return f"{found.value:+.4g} {unit}{bounds} over {found.n} pairs"


def _changed_ids(comparison: ComparisonDocument) -> dict[str, tuple[str, ...]]:
    lists: dict[str, tuple[str, ...]] = {}
    for name, figures in comparison.graders.items():
        flips = {
            "newly failing": figures.newly_failing_case_ids,
            "newly passing": figures.newly_passing_case_ids,
            "no longer measured": figures.newly_unmeasured_case_ids,
            "flips of cases that disagree with themselves": figures.flaky_flip_case_ids,
            "flips of cases about which a judge disagrees with itself": figures.judge_flip_case_ids,
        }
        lists |= {f"{name} {what}": ids for what, ids in flips.items()}
    for what in ("added", "removed", "reworded", "relabelled"):
        lists[what] = getattr(comparison, f"{what}_case_ids")
    return {what: ids for what, ids in lists.items() if ids}


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


def _cells(figures: GraderFigures) -> list[str]:
    rate, counts = figures.pass_rate, figures.counts
    interval = "–" if rate.low is None or rate.high is None else f"{rate.low:.1%} – {rate.high:.1%}"
    return [
        "–" if rate.value is None else f"{rate.value:.1%}",
        interval,
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
