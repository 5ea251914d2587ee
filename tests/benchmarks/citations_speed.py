"""How fast captured runs are scored again with citation accuracy, beside an earlier library, in one process.

    python tests/benchmarks/citations_speed.py DATA --incumbent SITE_PACKAGES

DATA holds captured_runs_*.jsonl. Both libraries score the same answers with their own ``rescore``, turn by turn in
small lots, so that a busy machine slows both. Each captured citation gets the first long sentence of its passage as its
quote; an answer that came without citations is cited as a whole. The loads:

- ``unique``: captured answers of which no passage was met before, in this load or another.
- ``repeated``: the passages of that load, which are known by now, under answers that are new: each claim is a sentence
  of a passage with every fourth word left out, its quote the first two thirds of that sentence.
- ``middle`` and ``long``: the same, but the passages of four or of forty answers make one source, which is about 10,000
  or 100,000 characters long.
- ``again``: the answers of ``unique`` a second time, as over epochs and re-scorings; and under another threshold.

Before them a fifth of the captured answers is scored, and one in no language that can be told, so that no load pays for
compiling patterns and for the commonest words; that first load is printed too.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spancheck_pipeline.api.evaluation import evaluate
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.text import sentences
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy

LOT = 20
PER_SOURCE = {"middle": 4, "long": 40}
Load = list[dict[str, Any]]


def quoted(row: dict[str, Any]) -> dict[str, Any]:
    texts = {str(c["source_id"]): c["text"] for c in row["contexts"] if c.get("text")}
    citations = []
    for citation in row["citations"] or [{"claim": row["answer"], "source_id": name} for name in list(texts)[:3]]:
        text = texts.get(str(citation["source_id"]), "")
        if quotes := long_sentences(text):
            name = str(citation["source_id"])
            citations.append({"claim": citation["claim"], "span": quotes[0], "source_id": name})
    contexts = [{"source_id": name, "text": text} for name, text in texts.items()]
    return {"answer": row["answer"], "contexts": contexts, "citations": citations}


def long_sentences(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text) if span.end - span.start > 30]


def unseen(outputs: Load, seen: set[str]) -> Load:
    kept = []
    for output in outputs:
        texts = {context["text"] for context in output["contexts"]}
        if not texts & seen:
            kept.append(output)
            seen |= texts
    return kept


def other_answers(outputs: Load) -> Iterator[dict[str, Any]]:
    """Yield new answers to the same passages: three claims each, as many as the passages have sentences for."""
    for output in outputs:
        said = [
            (context["source_id"], sentence)
            for context in output["contexts"]
            for sentence in long_sentences(context["text"])
            if len(sentence.split()) > 8
        ]
        for at in range(0, min(len(said), 30) - 2, 3):
            citations = []
            for name, sentence in said[at : at + 3]:
                words = sentence.split()
                claim = " ".join(word for place, word in enumerate(words) if place % 4 != 3)
                quote = sentence[: len(sentence) * 2 // 3].rsplit(" ", 1)[0]
                citations.append({"claim": claim, "span": quote, "source_id": name})
            answer = " ".join(citation["claim"] for citation in citations)
            yield {"answer": answer, "contexts": output["contexts"], "citations": citations}


def with_long_sources(outputs: Load, per_source: int) -> Load:
    """Return the outputs with the passages of some of them joined to one source, which each of those retrieves."""
    result = []
    for start in range(0, len(outputs), per_source):
        group = outputs[start : start + per_source]
        texts = dict.fromkeys(context["text"] for output in group for context in output["contexts"])
        source = [{"source_id": "source", "text": "\n\n".join(texts)}]
        for output in group:
            citations = [{**citation, "source_id": "source"} for citation in output["citations"]]
            result.append({**output, "contexts": source, "citations": citations})
    return result


def theirs(earlier: Any, load: Load) -> Any:
    def normal(output: dict[str, Any]) -> Any:
        texts = {context["source_id"]: context["text"] for context in output["contexts"]}
        return earlier.normalize({**output, "contexts": list(texts.values()), "sources": texts})

    return earlier.Run([earlier.CaseResult(f"c{i}", "all", normal(output), []) for i, output in enumerate(load)])


def ours(load: Load) -> Any:
    by_case = {f"c{i}": output for i, output in enumerate(load)}
    return evaluate([Case(key, key) for key in by_case], lambda key: by_case[key], graders=[])


def timed(run: Any, grader: Any) -> float:
    started = time.process_time()
    scored = run.rescore([grader])
    took = time.process_time() - started
    # A grader that crashes is fast, and its score is unmeasured.
    grades = [grade for result in scored.results for grade in result.grades]
    assert all(getattr(grade, "reason_code", "") != "grader_crashed" for grade in grades)
    return took


def compare(earlier: Any, name: str, load: Load, **settings: float) -> None:
    before = after = 0.0
    lots = [load[at : at + LOT] for at in range(0, len(load), LOT)]
    pairs = [(theirs(earlier, lot), ours(lot)) for lot in lots]
    gc.collect()
    for old, new in pairs:
        before += timed(old, earlier.citation_accuracy(claim_split=True, **settings))
        after += timed(new, CitationAccuracy(**settings))
    n = sum(len(output["citations"]) for output in load) or 1
    per = f"earlier {before / n * 1e6:.0f} µs a citation, this {after / n * 1e6:.0f} µs"
    print(f"{name}: {len(load)} answers, {n} citations; {per}; ratio {before / after:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--incumbent", metavar="SITE_PACKAGES", required=True)
    arguments = parser.parse_args()
    sys.path.append(arguments.incumbent)
    import spancheck as earlier

    rows = [
        json.loads(line)
        for file in sorted(arguments.data.glob("captured_runs_*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    ]
    outputs = [output for row in rows if (output := quoted(row))["citations"]]
    seen = {context["text"] for output in outputs[::5] for context in output["contexts"]}
    unknown = {"answer": "Zyx.", "contexts": [{"source_id": "1", "text": "Zyx."}], "citations": [{"span": "Zyx."}]}
    compare(earlier, "(first load)", [unknown, *outputs[::5]])
    unique = unseen(outputs, seen)
    compare(earlier, "unique", unique)
    fresh = list(other_answers(unique))
    compare(earlier, "repeated", fresh[::3])
    for place, (name, per_source) in enumerate(PER_SOURCE.items(), start=1):
        joined = with_long_sources(fresh[place::3], per_source)
        compare(earlier, f"({name}, first time)", joined[::per_source])
        compare(earlier, name, [output for index, output in enumerate(joined) if index % per_source])
    compare(earlier, "again", unique)
    compare(earlier, "again, another threshold", unique, support_threshold=0.7)


if __name__ == "__main__":
    main()
