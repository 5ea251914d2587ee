"""The legend: an answer's own list of sources, which is no claim, and what its numbers stand for.

Markers are read in ``citation.py``; which words they are for is said in ``claim.py``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from spancheck_pipeline.evidence.word import Span, remember

_LINE = re.compile(
    r"(?:\A|(?<=\n))[ \t]*(?:[-*][ \t]+)?"
    r"(?:\[\^?(?P<square>\d{1,3})\]:?|\((?P<round>\d{1,3})\)|(?P<bare>\d{1,3})[.)])[ \t]+"
    r"(?P<entry>[^\n]{1,400})"
)
_HEADING = (
    r"sources?|references?|citations?|footnotes|works cited|bibliography|quellen(?:angaben)?|"
    r"quellenverzeichnis|literatur|fu[ßs]+noten|références|fuentes|referencias|fonti|riferimenti|fontes|referências|"
    r"bronnen|referenties|källor|kilder|источники|参考文献|参考资料|来源|出典|참고"
)
_HEAD = re.compile(rf"(?:\A|\n)[ \t#*_]*(?:{_HEADING})[ \t]{{0,8}}[:：]?[ \t*_]{{0,8}}(?=\n)", re.IGNORECASE)
_ENTRY = re.compile(
    r"[ \t]*(?:(?:[-*+•·][ \t]+)?(?:\[\^?[^\[\]\n]{1,40}\]:?|\(\d{1,3}\)|\d{1,3}[.)]|[⁰¹²³⁴-⁹]+|[-*+•·]|"
    r"【[^【】\n]{1,60}】)[ \t]*\S[^\n]{0,600}+|<?https?://\S++[ \t]*)(?:\n|\Z)"
)
_DEFINITION = re.compile(r"(?:\A|(?<=\n))[ \t]*\[\^?[^\[\]\n]{1,40}\]:[ \t]*\S[^\n]*(?:\n|\Z)")
_NUMBERED = re.compile(
    r"[ \t]*(?:[-*+•·][ \t]+)?(?P<mark>\[\^?\d{1,3}\]|[⁰¹²³⁴-⁹]{1,3})[ \t]*[^\W\d_][^\n]{0,600}+(?:\n|\Z)"
)
_ONE_LINE = re.compile(
    rf"(?:\A|\n)[ \t*_-]{{0,8}}(?:{_HEADING})[*_]{{0,4}}[ ]?[:：][*_]{{0,4}}[ \t]+\S[^\n]{{0,600}}+(?:\n|\Z)",
    re.IGNORECASE,
)
_MARK = re.compile(r"\[(\^?\d[\d^,;–\- ]{0,60})\]|[⁰¹²³⁴-⁹]{1,3}")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_BLANK = re.compile(r"(?:[ \t*_-]*\n)*")
_BLOCK = re.compile(r"(?<=\n)[ \t*_-]*\n")


class Legend(NamedTuple):
    """The list of sources at the end of an answer."""

    entries: dict[str, str]
    """Number as written → the line's text."""
    start: int
    """Where it begins, in code points of the answer; what comes after is no claim."""


def legend_of(answer: str) -> Legend | None:
    r"""Return the numbered list of sources at the end of an answer, or None where there is none.

    It stands under a heading such as *Sources*, or is written as footnote definitions (``[1]: …``).

    >>> legend_of("It is 30 days (1).\n\nSources:\n(1) The lease").entries
    {'1': 'The lease'}
    """
    head = None
    for match in _HEAD.finditer(answer):
        head = match
    start = head.end() if head else 0
    lines = list(_LINE.finditer(answer, start))
    if head is None:
        lines = [line for line in lines if re.match(r"[ \t]*\[\^?\d{1,3}\]:", line.group())]
    if not lines:
        return None
    entries: dict[str, str] = {}
    for line in lines:
        entries.setdefault(line["square"] or line["round"] or line["bare"], line["entry"].strip())
    return Legend(entries, head.start() if head else lines[0].start())


@remember(1_000_000)
def legend_spans(answer: str) -> tuple[Span, ...]:
    r"""Return the ranges of an answer that list its sources, in order: what stands there is no claim.

    These are the entries under a heading such as *Sources*, a line that begins with *Sources:*, footnote definitions,
    and lines after an empty one that begin with a marker which the text before them has already used.

    >>> legend_spans("It is 30 days [1].\n\n[1] The lease")
    (Span(start=20, end=33),)
    """
    if "\n" not in answer:
        return ()
    found = [Span(*match.span()) for match in _DEFINITION.finditer(answer)] if "]:" in answer else []
    for head in _HEAD.finditer(answer):
        end = _entries(answer, head.end() + 1)
        if end > head.end() + 1:
            found.append(Span(head.start(), end))
    found += [Span(*match.span()) for match in _ONE_LINE.finditer(answer)] if ":" in answer or "：" in answer else []
    used: dict[str, int] | None = None
    for block in _BLOCK.finditer(answer):
        if _NUMBERED.match(answer, block.end()):
            used = _first_uses(answer) if used is None else used
            end = _repeated(answer, block.end(), used)
            if end > block.end():
                found.append(Span(block.end(), end))
    return _merged(found)


def _merged(spans: list[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def _entries(answer: str, at: int) -> int:
    """Return where the entries of a list of sources end that begins at a place."""
    while (match := _ENTRY.match(answer, _after_blank(answer, at))) is not None:
        at = match.end()
    return at


def _first_uses(answer: str) -> dict[str, int]:
    """Return where each number first stands in a marker."""
    used: dict[str, int] = {}
    for match in _MARK.finditer(answer):
        for number in re.findall(r"\d+", match.group().translate(_DIGITS)):
            used.setdefault(number, match.start())
    return used


def _repeated(answer: str, at: int, used: dict[str, int]) -> int:
    """Return where the lines end that begin with a marker which stands before them."""
    start = at
    while match := _NUMBERED.match(answer, at):
        number = match["mark"].translate(_DIGITS).strip("[]^")
        if used.get(number, start) >= start:
            break
        at = match.end()
    return at


def _after_blank(answer: str, at: int) -> int:
    match = _BLANK.match(answer, at)
    return match.end() if match else at
