"""``spancheck audit``: the record of a date – exported, checked, shown – and the decisions that were made about it."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import as_decided_option, date_option, json_option, night, open_project

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spancheck_pipeline.api.auditing import Exported
    from spancheck_pipeline.api.auditing_checks import Verified
    from spancheck_pipeline.api.auditing_history import PastDecision
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.storage.audit_files import Format
    from spancheck_pipeline.storage.store import Place, Store


@click.group()
def audit() -> None:
    """Read, export and check the record of a date."""


@audit.command()
@click.argument("suite", metavar="SUITE|run:ID")
@date_option
@as_decided_option
@click.option(
    "--to", "target", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file; - prints it."
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["json", "jsonl"]),
    help="One JSON object, or JSON lines; default: by the file's name.",
)
@click.option(
    "--redact",
    metavar="GROUPS",
    help="Leave out pii, contexts, answers, questions (with commas between them); the copy still verifies.",
)
@click.option(
    "--schema",
    type=click.Choice(["2.0", "1.0"]),
    default="2.0",
    show_default=True,
    help="1.0 is the earlier library's; what it cannot hold is listed on stderr.",
)
def export(
    suite: str,
    *,
    date: str | None,
    as_decided: int | None,
    target: Path,
    file_format: Format | None,
    redact: str | None,
    schema: str,
) -> int:
    """Write the audit log of SUITE on a date as a file (schema 2.0, published in docs/schemas), and its seal beside it.

    The head that is printed is the digest of the last record: keep it where nobody can rewrite it.
    """
    import sys

    from spancheck_pipeline.decision.audit_redaction import check_groups
    from spancheck_pipeline.errors import UsageError

    groups = frozenset[str]() if redact is None else check_groups(redact.split(","))
    if schema == "1.0" and (groups or file_format == "jsonl"):
        raise UsageError("--schema 1.0 has no chain and one form: it goes without --redact and --format jsonl")
    environment, store = open_project()
    place = place_of(environment, suite, date)
    to_stream = str(target) == "-"
    done = _exported(
        store,
        place,
        sys.stdout if to_stream else target,
        as_decided=as_decided,
        file_format=file_format,
        groups=groups,
        is_earlier=schema == "1.0",
    )
    if not to_stream:
        click.echo(str(target))
    click.echo(f"{done.n_records} records", err=True)
    if done.seal_path:
        click.echo(f"seal: {done.seal_path}", err=True)
    if done.head:
        click.echo(f"head: {done.head}", err=True)
    return 0


def _exported(
    store: Store,
    place: Place,
    target: Path | IO[str],
    *,
    as_decided: int | None,
    file_format: Format | None,
    groups: frozenset[str],
    is_earlier: bool,
) -> Exported:
    from spancheck_pipeline.api.auditing import export_earlier, export_log
    from spancheck_pipeline.decision.audit_1_0 import LOST

    if not is_earlier:
        return export_log(store, place, target, as_decided=as_decided, file_format=file_format, redact=groups)
    done = export_earlier(store, place, target, as_decided=as_decided)
    click.echo("schema 1.0 does not hold:", err=True)
    for lost in LOST:
        click.echo(f"  - {lost}", err=True)
    return done


def place_of(environment: Environment, what: str, date: str | None) -> Place:
    """Return the place that an argument names: ``SUITE`` with a date, ``SUITE@DATE``, or ``run:ID``."""
    from spancheck_pipeline.storage.store import AdHoc

    if what.startswith("run:"):
        return AdHoc("adhoc", what.removeprefix("run:"))
    suite, _, at = what.partition("@")
    return night(environment, suite, at or date)


@audit.command()
@click.argument("what", metavar="FILE|SUITE|run:ID")
@click.argument("on", metavar="[DATE]", required=False)
@date_option
@as_decided_option
@click.option(
    "--seal",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The seal to compare with; default: the stored one, or FILE.seal.json.",
)
@click.option("--head", metavar="DIGEST", help="The head that was printed or stored when the log was made.")
@click.option(
    "--public-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Ed25519 public key (PEM) that the seal must be signed with.",
)
@json_option
def verify(
    what: str,
    on: str | None,
    *,
    date: str | None,
    as_decided: int | None,
    seal: Path | None,
    head: str | None,
    public_key: Path | None,
    as_json: bool,
) -> int:
    """Check an exported log (FILE), or SUITE's stored one on DATE and every file that it was made from.

    The first record that was changed, removed, added or moved is named. Exit code 0: as it was written; 1: it is not;
    2: it could not be checked.
    """
    from spancheck_pipeline.api.auditing_checks import verify_file, verify_place
    from spancheck_pipeline.cli.options import is_file_name
    from spancheck_pipeline.errors import UsageError
    from spancheck_pipeline.storage.signing import load_public_key

    if head is not None and (len(head) != 64 or set(head.lower()) - set("0123456789abcdef")):  # noqa: PLR2004 - SHA-256
        raise UsageError("--head is a digest of 64 hexadecimal digits, as it was printed")
    if on is not None and date is not None:
        raise UsageError("the date is given twice")
    key = load_public_key(public_key) if public_key else None
    if is_file_name(what) or what.endswith((".jsonl", ".ndjson")):
        found = verify_file(Path(what), seal=seal, head=head, public_key=key)
    else:
        environment, store = open_project()
        place = place_of(environment, what, on or date)
        found = verify_place(store, place, as_decided=as_decided, seal=seal, head=head, public_key=key)
    if as_json:
        _print_verified_json(found)
    else:
        _print_verified(found)
    return 0 if found.ok else 1


def _print_verified(found: Verified) -> None:
    from spancheck_pipeline.cli.show import safe

    for fault in found.faults:
        click.secho(safe(fault), fg="red", bold=True)
    for note in found.notes:
        click.echo(f"note: {safe(note)}", err=True)
    if found.seal:
        click.echo(f"sealed: {found.seal.sealed_at.isoformat(timespec='seconds')}, {found.seal.n_records} records")
    click.echo(f"head: {safe(found.checked.head)}")
    verdict = "as it was written" if found.ok else "NOT as it was written"
    click.echo(f"{safe(found.name)}: {found.checked.n_records} records, {verdict}")


def _print_verified_json(found: Verified) -> None:
    from spancheck_pipeline.cli.show import print_json

    fault = found.checked.fault
    print_json(
        {
            "ok": found.ok,
            "n_records": found.checked.n_records,
            "head": found.checked.head,
            "redacted": list(found.checked.redacted),
            "n_withheld": found.checked.n_withheld,
            "first_fault": None
            if fault is None
            else {"what": fault.what.value, "record": fault.number, "case_id": fault.case_id, "epoch": fault.epoch},
            "faults": list(found.faults),
            "notes": list(found.notes),
            "seal": found.seal.model_dump(mode="json") if found.seal else None,
        }
    )


@audit.command()
@click.argument("suite", metavar="SUITE|run:ID")
@date_option
@json_option
def history(suite: str, *, date: str | None, as_json: bool) -> int:
    """List every decision about SUITE on a date: number, when, by whom, what, and what had changed since the last one.

    Without a date: the decisions of all dates. Each is exported as it was decided by
    `spancheck audit export SUITE --date DATE --as-decided NUMBER`.
    """
    from spancheck_pipeline.api.auditing_history import decided_dates, decision_history
    from spancheck_pipeline.cli import show
    from spancheck_pipeline.decision.suite import check_name
    from spancheck_pipeline.storage.store import Night

    environment, store = open_project()
    places = [place_of(environment, suite, date)]
    if date is None and not suite.startswith("run:") and "@" not in suite:
        check_name(suite)
        places = [Night(suite, day) for day in decided_dates(store, suite)]
    past = [item for place in places for item in decision_history(store, place)]
    if as_json:
        show.print_json(
            [
                {
                    **item.decision.model_dump(mode="json"),
                    "grader_specs": {
                        name: {"version": g.version, "spec_digest": g.spec_digest, "spec": g.spec}
                        for name, g in item.graders.items()
                    },
                    "audit_log_head": item.head,
                    "changes": list(item.changes),
                }
                for item in past
            ]
        )
        return 0
    _print_history(past)
    if len(places) == 1:
        _print_details(past)
    else:
        click.echo(f"\nthe graders of one date: spancheck audit history {suite} --date DATE", err=True)
    return 0


def _print_history(past: Sequence[PastDecision]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from spancheck_pipeline.cli import show

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("date", "decision", "when", "by", "answer", "why", "run id"):
        table.add_column(column)
    for item in past:
        decision = item.decision
        when = decision.decided_at.isoformat(timespec="seconds") if decision.decided_at else "–"
        why = "; ".join(filter(None, [decision.note, *item.changes]))
        cells = [decision.date or "–", str(decision.revision), when, decision.decided_by, decision.answer.value, why]
        table.add_row(*(escape(show.safe(cell)) for cell in [*cells, decision.run_id]))
    show.console().print(table)


def _print_details(past: Sequence[PastDecision]) -> None:
    from spancheck_pipeline.cli import show

    for item in past:
        click.echo(f"\ndecision {item.decision.revision}" + ("" if item.is_recorded else " (its record is not kept)"))
        for change in item.changes or (
            "the first one" if item is past[0] else "everything that it rests on is as it was",
        ):
            click.echo(f"  - {show.safe(change)}")
        for name, grader in item.graders.items():
            click.echo(f"  {name} version {show.safe(grader.version)}, spec {grader.spec_digest[:12]}")
        click.echo(f"  head: {item.head or '–'}")


@audit.command()
@click.argument("suite", metavar="SUITE|run:ID")
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
    place = place_of(environment, suite, date)
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
