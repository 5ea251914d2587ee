"""Options of a form, and which of them an answer marks: ``[x] Yes``, ``☑ Yes``, ``Yes (circled)``, ``Selected: Yes``.

A mark belongs to the whole label beside it, so that "No" is not marked by "[x] No later than May".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import dropwhile, takewhile
from typing import Final

from spancheck_pipeline.grading.criteria.result import Held
from spancheck_pipeline.grading.criteria.wording import folded

_BOX: Final = re.compile(
    r"(?P<on>\[[xX✓✔✗✘•*]\]|\([xX✓✔•●*]\)|[☑☒✅✓✔●◉⦿🔘⭕])"
    r"|(?P<off>\[[ \t_]{0,3}\]|\([ \t_]{0,3}\)|[☐□○◯◻⬜])"
)
_WORD: Final = r"(?:circled|selected|checked|ticked|marked|chosen|crossed)"
_AFTER: Final = re.compile(
    rf"[ \t]*(?:[\[(][ \t]*|[-\u2013\u2014:\u2190][ \t]*|\b(?:is|was|has[ ]been)[ ])"
    rf"(?P<off>not[ ]|un)?(?:clearly[ ]|hand-?)?{_WORD}\b[ \t]*[\])]?",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(
    rf"(?<!\w)(?P<off>not[ ]|un)?{_WORD}(?:[ ](?:option|answer|choice|box|value))?"
    r"(?:[ \t]*(?::|=|\bis\b|\bas\b)[ \t]*|[ ](?=[\"“‘]))",
    re.IGNORECASE,
)
_PART: Final = re.compile(r"[|;\t\n\r]|[ ]{2,}|[ ][/][ ]|,[ ](?=[\[(☐☑☒✓✔○●◯◉])")
"""Where one option's label ends and the next begins."""
_BULLET: Final = re.compile(r"\s*(?:>\s?)*(?:[-*+]\s+|\d{1,4}[.)]\s+)?")
_TRIM: Final = " \t*_`~\"'“”‘’.,:<>!"
_MOST_OPTIONS: Final = 50
"""Lines below a question that can be its options."""
_LONGEST: Final = 2_000
"""Characters of a label; a longer one is no option of a form."""


def is_marked(answer: str, option: str, *, region: str | None = None) -> Held:
    r"""Return whether an answer marks an option, and nowhere says that it is not marked.

    With a ``region``, only what stands beside or below that label counts.

    >>> is_marked("- [ ] Yes\n- [x] No", "no").code, is_marked("Yes / No (circled)", "Yes").code
    ('held', 'not_marked')
    """
    wanted = _label(option)
    if region is not None:
        found = _beside(answer, folded(region))
        if not found:
            return Held.no("no_region", "The answer does not name the region.")
        answer = "\n".join(found)
    said = {is_on for label, is_on in _marks(answer) if label == wanted}
    if said == {True}:
        return Held.yes("The option is marked.")
    if said == {True, False}:
        return Held.no("marked_both_ways", "The option is marked in one place and not in another.")
    if said == {False}:
        return Held.no("not_marked", "The option stands there unmarked.")
    if wanted in folded(answer):
        return Held.no("not_marked", "The option is named, and nothing marks it.")
    return Held.no("no_option", "The answer does not name the option.")


def _beside(answer: str, label: str) -> list[str]:
    """Return the lines that name a label, and where no mark stands there, the marked lines below."""
    whole = re.compile(rf"(?<!\w){re.escape(label)}(?!\w)")
    lines = answer.splitlines()
    found = []
    for number, line in enumerate(lines):
        if whole.search(folded(line)) is None:
            continue
        found.append(line)
        if not _has_mark(line):
            below = dropwhile(lambda other: not other.strip(), lines[number + 1 : number + 1 + _MOST_OPTIONS])
            found += takewhile(_has_mark, below)
    return found


def _has_mark(line: str) -> bool:
    line = line[:_LONGEST]
    return _BOX.search(line) is not None or _AFTER.search(line) is not None


def _marks(answer: str) -> Iterator[tuple[str, bool]]:
    """Yield each label that a mark stands at, with whether the mark says yes."""
    for part in _PART.split(unicodedata.normalize("NFC", answer)):
        if not part or len(part) > _LONGEST:
            continue
        text = part[_BULLET.match(part).end() :]  # type: ignore[union-attr]  # it matches the empty text
        boxes = list(_BOX.finditer(text))
        if boxes:
            yield from _boxed(text, boxes)
        else:
            yield from _worded(text)


def _boxed(text: str, boxes: list[re.Match[str]]) -> Iterator[tuple[str, bool]]:
    """Yield the label after each box; a box at the end of its part stands after its label."""
    if text[boxes[-1].end() :].strip(_TRIM) == "" and text[: boxes[0].start()].strip(_TRIM):
        starts = [0, *(box.end() for box in boxes)]
        for start, box in zip(starts, boxes, strict=False):
            yield _label(text[start : box.start()]), box["on"] is not None
        return
    ends = [*(box.start() for box in boxes[1:]), len(text)]
    for box, end in zip(boxes, ends, strict=True):
        label = text[box.end() : end]
        word = _AFTER.search(label)
        yield _label(label[: word.start()] if word else label), box["on"] is not None


def _worded(text: str) -> Iterator[tuple[str, bool]]:
    before = _BEFORE.search(text)
    if before:
        for label in re.split(r"[,.](?:\s|\Z)|\band\b", text[before.end() :]):
            yield _label(label), before["off"] is None
    for after in _AFTER.finditer(text):
        # What stands since the last comma, quotation mark or opening word is the label.
        head = re.split(r"[,:]\s|[“\"‘]", text[: after.start()].rstrip("”\"’' *_"))[-1]
        label = re.sub(r"^.*\b(?:option|answer|box|choice)\s+", "", head, flags=re.IGNORECASE | re.DOTALL)
        for name in {head, label}:
            yield _label(name), after["off"] is None


def _label(text: str) -> str:
    """Return a label as it is compared: without case, emphasis, quotation marks, or the word that leads on."""
    return re.sub(r"\s(?:and|or)$", "", folded(text).strip(_TRIM)).strip(_TRIM)
