"""How well groundedness tells faithful answers from others, on human ratings, beside an earlier grader and a human.

    python tests/benchmarks/groundedness.py DATA [--incumbent SITE_PACKAGES]

DATA holds hallucination_gold.*.jsonl and, for the reasons that raters gave, captured_runs_rated.*.jsonl. Answers that
the grader does not measure (they decline) are counted and left out on both sides. Intervals: cluster bootstrap by
group, seeded; Wilson for the shares of a kind of failure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from spancheck_pipeline import stats
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.graders.groundedness import Groundedness
from spancheck_pipeline.grading.score import Outcome, Score

Row = dict[str, Any]
REPEATS = 2000


def graded(row: Row) -> Score:
    case = Case(row["id"], row["question"] or "?")
    output = Output.model_validate({"answer": row["answer"], "contexts": [row["source_text"]]})
    captured = CapturedRow(case_id=case.id, question_digest=case.question_digest, output=output)
    return Groundedness().grade(Evidence(case=case, output=output, row=captured))


def bootstrap(
    metric: Callable[[Any, Any], float], labels: Sequence[Any], values: Sequence[Any], groups: Sequence[str]
) -> str:
    y, x = np.asarray(labels), np.asarray(values)
    members = defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    blocks = [np.asarray(block) for block in members.values()]
    rng = np.random.default_rng(11)
    draws = []
    for _ in range(REPEATS):
        chosen = np.concatenate([blocks[i] for i in rng.integers(len(blocks), size=len(blocks))])
        if len(set(y[chosen])) > 1:
            draws.append(metric(y[chosen], x[chosen]))
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{metric(y, x):.3f} [{low:.3f}, {high:.3f}]"


def human_ceiling(data: Sequence[Row]) -> str:
    """AUROC of one annotator's rating against the others: faithful when at least half of them gave 3 or 4."""
    values, labels, groups = [], [], []
    for row in data:
        ratings = row["ratings"] or []
        for i, rating in enumerate(ratings):
            others = [other for j, other in enumerate(ratings) if j != i]
            if len(others) >= 2:
                labels.append(sum(other >= 3 for other in others) * 2 >= len(others))
                values.append(rating)
                groups.append(row["group"])
    return bootstrap(roc_auc_score, labels, values, groups) if len(set(labels)) > 1 else "not enough annotators"


def earlier(site_packages: str) -> Callable[[Row], float]:
    sys.path.insert(0, site_packages)
    from spancheck.graders import groundedness

    grade = groundedness()
    return lambda row: float(grade(None, {"answer": row["answer"], "contexts": [row["source_text"]]}).score)


def reasons_by_id(folder: Path) -> dict[str, list[str]]:
    """Return why each rater took an answer for unfaithful, by the answer's id; only one of the sources asks."""
    rows = [json.loads(line) for path in folder.glob("captured_runs_rated.*.jsonl") for line in path.open("rb")]
    return {row["case_id"]: row["human"].get("faithfulness_reason") or [] for row in rows}


def kinds(row: Row, reasons: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the kinds of failure that a row is of, in the gold's own words; two of three raters make a kind."""
    said = reasons.get(row["id"], ())
    n_whole, n_partial = (sum(reason.startswith(word) for reason in said) for word in ("Unfaithful", "Partially"))
    if any(said):
        yield "reason: " + (
            "unfaithful to passage"
            if n_whole >= 2
            else "partially faithful to passage"
            if n_whole + n_partial >= 2
            else "other, or raters differ"
        )
    else:
        yield "reason: not asked"
    n_no = sum(rating == 1 for rating in row["ratings"])
    yield "rated: " + ("1 (no) by most" if n_no >= 2 else "2 (rather no) by most, or mixed")
    yield f"question: {row['meta']['answerability'].lower()}"
    yield "system: " + ("a person" if row["system"] == "human_reference" else "a model")
    yield "all"


def by_kind(pairs: Sequence[tuple[Row, Score]], reasons: Mapping[str, Sequence[str]]) -> None:
    """Print, per kind of failure, how many answers fail, and how many have a sentence that is flagged."""
    found: dict[str, list[Score]] = defaultdict(list)
    for row, score in pairs:
        if row["label"] == "not_faithful":
            for kind in kinds(row, reasons):
                found[kind].append(score)
    print("| kind | n | fail | at least one sentence flagged | one contradicted | median value |\n" + "|---" * 6 + "|")
    for kind, scores in sorted(found.items()):
        measured = [score for score in scores if score.value is not None]
        flags = [
            sum(score.outcome is Outcome.FAIL for score in measured),
            sum(any(f.outcome is Outcome.FAIL for f in score.findings) for score in measured),
            sum(any(f.grade == "contradicted" for f in score.findings) for score in measured),
        ]
        shares = [share(n, len(measured)) for n in flags]
        middle = float(np.median([score.value for score in measured])) if measured else float("nan")
        print(f"| {kind} | {len(measured)} of {len(scores)} | {' | '.join(shares)} | {middle:.2f} |")


def share(n: int, of: int) -> str:
    interval = stats.wilson(n, of)
    return f"{n} of {of} [{interval.low:.2f}, {interval.high:.2f}]" if interval else "–"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--incumbent")
    options = parser.parse_args()
    paths = sorted(options.data.glob("hallucination_gold.*.jsonl"))
    everything = [json.loads(line) for path in paths for line in path.open(encoding="utf-8")]
    pairs = [(row, graded(row)) for row in everything]
    print(Counter((row["label"], score.outcome.value) for row, score in pairs))
    by_kind(pairs, reasons_by_id(options.data))
    data = [row for row, score in pairs if score.value is not None]
    scores = [score for _, score in pairs if score.value is not None]
    groups = [row["group"] for row in data]
    faithful = [row["label"] == "faithful" for row in data]
    values = [score.value for score in scores]
    print("AUROC ours", bootstrap(roc_auc_score, faithful, values, groups))
    passes = [score.outcome is not Outcome.FAIL for score in scores]
    clean = [not any(finding.outcome is Outcome.FAIL for finding in score.findings) for score in scores]
    print("balanced accuracy, grader passes   ", bootstrap(balanced_accuracy_score, faithful, passes, groups))
    print("balanced accuracy, nothing unsupported", bootstrap(balanced_accuracy_score, faithful, clean, groups))
    if options.incumbent:
        grade = earlier(options.incumbent)
        old = [grade(row) for row in data]
        print("AUROC incumbent", bootstrap(roc_auc_score, faithful, old, groups))
        passed = [value >= 0.6 for value in old]
        print("balanced accuracy incumbent", bootstrap(balanced_accuracy_score, faithful, passed, groups))
    print("AUROC of one annotator against the others", human_ceiling(everything))
    for source in sorted({row["source"] for row in data}):
        kept = [i for i, row in enumerate(data) if row["source"] == source]
        part = [[column[i] for i in kept] for column in (faithful, values, groups)]
        print(f"AUROC ours, {source}", bootstrap(roc_auc_score, *part))


if __name__ == "__main__":
    main()
