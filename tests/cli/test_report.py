"""``spancheck report`` as a user calls it."""

import json
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
