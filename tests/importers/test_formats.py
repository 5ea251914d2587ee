"""Each format's recorded file, and the exact cases and outputs that are read from it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inline_snapshot import snapshot
from recorded_files import (
    ANSWER,
    DEEPEVAL,
    DEEPEVAL_RUN,
    INSPECT,
    LANGFUSE,
    PASSAGE,
    PROMPTFOO,
    QUESTION,
    RAGAS,
    RAGAS_OLDER,
    ROWS,
    SPANCHECK,
    document,
    jsonl,
    langfuse_observations,
    openinference_spans,
    otlp_spans,
)

from spancheck_pipeline.api.importing import Source, read_source
from spancheck_pipeline.errors import ConfigError, ContractError, UsageError
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.grading.graders.citation_accuracy import verify_citation
from spancheck_pipeline.importers.formats import FORMATS
from spancheck_pipeline.importers.record import case_of, row_of, with_columns
from spancheck_pipeline.storage.case_rows import Report


def read(format_: str, path: Path, *, columns: dict[str, str] | None = None, **choice: Any) -> list[dict[str, Any]]:
    """Return each record's case and row, without what is not set."""
    report = Report(file=str(path))
    found = []
    for record in FORMATS[format_].read(path, report, **choice):
        mapped = with_columns(record, columns or {})
        case = case_of(mapped)
        row = row_of(mapped, case, "auto").model_dump(mode="json", exclude_defaults=True)
        for name in ("case_id", "question_digest"):
            del row[name]
        if "output" in row:
            row["output"].pop("raw", None)
        found.append({"case": case.model_dump(mode="json", exclude_defaults=True), "row": row})
    report.raise_if_any()
    return found


def problems(format_: str, path: Path, **source: Any) -> str:
    with pytest.raises(ConfigError) as failed:
        read_source(Source(path=path, format=format_, **source))
    return str(failed.value).replace(str(path), "FILE")


def test_plain_rows_have_the_fields_of_cases_and_outputs(tmp_path: Path) -> None:
    assert read("jsonl", jsonl(tmp_path / "a.jsonl", ROWS)) == snapshot(
        [
            {
                "case": {"id": "q1", "input": "What is the notice period?", "expected": "30 days", "answerable": True},
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [{"source_id": "lease", "text": "The notice period is 30 days."}],
                        "citations": [{"quote": "The notice period is 30 days.", "source_id": "lease"}],
                        "usage": {"input_tokens": 10, "output_tokens": 4},
                        "latency_ms": 120.0,
                    },
                    "attempts": 0,
                },
            },
            {
                "case": {"id": "2", "input": {"topic": "pets"}},
                "row": {"error_class": "RecordedError", "error_message": "timed out", "attempts": 0},
            },
        ]
    )


def test_csv_and_parquet_rows_are_read_like_jsonl(tmp_path: Path) -> None:
    import json

    expected = read("jsonl", jsonl(tmp_path / "a.jsonl", ROWS[:1]))
    flat = {name: json.dumps(value) if isinstance(value, list | dict) else value for name, value in ROWS[0].items()}
    pd.DataFrame([flat]).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame(ROWS[:1]).to_parquet(tmp_path / "a.parquet")
    assert read("csv", tmp_path / "a.csv") == expected
    assert read("parquet", tmp_path / "a.parquet") == expected


def test_a_column_map_points_anywhere_into_a_row(tmp_path: Path) -> None:
    rows = [{"qid": 7, "ask": QUESTION, "reply": {"text": ANSWER, "docs": [PASSAGE]}, "model": "m1"}]
    columns = {"id": "qid", "input": "ask", "answer": "reply.text", "contexts": "reply.docs"}
    found = read("jsonl", jsonl(tmp_path / "a.jsonl", rows), columns=columns)
    assert found == snapshot(
        [
            {
                "case": {"id": "7", "input": "What is the notice period?"},
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [{"text": "The notice period is 30 days."}],
                        "served_model": "m1",
                    },
                    "attempts": 0,
                },
            }
        ]
    )


def test_spancheck_audit_logs_keep_cases_outputs_and_errors(tmp_path: Path) -> None:
    assert read("spancheck", document(tmp_path / "audit.json", SPANCHECK)) == snapshot(
        [
            {
                "case": {
                    "id": "q1",
                    "input": "What is the notice period?",
                    "category": "lease",
                    "expected": "30 days",
                    "meta": {"answerable": True},
                    "answerable": True,
                },
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [{"source_id": "lease", "text": "The notice period is 30 days."}],
                        "citations": [{"quote": "The notice period is 30 days.", "source_id": "lease"}],
                        "usage": {"input_tokens": 10, "output_tokens": 4},
                        "latency_ms": 120.0,
                    },
                    "latency_ms": 120.0,
                    "attempts": 0,
                },
            },
            {
                "case": {"id": "q2", "input": "Pets?"},
                "row": {"error_class": "TimeoutError", "error_message": "TimeoutError: too slow", "attempts": 0},
            },
        ]
    )


def test_saved_runs_of_spancheck_are_read_like_its_audit_logs(tmp_path: Path) -> None:
    expected = read("spancheck", document(tmp_path / "audit.json", SPANCHECK))
    assert read("spancheck", document(tmp_path / "run.json", {"results": SPANCHECK["cases"]})) == expected


def test_ragas_samples_and_conversations(tmp_path: Path) -> None:
    assert read("ragas", jsonl(tmp_path / "a.jsonl", RAGAS)) == snapshot(
        [
            {
                "case": {
                    "id": "q-491498f64c97",
                    "input": "What is the notice period?",
                    "expected": "30 days",
                    "expected_sources": ["lease"],
                },
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [
                            {"source_id": "lease", "text": "The notice period is 30 days."},
                            {"source_id": "7", "text": "Rent is due monthly."},
                        ],
                    },
                    "attempts": 0,
                },
            },
            {
                "case": {
                    "id": "q-56800bc9375e",
                    "input": "What is the notice period?",
                    "history": [{"role": "user", "text": "Hello"}, {"role": "assistant", "text": "Ask me."}],
                },
                "row": {"output": {"answer": "Notice is 30 days."}, "attempts": 0},
            },
            {
                "case": {"id": "q-27e9d6f7b5de", "input": "Unanswered?"},
                "row": {
                    "error_class": "NoRecordedAnswer",
                    "error_message": "the sample has no response",
                    "attempts": 0,
                },
            },
        ]
    )


def test_ragas_files_of_other_kinds_and_ages_say_the_same(tmp_path: Path) -> None:
    expected = read("ragas", jsonl(tmp_path / "a.jsonl", RAGAS_OLDER))
    pd.DataFrame(RAGAS_OLDER).to_csv(tmp_path / "a.csv", index=False)  # lists as Python writes them
    pd.DataFrame(RAGAS_OLDER).to_parquet(tmp_path / "a.parquet")
    assert expected[0]["row"]["output"]["contexts"] == [{"text": PASSAGE}]
    assert read("ragas", tmp_path / "a.csv") == expected
    assert read("ragas", tmp_path / "a.parquet") == expected
    assert read("ragas", document(tmp_path / "a.json", RAGAS_OLDER)) == expected


def test_deepeval_test_cases(tmp_path: Path) -> None:
    assert read("deepeval", document(tmp_path / "a.json", DEEPEVAL)) == snapshot(
        [
            {
                "case": {
                    "id": "q-491498f64c97",
                    "input": "What is the notice period?",
                    "expected": "30 days",
                    "meta": {"ideal_context": ["Ideal."]},
                },
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [{"text": "The notice period is 30 days."}],
                        "usage": {"input_tokens": 10, "output_tokens": 4, "cost_usd": 0.001},
                    },
                    "latency_ms": 500.0,
                    "attempts": 0,
                },
            },
            {
                "case": {"id": "q-31b91815a3df", "input": "Pets?"},
                "row": {
                    "error_class": "NoRecordedAnswer",
                    "error_message": "the test case has no actual_output",
                    "attempts": 0,
                },
            },
        ]
    )


def test_deepeval_rows_join_their_texts_with_a_bar(tmp_path: Path) -> None:
    row = {"input": QUESTION, "actual_output": ANSWER, "retrieval_context": f"{PASSAGE}|Rent is due."}
    pd.DataFrame([row]).to_csv(tmp_path / "a.csv", index=False)
    for path in (tmp_path / "a.csv", jsonl(tmp_path / "a.jsonl", [row])):
        contexts = read("deepeval", path)[0]["row"]["output"]["contexts"]
        assert contexts == [{"text": PASSAGE}, {"text": "Rent is due."}]


def test_deepeval_test_runs_are_read_in_their_own_spelling(tmp_path: Path) -> None:
    found = read("deepeval", document(tmp_path / "run.json", DEEPEVAL_RUN))
    assert found[0]["row"]["output"] == {"answer": ANSWER, "contexts": [{"text": PASSAGE}]}
    assert found[0]["case"]["expected"] == "30 days"


def test_promptfoo_results(tmp_path: Path) -> None:
    assert read("promptfoo", document(tmp_path / "results.json", PROMPTFOO)) == snapshot(
        [
            {
                "case": {
                    "id": "q-491498f64c97",
                    "input": "What is the notice period?",
                    "meta": {"description": "notice"},
                },
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "usage": {"input_tokens": 10, "output_tokens": 4, "cost_usd": 0.001},
                    },
                    "latency_ms": 120.0,
                    "attempts": 0,
                },
            },
            {
                "case": {"id": "q-add96c4c9869", "input": {"question": "Pets?", "tone": "short"}},
                "row": {"error_class": "RecordedError", "error_message": "API error: 500", "attempts": 0},
            },
        ]
    )


def test_promptfoo_files_of_two_providers_ask_which_one_is_the_system(tmp_path: Path) -> None:
    two = copy.deepcopy(PROMPTFOO)
    two["results"]["results"][1]["provider"] = {"id": "other", "label": "theirs"}
    path = document(tmp_path / "results.json", two)
    assert problems("promptfoo", path) == snapshot(
        "FILE: holds answers of 2 systems ('openai:gpt-5.2 · main', 'theirs · main'); choose one with --only NAME"
    )
    assert len(read("promptfoo", path, only="openai:gpt-5.2")) == 1
    assert len(read("promptfoo", path, only="theirs · main")) == 1


def test_promptfoo_repeats_are_epochs_and_cached_responses_have_no_latency(tmp_path: Path) -> None:
    repeated = copy.deepcopy(PROMPTFOO)
    first = repeated["results"]["results"][0]
    again = copy.deepcopy(first)
    again["response"] |= {"cached": True, "tokenUsage": {"total": 14, "cached": 14}}
    repeated["results"]["results"] = [first, again]
    rows = [found["row"] for found in read("promptfoo", document(tmp_path / "results.json", repeated))]
    assert [row.get("epoch", 0) for row in rows] == [0, 1]
    assert [row.get("latency_ms") for row in rows] == [120.0, None]
    assert "input_tokens" not in rows[1]["output"]["usage"]


def test_inspect_samples_are_cases_and_their_epochs_are_counted_from_zero(tmp_path: Path) -> None:
    path = document(tmp_path / "log.json", INSPECT)
    assert read("inspect_ai", path) == snapshot(
        [
            {
                "case": {
                    "id": "1",
                    "input": "What is the notice period?",
                    "expected": "30 days",
                    "meta": {"contexts": [{"source_id": "lease", "text": "The notice period is 30 days."}]},
                    "history": [{"role": "system", "text": "Be brief."}],
                },
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [
                            {"source_id": "https://ex.org", "uri": "https://ex.org", "title": "Ex"},
                            {"source_id": "Lease", "title": "Lease"},
                        ],
                        "citations": [
                            {"source_id": "https://ex.org", "answer_start": 0, "answer_end": 6},
                            {
                                "quote": "The notice period is 30 days.",
                                "source_id": "Lease",
                                "answer_start": 0,
                                "answer_end": 18,
                            },
                        ],
                        "usage": {"input_tokens": 13, "output_tokens": 4, "cached_input_tokens": 3},
                        "finish_reason": "stop",
                        "served_model": "gpt-5.2",
                    },
                    "latency_ms": 500.0,
                    "attempts": 0,
                },
            },
            {
                "case": {
                    "id": "1",
                    "input": "What is the notice period?",
                    "expected": "30 days",
                    "meta": {"contexts": [{"source_id": "lease", "text": "The notice period is 30 days."}]},
                    "history": [{"role": "system", "text": "Be brief."}],
                },
                "row": {
                    "epoch": 1,
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [
                            {"source_id": "https://ex.org", "uri": "https://ex.org", "title": "Ex"},
                            {"source_id": "Lease", "title": "Lease"},
                        ],
                        "citations": [
                            {"source_id": "https://ex.org", "answer_start": 0, "answer_end": 6},
                            {
                                "quote": "The notice period is 30 days.",
                                "source_id": "Lease",
                                "answer_start": 0,
                                "answer_end": 18,
                            },
                        ],
                        "usage": {"input_tokens": 13, "output_tokens": 4, "cached_input_tokens": 3},
                        "finish_reason": "stop",
                        "served_model": "gpt-5.2",
                    },
                    "latency_ms": 500.0,
                    "attempts": 0,
                },
            },
            {
                "case": {"id": "2", "input": "Pets?"},
                "row": {"error_class": "RecordedError", "error_message": "boom", "attempts": 0},
            },
        ]
    )
    mapped = read("inspect_ai", path, columns={"contexts": "metadata.contexts"})
    assert mapped[0]["row"]["output"]["contexts"][0] == {"source_id": "lease", "text": PASSAGE}
    assert [context["source_id"] for context in mapped[0]["row"]["output"]["contexts"][1:]] == [
        "https://ex.org",
        "Lease",
    ]


def test_langfuse_traces_with_their_observations(tmp_path: Path) -> None:
    assert read("langfuse", jsonl(tmp_path / "traces.jsonl", [LANGFUSE])) == snapshot(
        [
            {
                "case": {"id": "t1", "input": "What is the notice period?"},
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [
                            {"source_id": "lease", "text": "The notice period is 30 days."},
                            {"text": "Rent is due monthly."},
                        ],
                        "usage": {"input_tokens": 13, "output_tokens": 4, "cached_input_tokens": 3, "cost_usd": 0.002},
                        "served_model": "gpt-5.2",
                    },
                    "latency_ms": 500.0,
                    "attempts": 0,
                    "started_at": "2026-03-14T02:00:00Z",
                },
            }
        ]
    )


def test_langfuse_observations_alone_are_grouped_into_traces(tmp_path: Path) -> None:
    observations = langfuse_observations()
    lines = jsonl(tmp_path / "observations.jsonl", observations)
    found = read("langfuse", lines)
    whole = read("langfuse", jsonl(tmp_path / "traces.jsonl", [LANGFUSE]))
    assert found[0]["case"] == whole[0]["case"]
    assert found[0]["row"]["latency_ms"] == 500.0
    for name in ("answer", "contexts", "served_model"):
        assert found[0]["row"]["output"][name] == whole[0]["row"]["output"][name]
    assert read("langfuse", document(tmp_path / "observations.json", observations)) == found
    assert read("langfuse", document(tmp_path / "page.json", {"data": observations})) == found
    pd.DataFrame(observations).to_csv(tmp_path / "observations.csv", index=False)
    assert read("langfuse", tmp_path / "observations.csv") == found


def test_openinference_spans_of_phoenix(tmp_path: Path) -> None:
    assert read("openinference", jsonl(tmp_path / "spans.jsonl", openinference_spans())) == snapshot(
        [
            {
                "case": {"id": "t1", "input": "What is the notice period?"},
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [
                            {"source_id": "lease", "text": "The notice period is 30 days."},
                            {"source_id": "annex", "text": "Rent is due monthly."},
                        ],
                        "usage": {"input_tokens": 10, "output_tokens": 4, "cached_input_tokens": 3},
                        "served_model": "gpt-5.2",
                    },
                    "latency_ms": 300.0,
                    "attempts": 0,
                    "started_at": "2026-03-14T02:00:00.100000Z",
                    "finished_at": "2026-03-14T02:00:00.400000Z",
                },
            }
        ]
    )


def test_otel_genai_spans_in_otlp(tmp_path: Path) -> None:
    assert read("otel_genai", jsonl(tmp_path / "spans.jsonl", [otlp_spans()])) == snapshot(
        [
            {
                "case": {"id": "t1", "input": "What is the notice period?"},
                "row": {
                    "output": {
                        "answer": "Notice is 30 days.",
                        "contexts": [{"source_id": "lease", "text": "The notice period is 30 days."}],
                        "usage": {"input_tokens": 10, "output_tokens": 4},
                        "finish_reason": "stop",
                        "served_model": "gpt-5.2",
                    },
                    "latency_ms": 30.0,
                    "attempts": 0,
                    "started_at": "2026-03-14T02:00:00.100000Z",
                    "finished_at": "2026-03-14T02:00:00.130000Z",
                },
            }
        ]
    )


def test_spans_of_many_traces_may_stand_in_any_order_and_lines(tmp_path: Path) -> None:
    first, second = openinference_spans(), openinference_spans()
    for span in second:
        span["context.trace_id"] = "t2"
    mixed = [span for pair in zip(first, second, strict=True) for span in pair]
    found = read("openinference", jsonl(tmp_path / "spans.jsonl", mixed))
    assert [item["case"]["id"] for item in found] == ["t1", "t2"]
    assert found[0]["row"] == found[1]["row"]
    nested = [
        {
            "name": span["name"],
            "context": {"trace_id": span["context.trace_id"], "span_id": span["context.span_id"]},
            "parent_id": span["parent_id"],
            "start_time": span["start_time"],
            "end_time": span["end_time"],
            "status": {"status_code": "OK"},
            "attributes": {
                key.removeprefix("attributes."): value for key, value in span.items() if key.startswith("attributes.")
            },
        }
        for span in mixed
    ]
    assert read("openinference", document(tmp_path / "spans.json", nested)) == found


def test_the_tokens_of_a_trace_are_known_when_each_of_its_calls_says_them(tmp_path: Path) -> None:
    spans = openinference_spans()
    again = {**spans[0], "context.span_id": "llm2", "start_time": "2026-03-14T02:00:00.900Z"}
    usage = read("openinference", jsonl(tmp_path / "a.jsonl", [*spans, again]))[0]["row"]["output"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (20, 8)
    again = {key: value for key, value in again.items() if key != "attributes.llm.token_count.completion"}
    usage = read("openinference", jsonl(tmp_path / "b.jsonl", [*spans, again]))[0]["row"]["output"]["usage"]
    assert usage == {"input_tokens": 20, "cached_input_tokens": 6}


def test_a_trace_that_failed_is_an_error_row(tmp_path: Path) -> None:
    root = openinference_spans()[1]
    failed = {**root, "status_code": "ERROR", "status_message": "boom", "attributes.output.value": None}
    found = read("openinference", jsonl(tmp_path / "spans.jsonl", [failed]))
    assert (found[0]["row"]["error_class"], found[0]["row"]["error_message"]) == ("RecordedError", "boom")
    silent = {**failed, "status_code": "OK"}
    found = read("openinference", jsonl(tmp_path / "spans.jsonl", [silent]))
    assert found[0]["row"]["error_class"] == "NoRecordedAnswer"


# -- files that are not what they should be -------------------------------------------------------------------------

ONE: dict[str, Any] = {
    "jsonl": ROWS[0],
    "ragas": RAGAS[0],
    "deepeval": DEEPEVAL,
    "promptfoo": PROMPTFOO,
    "inspect_ai": INSPECT,
    "spancheck": SPANCHECK,
    "langfuse": LANGFUSE,
    "openinference": openinference_spans()[1],
    "otel_genai": otlp_spans(),
}


@pytest.mark.parametrize("format_", ONE)
@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", "[1, 2]", '"text"', "\x00", "a,b\n1,2"])
def test_a_file_of_another_kind_is_refused_in_one_message(tmp_path: Path, format_: str, content: str) -> None:
    for name in ("a.json", "a.jsonl"):
        path = tmp_path / name
        path.write_text(content)
        assert "FILE" in problems(format_, path)


@pytest.mark.parametrize("format_", ONE)
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, format_: str) -> None:
    path = document(tmp_path / "a.json", ONE[format_])
    path.write_text(path.read_text()[:-20])
    assert "FILE" in problems(format_, path)


def without(example: Any, *path: Any) -> Any:
    """Return an example without the text at a path."""
    changed = copy.deepcopy(example)
    at = changed
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = None
    return changed


def retriever(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return spans whose first document came without its content."""
    changed = copy.deepcopy(spans)
    del changed[2]["attributes.retrieval.documents"][0]["document.content"]
    return changed


def otlp_without_content() -> dict[str, Any]:
    changed = otlp_spans()
    attributes = changed["resourceSpans"][0]["scopeSpans"][0]["spans"][1]["attributes"]
    attributes[1]["value"]["stringValue"] = '[{"id": "lease", "score": 0.9}]'
    return changed


TEXTLESS: dict[str, Any] = {
    "jsonl": without(ROWS[0], "contexts", 0, "text"),
    "spancheck": without(
        without(SPANCHECK, "cases", 0, "output", "contexts"), "cases", 0, "output", "sources", "lease"
    ),
    "ragas": without(RAGAS[0], "retrieved_contexts", 0),
    "langfuse": without(LANGFUSE, "observations", 0, "output", 0, "page_content"),
    "openinference": retriever(openinference_spans()),
    "otel_genai": otlp_without_content(),
}


@pytest.mark.parametrize("format_", TEXTLESS)
def test_a_passage_that_came_without_its_text_is_a_source_without_text(tmp_path: Path, format_: str) -> None:
    value = TEXTLESS[format_]
    write = document if format_ == "spancheck" else jsonl
    path = write(tmp_path / "a.jsonl", value if isinstance(value, list) or write is document else [value])
    first = read(format_, path)[0]["row"]["output"]["contexts"][0]
    assert first["source_id"] == "lease"
    assert "text" not in first


def test_offsets_that_do_not_fit_their_words_are_flagged_and_never_moved(tmp_path: Path) -> None:
    log = copy.deepcopy(INSPECT)
    log["samples"][0]["output"]["choices"][0]["message"]["content"][0]["citations"][0]["cited_text"] = [3, 99]
    citation = read("inspect_ai", document(tmp_path / "log.json", log))[0]["row"]["output"]["citations"][0]
    assert citation["flags"] == ["offset_mismatch"]
    # In rows the offsets are the writer's own statement; verifying them is the grader's work.
    row = copy.deepcopy(ROWS[0])
    row["citations"][0] |= {"source_start": 4, "source_end": 33}
    found = read("jsonl", jsonl(tmp_path / "a.jsonl", [row]))[0]["row"]["output"]
    assert (found["citations"][0]["source_start"], found["citations"][0]["source_end"]) == (4, 33)
    output = Output.model_validate(found)
    assert "offset_mismatch" in verify_citation(output.citations[0], output.contexts, output.answer).warnings


def nodes(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in pairs for found in ((*path, key), *nodes(item, (*path, key)))]


@pytest.mark.parametrize("format_", ONE)
@pytest.mark.parametrize("junk", [None, 7, ["x", {}]], ids=str)
def test_a_field_of_another_type_is_a_problem_or_missing_and_never_a_crash(
    tmp_path: Path, format_: str, junk: Any
) -> None:
    for path in nodes(ONE[format_]):
        value = copy.deepcopy(ONE[format_])
        at = value
        for part in path[:-1]:
            at = at[part]
        at[path[-1]] = junk
        file = (jsonl if format_ == "jsonl" else document)(
            tmp_path / "a.jsonl", [value] if format_ in {"jsonl", "ragas"} else value
        )
        try:
            read_source(Source(path=file, format=format_)).close()
        except (ConfigError, ContractError):
            continue


@pytest.mark.parametrize(
    ("format_", "changed", "said"),
    [
        ("promptfoo", {"results": {"version": 9, "results": []}}, "version 9; versions 2 and 3"),
        ("inspect_ai", {"version": 9, "eval": {}, "samples": []}, "version 9; versions 1 and 2"),
        ("inspect_ai", {"version": 2, "eval": {}}, "without samples"),
        ("ragas", [{"prompt": "?"}], "neither 'user_input' (ragas 0.2 and later) nor 'question'"),
        ("deepeval", [{"turns": []}], "has no 'input'"),
    ],
)
def test_a_version_or_shape_that_is_not_known_is_named(tmp_path: Path, format_: str, changed: Any, said: str) -> None:
    assert said in problems(format_, document(tmp_path / "a.json", changed))


def test_an_earlier_librarys_other_schema_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = document(tmp_path / "a.json", {**SPANCHECK, "schema_version": "1.7"})
    with pytest.raises(ContractError, match=r"1\.7"):
        read_source(Source(path=path, format="spancheck"))


def test_a_binary_inspect_log_is_told_how_to_become_json(tmp_path: Path) -> None:
    (tmp_path / "a.eval").write_bytes(b"PK\x03\x04")
    assert "inspect log convert" in problems("inspect_ai", tmp_path / "a.eval")


def test_every_problem_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"input": "a", "answer": "b"}\nbroken\n{"answer": "c"}\n{"input": "d", "answer": 3}\n')
    assert [line.partition(";")[0] for line in problems("jsonl", path).splitlines()] == [
        "FILE:2: this line is not JSON (Expecting value at character 1)",
        "FILE:3: has no question",
        "FILE:4: what it holds is no output (InvalidOutputError)",
    ]


def test_two_rows_of_one_id_are_a_problem_and_two_of_one_question_are_two_cases(tmp_path: Path) -> None:
    same_id = [{"id": "q1", "input": "a", "answer": "b"}, {"id": "q1", "input": "a", "answer": "c"}]
    assert "'q1' stands twice" in problems("jsonl", jsonl(tmp_path / "a.jsonl", same_id))
    asked_twice = [{"input": "a", "answer": "b"}, {"input": "a", "answer": "c"}]
    with read_source(Source(path=jsonl(tmp_path / "b.jsonl", asked_twice), format="jsonl")) as found:
        first, second = (case.id for case in found.cases())
    assert second == f"{first}-2"


def test_a_wrong_format_column_or_choice_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", ROWS)
    for source, said in (
        ({"format": "raggas"}, "'ragas'"),
        ({"format": "jsonl", "columns": {"anser": "x"}}, "'answer'"),
        ({"format": "jsonl", "only": "x"}, "`only`"),
        ({"format": "jsonl", "path": tmp_path / "none.jsonl"}, "no such file"),
    ):
        with pytest.raises(UsageError, match=said):
            read_source(Source(**{"path": path, **source}))
