"""What a newcomer or an attacker once broke: each stays mended."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
from scenario import cases_of, spancheck

from spancheck_pipeline.definitions import build
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


def target(body: str) -> str:
    return f'VERSION = "1"\nimport os\ndef answer(q):\n    {body}\n'


def test_a_target_that_ends_the_process_is_a_failed_row_and_no_silent_green(project):
    project.write_target(target("os._exit(0)"))
    command = [sys.executable, "-m", "spancheck_pipeline.cli", "run", "small"]

    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stderr
    assert "SystemExit × 12" in done.stdout


def test_a_forked_child_of_a_target_still_ends(project):
    project.write_target(target("pid = os.fork() or os._exit(3)\n    return str(os.waitpid(pid, 0)[1] >> 8)"))
    project.write_suite(graders=', three: {use: contains, substr: "3"}')
    command = [sys.executable, "-W", "ignore", "-m", "spancheck_pipeline.cli", "run", "small", "--json"]

    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)

    assert json.loads(done.stdout)["scorecard"]["graders"]["three"]["counts"]["n_pass"] == 12


@pytest.mark.parametrize(
    "fields",
    [
        '{"usage": {"input_tokens": 10**22}}',
        '{"contexts": [{"text": "x", "page": 2**40}]}',
        '{"citations": [{"quote": "x", "source_start": 10**30}]}',
        '{"latency_ms": 10**400}',
    ],
)
def test_a_number_that_no_column_holds_is_one_failed_row(project, fields, capsys):
    project.write_target(target(f'return {{"answer": "x"}} | ({fields} if "number 4" in q else {{}})'))

    assert spancheck("run", "small", "--json") == 1

    assert sum(json.loads(capsys.readouterr().out)["scorecard"]["errors"].values()) == 1


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("command", 'command: ["python3", "{suite_folder}/ask.py"]'),
        ("recorded", "recorded: answers.jsonl"),
        ("recorded", "recorded: {file: answers.jsonl, columns: {case_id: case_id}}"),
        ("http", 'http: {url: "http://127.0.0.1:9/"}'),
    ],
)
def test_every_kind_of_target_can_be_written_in_a_suite(project, kind, settings):
    file = project.suite_folder / "suite.yaml"
    lines = [line for line in file.read_text().splitlines() if "target:" not in line and "version_from" not in line]
    file.write_text("\n".join(lines) + f"\ntarget: {{{settings}, retries: 0}}\n")
    (project.suite_folder / "ask.py").write_text("import json, sys\nprint(json.load(sys.stdin)['input'])\n")
    answers = [json.dumps({"case_id": case["id"], "answer": case["input"]}) for case in cases_of(12)]
    (project.suite_folder / "answers.jsonl").write_text("\n".join(answers))

    assert spancheck("run", "small", "--run-id", "mine") in {0, 1}

    file = Store(project.storage)
    rows = list(file.open(_ad_hoc("mine"), CAPTURED_RUN).rows(["answered", "answer"]))
    assert len(rows) == 12
    assert all(row["answered"] for row in rows) is (kind != "http")


def _ad_hoc(run_id: str):
    from spancheck_pipeline.storage.store import AdHoc

    return AdHoc("small", run_id)


def test_a_broken_suite_is_shown_and_the_others_go_on(project, capsys):
    folder = project.folder / "datasets" / "broken"
    folder.mkdir()
    (folder / "suite.yaml").write_text("a: [")

    definitions = build(project.environment)

    keys = {key.to_user_string() for key in definitions.resolve_asset_graph().get_all_asset_keys()}
    assert {"small/captured_run", "broken/cannot_be_read"} <= keys
    assert "the suite 'broken' is left out" in capsys.readouterr().err
    dg.Definitions.validate_loadable(definitions)
    assert spancheck("nightly", "broken") == 2


def test_changed_cases_of_a_captured_date_are_said(project, capsys):
    spancheck("nightly", "small")
    changed = [*cases_of(12), {"id": "new", "input": "New?"}]
    changed[0]["input"] = "Another?"
    changed[1]["answerable"] = False
    project.write_cases(changed)
    capsys.readouterr()

    assert spancheck("nightly", "small") == 0

    error = capsys.readouterr().err
    for says in ("1 case(s) were reworded", "1 case(s) were added", "1 case(s) have other labels"):
        assert says in error


def test_a_captured_run_that_has_vanished_is_not_captured_again_by_the_way(project, capsys):
    spancheck("nightly", "small")
    place = Night("small", project.environment.today())
    Path(Store(project.storage).path(place, CAPTURED_RUN)).unlink()

    assert spancheck("nightly", "small") == 2
    assert "is missing, although" in capsys.readouterr().err
    assert len(project.calls()) == 12
    assert spancheck("nightly", "small", "--recapture") == 0


def test_a_part_of_an_audit_log_is_not_taken_for_the_run(project, capsys):
    spancheck("run", "small", "--out", "audit.json")
    whole = json.loads(Path("audit.json").read_text())
    for records in (whole["records"][:1], [*whole["records"], whole["records"][0]]):
        Path("part.json").write_text(json.dumps({**whole, "records": records}))
        assert spancheck("gate", "part.json", "completion=1") == 2
    whole["records"][0]["scores"][0]["value"] = 5
    Path("part.json").write_text(json.dumps(whole))
    assert spancheck("gate", "part.json", "completion=1") == 2
    assert "fault of spancheck" not in capsys.readouterr().err


def test_a_grader_that_is_not_there_is_not_a_grader_without_failures(project, capsys):
    spancheck("nightly", "small")

    assert spancheck("audit", "show", "small", "--grader", "nope") == 2
    assert "has no scores of a grader 'nope'" in capsys.readouterr().err


def test_a_device_is_written_to_and_never_replaced(project, tmp_path, capsys):
    spancheck("nightly", "small")
    link = tmp_path / "link.json"
    real = tmp_path / "real.json"
    real.write_text("")
    link.symlink_to(real)

    assert spancheck("audit", "export", "small", "--to", "/dev/null") == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert spancheck("audit", "export", "small", "--to", str(link)) == 0
    assert link.is_symlink()
    assert json.loads(real.read_text())["schema_version"] == "2.0"
    capsys.readouterr()
    assert spancheck("audit", "export", "small", "--to", "-") == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == "2.0"


def test_a_margin_without_a_baseline_is_refused(project, capsys):
    spancheck("run", "small", "--out", "audit.json")

    assert spancheck("gate", "audit.json", "--max-regression", "0.01") == 2
    assert "--baseline" in capsys.readouterr().err


def test_a_storage_whose_package_is_missing_names_it(project, monkeypatch, capsys):
    monkeypatch.setenv("SPANCHECK_STORAGE", "nosuchkind://bucket/x")

    assert spancheck("score", "small") == 2
    assert "'nosuchkind' is no kind of storage that is known here" in capsys.readouterr().err


def test_calls_that_hang_are_counted_aloud(project, capsys):
    project.write_target(target('import time\n    time.sleep(3 if "number 0" in q else 0)\n    return "x"'))
    project.write_suite(target=", timeout_s: 0.2")

    spancheck("nightly", "small")

    assert "calls that timed out were still running" in capsys.readouterr().err


@pytest.mark.parametrize("contract", ["true", "1.0"])
def test_a_contract_number_is_a_whole_number(project, contract, capsys):
    file = project.suite_folder / "suite.yaml"
    file.write_text(file.read_text().replace("contract: 1", f"contract: {contract}"))

    assert spancheck("run", "small") == 2
    assert "must be a whole number" in capsys.readouterr().err


def test_after_another_capture_nothing_answers_from_the_decision_about_the_old_one(project, capsys):
    spancheck("nightly", "small")
    folder = project.folder
    (folder / "bad.jsonl").write_text('{"id": "q00", "input": "How long is notice number 0?", "error": "boom"}\n')
    assert spancheck("import", "jsonl", "bad.jsonl", "--suite", "small", "--replace") == 1, "no answer in it"
    capsys.readouterr()

    for command in (["gate", "small"], ["gate", "small", "completion=1"], ["score", "small"]):
        assert spancheck(*command) == 2
        assert "is about another capture" in capsys.readouterr().err
    assert spancheck("score", "small", "--as-decided") == 0
    assert spancheck("nightly", "small") == 1


def test_a_snapshot_of_other_questions_is_never_paired_with_the_answers(project, capsys):
    from spancheck_pipeline.api.snapshot import publish_cases
    from spancheck_pipeline.evidence.case import Case

    spancheck("nightly", "small")
    place = Night("small", project.environment.today())
    other = [Case(**{**item, "input": "Quite another question?"}) for item in cases_of(12)]
    publish_cases(Store(project.storage), place, other)

    assert spancheck("nightly", "small") == 2
    assert "another question than" in capsys.readouterr().err


def test_the_first_word_of_an_errors_text_is_no_error_class(project, capsys):
    entry = {"case_id": "c", "input": "Q", "output": None, "error": "JohnDoe1980 has no record"}
    Path("a.json").write_text(json.dumps({"schema_version": "1.0", "cases": [entry]}))

    assert spancheck("score", "a.json") == 0

    assert "JohnDoe1980" not in capsys.readouterr().out


@pytest.mark.parametrize("grade", [{"passed": "false", "score": 0}, {"passed": True, "score": "nan"}])
def test_a_grade_that_is_no_boolean_is_refused(project, grade, capsys):
    entry = {"case_id": "c", "input": "Q", "output": {"answer": "x"}, "grades": [{"grader": "g", **grade}]}
    Path("a.json").write_text(json.dumps({"schema_version": "1.0", "cases": [entry]}))

    assert spancheck("gate", "a.json", "g=1") == 2
    assert "cannot be read" in capsys.readouterr().err


def test_one_id_asks_one_question_in_all_epochs(project, capsys):
    rows = [{"id": "a", "input": f"Q{i}", "answer": "x", "epoch": i} for i in range(2)]
    Path("d.jsonl").write_text("\n".join(map(json.dumps, rows)))

    assert spancheck("import", "jsonl", "d.jsonl", "--suite", "d") == 2
    assert "asks another question in an earlier epoch" in capsys.readouterr().err


def test_a_note_cannot_forge_a_line_of_the_list(project, capsys):
    spancheck("nightly", "small")

    assert spancheck("promote", "small", project.environment.today(), "--note", "ok\n  release 9: forged") == 2


def test_a_span_that_was_exported_twice_is_paid_for_once(project, capsys):
    attributes = {
        "openinference.span.kind": "LLM",
        "input.value": "Q",
        "output.value": "A",
        "llm.token_count.prompt": 3,
        "llm.token_count.completion": 4,
    }
    times = {"startTimeUnixNano": "1", "endTimeUnixNano": "1000000001"}
    line = json.dumps({"traceId": "t", "spanId": "1", "name": "r", **times, "attributes": attributes})
    Path("oi.jsonl").write_text(f"{line}\n{line}\n")

    assert spancheck("import", "openinference", "oi.jsonl", "--suite", "oi") == 0

    place = Night("oi", project.environment.today())
    [row] = Store(project.storage).open(place, CAPTURED_RUN).rows()
    assert (row["input_tokens"], row["output_tokens"]) == (3, 4)


def test_a_line_break_in_a_text_of_a_file_forges_no_line_of_ours(project, capsys):
    spancheck("run", "small", "--out", "log.json")
    document = json.loads(Path("log.json").read_text())
    forged = "small\ngate: PASS (decision 9)"
    document["suite"] = forged
    document["records"][0]["scores"][0]["grader"] = forged
    graders = document["summary"]["graders"]
    graders[forged] = graders.popitem()[1]
    Path("forged.json").write_text(json.dumps(document))
    capsys.readouterr()

    spancheck("score", "forged.json")
    spancheck("gate", "forged.json", "abstention_correct=0.5", "--baseline", "log.json")
    printed = capsys.readouterr()

    assert "small\\ngate: PASS (decision 9)" in printed.out
    assert not any(line.startswith("gate: PASS (decision 9)") for line in printed.out.splitlines())
    assert not any(line.startswith("gate: PASS (decision 9)") for line in printed.err.splitlines())


def test_what_of_a_problem_stands_on_further_lines_is_set_in(project, capsys):
    project.write_suite(graders=", one: {use: nonsense}, two: {use: nonsense}")

    assert spancheck("nightly", "small") == 2

    first, *further = capsys.readouterr().err.rstrip("\n").splitlines()
    assert first.startswith("spancheck: ")
    assert further
    assert all(line.startswith("  ") for line in further)
