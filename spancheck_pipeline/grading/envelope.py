"""The envelope: what a system wraps its answer in, and the answer that is left without it.

Unwrapped are one JSON object with an answer in it, a code fence around the whole, reasoning blocks and answer tags.
What the answer then says is asked elsewhere (``abstention.py``).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

ANSWER_KEYS: Final = ("answer", "final_answer", "response", "output", "result", "reply", "text", "content", "message")
"""Names under which a JSON object holds its answer; the first one that it has counts."""

_THOUGHTS: Final = "think|thinking|thought|thoughts|reasoning|scratchpad|analysis|reflection"
_THOUGHT: Final = re.compile(rf"<(/?)(?:{_THOUGHTS})>", re.IGNORECASE)
_ANSWER: Final = re.compile(r"<(/?)(?:final_?answer|answer|response)>", re.IGNORECASE)
_TICKS: Final = "```"
_STRING: Final = r'"((?:[^"\\]|\\.)*+)"'
_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)


def unwrapped(text: str) -> str:
    r"""Return a text of the same length in which all but the answer itself is blank. Linear in the text.

    Where the answer is empty or ``null``, nothing is left. A text without an envelope comes back as it is.

    >>> unwrapped('{"answer": "No idea.", "sources": [1]}').split()
    ['No', 'idea.']
    >>> unwrapped("<think>The lease says a lot.</think>I don't know.").strip()
    "I don't know."
    """
    if "<" in text:
        text = _within_tags(_without_thoughts(text))
    if "```" in text:
        text = _within_fence(text)
    return _answer_of_json(text) if text.lstrip()[:1] == "{" else text


def _without_thoughts(text: str) -> str:
    """Blank out reasoning blocks; a closing tag whose opening one is missing ends a block from the start."""
    pieces: list[str] = []
    kept = 0
    opened: int | None = None
    for tag in _THOUGHT.finditer(text):
        if not tag[1]:
            opened = tag.start() if opened is None else opened
            continue
        start = kept if opened is None else opened
        pieces += [text[kept:start], " " * (tag.end() - start)]
        kept, opened = tag.end(), None
    return "".join([*pieces, text[kept:]]) if pieces else text


def _within_tags(text: str) -> str:
    """Keep what stands in the last pair of answer tags, where there is one."""
    opened: int | None = None
    found: tuple[int, int] | None = None
    for tag in _ANSWER.finditer(text):
        if not tag[1]:
            opened = tag.end()
        elif opened is not None:
            found, opened = (opened, tag.start()), None
    return text if found is None else _only(text, *found)


def _within_fence(text: str) -> str:
    """Keep the body of the one code fence that a whole text stands in, where it does."""
    parts = text.split(_TICKS)
    if len(parts) != 3 or parts[0].strip() or parts[2].strip() or "\n" not in parts[1]:  # noqa: PLR2004 - one fence
        return text
    start = len(parts[0]) + len(_TICKS) + parts[1].index("\n")
    return _only(text, start, len(parts[0]) + len(_TICKS) + len(parts[1]))


def _answer_of_json(text: str) -> str:
    """Keep the answer that a JSON object names, with its escapes blanked; one that is no text leaves all as it is."""
    try:
        parsed: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    key = next((key for key in ANSWER_KEYS if key in parsed), None)
    if key is None:
        return text
    answer = parsed[key]
    if answer is None or answer in ("", [], {}):
        return " " * len(text)
    if not isinstance(answer, str):
        return text
    for match in re.finditer(rf'"{key}"\s*:\s*{_STRING}', text):
        if _said(match[1]) == answer:
            return _ESCAPE.sub(_plain, _only(text, *match.span(1)))
    return text


def _said(literal: str) -> str | None:
    """Return what a JSON string says; None for a piece of one that is no string."""
    try:
        said: str = json.loads(f'"{literal}"', strict=False)
    except ValueError:
        return None
    return said


def _plain(escape: re.Match[str]) -> str:
    """Return what stands for an escape at the same length: its character, and blanks."""
    said = json.loads(f'"{escape[0]}"', strict=False)
    return str(said).ljust(len(escape[0])) if len(said) == 1 else " " * len(escape[0])


def _only(text: str, start: int, end: int) -> str:
    return " " * start + text[start:end] + " " * (len(text) - end)
