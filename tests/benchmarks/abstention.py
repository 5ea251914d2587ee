"""How well declining is told from answering, on labelled answers, beside an earlier detector.

    python tests/benchmarks/abstention.py DATA [--cases FILE] [--incumbent SITE_PACKAGES]

DATA holds abstention_gold.*.jsonl, abstention_partial.*.jsonl and refusal_gold.*.jsonl. FILE holds single texts with
what `abstained` must be (true, false, null). With --incumbent, the folder where spancheck 0.3.1 is installed is read
too. Intervals: Wilson.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from spancheck_pipeline.grading.abstention import detect_abstention
from spancheck_pipeline.stats import wilson

Row = dict[str, Any]


def rows(folder: Path, name: str) -> list[Row]:
    return [json.loads(line) for path in sorted(folder.glob(f"{name}.*.jsonl")) for line in path.open(encoding="utf-8")]


def interval(hits: int, n: int) -> str:
    bounds = wilson(hits, n)
    return f"{hits}/{n} = {hits / n:.3f} [{bounds.low:.3f}, {bounds.high:.3f}]" if bounds else "nothing"


def measure(gold: Iterable[Row], says: Callable[[str], bool]) -> str:
    table = Counter((bool(row["abstained"]), says(row["text"])) for row in gold)
    true, missed, false = table[True, True], table[True, False], table[False, True]
    return f"recall {interval(true, true + missed)}; precision {interval(true, true + false)}"


def kinds(data: Iterable[Row], by: str) -> None:
    table: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in data:
        table[row[by]][detect_abstention(row["text"]).kind] += 1
    for value, counts in sorted(table.items(), key=str):
        print(f"  {by}={value}: {dict(counts.most_common())}")


def earlier(site_packages: str) -> Callable[[str], bool]:
    sys.path.insert(0, site_packages)
    from spancheck.graders import abstained_flag

    return lambda text: bool(abstained_flag(text))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--incumbent")
    options = parser.parse_args()
    gold = rows(options.data, "abstention_gold")
    print("abstention_gold  ours:     ", measure(gold, lambda text: detect_abstention(text).abstained is True))
    if options.incumbent:
        print("abstention_gold  incumbent:", measure(gold, earlier(options.incumbent)))
    if options.cases:
        asked = [json.loads(line) for line in options.cases.open(encoding="utf-8")]
        wrong = [row["id"] for row in asked if detect_abstention(row["text"]).abstained is not row["abstained"]]
        print(f"cases            ours:      {len(asked) - len(wrong)} of {len(asked)} right {wrong or ''}")
        if options.incumbent:
            says = earlier(options.incumbent)
            right = sum(says(row["text"]) is row["abstained"] for row in asked)
            print(f"cases            incumbent: {right} of {len(asked)} right")
    print("abstention_partial, by kind")
    kinds(rows(options.data, "abstention_partial"), "kind")
    print("refusal_gold, by label")
    kinds(rows(options.data, "refusal_gold"), "refused")


if __name__ == "__main__":
    main()
