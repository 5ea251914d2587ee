"""``spancheck nightly``: a suite's partition from cases to audit log, through Dagster, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from spancheck_pipeline.cli.options import date_option, json_option, night, open_project, open_suite, strict_option

if TYPE_CHECKING:
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.clients.target import LoadedTarget
    from spancheck_pipeline.storage.store import Night, Store


@click.command()
@click.argument("suite")
@date_option
@click.option("--relabel", is_flag=True, help="Take today's labels for questions that are still the same; no call.")
@click.option("--recapture", is_flag=True, help="Call the target for every case again; the old capture is kept.")
@click.option("--retry-errors", is_flag=True, help="Call the target for the rows that failed, and no others.")
@click.option("--allow-past", is_flag=True, help="Capture a date that is over, although today's system answers.")
@strict_option
@json_option
@click.pass_obj
def nightly(
    obj: dict[str, Any],
    suite: str,
    *,
    date: str | None,
    relabel: bool,
    recapture: bool,
    retry_errors: bool,
    allow_past: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Capture SUITE's date once, score it, decide, and write the record.

    A date that is captured already is not called for again: it is scored and decided anew from what was captured.
    A date that passes becomes the last good run. Exit code 0 when the gate passes, or is inconclusive without --strict;
    1 when it does not. What is written is the same with --strict and without.
    """
    from spancheck_pipeline.errors import UsageError

    if recapture and retry_errors:
        raise UsageError("ask for --recapture or for --retry-errors, not for both")
    environment, store = open_project()
    place = night(environment, suite, date)
    config = {
        "cases": {"relabel": relabel},
        "captured_run": {"recapture": recapture, "retry_errors": retry_errors, "allow_past": allow_past},
    }
    materialize(environment, store, place, config, is_debug=bool(obj["debug"]))

    from spancheck_pipeline.api.audit_logs import chain_head
    from spancheck_pipeline.api.deciding import read_comparisons, read_decision, read_scorecard
    from spancheck_pipeline.cli import show, terminal
    from spancheck_pipeline.storage.pages import page_path
    from spancheck_pipeline.storage.tables import AUDIT_LOG, COMPARISON

    scorecard, decision = read_scorecard(store, place), read_decision(store, place)
    comparisons = read_comparisons(store.open(place, COMPARISON))
    audit_log, head = store.path(place, AUDIT_LOG), chain_head(store, place)
    if as_json:
        files = {"audit_log": audit_log, "audit_log_head": head, "report": page_path(store, place)}
        terminal.print_json(show.as_json(scorecard, decision, comparisons=comparisons, **files))
    else:
        show.print_scorecard(scorecard, decision, comparisons)
        click.echo(f"\naudit log: {audit_log}")
        click.echo(f"  head: {head}")
        click.echo(f"  as JSON: spancheck audit export {suite} --date {place.date} --to audit_log.json")
        click.echo(f"report: {page_path(store, place)}")
        click.echo("lineage and checks: spancheck ui")
    decision = decision.model_copy(update={"is_strict": strict})
    show.warn_inconclusive(decision)
    return show.exit_code(decision)


def materialize(
    environment: Environment, store: Store, place: Night, config: dict[str, Any], *, is_debug: bool
) -> None:
    """Run a suite's nightly job for one date in this process, on the project's own Dagster instance.

    Raises:
        StepFailedError: when a step could not run, with the step's own message.
    """
    from spancheck_pipeline.cli.progress import progress_bar
    from spancheck_pipeline.definitions import build
    from spancheck_pipeline.defs.home import prepare_home
    from spancheck_pipeline.defs.run import run_nightly
    from spancheck_pipeline.report.visible import visible

    target = _loaded_first(environment, store, place, config)
    prepare_home(environment.dagster_home)
    warnings: list[str] = []
    with progress_bar(str(place)) as report:
        definitions = build(
            environment,
            suites=[place.suite],
            on_progress=report,
            on_warning=warnings.append,
            is_debug=is_debug,
            target=target,
        )
        run_nightly(definitions, environment, place, config)
    for warning in warnings:
        click.echo(f"note: {visible(warning)}", err=True)


def _loaded_first(environment: Environment, store: Store, place: Night, config: dict[str, Any]) -> LoadedTarget | None:
    """Load the target when it is going to be called, before anything is written; where it cannot be, nothing is.

    Where a date is captured already it is loaded only to tell its version, when that stands in its code; what cannot be
    loaded then is of no consequence.

    Raises:
        TargetError, ConfigError: when it is going to be called and cannot be loaded.
    """
    from spancheck_pipeline.api.targets import load_target
    from spancheck_pipeline.capture.containment import contained
    from spancheck_pipeline.errors import SpancheckError
    from spancheck_pipeline.storage.datasets import load_cases
    from spancheck_pipeline.storage.tables import CAPTURED_RUN

    loaded = open_suite(environment, place.suite)
    load_cases(loaded.folder, loaded.suite.cases)
    is_called = config["captured_run"]["recapture"] or config["captured_run"]["retry_errors"]
    is_needed = is_called or not store.exists(place, CAPTURED_RUN)
    if not is_needed and loaded.suite.target.version_from is None:
        return None
    try:
        with contained(None):
            return load_target(loaded.suite.target, suite_folder=loaded.folder)
    except SpancheckError:
        if is_needed:
            raise
        return None
