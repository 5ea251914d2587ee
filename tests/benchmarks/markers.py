"""How the markers importer's claim–source pairs agree with those that a recorded file states.

    python tests/benchmarks/markers.py DATA

DATA holds captured_runs_expertqa.*.jsonl. Claims are compared without markers, punctuation and case.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from spancheck_pipeline.evidence.payloads import read_payload

Pair = tuple[str, str | None]


def bare(text: str) -> str:
    return re.sub(r"\W+", " ", re.sub(r"\[\d+(?:, ?\d+)*\]", " ", text).lower()).strip()


def found_pairs(row: dict[str, Any]) -> set[Pair]:
    output = read_payload({"answer": row["answer"], "contexts": row["contexts"]}, "markers")
    assert output is not None
    return {(bare(output.answer[c.answer_start : c.answer_end]), c.source_id) for c in output.citations}


def overlaps(one: str, other: str) -> bool:
    """Say whether one claim lies inside the other, or shares most of the shorter one's words."""
    if one in other or other in one:
        return True
    words, others = set(one.split()), set(other.split())
    return len(words & others) >= 0.6 * min(len(words), len(others))


def tally(row: dict[str, Any], counts: Counter[str]) -> None:
    stated = {(bare(citation["claim"]), str(citation["source_id"])) for citation in row["citations"]}
    claims = " | ".join(bare(claim["claim"]) for claim in row["claims"])
    found = found_pairs(row)
    for claim, source in stated - found:
        is_cut_elsewhere = any(source == name and overlaps(claim, other) for other, name in found)
        counts["stated: same source, claim cut elsewhere" if is_cut_elsewhere else "stated: not found"] += 1
    for claim, source in found - stated:
        if any(source == name and overlaps(claim, other) for other, name in stated):
            counts["found: same source, claim cut elsewhere"] += 1
        else:
            is_claim = claim in claims
            counts[
                "found only: among the file's claims" if is_claim else "found only: not among the file's claims"
            ] += 1
    counts["the same claim and source"] += len(stated & found)


def main(folder: Path) -> None:
    counts: Counter[str] = Counter()
    for path in sorted(folder.glob("captured_runs_expertqa.*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            tally(json.loads(line), counts)
    for name, n in sorted(counts.items()):
        print(f"{n:6} {name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
