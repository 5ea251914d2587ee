"""``spancheck rescore``: captured nights that other graders scored, scored again in one run. Nothing is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spancheck_pipeline.cli.options import json_option, open_project

if TYPE_CHECKING:
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.api.rescoring import Rescored

_SHOWN_IDS = 8


@click.command()
@click.option("--stale", is_flag=True, help="Nights that were scored by another grader spec than today's.")
@click.option("--suite", "suites", multiple=True, metavar="NAME", help="Only this suite; may be repeated.")
@click.option("--grader", "graders", multiple=True, metavar="NAME", help="Only this grader; may be repeated.")
@click.option("--from", "since", metavar="YYYY-MM-DD", help="First date; default: the first that is captured.")
@click.option("--to", "until", metavar="YYYY-MM-DD", help="Last date; default: the last that is captured.")
@click.option("--dry-run", is_flag=True, help="Only say what would be scored again.")
@json_option
@click.pass_obj
def rescore(
    obj: dict[str, Any],
    *,
    stale: bool,
    suites: tuple[str, ...],
    graders: tuple[str, ...],
    since: str | None,
    until: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Score stale nights again, and decide and record them anew, in one run. No target is called.

    Stale is what the files say: a score file names the spec that made it. What was decided before stays readable, and
    what was promoted stays promoted. Exit code 0 also where a gate says FAIL now; 2 where a night could not be scored.
    """
    from spancheck_pipeline.api.staleness import check_span
    from spancheck_pipeline.cli import terminal
    from spancheck_pipeline.errors import UsageError

    if not stale:
        raise UsageError("say what is scored again: --stale (with --dry-run first, to see which nights that are)")
    environment, _ = open_project()
    check_span(since, until)
    config = {"suites": list(suites), "graders": list(graders), "dry_run": dry_run}
    config |= {name: date for name, date in (("since", since), ("until", until)) if date}
    done = _run(environment, config, is_debug=bool(obj["debug"]))
    if as_json:
        document = done.model_dump(mode="json")
        document["outcomes_changed"] = [total.model_dump(mode="json") for total in done.totals()]
        document["problems"] = list(done.problems)
        terminal.print_json(document)
    else:
        _print(done, is_choice=bool(suites or graders or since or until))
    for problem in done.problems:
        terminal.say(problem)
    return 2 if done.problems else 0


def _run(environment: Environment, config: dict[str, Any], *, is_debug: bool) -> Rescored:
    from spancheck_pipeline.cli.progress import progress_bar
    from spancheck_pipeline.definitions import build
    from spancheck_pipeline.defs.home import prepare_home
    from spancheck_pipeline.defs.run import run_rescore

    # A suite that is named and cannot be read is an error; the others are shown by Dagster and left out here.
    suites = config["suites"] or None
    with progress_bar("nights") as report:
        definitions = build(environment, suites=suites, on_progress=report, is_debug=is_debug)
        prepare_home(environment.dagster_home)
        return run_rescore(definitions, environment, config)


def _print(done: Rescored, *, is_choice: bool) -> None:
    from spancheck_pipeline.report.visible import visible

    lines = list(_plan_lines(done) if done.is_dry_run else _done_lines(done))
    for line in lines or [_nothing(done, is_choice=is_choice)]:
        click.echo(visible(line))


def _nothing(done: Rescored, *, is_choice: bool) -> str:
    """Return what is said where no night is stale, and no more than is known."""
    if done.left_out:
        return "of the suites that can be read, nothing that was chosen is stale"
    if is_choice:
        return "nothing chosen is stale" + (f"; {done.n_others} other night(s) are" if done.n_others else "")
    return "nothing is stale: every captured night was scored by today's graders"


def _plan_lines(done: Rescored) -> list[str]:
    by_grader: dict[tuple[str, str], list[str]] = {}
    for night in done.nights:
        for grader in night.graders:
            by_grader.setdefault((night.suite, grader.grader), []).append(night.date)
        if not night.graders and not night.problem:
            by_grader.setdefault((night.suite, "(decision only)"), []).append(night.date)
    lines = [
        f"{suite}: {grader} on {len(dates)} night(s), {dates[0]} to {dates[-1]}"
        for (suite, grader), dates in by_grader.items()
    ]
    if lines:
        lines.append(f"would score {done.n_partitions} partition(s) again on {len(done.nights)} night(s), in one run")
    return lines


def _done_lines(done: Rescored) -> list[str]:
    if not done.nights:
        return []
    n_failed = len(done.problems)
    lines = [f"scored {done.n_partitions} partition(s) again on {len(done.nights) - n_failed} night(s); no target call"]
    for total in done.totals():
        shown = ", ".join(total.case_ids[:_SHOWN_IDS])
        more = f" … {len(total.case_ids) - _SHOWN_IDS} more" if len(total.case_ids) > _SHOWN_IDS else ""
        change = f"{total.before or 'no score'} → {total.after}"
        lines.append(
            f"  {total.suite} {total.grader}: {change} × {total.n} on {total.n_nights} night(s): {shown}{more}"
        )
    if not done.totals():
        lines.append("  no outcome has changed")
    missing: dict[tuple[str, str], int] = {}
    for night in done.nights:
        for grader in night.graders:
            missing[night.suite, grader.grader] = (
                missing.get((night.suite, grader.grader), 0) + grader.n_missing_verdicts
            )
    for (suite, name), n in missing.items():
        if n:
            lines.append(
                f"  {suite} {name}: {n} row(s) wait for a judge that was never asked (`spancheck nightly` asks)"
            )
    for night in done.other_decisions():
        before = night.decision_before or "not decided"
        lines.append(
            f"  gate of {night.suite} on {night.date}: {before} → {night.decision} (decision {night.decision_revision})"
        )
    return lines
