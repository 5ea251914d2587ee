"""Precision and recall of the finder of personal data, kind by kind, on a labelled set of texts.

    python tests/benchmarks/pii.py [FILE]             # default: the tests' own set

FILE is JSONL: `text` and `found`, a list of [start, end, kind]. A find counts when place and kind are right. Intervals:
Wilson.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from spancheck_pipeline.grading.pii import find_pii
from spancheck_pipeline.stats import wilson

OWN = Path(__file__).parents[1] / "grading" / "pii_texts.jsonl"


def share(hits: int, n: int) -> str:
    bounds = wilson(hits, n)
    return f"{hits}/{n} [{bounds.low:.2f}, {bounds.high:.2f}]" if bounds else "–"


def main(path: Path) -> None:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    wanted, found, right = Counter[str](), Counter[str](), Counter[str]()
    alarms = 0
    for row in rows:
        expected = {tuple(item) for item in row["found"]}
        got = {(item.start, item.end, item.kind) for item in find_pii(row["text"])}
        wanted.update(kind for *_, kind in expected)
        found.update(kind for *_, kind in got)
        right.update(kind for *_, kind in expected & got)
        alarms += bool(got) and not expected
    print("| kind | recall | precision |\n|---|---|---|")
    for kind in sorted(wanted | found, key=lambda kind: (-wanted[kind], kind)):
        print(f"| {kind} | {share(right[kind], wanted[kind])} | {share(right[kind], found[kind])} |")
    print(f"| all | {share(right.total(), wanted.total())} | {share(right.total(), found.total())} |")
    negatives = sum(not row["found"] for row in rows)
    print(f"\ntexts without personal data that raise an alarm: {share(alarms, negatives)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else OWN)
