"""A comparison on a terminal: the runs it was made with, and per grader what changed.

Scorecards and decisions live in ``show.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spancheck_pipeline.cli.terminal import console, print_table
from spancheck_pipeline.decision.comparison import BASELINES
from spancheck_pipeline.decision.numerals import clusters_said
from spancheck_pipeline.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spancheck_pipeline.decision.comparison import ComparisonDocument, Difference
    from spancheck_pipeline.decision.difference import DifferenceDocument


def print_comparisons(comparisons: Sequence[ComparisonDocument]) -> None:
    """Print one line a baseline: which run it is, and how many cases flipped."""
    from rich.markup import escape

    from spancheck_pipeline.decision.difference import each_baseline

    out = console()
    for comparison, kinds in each_baseline(comparisons):
        named = " and ".join(BASELINES[kind] for kind in kinds)
        what = f"{named} ({comparison.baseline.date or comparison.baseline.run_id})"
        if comparison.not_comparable:
            said = "not comparable: " + "; ".join(comparison.not_comparable)
        else:
            failing = {c for figures in comparison.graders.values() for c in figures.newly_failing_case_ids}
            passing = {c for figures in comparison.graders.values() for c in figures.newly_passing_case_ids}
            said = f"{comparison.n_shared} shared cases, {len(failing)} newly failing, {len(passing)} newly passing"
        if comparison.case_changes:
            said += f"; {comparison.case_changes}"
        out.print(f"  against {escape(visible(what))}: {escape(visible(said))}")


def print_difference(difference: DifferenceDocument) -> None:
    """Print a comparison: per grader rates, difference with interval, test, what could have been seen; then the ids."""
    from rich.markup import escape

    comparison = difference.comparison
    out = console()
    is_clustered = any(figures.difference.n_clusters is not None for figures in comparison.graders.values())
    columns = ["grader", "baseline", "candidate", "points", "95 %", *(["clusters"] if is_clustered else []), "pairs"]
    rows = []
    for name, figures in comparison.graders.items():
        test, change = difference.tests.get(name), figures.difference
        bounds = "–"
        if change.low is not None and change.high is not None:
            bounds = f"{change.low * 100:+.1f} … {change.high * 100:+.1f}"
        rows.append(
            (
                name,
                *("–" if rate is None else f"{rate:.1%}" for rate in (figures.baseline_rate, figures.candidate_rate)),
                "–" if change.value is None else f"{change.value * 100:+.1f}",
                bounds,
                *([clusters_said(change.n_clusters)] if is_clustered else []),
                *(str(n) for n in (figures.n_pairs, figures.n_newly_failing, figures.n_newly_passing)),
                "–"
                if test is None or test.p_adjusted is None
                else f"{test.p_adjusted:.2g}" + (" worse" if test.is_worse else ""),
                "–" if test is None or test.detectable_drop is None else f"{test.detectable_drop * 100:.1f} points",
            )
        )
    print_table((*columns, "failing", "passing", "p (Holm)", "would see"), rows)
    for label, found, unit in (
        ("latency", comparison.latency_ms, "ms"), ("cost", comparison.cost_usd, "USD an answer"),
    ):  # fmt: skip
        out.print(f"{label}: {_change(found, unit)}")
    if comparison.cost_not_compared:
        out.print(f"cost not compared: {escape(visible(comparison.cost_not_compared))}")
    for what, ids in _changed_ids(comparison).items():
        shown = ", ".join(ids[:_SHOWN_IDS]) + (f" … {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else "")
        out.print(f"{escape(visible(what))}: {escape(visible(shown))}")
    out.print(
        "[dim]failing, passing: newly. p: one-sided (worse?), adjusted over the graders that gate. would see: the\n"
        f"smallest drop seen four times in five; {difference.detect * 100:.3g} points are asked for.[/dim]"
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
