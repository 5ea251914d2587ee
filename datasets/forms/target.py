"""The form reader: transcribes small paper forms, without a key or a network.

``sheets/`` holds what a scanner saw: ``(x)`` is a clear mark, ``(?)`` a faint one, ``{smudged}`` what nobody can read.
The reader is wrong on purpose, in ways that real readers are; each is marked ``Flaw`` here, and README.md lists them.
Some of what it gets wrong changes from one reading to the next: a seed decides, so that every run is the same.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

VERSION = "0.9.2"
MODEL = "form-reader-demo"
SEED = 20240229

_SHEETS = Path(__file__).parent / "sheets"
_MOST_ROWS = 6
_SMUDGED = re.compile(r"\{smudged(?:: (?P<rest>[^}]*))?\}")
_MARK = re.compile(r"\((?P<mark>[x? ])\) (?P<label>\w+)")
_readings: Counter[str] = Counter()
_lock = threading.Lock()


def answer(question: dict[str, str]) -> dict[str, Any]:
    """Return what the reader makes of one sheet: a transcription, a JSON object, or one field in a sentence."""
    luck = _luck(question)
    sheet = (_SHEETS / f"{question['form']}.txt").read_text(encoding="utf-8").splitlines()
    fields = [line.split(": ", 1) for line in sheet if "|" not in line]
    table = [re.split(r" \| ", line) for line in sheet if "|" in line]
    task = question["task"]
    if task == "json":
        text = _json(fields, luck)
    elif task == "field":
        text = _sentence(question["field"], fields, luck)
    else:
        text = _transcription(fields, table, luck)
    return {
        "answer": text,
        "contexts": [{"source_id": question["form"], "text": "\n".join(sheet)}],
        "usage": {"input_tokens": 900 + len("\n".join(sheet)) // 4, "output_tokens": len(text) // 4 + 20},
        "finish_reason": "stop",
        "served_model": MODEL,
        "versions": {"prompt": "forms-3"},
    }


def _luck(question: dict[str, str]) -> random.Random:
    """Return what is different from one reading to the next. Every fifth reading of a question is the same again."""
    key = json.dumps(question, sort_keys=True)
    with _lock:
        _readings[key] += 1
        return random.Random(f"{SEED}/{key}/{_readings[key] % 5}")  # noqa: S311 - luck, no secret


def _transcription(fields: list[list[str]], table: list[list[str]], luck: random.Random) -> str:
    lines = [f"{name}: {_read(name, value, luck)}" for name, value in fields]
    if table:
        # Flaw: what stands below the sixth row of a table is left out.
        head, *rows = table[: _MOST_ROWS + 1]
        cells = [head, ["---"] * len(head), *rows]
        lines += ["", *(f"| {' | '.join(_unsmudged(cell, luck) for cell in row)} |" for row in cells)]
    return "\n".join(lines)


def _json(fields: list[list[str]], luck: random.Random) -> str:
    """Return the fields as JSON in a fence. Flaw: a field that stands twice is written twice."""
    pairs = []
    for name, value in fields:
        read: Any = _read(name, value, luck)
        options = {m["label"]: m["mark"] == "x" for m in _MARK.finditer(value)}
        # Flaw: a number that ends in 0 behind the point stays a text.
        number = float(read) if re.fullmatch(r"\d+(\.\d*[1-9])?", read) else None
        if number is not None:
            read = int(number) if number.is_integer() else number
        pairs.append(f"  {json.dumps(name.lower().replace(' ', '_'))}: {json.dumps(options or read)}")
    # Flaw: now and then a comma too many.
    end = "," if luck.random() < 0.15 else ""  # noqa: PLR2004 - a share of readings
    return "```json\n{\n" + ",\n".join(pairs) + end + "\n}\n```"


def _sentence(name: str, fields: list[list[str]], luck: random.Random) -> str:
    read = _read(name, dict(fields)[name], luck)
    return f"The {name.lower()} cannot be read." if "~~~" in read else f"The {name.lower()} is {read}."


def _read(name: str, value: str, luck: random.Random) -> str:
    if _MARK.search(value):
        return "  ".join(f"{_box(match['mark'], luck)} {match['label']}" for match in _MARK.finditer(value))
    if name == "Date":
        # Flaw: dots become slashes, and a day that was written first is read as a month.
        return value.replace(".", "/") if re.fullmatch(r"[\d.]+", value) else value
    # Flaw: codes are written in capitals.
    value = value.upper() if re.fullmatch(r"[A-Z]{2}-\d+/[a-z]", value) else value
    return _unsmudged(value, luck)


def _box(mark: str, luck: random.Random) -> str:
    """Return a box. Flaw: a faint mark is seen in some readings and not in others."""
    is_seen = mark == "x" or (mark == "?" and luck.random() < 0.6)  # noqa: PLR2004 - a share of readings
    return "[x]" if is_seen else "[ ]"


def _unsmudged(text: str, luck: random.Random) -> str:
    def read(match: re.Match[str]) -> str:
        rest = match["rest"] or ""
        if len(rest) >= 5:  # noqa: PLR2004 - letters that look like enough
            return rest + "vist" if rest.endswith("q") else rest + "lm"  # Flaw: what is half there is made up.
        # Flaw: what begins legibly is guessed now and then.
        if rest and luck.random() < 0.3:  # noqa: PLR2004 - a share of readings
            return rest + "5"
        return "~~~"

    return _SMUDGED.sub(read, text)
