"""The commands as a user calls them: exit codes, what is printed, and what bad input gets."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from scenario import Project, cases_of, spancheck


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_nightly_prints_the_scorecard_the_audit_log_and_how_to_open_the_ui(project, capsys):
    assert spancheck("nightly", "small") == 0

    out = capsys.readouterr().out
    head = out.index("citation accuracy")
    assert head < out.index("abstention correctness") < out.index("hallucination rate") < out.index("cost and latency")
    assert out.index("cost and latency") < out.index("grader ")
    today = project.environment.today()
    assert f"audit log: {project.storage}/audit_log/suite=small/date={today}/part-0.parquet" in out
    assert "gate: PASS (decision 1)" in out
    assert "spancheck ui" in out


def test_nightly_run_twice_calls_the_target_once_per_case(project):
    spancheck("nightly", "small")
    spancheck("nightly", "small")

    assert Counter(project.calls()) == Counter(case["input"] for case in cases_of(12))


def test_nightly_ends_with_1_when_the_gate_fails(project, capsys):
    project.write_suite(gate=", budget: {mean_cost_usd: 1}")

    assert spancheck("nightly", "small") == 1
    out = capsys.readouterr().out
    assert "gate: NOT MEASURED" in out
    assert "4 of 12 answers have no known cost" in out


def test_nightly_json_is_one_document(project, capsys):
    spancheck("nightly", "small", "--json")

    document = json.loads(capsys.readouterr().out)
    assert document["decision"]["answer"] == "PASS"
    assert list(document["scorecard"]["graders"])[1] == "citation_accuracy", "the suite's order"


def test_score_shows_the_latest_decision_and_as_decided_the_original(project, capsys):
    spancheck("nightly", "small")
    project.write_suite(gate=", budget: {p95_latency_ms: 0.000001}")
    assert spancheck("score", "small", "--regrade") == 1
    capsys.readouterr()

    assert spancheck("score", "small") == 1
    assert "gate: FAIL (decision 2)" in capsys.readouterr().out
    assert spancheck("score", "small", "--as-decided") == 0
    assert "gate: PASS (decision 1)" in capsys.readouterr().out
    assert spancheck("gate", "small", "--as-decided", "2") == 1
    assert spancheck("gate", "small", "--as-decided", "7") == 2
    assert len(project.calls()) == 12


def test_audit_export_writes_a_document_that_score_and_gate_read(project, tmp_path, capsys):
    spancheck("nightly", "small")
    file = tmp_path / "audit.json"

    assert spancheck("audit", "export", "small", "--to", str(file)) == 0
    assert spancheck("score", str(file)) == 0
    assert spancheck("score", str(file), "--regrade") == 0
    assert spancheck("gate", str(file), "citation_accuracy=0.9") == 0
    assert spancheck("gate", str(file), "abstention_correct=1.0", "--baseline", str(file)) == 0
    document = json.loads(file.read_text())
    assert (document["schema_version"], len(document["records"])) == ("2.0", 12)


def test_audit_history_lists_every_decision(project, capsys):
    spancheck("nightly", "small")
    project.write_suite(gate=", budget: {p95_latency_ms: 0.000001}")
    spancheck("score", "small", "--regrade")
    capsys.readouterr()

    spancheck("audit", "history", "small", "--json")

    assert [(d["revision"], d["answer"]) for d in json.loads(capsys.readouterr().out)] == [(1, "PASS"), (2, "FAIL")]


def test_run_takes_a_cases_file_and_a_target(project, tmp_path, capsys):
    cases = project.suite_folder / "cases.jsonl"
    target = tmp_path / "mine.py"
    target.write_text((project.suite_folder / "target.py").read_text())

    code = spancheck("run", str(cases), "--target", "mine.py:answer", "--out", "audit.json", "--min", "no_pii=1")

    assert code == 0
    assert len(json.loads(Path("audit.json").read_text())["records"]) == 12
    assert list((project.storage / "runs").iterdir())
    assert not (project.storage / "captured_run").exists(), "never a nightly partition"


def test_run_goes_on_with_an_interrupted_run_by_its_id(project):
    spancheck("run", "small", "--run-id", "mine")
    spancheck("run", "small", "--run-id", "mine")

    assert len(project.calls()) == 12


def test_run_takes_another_configuration_of_a_suite(project, capsys):
    project.write_suite(more="configs: {strict: {gate: {budget: {p95_latency_ms: 0.000001}}}}\n")

    assert spancheck("run", "small") == 0
    assert spancheck("run", "small", "--config", "strict") == 1


def test_diff_pairs_two_runs_by_case(project, capsys):
    spancheck("run", "small", "--out", "a.json")
    project.write_target((project.suite_folder / "target.py").read_text().replace("president", "number 1"))
    spancheck("run", "small", "--out", "b.json")
    capsys.readouterr()

    assert spancheck("diff", "a.json", "b.json", "--json") == 0

    found = json.loads(capsys.readouterr().out)["comparison"]["graders"]["abstention_correct"]
    # Now declined: 1, 10 (wrongly); 2, 5, 8 are answered although nothing stands there, and 11 is declined still.
    assert found["newly_failing_case_ids"] == ["q01", "q02", "q05", "q08", "q10"]
    assert found["difference"]["value"] == pytest.approx(-5 / 12)


def test_diff_of_runs_that_share_no_question_is_not_comparable(project):
    spancheck("run", "small", "--out", "a.json")
    project.write_cases([{**case, "input": case["input"] + "!"} for case in cases_of(12)])
    spancheck("run", "small", "--out", "b.json")

    assert spancheck("diff", "a.json", "b.json") == 3
    assert spancheck("gate", "b.json", "--baseline", "a.json") == 3


def broken_suite(project: Project) -> None:
    (project.suite_folder / "suite.yaml").write_text("contract: 1\nname: small\ntraget: {}\n")


def contract_of_tomorrow(project: Project) -> None:
    file = project.suite_folder / "suite.yaml"
    file.write_text(file.read_text().replace("contract: 1", "contract: 7"))


def target_that_does_not_import(project: Project) -> None:
    project.write_target("import nothing_like_this\n")


def target_without_the_function(project: Project) -> None:
    project.write_target('VERSION = "1"\n')


def duplicate_ids(project: Project) -> None:
    project.write_cases([*cases_of(3), cases_of(1)[0]])


def misspelt_threshold(project: Project) -> None:
    file = project.suite_folder / "suite.yaml"
    file.write_text(file.read_text().replace("{citation_accuracy: 0.9", "{citation_acuracy: 0.9"))


GALLERY = {
    broken_suite: "traget",
    contract_of_tomorrow: "contract 7 is not known here (this version reads contract 1)",
    target_that_does_not_import: "nothing_like_this",
    target_without_the_function: "answer",
    duplicate_ids: "q00",
    misspelt_threshold: "did you mean 'citation_accuracy'?",
}


@pytest.mark.parametrize("breaks", GALLERY, ids=lambda breaks: breaks.__name__)
@pytest.mark.parametrize("command", ["nightly", "run"])
def test_bad_input_gets_one_screen_exit_2_and_leaves_storage_as_it_was(project, capsys, breaks, command):
    breaks(project)

    assert spancheck(command, "small") == 2

    error = capsys.readouterr().err
    assert GALLERY[breaks] in error
    assert "Traceback" not in error
    assert len(error.splitlines()) <= 24
    assert files(project.storage) == {}


@pytest.mark.parametrize("breaks", [target_that_does_not_import, duplicate_ids], ids=lambda breaks: breaks.__name__)
def test_bad_input_leaves_a_captured_date_as_it_was(project, breaks):
    spancheck("nightly", "small")
    before = files(project.storage)
    breaks(project)

    assert spancheck("nightly", "small", "--recapture") == 2
    assert files(project.storage) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nightly", "../x"], "is not a name"),
        (["nightly", "smal"], "did you mean 'small'?"),
        (["nightly", "small", "--date", "2999-01-01"], "is in the future"),
        (["nightly", "small", "--date", "tomorrow"], "write it as YYYY-MM-DD"),
        (["nightly", "small", "--date", "2020-01-01"], "before the first partition"),
        (["nightly", "small", "--recapture", "--retry-errors"], "not for both"),
        (["nightly", "small", "--retry-errors"], "never captured"),
        (["score", "small"], "nothing stored"),
        (["score", "no/such.json"], "No such file"),
        (["run", "small", "--config", "nope"], "has no config 'nope'"),
        (["run", "small", "--min", "citation_acuracy=1"], "did you mean 'citation_accuracy'?"),
        (["run", "small", "--min", "citation_accuracy=2"], "is not a threshold"),
        (["run", "small", "--run-id", "../x"], "is not a run id"),
        (["gate", "small", "x=1"], "nothing stored"),
        (["frobnicate"], "No such command"),
    ],
)
def test_a_mistake_in_the_call_is_said_with_its_fix(project, capsys, arguments, says):
    assert spancheck(*arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"a": 1}', "\ufeff{}", '{"schema_version": "9"}', "\x00"])
def test_a_file_that_is_no_audit_log_is_refused(project, capsys, content):
    Path("x.json").write_text(content, encoding="utf-8")

    assert spancheck("score", "x.json") == 2
    assert capsys.readouterr().err.startswith("spancheck: x.json")


def test_a_second_capture_of_the_same_date_is_refused_while_the_first_runs(project):
    project.write_target('import time\nVERSION = "1"\ndef answer(q):\n    time.sleep(0.3)\n    return "x"\n')
    project.write_suite(target=", concurrency: 1")
    command = [sys.executable, "-m", "spancheck_pipeline.cli", "run", "small", "--run-id", "same"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    lock = project.storage / "_locks" / "runs" / "same" / "captured_run" / "capture.lock.holder"
    try:
        while not lock.exists() and first.poll() is None:
            pass
        second = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        first.wait(timeout=60)

    assert second.returncode == 2
    assert "is being captured by process" in second.stderr


def test_control_characters_of_an_id_cannot_reach_the_terminal(project, capsys):
    project.write_target('VERSION = "1"\ndef answer(q):\n    raise type("E\\x1b[2J", (Exception,), {})("x")\n')

    spancheck("run", "small")

    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err


def test_help_and_version_need_no_heavy_library():
    code = (
        "import sys, spancheck_pipeline.cli.main as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'dagster', 'pandas', 'scipy', 'pyarrow', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
