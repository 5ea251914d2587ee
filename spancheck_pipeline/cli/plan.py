"""``spancheck plan``: what a run of a suite will ask and cost, before any call is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import json_option, open_project, open_suite

if TYPE_CHECKING:
    from spancheck_pipeline.decision.plan import PlanDocument, PlannedCalls, Range


@click.command()
@click.argument("suite")
@click.option("--config", help="Plan this configuration alone; without it, the suite and all of its configurations.")
@json_option
def plan(suite: str, *, config: str | None, as_json: bool) -> int:
    """Say what a run of SUITE will ask and cost: calls, tokens and USD, each low, expected and high.

    Nothing is called. Exit code 0 when the expected cost of the suite (or of --config) is within its budget or there is
    none, 1 when it is above it, 2 when that could not be told, since a price is not known.
    """
    from spancheck_pipeline.api.planning import plan_suite
    from spancheck_pipeline.cli import terminal
    from spancheck_pipeline.storage.datasets import load_cases

    environment, store = open_project()
    loaded = open_suite(environment, suite)
    wanted = [config] if config else [None, *loaded.suite.configs]
    plans = []
    for name in wanted:
        one = loaded.with_config(name) if name else loaded
        cases = load_cases(one.folder, one.suite.cases)
        plans.append(plan_suite(store, one.suite, cases, config=name, graders=one.graders, judges=one.judges))
    if as_json:
        terminal.print_json([item.model_dump(mode="json") for item in plans])
    else:
        click.echo("\n\n".join("\n".join(_lines(item)) for item in plans))
    first = plans[0]
    if first.max_run_cost_usd is None:
        return 0
    return {True: 1, False: 0, None: 2}[first.is_over_budget]


def _lines(planned: PlanDocument) -> list[str]:
    config = f" ({planned.config})" if planned.config else ""
    epochs = f" × {planned.epochs} epochs" if planned.epochs > 1 else ""
    lines = [f"{planned.suite}{config} · {planned.n_cases} cases{epochs}", ""]
    lines.append(f"  {'':<22}{'low':>12}{'expected':>12}{'high':>12}")
    for calls in planned.calls:
        lines += _of(calls)
    if len(planned.calls) > 1:
        lines.append(
            _row("all, cost in USD", planned.cost_usd, "{:.4f}")
            if planned.cost_usd
            else f"  {'all, cost in USD':<22}unknown, since a part is"
        )
    if planned.n_unjudged:
        lines.append(f"  {planned.n_unjudged} criteria × epochs need a judge, and stay unmeasured without one")
    if planned.max_run_cost_usd is not None:
        answer = {
            True: "above it, so the run will not begin",
            False: "within it",
            None: "whether it is within it could not be told",
        }
        lines.append(f"  budget: {planned.max_run_cost_usd:g} USD a run; {answer[planned.is_over_budget]}")
    return lines


_JUDGE_BASIS = {
    "captured_run": "by the answers of the captured run {}; none is asked again that this judge has judged before",
    "assumptions": "assumed, since no run of this target is captured: 2 packets an answer (up to 5)",
    "no_calls": "nothing is called",
}


def _of(calls: PlannedCalls) -> list[str]:
    from spancheck_pipeline.report.visible import visible

    lines = [_row(f"{calls.what} calls", calls.n_calls, "{:,.0f}")]
    if calls.input_tokens:
        lines.append(_row("input tokens a call", calls.input_tokens, "{:,.0f}"))
    if calls.output_tokens:
        lines.append(_row("output tokens a call", calls.output_tokens, "{:,.0f}"))
    if calls.cost_usd is None:
        models = ", ".join(calls.unpriced_models) or "what answers"
        lines.append(f"  {'cost in USD':<22}unknown: no price or no usage is known of {visible(models)}")
    else:
        lines.append(_row("cost in USD", calls.cost_usd, "{:.4f}"))
    if calls.what != "target":
        return [*lines, f"  {_JUDGE_BASIS[calls.basis].format(calls.run_id)}"]
    basis = {
        "captured_run": f"as in the captured run {calls.run_id}",
        "assumptions": "assumed, since no run of this target is captured: 2,000 tokens beside the question (0 to "
        "8,000), 300 written (50 to 1,000), 2 % of the calls made twice",
        "no_calls": "the answers are recorded; nothing is called",
    }[calls.basis]
    return [*lines, f"  {basis}"]


def _row(label: str, figures: Range, form: str) -> str:
    cells = [_number(value, form) for value in (figures.low, figures.expected, figures.high)]
    return f"  {label:<22}" + "".join(f"{cell:>12}" for cell in cells)


def _number(value: float, form: str) -> str:
    """Return a figure; one that is not nothing is never shown as nothing."""
    shown = form.format(value)
    return "< 0.0001" if value > 0 and not shown.strip("0.,") else shown
