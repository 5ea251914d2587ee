"""``spancheck run``: a suite, or a cases file against a target, as an ad-hoc run without Dagster."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spancheck_pipeline.cli.options import json_option, open_project, open_suite, thresholds_of
from spancheck_pipeline.report.visible import visible

if TYPE_CHECKING:
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.storage.datasets import LoadedSuite

_CASE_FILES = {".jsonl", ".csv", ".parquet"}


@click.command()
@click.argument("what", metavar="SUITE|CASES")
@click.option("--target", help="For a cases file: module:callable or file.py:callable to call.")
@click.option("--config", help="For a suite: run one of its other configurations.")
@click.option("--run-id", help="Name of the run; give the name of an interrupted one to go on with it.")
@click.option("--min", "minimum", multiple=True, metavar="GRADER=RATE", help="Lowest pass rate that is good enough.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the audit log as JSON here.")
@click.option("--price-in", type=click.FloatRange(min=0), help="USD per 1k input tokens, for a cases file.")
@click.option("--price-out", type=click.FloatRange(min=0), help="USD per 1k output tokens, for a cases file.")
@click.option("--retry-errors", is_flag=True, help="With --run-id: call for the rows that failed, and no others.")
@json_option
def run(
    what: str,
    *,
    target: str | None,
    config: str | None,
    run_id: str | None,
    minimum: tuple[str, ...],
    out: Path | None,
    price_in: float | None,
    price_out: float | None,
    retry_errors: bool,
    as_json: bool,
) -> int:
    """Run SUITE (a name), or the file CASES against --target, and write its record under runs/.

    Such a run never enters a nightly partition. Exit code 0 when its gate passes, 1 when it does not.
    """
    from spancheck_pipeline.api.audit_logs import chain_head
    from spancheck_pipeline.api.auditing import export_log
    from spancheck_pipeline.api.capture_begin import new_run_id
    from spancheck_pipeline.api.reporting import refresh_report
    from spancheck_pipeline.api.stored import run_place
    from spancheck_pipeline.api.targets import load_target
    from spancheck_pipeline.api.unread_labels import unread_labels
    from spancheck_pipeline.capture.containment import contained
    from spancheck_pipeline.cli import show, terminal
    from spancheck_pipeline.cli.progress import progress_bar
    from spancheck_pipeline.storage.store import AdHoc
    from spancheck_pipeline.storage.tables import AUDIT_LOG

    environment, store = open_project()
    loaded, cases = _asked(environment, what, target, config, minimum, price_in=price_in, price_out=price_out)
    suite = loaded.suite
    place = AdHoc(suite.name, run_id or new_run_id(suite.name, config))
    with progress_bar(str(place)) as report:
        decided = run_place(
            store,
            place,
            suite,
            cases,
            graders=loaded.graders,
            load_target=lambda: load_target(suite.target, suite_folder=loaded.folder),
            decided_by=getpass.getuser(),
            judges=loaded.judges,
            mode="retry_errors" if retry_errors else "capture",
            config=config,
            on_progress=report,
            contain=contained,
        )
    for note in unread_labels(cases, loaded.graders):
        click.echo(f"note: {note}", err=True)
    audit_log = store.path(place, AUDIT_LOG)
    head = chain_head(store, place)
    if out:
        export_log(store, place, out)
    if as_json:
        terminal.print_json(
            show.as_json(
                decided.scorecard,
                decided.decision,
                comparisons=decided.comparisons,
                audit_log=str(out or audit_log),
                audit_log_head=head,
            )
        )
    else:
        show.print_scorecard(decided.scorecard, decided.decision, decided.comparisons)
        click.echo(f"\naudit log: {out or audit_log}")
        click.echo(f"  head: {head}")
        click.echo(f"run id: {place.run_id}")
    if made := refresh_report(store, place):  # of a run that went on, or was asked again
        click.echo(f"report: {visible(made.page.path)}", err=as_json)
    return show.exit_code(decided.decision)


def _asked(
    environment: Environment,
    what: str,
    target: str | None,
    config: str | None,
    minimum: tuple[str, ...],
    *,
    price_in: float | None,
    price_out: float | None,
) -> tuple[LoadedSuite, tuple[Case, ...]]:
    """Return the suite that is asked for with its cases: a named one, or one made around a cases file."""
    from spancheck_pipeline.errors import UsageError
    from spancheck_pipeline.storage.datasets import load_cases

    if Path(what).suffix.lower() in _CASE_FILES or Path(what).is_file():
        if target is None or config is not None:
            raise UsageError("a cases file needs --target module:callable, and has no --config")
        return _around_file(Path(what), target, minimum, price_in=price_in, price_out=price_out)
    if target is not None or price_in is not None or price_out is not None:
        raise UsageError("--target and --price-in/--price-out go with a cases file; a suite names its own")
    loaded = open_suite(environment, what)
    if config is not None:
        loaded = loaded.with_config(config)
    if minimum:
        loaded = _with_thresholds(loaded, minimum)
    return loaded, load_cases(loaded.folder, loaded.suite.cases)


def _with_thresholds(loaded: LoadedSuite, minimum: tuple[str, ...]) -> LoadedSuite:
    import dataclasses

    from spancheck_pipeline.decision.gate import check_thresholds

    rates = {**loaded.suite.gate.min_pass_rate, **thresholds_of(minimum)}
    gate = loaded.suite.gate.model_copy(update={"min_pass_rate": rates})
    check_thresholds(gate, [grader.name for grader in loaded.graders])
    return dataclasses.replace(loaded, suite=loaded.suite.model_copy(update={"gate": gate}))


def _around_file(
    path: Path, target: str, minimum: tuple[str, ...], *, price_in: float | None, price_out: float | None
) -> tuple[LoadedSuite, tuple[Case, ...]]:
    from spancheck_pipeline.decision.gate import check_thresholds
    from spancheck_pipeline.decision.gate_settings import GateSettings
    from spancheck_pipeline.decision.suite import Suite
    from spancheck_pipeline.decision.suite_target import Target
    from spancheck_pipeline.grading.graders import default_graders
    from spancheck_pipeline.storage.case_files import read_cases
    from spancheck_pipeline.storage.datasets import LoadedSuite

    cases = read_cases(path)
    graders = default_graders()
    suite = Suite(
        contract=1,
        name="adhoc",
        target=Target(callable=target),
        graders={grader.name: {} for grader in graders},
        gate=GateSettings(min_pass_rate=thresholds_of(minimum)),
        prices=_prices(price_in, price_out),
    )
    check_thresholds(suite.gate, suite.graders)
    return LoadedSuite(suite=suite, folder=Path.cwd(), graders=graders), cases


def _prices(price_in: float | None, price_out: float | None) -> dict[str, Any]:
    """Return the earlier command's prices per 1k tokens as a price of answers that name no model."""
    if price_in is None and price_out is None:
        return {}
    return {"": {"input_usd_per_mtok": 1000 * (price_in or 0), "output_usd_per_mtok": 1000 * (price_out or 0)}}
