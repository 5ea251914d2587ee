"""Code fences of a Markdown text, line by line: three or more backticks or tildes, up to a line that closes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_FENCE: Final = re.compile(r"[ \t>]*(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)\Z")


class Fence(NamedTuple):
    """One fence, by 0-based lines."""

    opening: int
    closing: int
    """Line after its body: the closing one, or the number of lines where nothing closes it."""
    mark: str
    info: str
    """First word after the opening, in lower case: ``json``, ``markdown``; empty where there is none."""

    def body(self, lines: Sequence[str]) -> list[str]:
        """Return the lines within."""
        return list(lines[self.opening + 1 : self.closing])


def fences(lines: Sequence[str]) -> tuple[Fence, ...]:
    """Return the fences of a text's lines, in order. One that nothing closes goes on to the end, as CommonMark has it.

    >>> fences(["```json", "{}", "```", "x"])
    (Fence(opening=0, closing=2, mark='```', info='json'),)
    """
    found = []
    opening, mark, info = -1, "", ""
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if match is None:
            continue
        if not mark:
            opening, mark, info = number, match["mark"], next(iter(match["info"].lower().split()), "")
        elif not match["info"].strip() and match["mark"].startswith(mark):
            found.append(Fence(opening, number, mark, info))
            mark = ""
    if mark:
        found.append(Fence(opening, len(lines), mark, info))
    return tuple(found)


def wrapping(found: Sequence[Fence], lines: Sequence[str]) -> Fence | None:
    """Return the fence that a whole text stands in: the only one, closed, with nothing before or after it."""
    if len(found) != 1 or found[0].closing == len(lines):
        return None
    around = (*lines[: found[0].opening], *lines[found[0].closing + 1 :])
    return None if any(line.strip() for line in around) else found[0]
