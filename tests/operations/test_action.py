"""The GitHub Action: each step's shell is taken out of the file and run, passing, failing and with hostile inputs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.dom import minidom

import pytest
import yaml
from scenario import Project

from spancheck_pipeline.cli.main import main

ACTION = yaml.safe_load((Path(__file__).parents[2] / ".github" / "actions" / "spancheck" / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")


class Runner:
    """A job's folder with the files that GitHub gives to a step."""

    def __init__(self, folder: Path, project: Project) -> None:
        self.folder = folder
        self.project = project
        for name in ("output", "summary", "path"):
            (folder / name).touch()

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        step = STEPS[name]
        given = {key: item.get("default", "") for key, item in ACTION["inputs"].items()}
        given |= {key.replace("_", "-"): value for key, value in {"package": "", **inputs}.items()}
        environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith("SPANCHECK_")},
            **self.project.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            "GITHUB_PATH": str(self.folder / "path"),
            **{key: EXPRESSION.sub(lambda m: given[m.group(1)], value) for key, value in step["env"].items()},
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(
            command, cwd=self.folder, env=environ, capture_output=True, text=True, check=False, timeout=120
        )

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture
def runner(tmp_path, monkeypatch) -> Runner:
    runner = Runner(tmp_path, Project(tmp_path))
    for name, value in runner.project.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return runner


def recorded(folder: str) -> None:
    """Leave the audit log of a run in a folder, as the step "Run" does."""
    Path(folder).mkdir()
    with pytest.raises(SystemExit):
        main(["run", "small", "--out", f"{folder}/audit_log.json"])


def test_a_suite_that_is_good_enough_passes_and_leaves_summary_junit_report_and_audit_log(runner):
    assert runner.step("Install").returncode == 0
    assert runner.step("Run", suite="small").returncode == 0
    done = runner.step("Decide")

    assert done.returncode == 0, done.stderr
    assert "✅ PASS" in runner.read("summary")
    log, head, answer = runner.read("output").splitlines()
    assert (log, answer) == ("audit-log=spancheck-out/audit_log.json", "answer=PASS")
    seal = json.loads((runner.folder / "spancheck-out" / "audit_log.json.seal.json").read_text())
    assert head == f"audit-head={seal['head']}"
    assert f"Head of the audit log: `{seal['head']}`" in runner.read("summary")
    assert 'id="overview"' in (runner.folder / "spancheck-out" / "report.html").read_text()
    assert (
        minidom.parse(str(runner.folder / "spancheck-out" / "junit.xml")).documentElement.getAttribute("failures")
        == "0"
    )


def test_a_worse_build_fails_against_the_baselines_artifact(runner):
    recorded("base")
    target = runner.project.suite_folder / "target.py"
    target.write_text(target.read_text().replace("president", "nobody at all"))
    assert runner.step("Run", suite="small").returncode == 0, "the gate's step decides"

    done = runner.step(
        "Decide", baseline="base/audit_log.json", thresholds="citation_accuracy=0\n  abstention_correct=0.1"
    )

    # Four of twelve are answered now that were declined: 2^-4 = .0625 is no proof, and 12 cases see little.
    assert done.returncode == 0
    assert "INCONCLUSIVE" in runner.read("summary")
    below = runner.step("Decide", baseline="base/audit_log.json", thresholds="abstention_correct=0.9", strict="true")
    assert below.returncode == 1
    assert "newly failing (abstention_correct): <code>q02</code>" in runner.read("summary")
    assert runner.read("output").splitlines()[-1] == "answer=FAIL"


def test_a_baseline_that_is_not_there_is_said_or_fails_where_it_is_required(runner):
    recorded("spancheck-out")

    done = runner.step("Decide", baseline="nowhere.json")
    required = runner.step("Decide", baseline="nowhere.json", baseline_required="true")

    assert (done.returncode, required.returncode) == (0, 3)
    assert "::warning::" in done.stdout
    assert "No baseline was there" in runner.read("summary")


def test_runs_that_cannot_be_compared_end_with_3_and_a_reason(runner):
    recorded("base")
    cases = runner.project.suite_folder / "cases.jsonl"
    cases.write_text(cases.read_text().replace("?", "!"))
    recorded("spancheck-out")

    done = runner.step("Decide", baseline="base/audit_log.json")

    assert done.returncode == 3
    assert "only 0 of 12 questions are shared" in done.stderr
    assert "not comparable" in runner.read("summary")


def test_a_cases_file_and_a_target_run_without_a_suite(runner):
    target = runner.folder / "mine.py"
    target.write_text("def answer(question):\n    return 'x'\n")

    cases = str(runner.project.suite_folder / "cases.jsonl")
    assert runner.step("Run", cases=cases, target="mine.py:answer").returncode == 0
    assert (runner.folder / "spancheck-out" / "report.html").is_file()
    assert runner.step("Decide", thresholds="abstention_correct=1").returncode == 1


@pytest.mark.parametrize("value", ["\"; touch pwned; `touch pwned` $(touch pwned) '", "a\ntouch pwned", "--help"])
def test_an_input_is_never_run_and_never_an_option(runner, value):
    run = runner.step("Run", suite=value)
    assert run.returncode == 2, "no such suite"
    runner.step("Decide", thresholds=value, baseline=value, strict=value, baseline_required=value)
    runner.step("Install", package="", python=value)

    assert not (runner.folder / "pwned").exists()
    assert "answer=PASS" not in runner.read("output")


def test_the_package_is_installed_into_an_environment_of_its_own(runner):
    python = runner.folder / "python"
    pip = r'''#!/bin/bash
    printf "%s|" "$@" >> "$RUNNER_TEMP/asked"'''
    python.write_text(f"#!/bin/bash\nmkdir -p $3/bin; cat > $3/bin/pip <<'END'\n{pip}\nEND\nchmod +x $3/bin/pip\n")
    python.chmod(0o755)

    done = runner.step("Install", package="spancheck-pipeline==0.1.0; touch pwned", python=str(python))

    assert done.returncode == 0, done.stderr
    assert runner.read("temp/asked") == "install|--quiet|--|spancheck-pipeline==0.1.0; touch pwned|"
    assert runner.read("path").strip().endswith("temp/spancheck/bin")


def test_no_script_holds_an_expression_and_every_input_is_described():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert step.get("shell") == "bash" or "uses" in step
    assert all(item["description"] for item in ACTION["inputs"].values())
    named = {
        m for step in STEPS.values() for m in EXPRESSION.findall(str(step.get("env", {})) + str(step.get("with", {})))
    }
    assert named == set(ACTION["inputs"])
