"""How long writing, exporting and checking a large audit log takes, and how much memory each step needs at its peak.

    python tests/benchmarks/audit_log_memory.py FOLDER [--cases 100000]

Every step runs in a process of its own, whose peak resident memory is printed. The answers are made up: a third of the
passages are shared by many cases.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from spancheck_pipeline.api.auditing import export_log, read_log
from spancheck_pipeline.api.auditing_checks import verify_file
from spancheck_pipeline.api.auditing_place import verify_place
from spancheck_pipeline.api.deciding import decide_place, summarize_place
from spancheck_pipeline.api.recording import record_place
from spancheck_pipeline.api.scoring import score_place
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, TargetFacts, normalize
from spancheck_pipeline.grading.graders import build_graders
from spancheck_pipeline.storage.rows import captured_to_row, case_to_row
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES

PLACE = Night("large", "2026-03-14")
AT = dt.datetime(2026, 3, 14, 2, tzinfo=dt.UTC)
SUITE = Suite(contract=1, name="large", target=Target(callable="x:y"), graders={"completion": {}, "no_pii": {}})
STEPS = ("capture", "score", "decide", "record", "export_json", "export_jsonl", "redact", "verify_json", "verify_jsonl",
         "verify_redacted", "verify_stored", "read_jsonl")  # fmt: skip


def case_of(i: int) -> Case:
    return Case(f"case-{i:07d}", f"What does clause {i} of the agreement say about notice and repair?")


def answer_of(i: int) -> dict[str, object]:
    words = f"clause {i} says that either party may end the lease with {i % 90 + 1} days of written notice. "
    contexts = [{"source_id": f"s{i}-{k}", "text": words * 8 + str(k)} for k in range(2)]
    contexts.append({"source_id": f"shared-{i % 500}", "text": f"Shared passage {i % 500}. " * 40})
    quote = {"quote": words.strip(), "source_id": f"s{i}-0", "claim": words.strip()}
    return {"answer": words * 2, "contexts": contexts, "citations": [quote], "usage": {"input_tokens": 900}}


def capture(store: Store, n: int) -> None:
    def rows() -> Iterator[dict[str, object]]:
        for i in range(n):
            asked = case_of(i)
            row = CapturedRow(
                case_id=asked.id, question_digest=asked.question_digest, output=normalize(answer_of(i)), latency_ms=5.0,
                started_at=AT, finished_at=AT,
            )  # fmt: skip
            yield captured_to_row(row, "large-1")

    manifest = Manifest(
        run_id="large-1", suite="large", date=PLACE.date, dataset_digest="0" * 64, n_cases=n, epochs=1, started_at=AT,
        target=TargetFacts(kind="callable", reference="x:y", settings_digest="0" * 64), finished_at=AT, attempts=n,
        package_version="0", python_version="3", n_rows=n, n_answered=n, retries=0,
    )  # fmt: skip
    store.publish(PLACE, CASES, (case_to_row(case_of(i), i) for i in range(n)), identity={"n": n}, metadata={})
    store.publish(
        PLACE, CAPTURED_RUN, rows(), identity={"n": n}, metadata={"run_id": "large-1"},
        document=lambda _revision, _digest: manifest.model_dump(mode="json"),
    )  # fmt: skip


def step(name: str, folder: Path, n: int) -> int | None:
    store = Store(folder / "storage")
    graders = build_graders(SUITE.graders)
    names = [grader.name for grader in graders]
    if name == "capture":
        capture(store, n)
    elif name == "score":
        for grader in graders:
            score_place(store, PLACE, grader)
    elif name == "decide":
        summarize_place(store, PLACE, SUITE, names)
        decide_place(store, PLACE, SUITE, graders, decided_at=AT, decided_by="benchmark")
    elif name == "record":
        record_place(store, PLACE, SUITE, names, created_at=AT)
    elif name in {"export_json", "export_jsonl"}:
        export_log(store, PLACE, folder / f"log.{name.removeprefix('export_')}")
    elif name == "redact":
        export_log(store, PLACE, folder / "redacted.jsonl", redact=frozenset({"pii", "answers"}))
    elif name == "verify_stored":
        found = verify_place(store, PLACE)
        assert found.ok, found.faults
    elif name == "read_jsonl":
        assert sum(1 for _ in read_log(folder / "log.jsonl")[1]) == n
    else:
        kind = name.removeprefix("verify_")
        path = folder / ("redacted.jsonl" if kind == "redacted" else f"log.{kind}")
        found = verify_file(path)
        assert found.ok, found.faults
        return path.stat().st_size
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--step")
    asked = parser.parse_args()
    if asked.step:
        at = time.monotonic()
        size = step(asked.step, asked.folder, asked.cases)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"step": asked.step, "s": time.monotonic() - at, "peak_mb": peak, "bytes": size}))
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    for name in STEPS:
        command = [sys.executable, __file__, str(asked.folder), "--cases", str(asked.cases), "--step", name]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
