"""Say where the scores of a case-study run and its human labels part, with clustered intervals and cases to look at.

    python tests/benchmarks/case_study/agreement.py DATA STORAGE/runs/RUN_ID [--examples 10]

The suite is told by the run's id, which starts with its name. What is laid side by side:

- ``expertqa``, support: a claim holds by the grader if one of its citations does; by the expert if the support is
  complete (partial support is shown apart).
- ``expertqa``, citing: a claim is uncited by the grader if a sentence of its words is; by the expert if the support is
  "missing".
- ``rated``: an answer holds by ``groundedness``; by the annotators if most of them gave 3 or 4. Then the same with
  "has no unsupported sentence".
- ``clapnq``: an answer holds by ``citation_accuracy``; by the label if it quotes a sentence that people chose.

Examples are shown in the order of a digest of their ids, so that nobody chooses them. What one reader made of such
examples stands in ``read_by_hand.csv``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha1
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.stats import rankdata

from spancheck_pipeline.evidence.citation import strip_markers
from spancheck_pipeline.stats import wilson_clustered

Rows = Mapping[str, dict[str, Any]]


class Pair(NamedTuple):
    """One item that both a grader and people judged."""

    group: str
    system: str
    label: str
    """What people said."""
    holds: bool
    """What the grader said."""
    value: float
    """The grader's value, in [0, 1]."""
    where: str
    reason: str


def claims_of_expertqa(answers: Rows, run: Path) -> Iterator[Pair]:
    """Yield the claims whose citations were measured, with the expert's word on their support."""
    for row in _rows(run / "scores" / "grader=citation_accuracy"):
        answer = answers[row["case_id"]]
        by_claim = defaultdict(list)
        for finding in row["findings"]:
            if finding["item"].startswith("citation[") and finding["outcome"] in {"pass", "fail"}:
                place = int(finding["item"].removeprefix("citation[").removesuffix("]"))
                by_claim[answer["citations"][place]["claim"]].append(finding)
        for claim in answer["claims"]:
            found = by_claim.get(claim["claim"])
            if found and claim["support_label"] not in {None, "no_citation"} and answer["contexts"]:
                holds = any(finding["outcome"] == "pass" for finding in found)
                value = max(finding["value"] or 0.0 for finding in found)
                where = f"{row['case_id']} {found[0]['item']}"
                people = (answer["group"], answer["system"], claim["support_label"])
                yield Pair(*people, holds, value, where, found[0]["reason"])


def citing_of_expertqa(answers: Rows, run: Path) -> Iterator[Pair]:
    """Yield every claim with whether the grader saw a citation for it, and whether the expert did."""
    for row in _rows(run / "scores" / "grader=citation_accuracy"):
        answer = answers[row["case_id"]]
        bare = [
            _bag(answer["answer"][finding["answer_start"] : finding["answer_end"]])
            for finding in row["findings"]
            if finding["kind"] == "uncited_claim"
        ]
        for number, claim in enumerate(answer["claims"]):
            words = _bag(claim["claim"])
            if words and claim["support_label"] is not None:
                is_bare = any(len(words & bag) > _SAME * len(words | bag) for bag in bare)
                label = "uncited" if claim["support_label"] == "no_citation" else "cited"
                where = f"{row['case_id']} claim[{number}]"
                people = (answer["group"], answer["system"], label)
                yield Pair(*people, not is_bare, float(not is_bare), where, claim["claim"][:80])


_SAME = 0.6
"""Share of common words above which a claim and a sentence are taken for one."""


def answers_of_rated(answers: Rows, run: Path) -> Iterator[Pair]:
    """Yield the answers whose groundedness was measured, with what most annotators said of their faithfulness."""
    for row, answer, failed in _grounded(answers, run):
        label = answer["human"]["faithful_majority"]
        reason = failed[0] if failed else row["reason"]
        people = (answer["group"], answer["system"], label)
        yield Pair(*people, row["outcome"] == "pass", row["value"], row["case_id"], reason)


def clean_of_rated(answers: Rows, run: Path) -> Iterator[Pair]:
    """Yield the same answers by whether no sentence of theirs is unsupported, as the hallucination rate counts."""
    for row, answer, failed in _grounded(answers, run):
        label = answer["human"]["faithful_majority"]
        reason = failed[0] if failed else row["reason"]
        people = (answer["group"], answer["system"], label)
        yield Pair(*people, not failed, float(not failed), row["case_id"], reason)


def answers_of_clapnq(cases: Rows, run: Path) -> Iterator[Pair]:
    """Yield the answers whose citations were measured, with whether they quote what people chose as the answer."""
    captured = {row["case_id"]: row for row in _rows(run / "captured_run")}
    for row in _rows(run / "scores" / "grader=citation_accuracy"):
        case, output = cases[row["case_id"]], captured[row["case_id"]]
        if row["outcome"] not in {"pass", "fail"}:
            continue
        gold = [_plain(sentence) for sentence in case["gold_sentences"]]
        quotes = [_plain(citation["quote"]) for citation in output["citations"]]
        hits = any(quote in sentence or sentence in quote for quote in quotes for sentence in gold)
        label = ("answers" if hits else "does not answer") if case["meta"]["answerable"] else "has no answer"
        people = (case["group"], "retrieval target", label)
        yield Pair(*people, row["outcome"] == "pass", row["value"], row["case_id"], row["reason"])


def show(title: str, pairs: Sequence[Pair], good: str, examples: int) -> None:
    """Print both rates of agreement, the systems, and items where grader and people part."""
    print(f"\n== {title}")
    for label, n in Counter(pair.label for pair in pairs).most_common():
        chosen = [pair for pair in pairs if pair.label == label]
        print(f"{label:24} {n:5} items; hold by the grader {_rate(chosen, _by_grader(chosen))}")
    for system, n in sorted(Counter(pair.system for pair in pairs).items()):
        chosen = [pair for pair in pairs if pair.system == system]
        by_people = [pair.label == good for pair in chosen]
        said = f"hold by the grader {_rate(chosen, _by_grader(chosen))}; by people {_rate(chosen, by_people)}"
        print(f"{system:24} {n:5} items; {said}; AUROC {_auroc_with_interval(chosen, good)}")
    print(f"{'all':24} {len(pairs):5} items; AUROC {_auroc_with_interval(pairs, good)}")
    for heading, holds in (("held by people only", False), ("held by the grader only", True)):
        parted = [pair for pair in pairs if pair.holds is holds and (pair.label == good) is not holds]
        print(f"\n{heading} ({len(parted)}):")
        for pair in sorted(parted, key=_shuffled)[:examples]:
            print(f"  {pair.where}: {pair.reason}")


def show_sentences(answers: Rows, run: Path) -> None:
    """Print how many sentences an answer of each system has, and the share that is unsupported."""
    print("\n== sentences")
    counts: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, answer, failed in _grounded(answers, run):
        counts[answer["system"]].append((len(row["findings"]), len(failed)))
    for system, pairs in sorted(counts.items()):
        n, n_failed = (sum(column) for column in zip(*pairs, strict=True))
        print(f"{system:24} {n / len(pairs):.1f} an answer; {n_failed / n:.1%} of {n} unsupported")


def show_places(cases: Rows, run: Path) -> None:
    """Print where the right passage stood among those shown, for the answerable questions that were declined."""
    places: Counter[str] = Counter()
    for row in _rows(run / "captured_run"):
        if cases[row["case_id"]]["meta"]["answerable"] and row["abstained"]:
            right = {context["source_id"] for context in cases[row["case_id"]]["contexts"]}
            shown = [context["source_id"] in right for context in row["contexts"]]
            places[f"shown {shown.index(True) + 1}" if True in shown else "not shown"] += 1
    print(f"\n== right passage of declined answerable questions: {dict(sorted(places.items()))}")


def _by_grader(pairs: Sequence[Pair]) -> list[bool]:
    return [pair.holds for pair in pairs]


def _shuffled(pair: Pair) -> str:
    return sha1(pair.where.encode()).hexdigest()


def _rate(pairs: Sequence[Pair], hits: Sequence[bool]) -> str:
    passes: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for pair, hit in zip(pairs, hits, strict=True):
        sizes[pair.group] += 1
        passes[pair.group] += hit
    groups = sorted(sizes)
    interval = wilson_clustered([passes[group] for group in groups], [sizes[group] for group in groups])
    rate = passes.total() / sizes.total()
    return f"{rate:.1%} [{interval.low:.1%}, {interval.high:.1%}] ({len(groups)} groups)" if interval else "none"


def _auroc_with_interval(pairs: Sequence[Pair], good: str) -> str:
    """Return the area under the ROC curve of the value, with a percentile interval of a bootstrap over groups."""
    labels = np.array([pair.label == good for pair in pairs])
    values = np.array([pair.value for pair in pairs])
    if labels.all() or not labels.any():
        return "none"
    members: defaultdict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        members[pair.group].append(place)
    groups = [np.array(places) for _, places in sorted(members.items())]
    rng = np.random.default_rng(1)
    drawn = [np.concatenate([groups[i] for i in rng.integers(len(groups), size=len(groups))]) for _ in range(1000)]
    areas = [_auroc(labels[places], values[places]) for places in drawn if 0 < labels[places].sum() < len(places)]
    low, high = np.quantile(areas, [0.025, 0.975])
    return f"{_auroc(labels, values):.2f} [{low:.2f}, {high:.2f}]"


def _auroc(labels: NDArray[np.bool_], values: NDArray[np.float64]) -> float:
    ranks = rankdata(values)
    n_good = int(labels.sum())
    n_bad = len(labels) - n_good
    return float((ranks[labels].sum() - n_good * (n_good + 1) / 2) / (n_good * n_bad))


def _grounded(answers: Rows, run: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[str]]]:
    for row in _rows(run / "scores" / "grader=groundedness"):
        if row["outcome"] in {"pass", "fail"}:
            failed = [finding["reason"] for finding in row["findings"] if finding["outcome"] == "fail"]
            yield row, answers[row["case_id"]], failed


def _rows(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in pq.ParquetFile(path).read().to_pylist()]


def _bag(text: str) -> frozenset[str]:
    return frozenset(strip_markers(text).lower().replace("*", " ").split())


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


_COMPARISONS: dict[str, tuple[str, tuple[tuple[str, Callable[[Rows, Path], Iterator[Pair]], str], ...]]] = {
    "expertqa": (
        "captured_runs_expertqa",
        (
            ("support of claims", claims_of_expertqa, "supported"),
            ("claims with a citation", citing_of_expertqa, "cited"),
        ),
    ),
    "rated": (
        "captured_runs_rated",
        (("groundedness", answers_of_rated, "faithful"), ("no unsupported sentence", clean_of_rated, "faithful")),
    ),
    "clapnq": ("cases_clapnq", (("citations against answers", answers_of_clapnq, "answers"),)),
}


def main() -> None:
    """Read the arguments, join scores and labels, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the evaluation data")
    parser.add_argument("run", type=Path, help="folder of an ad-hoc run of expertqa, rated or clapnq")
    parser.add_argument("--examples", type=int, default=10, help="how many items to show of each sort")
    arguments = parser.parse_args()
    suite = next((name for name in _COMPARISONS if arguments.run.name.startswith(name)), None)
    if suite is None:
        parser.error(f"the run's id must start with one of {', '.join(_COMPARISONS)}")
    file, comparisons = _COMPARISONS[suite]
    lines = (arguments.data / f"{file}.dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {row.get("case_id", row.get("id")): row for row in map(json.loads, lines)}
    for title, pairs_of, good in comparisons:
        show(title, list(pairs_of(rows, arguments.run)), good, arguments.examples)
    if suite == "rated":
        show_sentences(rows, arguments.run)
    elif suite == "clapnq":
        show_places(rows, arguments.run)


if __name__ == "__main__":
    main()
