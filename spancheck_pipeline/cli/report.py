"""``spancheck report``: the record of a date, a run or an earlier decision as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from spancheck_pipeline.cli.options import as_decided_option, date_option, json_option, night, open_project


@click.command()
@click.argument("suite")
@click.argument("day", required=False, metavar="[DATE]")
@date_option
@click.option("--run", "run_id", metavar="RUN_ID", help="The report of an ad-hoc run of SUITE, not of a date.")
@as_decided_option
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to FILE; default: beside the record in the storage.",
)
@json_option
def report(
    suite: str,
    day: str | None,
    *,
    date: str | None,
    run_id: str | None,
    as_decided: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Write the report of SUITE on a DATE (default: today) as one HTML file that needs nothing else.

    It shows what was captured, graded and decided; nothing is called or graded again. An earlier decision's report
    (--as-decided) goes to a file, by default into the working folder.
    """
    from spancheck_pipeline.api.reporting import report_place
    from spancheck_pipeline.cli.terminal import print_json
    from spancheck_pipeline.errors import UsageError
    from spancheck_pipeline.report.visible import visible
    from spancheck_pipeline.storage.store import AdHoc, Place

    if day is not None and date is not None and day != date:
        raise UsageError(f"two dates are given, {day[:40]!r} and --date {date[:40]!r}; give one")
    if run_id is not None and (day is not None or date is not None):
        raise UsageError("ask for a date or for --run, not for both")
    environment, store = open_project()
    place: Place = AdHoc(suite, run_id) if run_id is not None else night(environment, suite, day or date)
    if as_decided is not None and out is None:
        out = Path(f"report-{suite}-{run_id or place.date}-decision-{as_decided}.html")
    made = report_place(store, place, as_decided=as_decided, to=out)
    if as_json:
        print_json(
            {
                "report": made.page.path,
                "n_bytes": made.page.n_bytes,
                "content_digest": made.page.content_digest,
                "is_new": made.page.is_new,
                "run_id": made.head.run_id,
                "decision": made.head.decision.revision if made.head.decision else None,
            }
        )
    else:
        click.echo(visible(made.page.path))  # on one line, whatever a folder is called
    return 0
