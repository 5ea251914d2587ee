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
@click.option("--to", "target", required=True, type=click.Path(dir_okay=False, path_type=Path), help="JSON file.")
def export(suite: str, *, date: str | None, as_decided: int | None, target: Path) -> int:
    """Write the audit log of SUITE on a date as one JSON document (schema 2.0, published in docs/schemas)."""
    from spancheck_pipeline.api.recording import open_audit_log, read_head, read_records
    from spancheck_pipeline.api.run import write_document
    from spancheck_pipeline.decision.audit import as_document

    environment, store = open_project()
    file = open_audit_log(store, night(environment, suite, date), as_decided=as_decided)
    write_document(as_document(read_head(file), read_records(file)), target)
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
