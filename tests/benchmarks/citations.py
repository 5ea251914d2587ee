"""How well support tells supported claims from others on human labels, beside an earlier library on the same rows.

    python tests/benchmarks/citations.py DATA [--incumbent SITE_PACKAGES]

DATA holds support_gold*.jsonl. A partly supported claim counts as not supported. SITE_PACKAGES is where the reader put
the earlier library (``pip install --target SITE_PACKAGES spancheck==0.3.1``). Intervals: cluster bootstrap by group,
seeded, within each source; the macro mean and the paired differences are bootstrapped as wholes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from spancheck_pipeline.grading.support import DEFAULT_THRESHOLD, check_support

RAG = ("expertqa", "gensearch", "hagrid", "attrscore", "attributedqa")
OTHERS = ("begin-wow", "begin-cmu", "begin-tc", "wice")
REPEATS = 1000


def auroc(labels: Any, values: Any) -> float:
    ranks, n_yes = rankdata(values), labels.sum()
    return float((ranks[labels].sum() - n_yes * (n_yes + 1) / 2) / (n_yes * (len(labels) - n_yes)))


def balanced_accuracy(labels: Any, values: Any) -> float:
    said = values >= 0.5
    return float((said[labels].mean() + (~said)[~labels].mean()) / 2)


def ours(row: dict[str, Any]) -> tuple[float, bool]:
    support = check_support(row["claim"], row["evidence"], threshold=DEFAULT_THRESHOLD)
    return support.value or 0.0, bool(support.supported)


def incumbent(folder: str) -> Any:
    sys.path.append(folder)
    from spancheck import verify_citation

    def check(row: dict[str, Any]) -> tuple[float, bool]:
        text = "\n".join(row["evidence"])
        verdict = verify_citation({"claim": row["claim"], "span": text}, [text])
        return float(verdict.support), bool(verdict.claim_supported)

    return check


def resampled(groups: list[Any], labels: Any, rng: Any) -> Any:
    while True:
        chosen = np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))])
        if 0 < labels[chosen].sum() < len(chosen):
            return chosen


def figures(rows: list[dict[str, Any]], columns: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Return draws of every figure, the first of each being the figure itself: source → figure → values."""
    labels = np.array([row["label"] == "supported" for row in rows])
    rng = np.random.default_rng(11)
    result: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for source in (*RAG, *OTHERS):
        members: dict[str, list[int]] = defaultdict(list)
        for index, row in enumerate(rows):
            if row["source"] == source:
                members[row["group"]].append(index)
        groups = [np.array(block) for block in members.values()]
        if not groups:
            continue
        draws = [np.concatenate(groups), *(resampled(groups, labels, rng) for _ in range(REPEATS))]
        for chosen in draws:
            for name, (values, said) in columns.items():
                result[source][f"AUROC {name}"].append(auroc(labels[chosen], values[chosen]))
                result[source][f"BA {name}"].append(balanced_accuracy(labels[chosen], said[chosen]))
    for figure in result[RAG[0]]:
        result["macro of 5"][figure] = list(np.mean([result[source][figure] for source in RAG], axis=0))
    for by_figure in result.values():
        for kind in ("AUROC", "BA") if "incumbent" in columns else ():
            pairs = zip(by_figure[f"{kind} ours"], by_figure[f"{kind} incumbent"], strict=True)
            by_figure[f"{kind} difference"] = [left - right for left, right in pairs]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--incumbent", metavar="SITE_PACKAGES")
    arguments = parser.parse_args()
    files = sorted(arguments.data.glob("support_gold*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    checks = {"ours": ours} | ({"incumbent": incumbent(arguments.incumbent)} if arguments.incumbent else {})
    columns = {}
    for name, check in checks.items():
        pairs = [check(row) for row in rows]
        columns[name] = (np.array([value for value, _ in pairs]), np.array([float(said) for _, said in pairs]))
    for source, by_figure in figures(rows, columns).items():
        for figure, draws in by_figure.items():
            low, high = np.quantile(draws[1:], [0.025, 0.975])
            print(f"{source:14} {figure:18} {draws[0]:+.3f} [{low:+.3f}, {high:+.3f}]")


if __name__ == "__main__":
    main()
