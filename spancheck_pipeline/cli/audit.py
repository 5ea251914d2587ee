"""``spancheck audit``: the record of a date – exported, checked, shown – and the decisions that were made about it."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from spancheck_pipeline.cli.audit_history import history
from spancheck_pipeline.cli.options import as_decided_option, date_option, json_option, open_project, place_of

if TYPE_CHECKING:
    from spancheck_pipeline.api.auditing import Exported
    from spancheck_pipeline.api.auditing_checks import Verified
    from spancheck_pipeline.storage.audit_files import Format
    from spancheck_pipeline.storage.store import Place, Store


@click.group()
def audit() -> None:
    """Read, export and check the record of a date."""


audit.add_command(history)


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
    from spancheck_pipeline.api.auditing_checks import verify_file
    from spancheck_pipeline.api.auditing_place import verify_place
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
    from spancheck_pipeline.report.visible import visible

    for fault in found.faults:
        click.secho(visible(fault), fg="red", bold=True)
    for note in found.notes:
        click.echo(f"note: {visible(note)}", err=True)
    if found.seal:
        click.echo(f"sealed: {found.seal.sealed_at.isoformat(timespec='seconds')}, {found.seal.n_records} records")
    if found.checked.head:
        click.echo(f"head: {visible(found.checked.head)}")
    verdict = "as it was written" if found.ok else "NOT as it was written"
    click.echo(f"{visible(found.name)}: {found.checked.n_records} records, {verdict}")


def _print_verified_json(found: Verified) -> None:
    from spancheck_pipeline.cli.terminal import print_json

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
    from spancheck_pipeline.api.audit_logs import open_audit_log, read_records
    from spancheck_pipeline.cli.records import print_failures, print_record
    from spancheck_pipeline.cli.terminal import print_json
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
