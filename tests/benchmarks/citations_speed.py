"""How fast captured runs are scored again with citation accuracy, beside an earlier library, in one process.

    python tests/benchmarks/citations_speed.py DATA --incumbent SITE_PACKAGES

DATA holds captured_runs_*.jsonl. Both libraries score the same answers with their own ``rescore``; each answer that
came without quotes gets the first sentence of its cited passages as one. Two loads: an eighth of the answers twenty
times over (answers and passages repeat, as over epochs and nights), then the other seven eighths as they are. No text
of a load was seen before it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from spancheck_pipeline.api.run import Run
from spancheck_pipeline.evidence.text import sentences
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy

REPEATED = 20


def quoted(row: dict[str, Any]) -> dict[str, Any]:
    texts = {str(c["source_id"]): c["text"] for c in row["contexts"] if c.get("text")}
    citations = []
    for citation in row["citations"] or [{"claim": row["answer"], "source_id": name} for name in list(texts)[:3]]:
        text = texts.get(str(citation["source_id"]), "")
        spans = [span for span in sentences(text) if span.end - span.start > 30]
        if spans:
            quote = text[spans[0].start : spans[0].end]
            citations.append({"claim": citation["claim"], "span": quote, "source_id": str(citation["source_id"])})
    contexts = [{"source_id": name, "text": text} for name, text in texts.items()]
    return {"answer": row["answer"], "contexts": contexts, "citations": citations}


def document(outputs: list[dict[str, Any]]) -> dict[str, Any]:
    cases = [
        {"case_id": f"c{index}", "category": "all", "input": "?", "output": output, "grades": []}
        for index, output in enumerate(outputs)
    ]
    return {"schema_version": "1.0", "cases": cases}


def timed(run: Any, grader: Any) -> float:
    started = time.process_time()
    run.rescore([grader])
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--incumbent", metavar="SITE_PACKAGES", required=True)
    arguments = parser.parse_args()
    sys.path.append(arguments.incumbent)
    import spancheck as earlier

    from spancheck_pipeline.api.evaluation import evaluate
    from spancheck_pipeline.evidence.case import Case

    rows = [
        json.loads(line)
        for file in sorted(arguments.data.glob("captured_runs_*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    ]
    outputs = [output for row in rows if (output := quoted(row))["citations"]]
    unique = [output for index, output in enumerate(outputs) if index % 8]
    n_citations = sum(len(output["citations"]) for output in outputs)
    print(f"{len(outputs)} answers, {n_citations} citations")
    for name, load in (("repeated", outputs[::8] * REPEATED), ("unique", unique)):
        theirs = earlier.Run(
            [
                earlier.CaseResult(
                    f"c{i}",
                    "all",
                    earlier.normalize(
                        {
                            **o,
                            "contexts": [c["text"] for c in o["contexts"]],
                            "sources": {c["source_id"]: c["text"] for c in o["contexts"]},
                        }
                    ),
                    [],
                )
                for i, o in enumerate(load)
            ]
        )
        by_case = {f"c{i}": output for i, output in enumerate(load)}
        mine: Run = evaluate([Case(key, key) for key in by_case], lambda key, held=by_case: held[key], graders=[])
        before = timed(theirs, earlier.citation_accuracy(claim_split=True))
        after = timed(mine, CitationAccuracy())
        each = after / sum(len(output["citations"]) for output in load) * 1e6
        ratio = before / after
        print(f"{name}: earlier {before:.2f} s, this {after:.2f} s ({each:.0f} µs a citation), ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
