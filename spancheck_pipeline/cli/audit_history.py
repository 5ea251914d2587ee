"""``spancheck audit history``: every decision about a date, and what had changed since the one before.

The record itself is exported, checked and shown by ``audit.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import date_option, json_option, open_project, place_of
from spancheck_pipeline.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spancheck_pipeline.api.auditing_history import PastDecision
    from spancheck_pipeline.storage.store import Place, Store


@click.command()
@click.argument("suite", metavar="SUITE|run:ID")
@date_option
@json_option
def history(suite: str, *, date: str | None, as_json: bool) -> int:
    """List every decision about SUITE on a date: number, when, by whom, what, and what had changed since the last one.

    Without a date: the decisions of all dates. Each is exported as it was decided by
    `spancheck audit export SUITE --date DATE --as-decided NUMBER`. Decisions and nights that are gone are named; the
    exit code is 1 then.
    """
    from spancheck_pipeline.api.auditing_history import decided_dates, decision_history
    from spancheck_pipeline.api.erased import gone_dates
    from spancheck_pipeline.cli import terminal
    from spancheck_pipeline.decision.names import check_name
    from spancheck_pipeline.storage.store import Night

    environment, store = open_project()
    places = [place_of(environment, suite, date)]
    if date is None and not suite.startswith("run:") and "@" not in suite:
        check_name(suite)
        places = [Night(suite, day) for day in decided_dates(store, suite)]
    gone = [place for place in places if isinstance(place, Night) and place.date in gone_dates(store, place.suite)]
    if date is None and not suite.startswith("run:") and "@" not in suite:
        gone = [Night(suite, day) for day in gone_dates(store, suite)]
    past = [item for place in places if _is_decided(store, place, gone) for item in decision_history(store, place)]
    code = 1 if gone or any(item.missing_before for item in past) else 0
    if as_json:
        terminal.print_json(
            [
                {
                    **item.decision.model_dump(mode="json"),
                    "grader_specs": {
                        name: {"version": g.version, "spec_digest": g.spec_digest, "spec": g.spec}
                        for name, g in item.graders.items()
                    },
                    "audit_log_head": item.head,
                    "missing_before": list(item.missing_before),
                    "changes": list(item.changes),
                }
                for item in past
            ]
        )
        _print_gone(gone)
        return code
    _print_history(past)
    if len(places) == 1:
        _print_details(past)
    else:
        click.echo(f"\nthe graders of one date: spancheck audit history {suite} --date DATE", err=True)
    _print_gone(gone)
    return code


def _is_decided(store: Store, place: Place, gone: Sequence[Place]) -> bool:
    """Return whether decisions of a place are to be listed: of one that is gone, where some are left."""
    from spancheck_pipeline.storage.tables import GATE

    return place not in gone or bool(store.revisions(place, GATE))


def _print_gone(gone: Sequence[Place]) -> None:
    """Say on stderr which nights were recorded and are gone."""
    for place in gone:
        said = f"{place}: was recorded, and its record is gone (spancheck audit verify says more)"
        click.secho(said, fg="red", err=True)


def _print_history(past: Sequence[PastDecision]) -> None:
    from spancheck_pipeline.cli import terminal

    rows = []
    for item in past:
        decision = item.decision
        when = decision.decided_at.isoformat(timespec="seconds") if decision.decided_at else "–"
        why = "; ".join(filter(None, [_gap(item), decision.note, *item.changes]))
        cells = [decision.date or "–", str(decision.revision), when, decision.decided_by, decision.answer.value, why]
        rows.append((*cells, decision.run_id))
    columns = ("date", "decision", "when", "by", "answer", "why", "run id")
    terminal.print_table(columns, rows, left=columns, wrapped={"why"})


def _gap(item: PastDecision) -> str:
    """Return which decisions before one are gone, or nothing."""
    n = len(item.missing_before)
    if not n:
        return ""
    first, last = item.missing_before[0], item.missing_before[-1]
    return f"decision {first} is gone" if n == 1 else f"decisions {first} to {last} are gone"


def _unchanged(item: PastDecision) -> str:
    if item.decision.revision == 1:
        return "the first one"
    return "" if item.missing_before else "everything that it rests on is as it was"


def _print_details(past: Sequence[PastDecision]) -> None:
    for item in past:
        click.echo(f"\ndecision {item.decision.revision}" + ("" if item.is_recorded else " (its record is not kept)"))
        for change in filter(None, (_gap(item), *(item.changes or (_unchanged(item),)))):
            click.echo(f"  - {visible(change)}")
        for name, grader in item.graders.items():
            click.echo(f"  {name} version {visible(grader.version)}, spec {grader.spec_digest[:12]}")
        click.echo(f"  head: {item.head or '–'}")
