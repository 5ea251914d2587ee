"""An import becomes a captured run: cases, answers and manifest as a capture makes them, and nothing half done."""

from __future__ import annotations

import copy
import json
import tracemalloc
from pathlib import Path

import pytest
from recorded_files import INSPECT, PASSAGE, RAGAS, ROWS, document, jsonl, otlp_spans
from recorded_payloads import ANTHROPIC, AZURE
from scenario import AT, DATE, Project

from spancheck_pipeline.api.importing import Source, import_run, read_source
from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.api.stored import grade_place
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.errors import CaptureRefusedError, ConfigError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.grading.graders import default_graders
from spancheck_pipeline.storage.rows import captured_from_row
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES

NIGHT = Night("leases", DATE)
SUITE = Suite(contract=1, name="leases", target=Target(recorded="answers.jsonl"), graders={"groundedness": {}})


def imported(store: Store, path: Path, format_: str, *, known=(), replace=False, **options):
    source = Source(path=path, format=format_, **options)
    with read_source(source, known) as read:
        return import_run(store, NIGHT, SUITE, source, read, replace=replace, now=AT)


def captured(store: Store):
    return [captured_from_row(row) for row in store.open(NIGHT, CAPTURED_RUN).rows()]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "storage")


def test_a_file_becomes_one_run_that_says_where_it_is_from_and_is_scored_without_a_call(store, tmp_path):
    done = imported(store, jsonl(tmp_path / "a.jsonl", ROWS), "jsonl", version="7")

    manifest = done.manifest
    assert (manifest.n_cases, manifest.n_rows, manifest.n_answered) == (2, 2, 1)
    assert manifest.errors == {"RecordedError": 1}
    assert manifest.attempts == 0
    assert (manifest.target.kind, manifest.target.reference, manifest.target.version) == ("recorded", "a.jsonl", "7")
    assert manifest.settings["imported_from"] == "jsonl"
    assert len(manifest.settings["file_sha256"]) == 64
    assert manifest.tokens == {"input_tokens": 10, "output_tokens": 4}
    assert [case.id for case in read_snapshot(store, NIGHT)] == ["q1", "2"]
    assert {row["run_id"] for row in store.open(NIGHT, CAPTURED_RUN).rows()} == {manifest.run_id}

    decided = grade_place(store, NIGHT, SUITE, default_graders(), decided_by="test")
    by_grader = decided.scorecard.graders
    assert by_grader["citation_accuracy"].reason_codes["ok"] == 1
    assert by_grader["completion"].failing_case_ids == ("2",)


def test_what_the_file_does_not_carry_is_counted_and_left_open(store, tmp_path):
    done = imported(store, jsonl(tmp_path / "a.jsonl", RAGAS), "ragas")
    carried = done.read.carried
    assert (carried["answers"], carried["context texts"], carried["citations"]) == (2, 1, 0)
    assert carried["tokens"] == 0
    assert captured(store)[0].output.usage.input_tokens is None
    assert captured(store)[0].latency_ms is None
    assert read_snapshot(store, NIGHT)[0].answerable is None


def test_a_second_run_is_refused_and_with_replace_the_first_stays_in_the_history(store, tmp_path):
    path = jsonl(tmp_path / "a.jsonl", ROWS)
    first = imported(store, path, "jsonl")
    with pytest.raises(CaptureRefusedError, match="--replace"):
        imported(store, path, "jsonl")
    second = imported(store, path, "jsonl", replace=True)
    assert second.manifest.run_id != first.manifest.run_id
    assert [file.run_id for file in store.revisions(NIGHT, CAPTURED_RUN)] == [
        first.manifest.run_id,
        second.manifest.run_id,
    ]


def test_a_file_with_a_bad_line_writes_nothing(store, tmp_path):
    path = jsonl(tmp_path / "a.jsonl", [*ROWS, {"answer": "to no question"}])
    with pytest.raises(ConfigError, match=r"a\.jsonl:3: has no question"):
        imported(store, path, "jsonl")
    assert not store.exists(NIGHT, CAPTURED_RUN)
    assert not store.exists(NIGHT, CASES)


def test_a_question_that_the_suite_asks_too_takes_its_id_and_labels(store, tmp_path):
    known = (
        Case("lease-notice", "What is the notice period?", "lease", "30 days", answerable=True),
        Case("q1", "Another question"),
    )
    done = imported(store, jsonl(tmp_path / "a.jsonl", RAGAS[:1]), "ragas", known=known)
    assert read_snapshot(store, NIGHT) == known[:1]
    assert done.read.n_relabelled == 1
    # An id alone is no proof that the question is the same.
    again = imported(store, jsonl(tmp_path / "b.jsonl", ROWS), "jsonl", known=known[1:], replace=True)
    assert again.read.n_relabelled == 0


def test_epochs_are_rows_of_one_case_and_a_missing_one_is_an_error_row(store, tmp_path):
    log = copy.deepcopy(INSPECT)
    log["samples"].reverse()
    done = imported(store, document(tmp_path / "log.json", log), "inspect_ai")
    assert (done.manifest.n_cases, done.manifest.epochs, done.manifest.n_rows) == (2, 2, 4)
    rows = captured(store)
    assert [row.key for row in rows] == [("2", 0), ("2", 1), ("1", 0), ("1", 1)]
    assert [row.error_class for row in rows] == ["RecordedError", "NoRecordedAnswer", None, None]


def test_payloads_in_a_file_are_read_and_the_manifest_says_as_whose(store, tmp_path):
    rows = [
        {"id": "a", "input": "Notice?", "response": ANTHROPIC, "contexts": [{"source_id": "lease", "text": PASSAGE}]},
        {"id": "b", "input": "Notice?", "response": AZURE},
        {"id": "c", "input": "Notice?", "answer": "30 days", "response": "kept as it is elsewhere"},
    ]
    done = imported(store, jsonl(tmp_path / "a.jsonl", rows), "jsonl")
    assert done.manifest.versions == {"citation_payload": ("anthropic", "azure_on_your_data")}
    first, second, third = (row.output for row in captured(store))
    assert first.citations[0].source_id == "lease"
    assert first.contexts[0].text == PASSAGE
    assert second.citations[1].source_id == "doc3"
    assert third.citations == ()


def test_ambiguous_payloads_name_the_candidates_and_the_option_that_decides(tmp_path):
    row = {"id": "a", "input": "Notice?", "response": {**AZURE, "search_results": []}}
    path = jsonl(tmp_path / "a.jsonl", [row])
    with pytest.raises(ConfigError, match="azure_on_your_data or perplexity: say which with --citations"):
        read_source(Source(path=path, format="jsonl"))
    with read_source(Source(path=path, format="jsonl", citations="azure_on_your_data")) as read:
        assert read.carried["citations"] == 1


def test_messages_quote_nothing_of_the_file(tmp_path):
    rows = [{"input": "a SECRET", "answer": {"SECRET": 1}}, {"input": "x", "answer": "y", "history": "SECRET"}]
    with pytest.raises(ConfigError) as failed:
        read_source(Source(path=jsonl(tmp_path / "a.jsonl", rows), format="jsonl"))
    assert "SECRET" not in str(failed.value)


def peak_of_reading(folder: Path, n: int) -> int:
    """Return the peak of Python memory while a file of n answers of 200 kB each is read."""
    folder.mkdir()
    path = folder / "a.jsonl"
    with path.open("w") as file:
        for i in range(n):
            passage = f"{i} " + "passage " * 25_000
            file.write(json.dumps({"id": f"q{i}", "input": "?", "answer": "a", "contexts": [{"text": passage}]}) + "\n")
    tracemalloc.start()
    try:
        with read_source(Source(path=path, format="jsonl")):
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_file_is_read_an_answer_at_a_time(tmp_path):
    assert peak_of_reading(tmp_path / "large", 60) < 1.5 * peak_of_reading(tmp_path / "small", 15)


def test_spans_stream_by_their_places(tmp_path):
    request = otlp_spans()
    lines = []
    for i in range(50):
        line = copy.deepcopy(request)
        for span in line["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            span["traceId"] = f"t{i}"
        lines.append(line)
    with read_source(Source(path=jsonl(tmp_path / "spans.jsonl", lines), format="otel_genai")) as read:
        assert [case.id for case in read.cases()] == [f"t{i}" for i in range(50)]


def test_an_imported_run_of_a_suite_is_reused_by_its_night(tmp_path):
    from spancheck_pipeline.api.capturing import capture_place

    project = Project(tmp_path, n=2)
    store = Store(project.storage)
    place = Night(project.name, DATE)
    source = Source(path=jsonl(tmp_path / "a.jsonl", ROWS), format="jsonl")
    suite = SUITE.model_copy(update={"name": project.name})
    with read_source(source) as read:
        done = import_run(store, place, suite, source, read, now=AT)

    def never():
        raise AssertionError("nothing is called for a captured place")

    again = capture_place(store, place, suite, never)
    assert again.is_reused
    assert again.manifest == done.manifest
    assert project.calls() == []
