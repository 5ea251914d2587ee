"""``spancheck init``, as somebody who comes with nothing: the project that it makes runs, or says what it lacks."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import dagster as dg
import pytest
import yaml
from scenario import spancheck

from spancheck_pipeline.api.environment import read_environment
from spancheck_pipeline.cli.init import TARGETS, project_files
from spancheck_pipeline.definitions import build_definitions
from spancheck_pipeline.storage.datasets import load_cases, load_suite

ROOT = Path(__file__).parents[2]


@pytest.fixture
def empty(tmp_path, monkeypatch) -> Path:
    """A folder with nothing in it, and an environment that says nothing of spancheck."""
    for name in [name for name in os.environ if name.startswith("SPANCHECK_") or name == "DAGSTER_HOME"]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(empty: Path, monkeypatch, *options: str) -> Path:
    assert spancheck("init", "evaluation", *options) == 0
    monkeypatch.chdir(empty / "evaluation")
    return empty / "evaluation"


def test_a_new_project_passes_its_first_night(empty, monkeypatch, capfd):
    project = made(empty, monkeypatch)
    assert spancheck("nightly", "answers", "--json") == 0

    document = json.loads(capfd.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert document["decision"]["answer"] == "PASS"
    assert {grader["counts"]["n_fail"] for grader in document["scorecard"]["graders"].values()} == {0}
    assert document["scorecard"]["headline"]["abstention_correctness"]["value"] == 1.0
    assert (project / "storage" / "captured_run").is_dir()


def test_it_says_what_it_made_and_what_to_type(empty, capsys):
    assert spancheck("init", "evaluation", "--name", "mine") == 0

    said = capsys.readouterr().out
    for path in project_files("mine", "callable"):
        assert f"  {path}\n" in said
        assert (empty / "evaluation" / path).is_file()
    for line in ("cd evaluation", "spancheck run mine", "spancheck nightly mine", "spancheck ui"):
        assert f"  {line}\n" in said


@pytest.mark.parametrize(
    ("target", "missing"),
    [
        (
            "http",
            "suite.yaml: target.http.url must be a http:// or https:// URL with a host; PUT-YOUR-ADDRESS-HERE still",
        ),
        ("recorded", "answers.jsonl (No such file"),
    ],
)
def test_a_project_that_lacks_something_says_so_and_stores_nothing(empty, monkeypatch, capsys, target, missing):
    project = made(empty, monkeypatch, "--target", target, "--name", "mine")
    assert "# first put your" in capsys.readouterr().out

    assert spancheck("nightly", "mine") == 2
    assert missing in capsys.readouterr().err
    assert not (project / "storage").exists()


def test_the_line_that_it_names_is_the_one_with_the_address(empty, capsys):
    assert spancheck("init", "evaluation", "--target", "http") == 0

    number = int(capsys.readouterr().out.partition("suite.yaml, line ")[2].split()[0])
    lines = (empty / "evaluation" / "datasets" / "answers" / "suite.yaml").read_text().splitlines()
    assert lines[number - 1].strip().startswith("url: PUT-YOUR-ADDRESS-HERE")


def test_recorded_answers_run_once_they_are_there(empty, monkeypatch):
    project = made(empty, monkeypatch, "--target", "recorded")
    cases = load_cases(project / "datasets" / "answers", load_suite(project / "datasets", "answers").suite.cases)
    answers = [json.dumps({"case_id": case.id, "answer": "I don't know."}) for case in cases]
    (project / "datasets" / "answers" / "answers.jsonl").write_text("\n".join(answers), encoding="utf-8")

    assert spancheck("run", "answers") == 1  # they are read, and declining everything is not good enough


@pytest.mark.parametrize("target", TARGETS)
def test_every_kind_of_project_loads_in_dagster_with_a_schedule(empty, monkeypatch, target):
    project = made(empty, monkeypatch, "--target", target)

    found = build_definitions(folder=project)

    dg.Definitions.validate_loadable(found)
    [schedule] = found.schedules
    assert (schedule.name, schedule.cron_schedule) == ("answers_nightly_schedule", "0 2 * * *")
    location = yaml.safe_load((project / "workspace.yaml").read_text())["load_from"][0]["python_module"]
    assert location == {"module_name": "spancheck_pipeline.definitions", "working_directory": "."}


@pytest.mark.parametrize("target", TARGETS)
def test_every_key_that_stands_there_as_a_comment_may_be_uncommented(empty, monkeypatch, target):
    project = made(empty, monkeypatch, "--target", target)
    file = project / "datasets" / "answers" / "suite.yaml"
    text = file.read_text()

    uncommented = re.sub(r"(?m)^( *)# (?= *[a-z_-]+: )", r"\1", text)
    file.write_text(uncommented)

    suite = load_suite(project / "datasets", "answers").suite
    assert uncommented.count("#") < text.count("#")
    assert (suite.owners, len(suite.prices), suite.gate.regression is not None) == (("team:our_team",), 1, True)


def test_the_walk_of_getting_started_goes_as_its_page_says(empty, monkeypatch, capsys):
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    app, target = re.findall(r"(?s)```python\n(.*?)```", page)
    [cases] = re.findall(r"(?s)```json\n(.*?)```", page)
    project = made(empty, monkeypatch)
    said = capsys.readouterr().out
    assert said in page

    assert spancheck("run", "answers") == 0
    assert table(capsys.readouterr().out) == table(page.partition("## 2.")[2].partition("## 3.")[0])
    (project / "myapp.py").write_text(app, encoding="utf-8")
    (project / "datasets" / "answers" / "target.py").write_text(target, encoding="utf-8")
    (project / "datasets" / "answers" / "cases.jsonl").write_text(cases, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "myapp", raising=False)
    assert spancheck("run", "answers") == 0
    shown = table(page.partition("## 3.")[2].partition("## 4.")[0])
    assert shown
    assert shown <= table(capsys.readouterr().out)


def table(text: str) -> set[str]:
    """Return the lines about graders in what a run printed."""
    return {line.strip() for line in text.splitlines() if re.search(r"\d% – \d", line)}


@pytest.mark.parametrize("target", TARGETS)
def test_no_mark_is_left_unfilled(target):
    for path, text in project_files("mine", target).items():
        assert "@" not in path
        assert not [word for word in ("@NAME@", "@TARGET", "@FIRST@", "@VERSION@", "@START@") if word in text], path


def test_a_folder_that_holds_something_is_refused_and_left_as_it_is(empty, capsys):
    folder = empty / "evaluation"
    folder.mkdir()
    for name in ("README.md", "a.py", "b.py", "c.py"):
        (folder / name).write_text("mine")

    assert spancheck("init", "evaluation") == 2

    assert (
        "evaluation is not empty (README.md, a.py, b.py and 1 more), and nothing is overwritten"
        in capsys.readouterr().err
    )
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "a.py", "b.py", "c.py"]
    assert (folder / "README.md").read_text() == "mine"


def test_an_empty_folder_and_a_fresh_repository_are_taken(empty, monkeypatch):
    (empty / "here" / ".git").mkdir(parents=True)
    monkeypatch.chdir(empty / "here")

    assert spancheck("init", ".") == 0
    assert (empty / "here" / "datasets" / "answers" / "suite.yaml").is_file()
    assert spancheck("init", ".") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a_file"], "a_file: a file stands there"),
        (["new", "--name", "../x"], "--name: '../x' is not a name"),
        (["new", "--name", "Answers"], "is not a name"),
        (["new", "--target", "ftp"], "'ftp' is not one of"),
        (["new", "--name", "calibration"], "--name: a suite cannot be called 'calibration': the asset that all suites"),
        (["dangling"], "dangling: a symbolic link stands there that leads nowhere; remove it"),
        (["/proc/new"], "/proc/new: the project cannot be written (No such file or directory); nothing was written"),
        (["a_file/new"], "a_file/new: a file stands there, or in the way"),
        ([], "Missing argument 'DIR'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(empty, capsys, arguments, message):
    (empty / "a_file").write_text("x")
    (empty / "dangling").symlink_to("nowhere")

    assert spancheck("init", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (empty / "new").exists()


def test_the_environment_that_it_suggests_can_be_read_and_is_the_default(empty):
    suggested = dict(
        line.split("=", 1)
        for line in project_files("mine", "callable")[".env.example"].splitlines()
        if line and not line.startswith("#")
    )

    assert read_environment(suggested, folder=empty) == read_environment({}, folder=empty)


def test_git_keeps_the_suite_and_leaves_what_is_made(empty, monkeypatch):
    project = made(empty, monkeypatch)
    subprocess.run(["git", "init", "--quiet"], check=True)
    for path in ("storage/x", ".env", ".spancheck/x", "mypackage/storage/x.py"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).touch()

    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard"], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert set(listed) == {*project_files("answers", "callable"), "mypackage/storage/x.py"}


def shell_of(project: Path, workflow: str) -> dict[str, str]:
    """Return step → script of a workflow."""
    document = yaml.safe_load((project / ".github" / "workflows" / f"{workflow}.yml").read_text())
    return {step["name"]: step["run"] for step in document["jobs"]["spancheck"]["steps"] if "run" in step}


def test_a_pull_request_is_decided_against_the_baseline_and_fails_where_the_gate_does(empty, monkeypatch):
    project = made(empty, monkeypatch)
    shell = shell_of(project, "pull_request")
    summary = project / "summary"
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    (project / "baseline").mkdir()
    assert spancheck("run", "answers", "--out", "baseline/audit_log.json") == 0
    target = project / "datasets" / "answers" / "target.py"
    target.write_text(target.read_text().replace('"answer": sentence', '"answer": "It is so."'))

    def run(step: str) -> int:
        return subprocess.run(["bash", "-eo", "pipefail", "-c", shell[step]], env=environ, check=False).returncode

    assert [run(step) for step in ("Run", "Decide", "Show")] == [0, 1, 0]
    assert "FAIL" in summary.read_text()
    assert "baseline" in summary.read_text()
    assert (project / "spancheck-out" / "junit.xml").is_file()


def test_a_night_on_github_runs_the_same_steps_without_a_baseline(empty, monkeypatch):
    project = made(empty, monkeypatch)
    night, request = shell_of(project, "nightly"), shell_of(project, "pull_request")

    assert [night[step] for step in ("Install", "Run", "Show")] == [
        request[step] for step in ("Install", "Run", "Show")
    ]
    told = (
        "spancheck gate spancheck-out/audit_log.json --junit spancheck-out/junit.xml "
        "--markdown spancheck-out/summary.md"
    )
    assert night["Decide"].split() == told.split()
    assert "gh run list --workflow nightly.yml" in request["Baseline"]


def test_every_template_is_in_the_wheel():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    ignored = subprocess.run(
        ["git", "check-ignore", *map(str, (ROOT / "spancheck_pipeline" / "cli" / "templates").rglob("*.tmpl"))],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert wheel == {"packages": ["spancheck_pipeline"]}  # the whole package, but for what git ignores
    assert ignored.stdout == ""
