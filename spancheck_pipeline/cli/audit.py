"""``spancheck audit``: the record of a date, exported as a JSON document, and the decisions that were made about it."""

from __future__ import annotations

from pathlib import Path

import click

from spancheck_pipeline.cli.options import as_decided_option, date_option, json_option, night, open_project


@click.group()
def audit() -> None:
    """Read and export the record of a date."""


@audit.command()
@click.argument("suite")
@date_option
@as_decided_option
@click.option(
    "--to", "target", required=True, type=click.Path(dir_okay=False, path_type=Path), help="JSON file; - prints it."
)
def export(suite: str, *, date: str | None, as_decided: int | None, target: Path) -> int:
    """Write the audit log of SUITE on a date as one JSON document (schema 2.0, published in docs/schemas)."""
    from spancheck_pipeline.api.recording import open_audit_log, read_head, read_records
    from spancheck_pipeline.api.run import write_document
    from spancheck_pipeline.cli.show import print_json
    from spancheck_pipeline.decision.audit import as_document

    environment, store = open_project()
    file = open_audit_log(store, night(environment, suite, date), as_decided=as_decided)
    document = as_document(read_head(file), read_records(file))
    if str(target) == "-":
        print_json(document)
        return 0
    write_document(document, target)
    click.echo(str(target))
    return 0


@audit.command()
@click.argument("suite")
@date_option
@json_option
def history(suite: str, *, date: str | None, as_json: bool) -> int:
    """List every decision about SUITE on a date: number, when, by whom, what, and on which capture."""
    from rich.markup import escape
    from rich.table import Table

    from spancheck_pipeline.cli import show
    from spancheck_pipeline.decision.gate import GateDecision
    from spancheck_pipeline.storage.tables import GATE

    environment, store = open_project()
    place = night(environment, suite, date)
    decisions = [GateDecision.model_validate(file.document()) for file in store.revisions(place, GATE)]
    if as_json:
        show.print_json([decision.model_dump(mode="json") for decision in decisions])
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("decision", "when", "by", "answer", "note", "run id"):
        table.add_column(column)
    for decision in decisions:
        when = decision.decided_at.isoformat(timespec="seconds") if decision.decided_at else "–"
        cells = [when, decision.decided_by, decision.answer.value, decision.note, decision.run_id]
        table.add_row(str(decision.revision), *(escape(show.safe(cell)) for cell in cells))
    show.console().print(table)
    return 0


@audit.command()
@click.argument("suite")
@click.argument("case_id", required=False)
@date_option
@as_decided_option
@click.option("--grader", help="Only what this grader says.")
@json_option
def show(
    suite: str,
    case_id: str | None,
    *,
    date: str | None,
    as_decided: int | None,
    grader: str | None,
    as_json: bool,
) -> int:
    """List what failed in SUITE on a date, or show the record of one case (CASE_ID): texts are printed, escaped."""
    from spancheck_pipeline.api.recording import open_audit_log, read_records
    from spancheck_pipeline.cli.records import print_failures, print_record
    from spancheck_pipeline.cli.show import print_json
    from spancheck_pipeline.errors import UsageError

    environment, store = open_project()
    place = night(environment, suite, date)
    records = read_records(open_audit_log(store, place, as_decided=as_decided))
    found = [record for record in records if case_id is None or record.case.id == case_id]
    graders = sorted({score.grader for record in found for score in record.scores})
    if grader is not None and found and grader not in graders:
        raise UsageError(f"{place} has no scores of a grader {grader[:80]!r}; it has {', '.join(graders)}")
    if case_id is not None and not found:
        raise UsageError(
            f"{place} has no case {case_id[:80]!r}; `spancheck audit show {suite}` lists those that failed"
        )
    if as_json:
        print_json([record.model_dump(mode="json") for record in found])
    elif case_id is None:
        print_failures(found, grader)
    else:
        for record in found:
            print_record(record, grader)
    return 0
