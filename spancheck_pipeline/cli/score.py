"""``spancheck score``: the scorecard of a date or of an audit log, as it stands or graded again. Nothing is called."""

from __future__ import annotations

import getpass

import click

from spancheck_pipeline.cli.options import (
    as_decided_option,
    date_option,
    is_file_name,
    json_option,
    load_run,
    night,
    open_project,
    open_suite,
    place_of,
)
from spancheck_pipeline.report.visible import visible


@click.command()
@click.argument("what", metavar="SUITE|run:ID|AUDIT_LOG")
@date_option
@click.option("--regrade", is_flag=True, help="Grade the captured outputs again with today's graders.")
@as_decided_option
@click.option("--price-in", type=click.FloatRange(min=0), help="USD per 1k input tokens, for an audit log.")
@click.option("--price-out", type=click.FloatRange(min=0), help="USD per 1k output tokens, for an audit log.")
@json_option
def score(
    what: str,
    *,
    date: str | None,
    regrade: bool,
    as_decided: int | None,
    price_in: float | None,
    price_out: float | None,
    as_json: bool,
) -> int:
    """Show the scorecard of SUITE on a date, of an ad-hoc run, or of an AUDIT_LOG file (ours, or the earlier 1.0).

    With --regrade a suite's date gets new scores, a new decision and a new record where they differ; the old ones stay
    readable (--as-decided). An audit log file is graded again with the default graders and is not written.
    """
    from spancheck_pipeline.errors import UsageError

    if regrade and as_decided is not None:
        raise UsageError("--as-decided shows what was; it goes without --regrade")
    if regrade and what.startswith("run:"):
        raise UsageError(f"an ad-hoc run keeps its scores; `spancheck gate {what} --regrade` decides it by new ones")
    if is_file_name(what):
        pricing = {"input_per_1k": price_in or 0.0, "output_per_1k": price_out or 0.0}
        return _file(what, regrade, pricing if price_in is not None or price_out is not None else None, as_json=as_json)
    if regrade:
        return _regrade(what, date, as_json=as_json)
    return _stored(what, date, as_decided, as_json=as_json)


def _file(what: str, regrade: bool, pricing: dict[str, float] | None, *, as_json: bool) -> int:
    from spancheck_pipeline.api.run import priced
    from spancheck_pipeline.cli import show, terminal
    from spancheck_pipeline.grading.graders import default_graders

    environment, store = open_project()
    run = priced(load_run(environment, store, what, None), pricing)
    if regrade:
        run = run.rescore(default_graders())
    scorecard = run.scorecard().document
    if as_json:
        terminal.print_json(show.as_json(scorecard, None))
    else:
        show.print_scorecard(scorecard, None)
    return 0


def _regrade(what: str, date: str | None, *, as_json: bool) -> int:
    from spancheck_pipeline.api.reporting import refresh_report
    from spancheck_pipeline.api.stored import grade_place
    from spancheck_pipeline.capture.containment import contained
    from spancheck_pipeline.cli import show, terminal

    environment, store = open_project()
    loaded = open_suite(environment, what)
    place = night(environment, what, date)
    note = "spancheck score --regrade"
    decided = grade_place(
        store, place, loaded.suite, loaded.graders, decided_by=getpass.getuser(), note=note, contain=contained
    )
    if as_json:
        terminal.print_json(show.as_json(decided.scorecard, decided.decision, comparisons=decided.comparisons))
    else:
        show.print_scorecard(decided.scorecard, decided.decision, decided.comparisons)
    # After the figures, which stand whether a page can be written or not; a page that stands there must not be stale.
    if made := refresh_report(store, place):
        click.echo(f"report: {visible(made.page.path)}", err=as_json)
    return show.exit_code(decided.decision)


def _stored(what: str, date: str | None, as_decided: int | None, *, as_json: bool) -> int:
    from spancheck_pipeline.api.audit_logs import open_audit_log, read_head
    from spancheck_pipeline.cli import show, terminal

    environment, store = open_project()
    head = read_head(open_audit_log(store, place_of(environment, what, date), as_decided=as_decided))
    if as_json:
        terminal.print_json(show.as_json(head.summary, head.decision, comparisons=head.comparisons))
    else:
        show.print_scorecard(head.summary, head.decision, head.comparisons)
    return show.exit_code(head.decision)
