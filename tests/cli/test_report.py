"""``spancheck report`` as a user calls it."""

import json
import re
from pathlib import Path

import pytest
from scenario import spancheck


def test_nightly_writes_the_report_and_report_says_where_it_is(project, capsys):
    assert spancheck("nightly", "small") == 0
    today = project.environment.today()
    path = f"{project.storage}/report/suite=small/date={today}/report.html"
    assert f"report: {path}" in capsys.readouterr().out
    assert Path(path).read_text().startswith("<!DOCTYPE html>")

    assert spancheck("report", "small") == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert spancheck("report", "small", today, "--out", "here/r.html", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["report"] == "here/r.html"
    assert said["n_bytes"] == Path("here/r.html").stat().st_size
    assert spancheck("report", "small", "--as-decided") == 0
    assert Path(f"report-small-{today}-decision-1.html").is_file()
    Path("taken").write_text("a file")
    assert spancheck("report", "small", "--out", "taken/r.html") == 2
    assert "taken/r.html: cannot be written" in capsys.readouterr().err
    assert Path("taken").read_text() == "a file"


def test_grading_again_writes_the_report_again(project, capsys):
    assert spancheck("nightly", "small") == 0
    path = Path(f"{project.storage}/report/suite=small/date={project.environment.today()}/report.html")
    project.write_suite(gate=", budget: {mean_cost_usd: 1e-9}")
    capsys.readouterr()

    assert spancheck("score", "small", "--regrade") == 1

    assert capsys.readouterr().out.endswith(f"report: {path}\n")
    assert "does not let this run pass" in path.read_text()
    assert "1 decision was made before it; it said PASS." in path.read_text()
    (head,) = re.findall(r'id="chain-head">([0-9a-f]{64})<', path.read_text())
    assert spancheck("audit", "verify", "small", project.environment.today(), "--head", head) == 0
    assert spancheck("score", "small", "--regrade", "--json") == 1
    said = capsys.readouterr()
    assert json.loads(said.out[said.out.index("{") :])["decision"]
    assert f"report: {path}" in said.err


HOSTILE = [
    "<img src=x onerror=window.pwned=1>",
    "<script>window.pwned=1<∕script>",
    '" onload="window.pwned=1',
    "\x1b[2J\x1b[31mred\x07",
    "\u202efdp.exe",
    "line\nbreak",
    "{{ 7 * 7 }}",
    "$(touch pwned); `touch pwned`",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_the_name_of_a_file_or_of_a_run_says_nothing_to_a_terminal_or_to_a_page(project, capsys, monkeypatch, name):
    monkeypatch.setenv("SPANCHECK_STORAGE", str(project.folder / name / "storage"))
    assert spancheck("run", "small", "--run-id", "a1") == 0
    capsys.readouterr()

    assert spancheck("report", "small", "--run", "a1") == 0
    assert spancheck("report", "small", "--run", "a1", "--out", f"{name}/{name}.html") == 0
    assert spancheck("report", "small", "--run", name) == 2

    said = capsys.readouterr()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", said.out + said.err)
    assert len(said.out.splitlines()) == 2  # a line a file
    assert "is not a run id" in said.err
    page = Path(f"{name}/{name}.html").read_text()
    stored = project.folder / name / "storage/runs/a1/report/report.html"
    assert re.sub(r'revision" content="\d+', "", page) == re.sub(r'revision" content="\d+', "", stored.read_text())
    assert name not in page
    assert not Path("pwned").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["small"], "there is no audit_log for small on"),
        (["../x"], "a suite's name becomes a folder"),
        (["small", "2026-13-01"], "is not a date"),
        (["small", "2999-01-01"], "is in the future"),
        (["small", "2026-03-14", "--date", "2026-03-15"], "two dates are given"),
        (["small", "--run", "a1"], "there is no audit_log for run a1 yet"),
        (["small", "--run", "../a1"], "is not a run id"),
        (["small", "2026-03-14", "--run", "a1"], "not for both"),
    ],
)
def test_what_cannot_be_reported_is_said_with_exit_code_2(project, capsys, arguments, said):
    assert spancheck("report", *arguments) == 2

    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
