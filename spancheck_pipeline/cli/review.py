"""``spancheck review``: findings out to a spreadsheet, people's signed-off dispositions back in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import date_option, json_option, open_project
from spancheck_pipeline.report.visible import visible

if TYPE_CHECKING:
    from spancheck_pipeline.decision.adjudication import Adjudication
    from spancheck_pipeline.storage.store import Place, Store


@click.command()
@click.argument("suite", metavar="SUITE|run:ID")
@click.argument("on", metavar="[DATE]", required=False)
@date_option
@click.option(
    "--to", type=click.Path(dir_okay=False, path_type=Path), help="Write findings to fill in: .csv, or .jsonl."
)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read a filled-in file and append its dispositions.",
)
@click.option("--author", help="Who signs the rows that name nobody; default: the user's login name.")
@click.option("--grader", "graders", multiple=True, help="With --to: only this grader's findings. May be repeated.")
@click.option("--all", "everything", is_flag=True, help="With --to: also findings that passed.")
@click.option("--history", is_flag=True, help="List everything that was ever signed, not only what stands.")
@json_option
def review(
    suite: str,
    on: str | None,
    *,
    date: str | None,
    to: Path | None,
    source: Path | None,
    author: str | None,
    graders: tuple[str, ...],
    everything: bool,
    history: bool,
    as_json: bool,
) -> int:
    """Review what was found in SUITE on DATE: export findings, sign dispositions, see the rates with and without them.

    Without --to and --from the dispositions that stand are listed. Scores are never changed. Whether dispositions
    decide is the suite's to say (gate: adjudicated), when the date is decided again.
    """
    from spancheck_pipeline.cli.options import place_of
    from spancheck_pipeline.errors import UsageError

    if to is not None and source is not None:
        raise UsageError("--to writes what --from reads: one at a time")
    if on is not None and date is not None:
        raise UsageError("the date is given twice")
    if to is None and (graders or everything):
        raise UsageError("--grader and --all choose what --to writes")
    if history and (to is not None or source is not None):
        raise UsageError("--history lists what was signed; it goes without --to and --from")
    environment, store = open_project()
    place = place_of(environment, suite, on or date)
    if to is not None:
        return _export(store, place, to, graders, everything=everything)
    if source is not None:
        return _import(store, place, source, author)
    return _list(store, place, history=history, as_json=as_json)


def _export(store: Store, place: Place, to: Path, graders: tuple[str, ...], *, everything: bool) -> int:
    from spancheck_pipeline.api.review_subjects import REVIEWED
    from spancheck_pipeline.api.reviewing import export_review
    from spancheck_pipeline.grading.score import Outcome

    outcomes = frozenset(Outcome) if everything else REVIEWED
    n_rows = export_review(store, place, to, outcomes=outcomes, graders=graders)
    click.echo(str(to))
    click.echo(f"{n_rows} findings; fill in disposition (confirmed, passes, fails, waived), why and expires", err=True)
    return 0


def _import(store: Store, place: Place, source: Path, author: str | None) -> int:
    import datetime as dt
    import getpass

    from spancheck_pipeline.api.reviewing import check_author, import_review

    who = check_author(getpass.getuser() if author is None else author)
    done = import_review(store, place, source, author=who, signed_at=dt.datetime.now(dt.UTC))
    click.echo(f"{done.n_new} new, {done.n_same} as they stood, {done.n_blank} rows without a disposition")
    for before, now in done.changed:
        click.secho(_changed(before, now), fg="yellow", bold=True)
    if done.n_without_effect:
        click.echo(
            f"note: {done.n_without_effect} of them are of what could not be measured: they change no rate, and it "
            "stays unmeasured until it is measured (spancheck nightly SUITE --retry-errors)",
            err=True,
        )
    if done.n_far:
        click.echo(
            f"note: {done.n_far} of them are waivers for more than two years; is the year in `expires` right?", err=True
        )
    if done.path:
        click.echo(f"kept: {done.path}", err=True)
        _print_rates(store, place)
        click.echo("decide again with: spancheck score SUITE --date DATE --regrade, or the next nightly", err=True)
    return 0


def _changed(before: Adjudication, now: Adjudication) -> str:
    """Return who said what before of a finding of which something else, or by somebody else, is said now."""
    item = now.item or "the whole score"
    epoch = f" epoch {now.epoch}" if now.epoch else ""
    then = f"{before.author} said {before.disposition.value} on {before.signed_at.date().isoformat()}"
    said = f"{now.author} now says {now.disposition.value}"
    return visible(f"case {now.case_id!r}{epoch}, {now.grader}, {item}: {said}; {then}: {before.reason}")


def _print_rates(store: Store, place: Place) -> None:
    """Print the rates that the recorded scores have, with and without the dispositions that hold now."""
    import datetime as dt

    from spancheck_pipeline.api.adjudicating import adjudicated
    from spancheck_pipeline.api.audit_logs import open_audit_log, read_head
    from spancheck_pipeline.api.facts import open_evidence
    from spancheck_pipeline.cli import terminal

    head = read_head(open_audit_log(store, place))
    evidence = open_evidence(store, place, list(head.graders))
    found = adjudicated(store, place, evidence, at=dt.datetime.now(dt.UTC))
    rows = []
    for name, figures in found.graders.items():
        raw = head.summary.graders[name].pass_rate.value
        counts = [figures.n_confirmed, figures.n_passes, figures.n_fails, figures.n_waived, figures.n_expired]
        cells = [*counts, figures.n_stale]
        rows.append((name, _percent(raw), _percent(figures.pass_rate.value), *map(str, cells)))
    terminal.print_table(
        ("grader", "raw", "adjudicated", "confirmed", "passes", "fails", "waived", "expired", "stale"), rows
    )
    if found.n_elsewhere:
        click.echo(f"note: {found.n_elsewhere} dispositions of another capture or grader are not applied", err=True)


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.1%}"


def _list(store: Store, place: Place, *, history: bool, as_json: bool) -> int:
    from spancheck_pipeline.api.reviewing import listed, signed_in_order
    from spancheck_pipeline.cli import terminal

    found = signed_in_order(store, place) if history else listed(store, place)
    if as_json:
        terminal.print_json([item.model_dump(mode="json") for item in found])
        return 0
    has_epochs = any(item.epoch for item in found)
    rows = [
        (
            item.case_id + (f" #{item.epoch}" if has_epochs else ""),
            item.grader,
            item.item or "the whole",
            item.outcome.value,
            item.disposition.value,
            item.author,
            item.signed_at.date().isoformat(),
            item.last_day or "–",
            item.reason,
        )
        for item in found
    ]
    columns = ("case", "grader", "item", "said", "disposition", "author", "signed", "expires", "why")
    terminal.print_table(columns, rows, left=columns, wrapped={"why"})
    _print_rates(store, place)
    return 0
