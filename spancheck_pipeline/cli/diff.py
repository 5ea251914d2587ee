"""``spancheck diff``: two runs, case by case."""

from __future__ import annotations

from typing import Any

import click

from spancheck_pipeline.cli.options import json_option, load_run, open_project, regrade_option, regraded


@click.command()
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidate", metavar="CANDIDATE")
@regrade_option
@json_option
def diff(baseline: str, candidate: str, *, regrade: bool, as_json: bool) -> int:
    """Compare CANDIDATE with BASELINE: each is SUITE@DATE or an audit log's file.

    Cases are paired by id and question. Exit code 3 when they share none.
    """
    from spancheck_pipeline.api.comparing import diff as compare
    from spancheck_pipeline.cli import show

    environment, store = open_project()
    runs = [load_run(environment, store, what, None) for what in (baseline, candidate)]
    if regrade:
        runs = regraded(environment, candidate, *runs)
    pairs = compare(*runs)
    if as_json:
        show.print_json(pairs)
    else:
        _print(pairs)
    return 0


def _print(pairs: dict[str, dict[str, Any]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from spancheck_pipeline.cli.show import console, safe

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("grader")
    for column in ("baseline", "candidate", "difference", "shared cases", "newly failing", "newly passing"):
        table.add_column(column, justify="right")
    for name, pair in pairs.items():
        rates = [pair["baseline"], pair["current"], pair["delta"]]
        shown = ["–" if rate is None else f"{rate:+.1%}" if i == 2 else f"{rate:.1%}" for i, rate in enumerate(rates)]  # noqa: PLR2004 - the third is the difference
        table.add_row(
            name, *shown, str(pair["n_shared"]), str(len(pair["newly_failing"])), str(len(pair["newly_passing"]))
        )
    out = console()
    out.print(table)
    for name, pair in pairs.items():
        for key in ("newly_failing", "newly_passing"):
            if pair[key]:
                ids = ", ".join(pair[key][:20]) + (" …" if len(pair[key]) > 20 else "")  # noqa: PLR2004 - a screenful
                out.print(f"{name} {key.replace('_', ' ')}: {escape(safe(ids))}")
