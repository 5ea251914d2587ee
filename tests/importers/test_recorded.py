"""A file of another tool as a target: each case gets what the file recorded for it, in every format."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
from recorded_files import (
    ANSWER,
    DEEPEVAL,
    INSPECT,
    LANGFUSE,
    PASSAGE,
    PROMPTFOO,
    QUESTION,
    RAGAS,
    ROWS,
    SPANCHECK,
    document,
    jsonl,
    openinference_spans,
    otlp_spans,
)
from scenario import DATE, Project, spancheck

from spancheck_pipeline.api.targets import load_target
from spancheck_pipeline.clients import target as clients_target
from spancheck_pipeline.clients.call_errors import CallError, failure_of
from spancheck_pipeline.decision.suite_target import RecordedFormat, Target
from spancheck_pipeline.errors import ConfigError, TargetError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.importers.formats import FORMATS
from spancheck_pipeline.storage.rows import captured_from_row
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN

CASE = Case("notice", QUESTION)


def load(folder: Path, file: str, format_: str, *, citations: str = "auto", **settings: Any) -> Any:
    target = Target(recorded={"file": file, "format": format_, **settings}, citations=citations)
    return load_target(target, suite_folder=folder)


def ask(target: Any, case: Case = CASE, epoch: int = 0) -> Output:
    return asyncio.run(target.call(case, epoch))


def error_of(target: Any, case: Case = CASE, epoch: int = 0) -> tuple[str, str]:
    try:
        ask(target, case, epoch)
    except CallError as error:
        failure = failure_of(error)
        assert not failure.retryable
        return failure.error_class, failure.message
    raise AssertionError("it answered")


def flat(rows: list[dict[str, Any]]) -> pd.DataFrame:
    named = ({key: json.dumps(v) if isinstance(v, list | dict) else v for key, v in row.items()} for row in rows)
    return pd.DataFrame(list(named))


def written(folder: Path, format_: str) -> str:
    """Write the recorded example of a format, and return the file's name."""
    if format_ == "csv":
        flat(ROWS[:1]).to_csv(folder / "a.csv", index=False)
        return "a.csv"
    if format_ == "parquet":
        pd.DataFrame(ROWS[:1]).to_parquet(folder / "a.parquet")
        return "a.parquet"
    lines = {"jsonl": ROWS, "ragas": RAGAS, "langfuse": [LANGFUSE], "openinference": openinference_spans()}
    if format_ in lines:
        return jsonl(folder / "a.jsonl", lines[format_]).name
    documents = {"spancheck": SPANCHECK, "deepeval": DEEPEVAL, "promptfoo": PROMPTFOO, "otel_genai": otlp_spans()}
    return document(folder / "a.json", {**documents, "inspect_ai": INSPECT}[format_]).name


def test_a_trace_answers_the_case_that_asks_its_question(tmp_path: Path) -> None:
    target = load(tmp_path, jsonl(tmp_path / "traces.jsonl", [LANGFUSE]).name, "langfuse")
    output = ask(target)
    assert output.answer == ANSWER
    assert [context.text for context in output.contexts] == [PASSAGE, "Rent is due monthly."]
    assert (output.usage.input_tokens, output.usage.cost_usd, output.latency_ms) == (13, 0.002, 500.0)
    assert target.facts.kind == "recorded"


def test_the_schema_of_a_suite_names_every_format_that_can_be_imported() -> None:
    assert get_args(RecordedFormat) == tuple(FORMATS)
    # The suite allows `only` for this one alone.
    assert [name for name, spec in FORMATS.items() if spec.has_choice] == ["promptfoo"]


HISTORY = [{"role": "system", "text": "Be brief."}]


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_answers_by_question_and_says_when_it_has_nothing(tmp_path: Path, format_: str) -> None:
    target = load(tmp_path, written(tmp_path, format_), format_)
    case = Case("notice", QUESTION, history=HISTORY if format_ == "inspect_ai" else ())
    assert ask(target, case).answer == ANSWER
    assert error_of(target, Case("other", "Never asked?"))[0] == "NoRecordedAnswer"


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_refused_where_the_file_is_of_another(tmp_path: Path, format_: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"subject": "x"}\n')
    with pytest.raises(ConfigError) as failed:
        load(tmp_path, "a.jsonl", format_)
    assert str(tmp_path / "a.jsonl") in str(failed.value)


def test_a_file_of_another_format_is_told_by_its_name(tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", RAGAS[:1])
    with pytest.raises(ConfigError, match=r"looks like a file of ragas, and was read as langfuse; read it as ragas"):
        load(tmp_path, "a.jsonl", "langfuse")


def test_an_id_counts_where_the_question_is_the_same_or_not_told(tmp_path: Path) -> None:
    rows = [{"id": "q1", "answer": "By id."}, {"id": "q2", "input": "Another?", "answer": "To another."}]
    target = load(tmp_path, jsonl(tmp_path / "a.jsonl", rows).name, "jsonl")
    assert ask(target, Case("q1", "Anything?")).answer == "By id."
    assert error_of(target, Case("q2", "Anything?"))[0] == "NoRecordedAnswer"
    assert ask(target, Case("q2", "Another?", history=HISTORY)).answer == "To another."


def test_several_answers_to_a_question_are_no_answer_until_the_file_tells_them_apart(tmp_path: Path) -> None:
    second = copy.deepcopy(LANGFUSE) | {"id": "t2"}
    for part in second["observations"]:
        part["traceId"] = "t2"
    target = load(tmp_path, jsonl(tmp_path / "a.jsonl", [LANGFUSE, second]).name, "langfuse")
    assert error_of(target) == (
        "AmbiguousRecordError",
        "2 answers are recorded for this question; map an id or an epoch, or keep one of them",
    )
    assert ask(target, Case("t2", QUESTION)).answer == ANSWER


def test_one_answer_is_that_of_every_epoch_and_several_are_each_of_their_own(tmp_path: Path) -> None:
    rows = [{"id": "a", "answer": "once"}, *({"id": "b", "answer": str(n), "epoch": n} for n in (0, 1))]
    target = load(tmp_path, jsonl(tmp_path / "a.jsonl", rows).name, "jsonl")
    assert [ask(target, Case("a", "?"), epoch).answer for epoch in (0, 4)] == ["once", "once"]
    assert [ask(target, Case("b", "?"), epoch).answer for epoch in (0, 1)] == ["0", "1"]
    assert error_of(target, Case("b", "?"), 2)[0] == "NoRecordedAnswer"


def test_a_recorded_failure_keeps_its_class_and_is_not_tried_again(tmp_path: Path) -> None:
    target = load(tmp_path, document(tmp_path / "a.json", SPANCHECK).name, "spancheck")
    assert error_of(target, Case("q2", "Pets?")) == ("TimeoutError", "TimeoutError: too slow")
    target = load(tmp_path, jsonl(tmp_path / "r.jsonl", RAGAS).name, "ragas")
    assert error_of(target, Case("q", "Unanswered?"))[0] == "NoRecordedAnswer"


def test_columns_and_systems_are_chosen_as_in_an_import(tmp_path: Path) -> None:
    rows = [{"qid": 7, "said": {"text": "It is 30 days [1].", "docs": [PASSAGE]}}]
    columns = {"case_id": "qid", "answer": "said.text", "contexts": "said.docs"}
    file = jsonl(tmp_path / "a.jsonl", rows).name
    output = ask(load(tmp_path, file, "jsonl", columns=columns, citations="markers"), Case("7", "?"))
    assert output.citations[0].source_id == "1"
    two = copy.deepcopy(PROMPTFOO)
    two["results"]["results"].append({**two["results"]["results"][0], "provider": "theirs"})
    document(tmp_path / "b.json", two)
    with pytest.raises(ConfigError, match="choose one with only: NAME"):
        load(tmp_path, "b.json", "promptfoo")
    assert ask(load(tmp_path, "b.json", "promptfoo", only="theirs")).answer == ANSWER


def test_every_item_that_cannot_be_used_is_reported_with_its_line_and_the_fix(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"answer": "to nothing"}\nbroken\n{"id": "q1", "answer": "a"}\n{"id": "q1", "answer": "b"}\n'
        '{"id": "q2", "answer": 3}\n{"id": "q3", "answer": "c", "usage": {"input_tokens": "SECRET"}}\n'
    )
    with pytest.raises(ConfigError) as failed:
        load(tmp_path, "a.jsonl", "jsonl")
    assert str(failed.value).replace(str(path), "FILE").splitlines() == [
        "FILE:1: has neither a case id nor a question; map one of them: columns: {id: PATH} or {input: PATH}",
        "FILE:2: this line is not JSON (Expecting value at character 1)",
        "FILE:4: the id 'q1' stands twice; keep one answer per case and epoch",
        (
            "FILE:5: what it holds is no output (InvalidOutputError); map the answer: columns: {answer: PATH}; or name "
            "the payload's producer: target.citations: NAME"
        ),
        (
            "FILE:6: what it holds is no output: usage.input_tokens must be a whole number; correct it, or take it "
            "from elsewhere: columns: {usage: PATH}"
        ),
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"file": "none.jsonl"}, "there is no such file"),
        ({"columns": {"anser": "x"}}, "did you mean 'answer'"),
    ],
)
def test_what_cannot_be_read_at_all_is_a_mistake_of_the_target(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    jsonl(tmp_path / "a.jsonl", ROWS)
    with pytest.raises(TargetError, match=said):
        load(tmp_path, **{"file": "a.jsonl", "format_": "jsonl", **settings})


def test_clients_alone_open_no_format_of_other_tools(tmp_path: Path) -> None:
    target = Target(recorded={"file": "a.jsonl", "format": "ragas"})
    with pytest.raises(TargetError, match=r"api\.targets"):
        clients_target.load_target(target, suite_folder=tmp_path)


def test_a_night_is_captured_from_a_file_of_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path, n=2)
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    project.write_cases([{"id": "notice", "input": QUESTION}, {"id": "pets", "input": "Pets?"}])
    jsonl(project.suite_folder / "traces.jsonl", [LANGFUSE])
    (project.suite_folder / "suite.yaml").write_text(
        "contract: 1\nname: small\ntarget: {recorded: {file: traces.jsonl, format: langfuse}}\ngraders: {no_pii: {}}\n"
    )
    assert spancheck("nightly", "small", "--date", DATE) == 1  # completion gates, and one case has no answer
    rows = list(Store(tmp_path / "storage").open(Night("small", DATE), CAPTURED_RUN).rows())
    first, second = map(captured_from_row, rows)
    assert (first.latency_ms, first.attempts, second.error_class) == (500.0, 0, "NoRecordedAnswer")
    assert spancheck("run", "small", "--run-id", "r1") == 1


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("{recorded: {file: a.jsonl, format: langfus}}", r"suite\.yaml:3: target\.recorded\.format: .*'langfuse'"),
        ("{recorded: {file: a.jsonl, only: x}}", r"suite\.yaml:3: .*only: has a meaning for format: promptfoo"),
    ],
)
def test_a_wrong_setting_of_a_suite_is_refused_with_its_line(tmp_path: Path, target: str, said: str) -> None:
    from spancheck_pipeline.storage.datasets import load_suite

    project = Project(tmp_path, n=1)
    (project.suite_folder / "suite.yaml").write_text(
        f"contract: 1\nname: small\ntarget: {target}\ngraders: {{no_pii: {{}}}}\n"
    )
    with pytest.raises(ConfigError, match=said):
        load_suite(tmp_path / "datasets", "small")
