"""``spancheck trend``: a suite's rates over its dates, with intervals and marks where something has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import file_option, json_option, night, open_project

if TYPE_CHECKING:
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.decision.trend import TrendDocument, TrendPoint
    from spancheck_pipeline.storage.store import Store

_SHOWN_NIGHTS = 10


@click.command()
@click.argument("suite")
@click.option("--since", metavar="YYYY-MM-DD", help="First date; default: the first that is stored.")
@click.option("--until", metavar="YYYY-MM-DD", help="Last date; default: the last that is stored.")
@click.option("--figure", "figures", multiple=True, metavar="NAME", help="A grader, or another figure; default: all.")
@json_option
@file_option("svg", "all figures as an SVG picture")
def trend(
    suite: str,
    *,
    since: str | None,
    until: str | None,
    figures: tuple[str, ...],
    as_json: bool,
    svg_file: Path | None,
) -> int:
    """Show SUITE's rates over its dates, with 95 % intervals; a date on which something has changed is marked."""
    from spancheck_pipeline.api.trending import read_trend
    from spancheck_pipeline.cli import terminal
    from spancheck_pipeline.errors import UsageError
    from spancheck_pipeline.report.trend_svg import trend_svg
    from spancheck_pipeline.storage.documents import write_text

    environment, store = open_project()
    for option, date in (("--since", since), ("--until", until)):
        if date is not None:
            night(environment, suite, date, option=option)
    name = night(environment, suite, None).suite
    found = read_trend(store, name, since=since, until=until, missed=_missed(environment, store, name))
    known = {**found.rates, **found.numbers}
    if unknown := [name for name in figures if name not in known]:
        raise UsageError(f"{unknown[0][:80]!r} is no figure of {suite}; there are: {', '.join(known)}")
    if figures:
        found = found.model_copy(
            update={
                "rates": {name: points for name, points in found.rates.items() if name in figures},
                "numbers": {name: points for name, points in found.numbers.items() if name in figures},
            }
        )
    if svg_file:
        write_text(svg_file, trend_svg(found))
    if as_json:
        terminal.print_json(found.model_dump(mode="json"))
    else:
        _print(found)
    return 0


def _missed(environment: Environment, store: Store, suite: str) -> tuple[str, ...]:
    """Return the nights before today that the suite's schedule had and nothing captured; none without a schedule."""
    import datetime as dt

    from spancheck_pipeline.api.trending import missed_dates
    from spancheck_pipeline.cli.options import open_suite
    from spancheck_pipeline.errors import SpancheckError

    try:
        schedule = open_suite(environment, suite).suite.schedule
    except SpancheckError:  # its nights are shown all the same
        return ()
    if schedule is None:
        return ()
    yesterday = dt.date.fromisoformat(environment.today()) - dt.timedelta(days=1)
    return missed_dates(store, suite, schedule.cron, until=yesterday.isoformat())


def _print(trend: TrendDocument) -> None:
    from rich.markup import escape

    from spancheck_pipeline.cli.terminal import console, print_table
    from spancheck_pipeline.decision.numerals import clusters_said
    from spancheck_pipeline.report.visible import visible

    answers = {item.date: item.answer for item in trend.nights}
    out = console()
    for name, points in (*trend.rates.items(), *trend.numbers.items()):
        is_rate = name in trend.rates
        is_clustered = any(point.n_clusters is not None for point in points)
        rows = []
        for point in points:
            answer = answers[point.date]
            gate = answer.value.replace("_", " ") if answer else "–"
            cells = [*_cells(point, is_rate=is_rate), str(point.n)]
            cells += [clusters_said(point.n_clusters)] if is_clustered else []
            rows.append((point.date, gate, *cells, ", ".join(point.marks)))
        out.print(f"[italic]{escape(visible(name))}[/italic]")
        columns = ("date", "gate", "value", "95 %", "n", *(("clusters",) if is_clustered else ()), "another")
        print_table(columns, rows, left={"gate", "another"})
        out.print()
    if trend.gone:
        dates = ", ".join(trend.gone)
        out.print(f"recorded and gone: {dates} (spancheck audit verify {trend.suite} DATE says more)", style="bold red")
    if trend.missed:
        shown = ", ".join(trend.missed[:_SHOWN_NIGHTS])
        more = f" and {len(trend.missed) - _SHOWN_NIGHTS} more" if len(trend.missed) > _SHOWN_NIGHTS else ""
        out.print(f"scheduled and not captured: {shown}{more}")


def _cells(point: TrendPoint, *, is_rate: bool) -> tuple[str, str]:
    if point.value is None:
        return "–", "–"
    value = f"{point.value:.1%}" if is_rate else f"{point.value:.4g}"
    if point.low is None or point.high is None:
        return value, "–"
    return value, f"{point.low:.1%} – {point.high:.1%}"
