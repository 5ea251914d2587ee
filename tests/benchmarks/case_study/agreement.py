"""Say where the scores of a case-study run and its human labels part, with clustered intervals and cases to look at.

    python tests/benchmarks/case_study/agreement.py DATA STORAGE/runs/RUN_ID [--examples 10]

``expertqa``: a claim holds by the grader if one of its citations does; by the expert if the support is complete.
Partial support is counted apart. ``rated``: an answer holds by ``groundedness``; by the annotators if most of them gave
3 or 4.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from spancheck_pipeline.stats import wilson_clustered


class Pair(NamedTuple):
    """One item that both a grader and people judged."""

    group: str
    system: str
    label: str
    """What people said."""
    holds: bool
    """What the grader said."""
    where: str
    reason: str


def claims_of_expertqa(answers: dict[str, dict[str, Any]], run: Path) -> Iterator[Pair]:
    """Yield the claims whose citations were measured, with the expert's word."""
    for row in _scores(run, "citation_accuracy"):
        answer = answers[row["case_id"]]
        by_claim = defaultdict(list)
        for finding in row["findings"]:
            if finding["kind"] == "citation" and finding["outcome"] in {"pass", "fail"}:
                place = int(finding["item"].removeprefix("citation[").removesuffix("]"))
                by_claim[answer["citations"][place]["claim"]].append(finding)
        for claim in answer["claims"]:
            found = by_claim.get(claim["claim"])
            if found and claim["support_label"] not in {None, "no_citation"} and answer["contexts"]:
                holds = any(finding["outcome"] == "pass" for finding in found)
                where = f"{row['case_id']} {found[0]['item']}"
                yield Pair(answer["group"], answer["system"], claim["support_label"], holds, where, found[0]["reason"])


def answers_of_rated(answers: dict[str, dict[str, Any]], run: Path) -> Iterator[Pair]:
    """Yield the answers whose groundedness was measured, with what most annotators said of their faithfulness."""
    for row in _scores(run, "groundedness"):
        answer = answers[row["case_id"]]
        if row["outcome"] in {"pass", "fail"}:
            label = answer["human"]["faithful_majority"]
            failed = [finding["reason"] for finding in row["findings"] if finding["outcome"] == "fail"]
            reason = failed[0] if failed else row["reason"]
            yield Pair(answer["group"], answer["system"], label, row["outcome"] == "pass", row["case_id"], reason)


def show(pairs: list[Pair], good: str, examples: int) -> None:
    """Print both rates of agreement, the systems, and items where grader and people part."""
    for label, n in Counter(pair.label for pair in pairs).most_common():
        print(f"{label:22} {n:5} items; the grader says that it holds: {_rate(pairs, label)}")
    for system in sorted({pair.system for pair in pairs}):
        of_system = [pair for pair in pairs if pair.system == system]
        by_grader = sum(pair.holds for pair in of_system) / len(of_system)
        by_people = sum(pair.label == good for pair in of_system) / len(of_system)
        print(f"{system:26} {len(of_system):4} items; hold by the grader {by_grader:.1%}, by people {by_people:.1%}")
    for title, holds, is_good in (("held by people only", False, True), ("held by the grader only", True, False)):
        print(f"\n{title}:")
        parted = [pair for pair in pairs if pair.holds is holds and (pair.label == good) is is_good]
        for pair in parted[:: max(1, len(parted) // max(1, examples))][:examples]:
            print(f"  {pair.where}: {pair.reason}")


def _rate(pairs: Iterable[Pair], label: str) -> str:
    passes: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for pair in pairs:
        if pair.label == label:
            sizes[pair.group] += 1
            passes[pair.group] += pair.holds
    groups = sorted(sizes)
    interval = wilson_clustered([passes[group] for group in groups], [sizes[group] for group in groups])
    rate = passes.total() / sizes.total()
    return f"{rate:.1%} [{interval.low:.1%}, {interval.high:.1%}], {len(groups)} groups" if interval else "none"


def _scores(run: Path, grader: str) -> list[dict[str, Any]]:
    folder = run / "scores" / f"grader={grader}"
    return [row for path in sorted(folder.glob("*.parquet")) for row in pq.ParquetFile(path).read().to_pylist()]


def main() -> None:
    """Read the arguments, join scores and labels, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the evaluation data")
    parser.add_argument("run", type=Path, help="folder of an ad-hoc run of expertqa or rated")
    parser.add_argument("--examples", type=int, default=10, help="how many items to show of each sort")
    arguments = parser.parse_args()
    suite = "expertqa" if arguments.run.name.startswith("expertqa") else "rated"
    lines = (arguments.data / f"captured_runs_{suite}.dev.jsonl").read_text(encoding="utf-8").splitlines()
    answers = {row["case_id"]: row for row in map(json.loads, lines)}
    if suite == "expertqa":
        show(list(claims_of_expertqa(answers, arguments.run)), "supported", arguments.examples)
    else:
        show(list(answers_of_rated(answers, arguments.run)), "faithful", arguments.examples)


if __name__ == "__main__":
    main()
