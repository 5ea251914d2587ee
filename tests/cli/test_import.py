"""``spancheck import``: from a file to a scored suite, and what it says about what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded_files import LANGFUSE, RAGAS, ROWS, document, jsonl, openinference_spans
from scenario import DATE, Project

from spancheck_pipeline.api.stored import grade_place
from spancheck_pipeline.cli.main import _run
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.rows import captured_from_row
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in (("DATASETS", tmp_path / "datasets"), ("STORAGE", tmp_path / "storage")):
        monkeypatch.setenv(f"SPANCHECK_{name}", str(value))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = _run([str(part) for part in arguments], is_debug=False)
    said = capsys.readouterr()
    return code, said.out, said.err


def captured(folder: Path, suite: str) -> list[CapturedRow]:
    file = Store(folder / "storage").open(Night(suite, DATE), CAPTURED_RUN)
    return [captured_from_row(row) for row in file.rows()]


def test_a_file_becomes_a_new_suite_that_can_be_scored_at_once(folder: Path, capsys) -> None:
    path = jsonl(folder / "a.jsonl", RAGAS)
    code, out, _ = run("import", "ragas", path, "--suite", "mine", "--date", DATE, capsys=capsys)
    assert code == 0
    assert "mine on 2026-03-14 · 3 cases imported from a.jsonl" in out
    assert "answers: 2 of 3" in out
    assert "without an answer: 1 (NoRecordedAnswer)" in out
    assert "context texts: in 1 of 2 answers" in out
    assert "fill `retrieved_contexts`" in out
    assert f"score it: spancheck nightly mine --date {DATE}" in out

    loaded = load_suite(folder / "datasets", "mine")
    cases = load_cases(loaded.folder, loaded.suite.cases)
    assert [case.id for case in cases] == [row.case_id for row in captured(folder, "mine")]
    assert load_target(loaded.suite.target, suite_folder=loaded.folder).case_ids < {case.id for case in cases}
    store, place = Store(folder / "storage"), Night("mine", DATE)
    decided = grade_place(store, place, loaded.suite, loaded.graders, decided_by="test")
    assert not decided.decision.ok  # one sample has no response, and completion gates
    assert "groundedness" in decided.scorecard.graders


def test_an_existing_suite_keeps_its_folder_and_lends_its_labels(folder: Path, capsys) -> None:
    project = Project(folder, n=2)
    before = {path.name: path.read_bytes() for path in project.suite_folder.iterdir()}
    rows = [{"input": "How long is notice number 0?", "answer": "30 days"}]
    path = jsonl(folder / "a.jsonl", rows)
    code, out, _ = run("import", "jsonl", path, "--suite", "small", "--date", DATE, "--json", capsys=capsys)
    said = json.loads(out)
    assert code == 0
    assert (said["n_cases"], said["n_labelled_by_the_suite"], said["new_suite"]) == (1, 1, None)
    assert captured(folder, "small")[0].case_id == "q00"
    assert {path.name: path.read_bytes() for path in project.suite_folder.iterdir()} == before


def test_columns_and_producers_are_given_on_the_command_line(folder: Path, capsys) -> None:
    rows = [{"ask": "Notice?", "said": {"text": "It is 30 days [1].", "docs": [{"text": "It is 30 days."}]}}]
    path = jsonl(folder / "a.jsonl", rows)
    columns = [
        part for field in ("input=ask", "answer=said.text", "contexts=said.docs") for part in ("--column", field)
    ]
    arguments = ["import", "jsonl", path, "--suite", "mine", "--date", DATE, "--citations", "markers", *columns]
    code, out, _ = run(*arguments, capsys=capsys)
    assert code == 0
    assert "citation payloads read as: markers" in out
    output = captured(folder, "mine")[0].output
    assert output is not None
    assert output.citations[0].source_id == "1"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["raggas", "a.jsonl", "--suite", "mine"], "'ragas'"),
        (["jsonl", "none.jsonl", "--suite", "mine"], "no such file"),
        (["jsonl", "a.jsonl", "--suite", "../x"], "a suite's name becomes a folder"),
        (["jsonl", "a.jsonl", "--suite", "mine", "--date", "2999-01-01"], "in the future"),
        (["jsonl", "a.jsonl", "--suite", "mine", "--column", "answer"], "FIELD=PATH"),
        (["jsonl", "a.jsonl", "--suite", "mine", "--citations", "anthropi"], "'anthropic'"),
        (["ragas", "a.jsonl", "--suite", "mine"], "a.jsonl:1: has neither 'user_input'"),
        (["jsonl", "a.jsonl"], "--suite"),
        (["jsonl", "a.jsonl", "--suite", "mine", "--column", "answer=reply"], "map answer=reply leads nowhere"),
        (["jsonl", "a.jsonl", "--suite", "mine", "--column", "answer=answr"], "did you mean 'answer'?"),
        (["jsonl", "a.jsonl", "--suite", "mine", *("--column", "answer=answer") * 2], "answer is given twice"),
        (["langfuse", "a.jsonl", "--suite", "mine"], "looks like a file of jsonl, and was read as langfuse"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2_and_nothing_is_written(
    folder: Path, capsys, arguments: list[str], said: str
) -> None:
    jsonl(folder / "a.jsonl", ROWS)
    code, _, err = run("import", *arguments, capsys=capsys)
    assert code == 2
    assert said in err
    assert not (folder / "storage" / "captured_run").exists()
    assert not (folder / "datasets").exists()


def test_a_date_that_has_a_run_is_not_overwritten_by_mistake(folder: Path, capsys) -> None:
    path = jsonl(folder / "a.jsonl", ROWS)
    arguments = ["import", "jsonl", path, "--suite", "mine", "--date", DATE]
    assert run(*arguments, capsys=capsys)[0] == 0
    code, _, err = run(*arguments, capsys=capsys)
    assert (code, "--replace" in err) == (2, True)
    assert run(*arguments, "--replace", capsys=capsys)[0] == 0


@pytest.mark.parametrize("likely", ["ragas", "langfuse", "openinference"])
def test_a_file_of_another_format_in_which_nothing_is_an_answer_is_not_stored(folder: Path, capsys, likely) -> None:
    rows = {"ragas": RAGAS, "langfuse": [LANGFUSE], "openinference": openinference_spans()}[likely]
    path = jsonl(folder / "a.jsonl", rows)
    for format_ in ("jsonl", "deepeval", "langfuse", "otel_genai", "ragas"):
        # Spans of both conventions are read by one reader, whichever of them is named.
        if format_ == likely or {format_, likely} == {"openinference", "otel_genai"}:
            continue
        code, _, err = run("import", format_, path, "--suite", "mine", "--date", DATE, capsys=capsys)
        assert code == 2, format_
        assert f"looks like a file of {likely}" in err, format_
    assert not (folder / "storage" / "captured_run").exists()


def test_a_file_in_which_no_item_is_answered_is_refused_and_one_of_failed_calls_is_stored_with_exit_1(
    folder: Path, capsys
) -> None:
    silent = jsonl(folder / "silent.jsonl", [{"user_input": "?", "response": None}])
    code, _, err = run("import", "ragas", silent, "--suite", "mine", "--date", DATE, capsys=capsys)
    assert (code, "none of its 1 items holds an answer" in err) == (2, True)
    failed = jsonl(folder / "failed.jsonl", [{"id": "q1", "input": "?", "error": "boom"}])
    code, _, err = run("import", "jsonl", failed, "--suite", "mine", "--date", DATE, capsys=capsys)
    assert (code, "every call in" in err) == (1, True)
    assert captured(folder, "mine")[0].error_class == "RecordedError"


def test_a_wrong_field_of_an_answer_is_named_with_what_to_correct(folder: Path, capsys) -> None:
    rows = [
        {"id": "a", "input": "?", "answer": "x", "usage": {"input_tokens": -1}},
        {"id": "b", "input": "?", "answer": "x", "contexts": [{"text": 7}]},
        {"id": "c", "input": "?", "answer": "x", "latency_ms": "SECRET"},
    ]
    path = jsonl(folder / "a.jsonl", rows)
    code, _, err = run("import", "jsonl", path, "--suite", "mine", "--date", DATE, capsys=capsys)
    assert code == 2
    assert "a.jsonl:1: what it holds is no output: usage.input_tokens must be greater than or equal to 0" in err
    assert "a.jsonl:2: what it holds is no output: contexts[0].text must be a text" in err
    assert "a.jsonl:3: what it holds is no output: latency_ms" in err
    assert "correct it, or take it from elsewhere: --column latency_ms=PATH" in err
    assert "SECRET" not in err


def test_an_audit_log_of_this_package_is_told_what_it_is(folder: Path, capsys) -> None:
    header = {"kind": "header", "contract": 1, "schema_version": "2.0"}
    document(folder / "audit.json", {**header, "cases": []})
    jsonl(folder / "audit.jsonl", [header, {"kind": "record", "case_id": "q1"}])
    for name in ("audit.json", "audit.jsonl"):
        code, _, err = run("import", "spancheck", folder / name, "--suite", "mine", "--date", DATE, capsys=capsys)
        assert code == 2
        assert "is an audit log of this package" in err
        assert f"nothing has to be imported: spancheck score {name}" in err


def test_an_unfinished_capture_is_not_called_a_captured_run(folder: Path, capsys) -> None:
    project = Project(folder, n=2)
    place = Night("small", DATE)
    journals = project.storage / "_journal" / place.folder("captured_run", None)
    journals.mkdir(parents=True)
    (journals / "capture.jsonl").write_text("{}\n")
    path = jsonl(folder / "a.jsonl", ROWS)
    arguments = ["import", "jsonl", path, "--suite", "small", "--date", DATE]
    code, _, err = run(*arguments, capsys=capsys)
    assert code == 2
    assert "a capture of small on 2026-03-14 was begun and is not finished" in err
    assert "holds a captured run" not in err
    assert run(*arguments, "--replace", capsys=capsys)[0] == 0
    assert (journals / "capture.jsonl").exists()
