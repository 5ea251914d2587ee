"""``spancheck promote``: pinning the release baseline, and listing what others are compared with."""

from __future__ import annotations

import datetime as dt
import getpass
from typing import TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import json_option, night, open_project

if TYPE_CHECKING:
    from spancheck_pipeline.decision.promotion import Promotion
    from spancheck_pipeline.storage.store import Store


@click.command()
@click.argument("suite")
@click.argument("date", required=False, metavar="[YYYY-MM-DD]")
@click.option("--note", default="", help="Why; needed for a run that its gate did not let pass.")
@click.option("--list", "is_list", is_flag=True, help="Show every promotion, and pin nothing.")
@json_option
def promote(suite: str, date: str | None, *, note: str, is_list: bool, as_json: bool) -> int:
    """Pin SUITE's run of a date as the release baseline, which later dates are compared with.

    It is kept with who and when, and never rewritten: another one is pinned after it. Until then the first run that
    its gate let pass (PASS or INCONCLUSIVE) is the release baseline.
    """
    from spancheck_pipeline.api.promoting import pin_release
    from spancheck_pipeline.cli import terminal
    from spancheck_pipeline.errors import UsageError

    environment, store = open_project()
    if is_list:
        return _list(store, night(environment, suite, None).suite, as_json=as_json)
    if date is None:
        raise UsageError(f"say which date: spancheck promote {suite} YYYY-MM-DD --note …; or --list what is pinned")
    place = night(environment, suite, date)
    if not note.isprintable():
        raise UsageError("--note is one line without control characters")
    pinned = pin_release(store, place, at=dt.datetime.now(dt.UTC), by=getpass.getuser(), note=note)
    assert pinned.promotion is not None
    if as_json:
        terminal.print_json(pinned.promotion.model_dump(mode="json"))
    else:
        was = "" if pinned.is_new else " already"
        click.echo(f"{place} is{was} the release baseline (number {pinned.promotion.number}, {pinned.answer.value})")
    return 0


def _list(store: Store, suite: str, *, as_json: bool) -> int:
    from spancheck_pipeline.api.baselines import baselines_before
    from spancheck_pipeline.api.promoting import all_promotions
    from spancheck_pipeline.cli import terminal
    from spancheck_pipeline.decision.promotion import KINDS

    current = baselines_before(store, suite, None)
    kept = {kind: all_promotions(store, suite, kind) for kind in KINDS}
    if as_json:
        terminal.print_json(
            {
                "current": {kind: found.model_dump(mode="json") for kind, found in current.items()},
                **{kind: [item.model_dump(mode="json") for item in items] for kind, items in kept.items()},
            }
        )
        return 0
    for kind, found in current.items():
        first = " (the first run that its gate let pass; none is pinned)" if found.kind != kind else ""
        click.echo(f"{kind.replace('_', ' ')}: {found.date}{first}")
    for items in kept.values():
        for item in items:
            click.echo(_line(item))
    if not current:
        click.echo(f"{suite} has no baseline yet: no run passed its gate, and none is pinned")
    return 0


def _line(item: Promotion) -> str:
    from spancheck_pipeline.report.visible import visible

    when = f"{item.promoted_at:%Y-%m-%d %H:%M} UTC"
    note = f": {item.note}" if item.note else ""
    what = f"{item.kind.replace('_', ' ')} {item.number}: {item.date} {item.answer.value}"
    return visible(f"  {what} by {item.promoted_by} on {when}{note}")
