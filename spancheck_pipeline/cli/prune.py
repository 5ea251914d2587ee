"""``spancheck prune``: old nights and ad-hoc runs let go of what they were made from; what was decided stays."""

from __future__ import annotations

import click

from spancheck_pipeline.cli.options import json_option, open_project
from spancheck_pipeline.report.visible import visible


@click.command()
@click.option("--keep", required=True, metavar="DAYSd", help="Days that keep everything, for example 400d.")
@click.option("--suite", "suites", multiple=True, metavar="NAME", help="Only this suite; may be repeated.")
@click.option("--yes", "is_meant", is_flag=True, help="Remove; without it, only what would be removed is shown.")
@json_option
def prune(*, keep: str, suites: tuple[str, ...], is_meant: bool, as_json: bool) -> int:
    """Remove captured runs, cases, verdicts and scores of old nights and ad-hoc runs, and journals left behind.

    Decisions, audit logs, reports and promotions stay, superseded ones too. A night stays whole where a kept night is
    compared with it, where a person pinned it, or where it has no record. Nothing is removed without --yes.
    """
    from spancheck_pipeline.api.pruning import cutoff
    from spancheck_pipeline.api.pruning import prune as prune_store
    from spancheck_pipeline.cli import terminal
    from spancheck_pipeline.decision.names import check_name
    from spancheck_pipeline.errors import UsageError

    environment, store = open_project()
    before = cutoff(keep, today=environment.today())
    for name in suites:
        try:
            check_name(name)
        except ValueError as error:
            raise UsageError(f"--suite {error}") from None
    report = prune_store(store, before=before, suites=suites, timezone=environment.timezone, dry_run=not is_meant)
    if as_json:
        terminal.print_json(report.model_dump(mode="json"))
        return 0
    for item in report.pruned:
        what = f"{item.suite} on {item.date}" if item.date else f"run {item.run_id} ({item.suite})"
        click.echo(visible(f"{what}: {item.n_files} file(s), {_size(item.n_bytes)}"))
    for kept in report.kept:
        what = f"{kept.suite} on {kept.date}" if kept.date else f"run {kept.run_id} ({kept.suite})"
        click.echo(visible(f"{what}: stays, {kept.why}"))
    did = "removed" if is_meant else "would remove"
    click.echo(f"{did} {_size(report.n_bytes)} of {len(report.pruned)} night(s) and run(s) before {before}")
    if report.pruned and not is_meant:
        click.echo("nothing was removed; the same with --yes removes it", err=True)
    return 0


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:.1f} kB"  # noqa: PLR2004 - 0.1 MB
