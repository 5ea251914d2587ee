"""What every command prints with: a console, JSON on stdout, a problem on stderr.

Scorecards and decisions as tables live in ``show.py``.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from spancheck_pipeline.report.visible import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rich.console import Console


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def console() -> Console:
    """Return a console on stdout; where that is no terminal, 120 columns wide and without styles."""
    from rich.console import Console

    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120, highlight=False)


_NARROWEST = 24
"""Columns of a terminal to which a column of running text may be narrowed."""


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Collection[str] = (),
    wrapped: Collection[str] = (),
    indent: str = "",
) -> None:
    """Print rows of texts as a table; where the terminal is too narrow for it, each row as lines of its own.

    No cell is ever cut. The first column and those of ``left`` stand at the left, the others at the right; those of
    ``wrapped`` hold running text, which may go on in a further line.
    """
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    shown = [[visible(cell) for cell in row] for row in rows]
    out = console()
    if _width(columns, shown, wrapped) + len(indent) > out.width:
        for first, *rest in shown:
            said = " · ".join(f"{name} {cell}" for name, cell in zip(columns[1:], rest, strict=True) if cell)
            out.print(f"{indent}[bold]{escape(first)}[/bold]")
            out.print(Padding(escape(said), (0, 0, 0, len(indent) + 2), expand=False))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        is_left = not place or name in left or name in wrapped
        table.add_column(
            name if place else indent + name, justify="left" if is_left else "right", no_wrap=name not in wrapped
        )
    for first, *rest in shown:
        table.add_row(escape(indent + first), *map(escape, rest))
    out.print(table)


def _width(columns: Sequence[str], rows: Sequence[Sequence[str]], wrapped: Collection[str]) -> int:
    """Return how many columns of a terminal a table needs, two between its own."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, cells)) for cells in zip(columns, *rows, strict=True)]
    narrow = [min(n, _NARROWEST) if name in wrapped else n for name, n in zip(columns, widths, strict=True)]
    return sum(narrow) + 2 * (len(columns) - 1)


def say(problem: str) -> None:
    """Print a problem on stderr; what of it stands on further lines is set in, so that none looks like one of ours."""
    click.echo("spancheck: " + "\n  ".join(map(visible, problem.split("\n"))), err=True)
