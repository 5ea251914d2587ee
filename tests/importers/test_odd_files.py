"""Files as other programs rewrite them: tables' numbers, JSON in cells, pages of an API, packed files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from recorded_files import LANGFUSE, PROMPTFOO, jsonl

from spancheck_pipeline.api.importing import Source, read_source
from spancheck_pipeline.errors import ConfigError
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.importers.record import case_of, row_of, with_columns
from spancheck_pipeline.importers.source import records_of
from spancheck_pipeline.storage.case_rows import Report

ROW = {"id": "q1", "input": "What is the notice period?", "answer": "30 days"}
PASSAGES = [{"source_id": "lease", "text": "The notice period is 30 days."}]


def read(format_: str, path: Path, **source: Any) -> list[CapturedRow]:
    """Return the rows that an import would write."""
    report = Report(file=str(path))
    chosen = Source(path=path, format=format_, **source)
    records = [with_columns(record, chosen.columns) for record in records_of(chosen, report)]
    rows = [row_of(record, case_of(record), "auto") for record in records]
    report.raise_if_any()
    return rows


def texts(row: CapturedRow) -> list[str | None]:
    assert row.output is not None
    return [context.text for context in row.output.contexts]


def problems(format_: str, path: Path, **source: Any) -> str:
    with pytest.raises(ConfigError) as failed:
        read_source(Source(path=path, format=format_, **source))
    return str(failed.value).replace(str(path), "FILE")


@pytest.mark.parametrize("epochs", [(0, 1), ("0", "1"), (0.0, 1.0), ("0.0", "1.0"), (None, 1)])
def test_an_epoch_is_a_whole_number_however_a_table_writes_it(tmp_path: Path, epochs: tuple[Any, Any]) -> None:
    rows = read("jsonl", jsonl(tmp_path / "a.jsonl", [{**ROW, "epoch": epoch} for epoch in epochs]))
    assert [row.epoch for row in rows] == [0, 1]
    table = tmp_path / "a.csv"
    pd.DataFrame([{**ROW, "epoch": epoch} for epoch in epochs]).to_csv(table, index=False)
    assert [row.epoch for row in read("csv", table)] == [0, 1]


@pytest.mark.parametrize("epoch", [True, "second", 1.5, -1])
def test_an_epoch_that_is_none_is_a_problem_and_not_the_first(tmp_path: Path, epoch: Any) -> None:
    assert "FILE:1: epoch: must be" in problems("jsonl", jsonl(tmp_path / "a.jsonl", [{**ROW, "epoch": epoch}]))


@pytest.mark.parametrize("epoch", [1000, 10**30, "1" * 5000, 1e300])
def test_an_epoch_beyond_all_that_are_run_is_a_problem(tmp_path: Path, epoch: Any) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{"input": "Notice?", "answer": "30 days", "epoch": epoch}])
    assert problems("jsonl", path) == "FILE:1: is of an epoch beyond 999; they count from 0"


@pytest.mark.parametrize("error", [{"message": "no"}, ["no"], [], {}, "no", "", False, None])
def test_an_error_of_any_type_may_be_mapped(tmp_path: Path, error: Any) -> None:
    rows = read("jsonl", jsonl(tmp_path / "a.jsonl", [{**ROW, "failed": error}]), columns={"error": "failed"})
    assert [row.answered for row in rows] == [not error]


def test_lists_that_stand_as_json_texts_are_read_in_every_kind_of_table(tmp_path: Path) -> None:
    row = {**ROW, "contexts": json.dumps(PASSAGES)}
    table = tmp_path / "a.parquet"
    pd.DataFrame([row]).to_parquet(table)
    for format_, path in (("jsonl", jsonl(tmp_path / "a.jsonl", [row])), ("parquet", table)):
        assert texts(read(format_, path)[0]) == ["The notice period is 30 days."]
    refused = problems("jsonl", jsonl(tmp_path / "b.jsonl", [{**ROW, "contexts": "[1] The notice period"}]))
    assert "FILE:1: what it holds is no output: contexts must be a list" in refused


def test_a_row_without_an_answer_and_one_that_is_too_large_are_told_apart(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", [{**ROW, "answer": None}, {**ROW, "id": "q2", "answer": "x" * 17_000_000}])
    refused = problems("jsonl", path)
    assert "FILE:1: has no answer; map it: --column answer=PATH" in refused
    assert "FILE:2: holds an output of more than 16 MiB" in refused


def test_a_packed_file_is_told_to_be_unpacked(tmp_path: Path) -> None:
    for name, kind, start in (("a.jsonl.gz", "gzip", gzip.compress(b"{}")), ("a.csv", "zip", b"PK\x03\x04 rest")):
        path = tmp_path / name
        path.write_bytes(start)
        assert (
            problems(path.name.split(".")[1], path)
            == f"FILE: is a packed file ({kind}); unpack it, and import what is in it"
        )


@pytest.mark.parametrize(
    "cell",
    [
        "['The notice period is 30 days.', 'Don\\'t \"call\".']",
        "['The notice period is 30 days.' 'Don\\'t \"call\".']",
        "['The notice period is 30 days.'\n 'Don\\'t \"call\".']",
    ],
)
def test_a_cell_that_shows_a_list_or_a_numpy_array_holds_as_many_texts(tmp_path: Path, cell: str) -> None:
    table = tmp_path / "d.csv"
    pd.DataFrame([{"user_input": "q", "response": "a", "retrieved_contexts": cell}]).to_csv(table, index=False)
    assert texts(read("ragas", table)[0]) == ["The notice period is 30 days.", 'Don\'t "call".']


def test_texts_that_hold_quotes_beside_each_other_stay_whole(tmp_path: Path) -> None:
    said = ["It says 'a' 'b'.", "x"]
    table = tmp_path / "d.csv"
    pd.DataFrame([{"user_input": "q", "response": "a", "retrieved_contexts": str(said)}]).to_csv(table, index=False)
    assert texts(read("ragas", table)[0]) == said


@pytest.mark.parametrize("passages", ["one text", "[not a list", 3])
def test_passages_of_ragas_that_are_no_list_are_a_problem_and_not_dropped(tmp_path: Path, passages: Any) -> None:
    sample = {"user_input": "q", "response": "a", "retrieved_contexts": passages}
    assert "FILE:1: 'retrieved_contexts' is no list of texts" in problems(
        "ragas", jsonl(tmp_path / "d.jsonl", [sample])
    )


def test_a_page_of_an_api_is_read_on_one_line_as_on_many(tmp_path: Path) -> None:
    page = {"data": [LANGFUSE], "meta": {"page": 1}}
    for indent in (None, 1):
        path = tmp_path / "t.json"
        path.write_text(json.dumps(page, indent=indent))
        rows = read("langfuse", path)
        assert len(rows) == 1
        assert texts(rows[0])
    span = {
        "context": {"trace_id": "t1", "span_id": "s1"},
        "attributes": {
            "openinference.span.kind": "RETRIEVER",
            "input.value": "q",
            "output.value": "a",
            "retrieval.documents": json.dumps([{"document.content": "The notice period is 30 days."}]),
        },
    }
    path = jsonl(tmp_path / "s.jsonl", [{"data": [span], "next_cursor": None}])
    assert texts(read("openinference", path)[0]) == ["The notice period is 30 days."]


def test_messages_of_several_blocks_are_read_as_their_texts(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "30 "}, {"type": "tool_use", "id": "t"}, {"type": "text", "text": "days"}]
    asked = [{"role": "user", "content": [{"type": "text", "text": "Notice?"}]}]
    trace = {"id": "t1", "input": asked, "output": {"role": "assistant", "content": blocks}, "observations": []}
    (row,) = read("langfuse", jsonl(tmp_path / "t.jsonl", [trace]))
    assert row.output is not None
    assert row.output.answer == "30 days"
    at = "llm.output_messages.0.message.contents"
    call = {
        "context": {"trace_id": "t1", "span_id": "s1"},
        "attributes": {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.text": "Notice?",
            f"{at}.0.message_content.type": "reasoning",
            f"{at}.0.message_content.text": "Let me see. ",
            f"{at}.1.message_content.text": "30 ",
            f"{at}.2.message_content.text": "days",
        },
    }
    found = {
        "context": {"trace_id": "t1", "span_id": "s2"},
        "parent_id": "s1",
        "attributes": {
            "openinference.span.kind": "RETRIEVER",
            "retrieval.documents.0.document.content": "The notice period is 30 days.",
            "retrieval.documents.0.document.metadata": json.dumps({"source": "lease.pdf"}),
        },
    }
    (row,) = read("openinference", jsonl(tmp_path / "s.jsonl", [call, found]))
    assert row.output is not None
    assert row.output.answer == "30 days"
    assert [context.source_id for context in row.output.contexts] == ["lease.pdf"]


def test_a_text_that_is_mapped_as_the_passages_is_one_passage(tmp_path: Path) -> None:
    result = {**PROMPTFOO["results"]["results"][0], "vars": {"question": "Notice?", "context": "The notice period."}}
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"results": {"version": 3, "results": [result]}}))
    columns = {"input": "vars.question", "contexts": "vars.context"}
    assert texts(read("promptfoo", path, columns=columns)[0]) == ["The notice period."]


def test_a_choice_that_nobody_has_names_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(PROMPTFOO))
    assert "FILE: holds no answer of 'nobody'; it has answers of '" in problems("promptfoo", path, only="nobody")


def test_a_test_run_of_conversations_only_says_that_they_cannot_be_imported(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testRunData": {"testCases": [], "conversationalTestCases": [{"turns": []}]}}))
    assert "FILE: holds conversational test cases only" in problems("deepeval", path)
