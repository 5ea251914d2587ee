"""An import of any number of rows holds a bounded part of them: from reading the file to the captured run."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

from scenario import AT, DATE

from spancheck_pipeline.api.importing import Source, import_run, read_source
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.storage.store import Night, Store

SUITE = Suite(contract=1, name="leases", target=Target(recorded="answers.jsonl"), graders={"completion": {}})


def peak_of_importing(folder: Path, n: int) -> int:
    """Return the peak of Python memory, in bytes, while a file of n answers with a passage each is imported."""
    folder.mkdir()
    path = folder / "answers.jsonl"
    with path.open("w") as file:
        for i in range(n):
            row = {"id": f"q{i}", "input": f"Unit {i}?", "answer": f"{i} days.", "contexts": [{"text": f"{i} " * 40}]}
            file.write(json.dumps(row) + "\n")
    source = Source(path=path, format="jsonl")
    tracemalloc.start()
    try:
        with read_source(source) as read:
            done = import_run(Store(folder / "storage"), Night("leases", DATE), SUITE, source, read, now=AT)
        assert done.manifest.n_answered == n
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    peak_of_importing(tmp_path / "warm", 10)
    # Four times the rows. A row that is held takes 2 kB and more, 6 MB together beside the 4 MB of the small file; of
    # each its name and place may be kept. (``tests/benchmarks/imports.py`` measures the whole process.)
    assert peak_of_importing(tmp_path / "large", 4_000) < 1.3 * peak_of_importing(tmp_path / "small", 1_000)
