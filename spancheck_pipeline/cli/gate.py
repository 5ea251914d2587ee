"""``spancheck gate``: whether a date or an audit log is good enough, by the suite's rules or by thresholds given."""

from __future__ import annotations

import click

from spancheck_pipeline.cli.options import (
    as_decided_option,
    date_option,
    is_file_name,
    json_option,
    load_run,
    night,
    open_project,
    regrade_option,
    regraded,
    thresholds_of,
)


@click.command()
@click.argument("what", metavar="SUITE|AUDIT_LOG")
@click.argument("thresholds", nargs=-1, metavar="[GRADER=RATE]...")
@date_option
@as_decided_option
@click.option("--baseline", metavar="SUITE@DATE|AUDIT_LOG", help="Also ask whether it is worse than this run.")
@click.option(
    "--max-regression",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Drop of a pass rate against the baseline that is tolerated.",
)
@regrade_option
@json_option
def gate(
    what: str,
    thresholds: tuple[str, ...],
    *,
    date: str | None,
    as_decided: int | None,
    baseline: str | None,
    max_regression: float,
    regrade: bool,
    as_json: bool,
) -> int:
    """Say whether SUITE on a date, or an AUDIT_LOG file, is good enough.

    Without thresholds, a suite's stored decision is shown. Exit code 0: passed; 1: failed or not measured; 3: the
    baseline is not comparable.
    """
    from spancheck_pipeline.api.comparing import gate as decide_run
    from spancheck_pipeline.api.recording import open_audit_log, read_head
    from spancheck_pipeline.cli import show
    from spancheck_pipeline.errors import MissingDataError

    environment, store = open_project()
    if not (is_file_name(what) or thresholds or baseline or regrade):
        head = read_head(open_audit_log(store, night(environment, what, date), as_decided=as_decided))
        if head.decision is None:
            raise MissingDataError(f"{what}: no decision is recorded")
        decision = head.decision
    else:
        run = load_run(environment, store, what, date, as_decided)
        other = load_run(environment, store, baseline, None) if baseline else None
        if regrade:
            run, *others = regraded(environment, what, run, *([other] if other else []))
            other = others[0] if others else None
        decision = decide_run(run, thresholds_of(thresholds), other, max_regression)
    if as_json:
        show.print_json(decision.model_dump(mode="json"))
    else:
        show.print_decision(decision)
    return show.exit_code(decision)
