"""Peak memory and time of ``spancheck import`` over growing files of plain rows and of spans.

    python tests/benchmarks/imports.py [rows …]       # default: 10000 200000

Each import runs in a process of its own, into a storage and a suite that are made for it and removed. Memory is the
process's peak resident set, libraries and all.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PASSAGE = "Either party may end the lease of unit {i} with 30 days written notice, given to the other party by letter. "


def write_rows(path: Path, n: int) -> None:
    """Write n answered questions with two passages and a citation each, about 1 kB a line."""
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            text = PASSAGE.format(i=i) * 3
            row = {
                "id": f"case-{i:07d}",
                "input": f"How long is the notice for unit {i}?",
                "answer": f"The notice for unit {i} is 30 days.",
                "contexts": [{"source_id": f"lease-{i}", "text": text}, {"source_id": "annex", "text": "Rent is due."}],
                "citations": [{"quote": "30 days written notice", "source_id": f"lease-{i}"}],
                "usage": {"input_tokens": 100 + i % 7, "output_tokens": 12},
                "latency_ms": 120 + i % 50,
            }
            file.write(json.dumps(row) + "\n")


def write_spans(path: Path, n: int) -> None:
    """Write n traces of one retriever and one LLM span; the spans of a trace stand a thousand lines apart."""

    def span(i: int, kind: str, **attributes: object) -> str:
        fields = {
            "name": kind,
            "context.trace_id": f"trace-{i:07d}",
            "context.span_id": f"{kind}-{i}",
            "parent_id": None,
            "start_time": "2026-03-14T02:00:00Z",
            "end_time": "2026-03-14T02:00:01Z",
            "attributes.openinference.span.kind": kind,
        }
        return json.dumps({**fields, **{f"attributes.{name}": value for name, value in attributes.items()}}) + "\n"

    with path.open("w", encoding="utf-8") as file:
        for i in range(n + 1000):
            if i < n:
                document = {"document.id": f"lease-{i}", "document.content": PASSAGE.format(i=i)}
                asked = f"How long is the notice for unit {i}?"
                file.write(span(i, "RETRIEVER", **{"retrieval.documents": [document], "input.value": asked}))
            if i >= 1000:
                said = [{"message.role": "assistant", "message.content": "It is 30 days."}]
                file.write(span(i - 1000, "LLM", **{"llm.output_messages": said}))


def measure(format_: str, path: Path) -> tuple[float, float]:
    """Return seconds and peak MB of one import."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {
            **os.environ,
            "SPANCHECK_DATASETS": f"{folder}/datasets",
            "SPANCHECK_STORAGE": f"{folder}/storage",
            "DAGSTER_HOME": f"{folder}/home",
        }
        command = [sys.executable, __file__, "--one", format_, str(path)]
        done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=True)
        seconds, peak = done.stdout.splitlines()[-1].split()
        return float(seconds), float(peak)


def one(format_: str, path: str) -> None:
    """Import one file in this process, and print seconds and peak MB."""
    from spancheck_pipeline.cli.main import main

    start = time.perf_counter()
    try:
        main(["import", format_, path, "--suite", "measured", "--json"])
    except SystemExit as done:
        if done.code:
            raise
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{time.perf_counter() - start:.1f} {peak:.0f}")


def report(sizes: list[int]) -> None:
    """Print a table of sizes, seconds and memory."""
    print("| format | rows | file MB | seconds | peak MB |\n|---|---|---|---|---|")
    for format_, write in (("jsonl", write_rows), ("openinference", write_spans)):
        for n in sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "answers.jsonl"
                write(path, n)
                seconds, peak = measure(format_, path)
                size = path.stat().st_size / 1e6
                print(f"| {format_} | {n} | {size:.0f} | {seconds:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    else:
        report([int(size) for size in sys.argv[1:]] or [10_000, 200_000])
