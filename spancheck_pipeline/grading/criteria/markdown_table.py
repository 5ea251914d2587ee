"""Markdown tables in an answer, and how many body rows they have, as GitHub's flavour of Markdown reads them.

A table is a header line and a line of dashes with as many cells; its rows go on to the first blank line or the next
block. Cells that run on over columns or rows make no row more or less: a row is a line.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spancheck_pipeline.grading.criteria.fence import fences, wrapping
from spancheck_pipeline.grading.criteria.result import Held

_INDENT: Final = re.compile(r"[ \t>]*")
_BULLET: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_DASHES: Final = re.compile(r"\|?:?-+:?(?:\|:?-+:?)*\|?\Z")
_BLOCK: Final = re.compile(r"#{1,6}(?:[ \t]|\Z)|`{3,}|~{3,}|>|(?:[-*+]|\d{1,9}[.)])[ \t]+(?![-:|])|<[a-zA-Z/!]|\Z")
_MARKDOWN: Final = frozenset({"markdown", "md"})


class Table(NamedTuple):
    """One table: its columns, and its body rows."""

    n_columns: int
    n_rows: int


def has_rows(answer: str, wanted: int, *, which: int | None = None) -> Held:
    r"""Return whether the answer's table has so many body rows; header and separator are not counted.

    >>> has_rows("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 |", 2).code
    'held'
    """
    found = tables(answer)
    if not found:
        return Held.no("no_table", "The answer holds no Markdown table.")
    if which is None and len(found) > 1:
        return Held.no("several_tables", f"The answer holds {len(found)} tables, and one is wanted.")
    if which is not None and which > len(found):
        return Held.no("no_table", f"The answer holds {len(found)} tables, and number {which} is wanted.")
    n = found[(which or 1) - 1].n_rows
    if n == wanted:
        return Held.yes(f"The table has {n} body rows.")
    return Held.no("other_rows", f"The table has {n} body rows, and {wanted} are wanted.")


def tables(text: str) -> tuple[Table, ...]:
    r"""Return the tables of a text, in order. Code is no table, but for a fence that is marked as Markdown.

    >>> tables("| a |\n|---|\n\n| b \\| c | d |\n| --- | --- |\n| 1 | 2 |")
    (Table(n_columns=1, n_rows=0), Table(n_columns=2, n_rows=1))
    """
    lines = _outside_code(text.splitlines())
    found = []
    at = 0
    while at + 1 < len(lines):
        header, dashes = _bare(lines[at], first=True), _bare(lines[at + 1])
        n = _n_cells(header)
        if not header or not _is_separator(dashes) or _n_cells(dashes) != n or "|" not in header + dashes:
            at += 1
            continue
        end = at + 2
        while end < len(lines) and not _BLOCK.match(_bare(lines[end])):
            end += 1
        # A second line of dashes divides the body; it holds nothing.
        found.append(Table(n, sum(not _is_separator(_bare(line)) for line in lines[at + 2 : end])))
        at = end
    return tuple(found)


def _outside_code(lines: list[str], *, is_within: bool = False) -> list[str]:
    """Return lines with those of code emptied; a fence of Markdown, or one around everything, is seen through once."""
    kept = list(lines)
    found = fences(lines)
    around = wrapping(found, lines)
    for fence in found:
        body = fence.body(lines)
        is_markdown = not is_within and (fence.info in _MARKDOWN or (not fence.info and fence is around))
        end = min(fence.closing + 1, len(lines))
        shown = _outside_code(body, is_within=True) if is_markdown else [""] * len(body)
        kept[fence.opening : end] = ["", *shown, ""][: end - fence.opening]
    return kept


def _bare(line: str, *, first: bool = False) -> str:
    """Return a line without indentation and quote marks; a table may begin on the line of a list's bullet."""
    line = _INDENT.sub("", line, count=1).rstrip()
    return _BULLET.sub("", line, count=1) if first and "|" in line else line


def _is_separator(line: str) -> bool:
    # Blanks are taken out first: a pattern that allows them everywhere would try each of them twice.
    return bool(line) and _DASHES.match(line.replace(" ", "").replace("\t", "")) is not None


def _n_cells(line: str) -> int:
    """Count the cells of a line; an escaped bar stands within its cell."""
    inner = line.replace("\\\\", "").replace("\\|", "").strip()
    return len(inner.removeprefix("|").removesuffix("|").split("|")) if inner else 0
