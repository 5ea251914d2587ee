"""``spancheck review``, ``gold`` and ``audit history`` as a user calls them."""

import csv
import datetime as dt
import io
import json

import pytest
from scenario import spancheck


@pytest.fixture
def recorded(project, capsys):
    target = (project.suite_folder / "target.py").read_text()
    project.write_target(target.replace('30 days written notice."', '90 days written notice."', 1))
    assert spancheck("run", "small", "--run-id", "r1") == 1
    capsys.readouterr()
    return project


def fill(path, **cells):
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig"))))
    with path.open("w", encoding="utf-8", newline="") as handle:
        sheet = csv.DictWriter(handle, rows[0], delimiter=";")
        sheet.writeheader()
        for row in rows:
            sheet.writerow(row | {name: value for name, value in cells.items() if name in row})
    return len(rows)


def test_findings_go_out_and_signed_dispositions_come_back_and_are_listed(recorded, capsys):
    assert spancheck("review", "run:r1", "--to", "r.csv", "--grader", "citation_accuracy") == 0
    n = fill(recorded.folder / "r.csv", disposition="passes", why="Agreed with the landlord.")

    assert spancheck("review", "run:r1", "--from", "r.csv", "--author", "R. Viewer") == 0
    out = capsys.readouterr().out
    assert f"{n} new, 0 as they stood, 0 rows without a disposition" in out
    assert "citation_accuracy" in out
    assert spancheck("review", "run:r1", "--from", "r.csv", "--author", "R. Viewer") == 0
    assert f"0 new, {n} as they stood" in capsys.readouterr().out

    assert spancheck("review", "run:r1", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {(item["author"], item["disposition"]) for item in found} == {("R. Viewer", "passes")}
    assert spancheck("review", "run:r1") == 0
    assert "Agreed with" in capsys.readouterr().out


def test_a_waiver_for_more_than_two_years_is_taken_and_remarked_on(recorded, capsys):
    spancheck("review", "run:r1", "--to", "r.csv", "--grader", "citation_accuracy")
    next_year = dt.datetime.now(dt.UTC).year + 1
    n = fill(recorded.folder / "r.csv", disposition="waived", why="Known.", expires=f"{next_year}-01-05")
    assert spancheck("review", "run:r1", "--from", "r.csv") == 0
    assert "two years" not in capsys.readouterr().err

    spancheck("review", "run:r1", "--to", "r.csv", "--grader", "citation_accuracy")
    fill(recorded.folder / "r.csv", disposition="waived", why="Known.", expires=f"{next_year + 99}-01-05")
    assert spancheck("review", "run:r1", "--from", "r.csv") == 0
    assert f"note: {n} of them are waivers for more than two years" in capsys.readouterr().err


def test_another_reviewers_word_is_said_loudly_and_stays_in_the_history(recorded, capsys):
    spancheck("review", "run:r1", "--to", "r.csv", "--grader", "citation_accuracy")
    n = fill(recorded.folder / "r.csv", disposition="confirmed", why="Seen.")
    spancheck("review", "run:r1", "--from", "r.csv", "--author", "Ann")
    spancheck("review", "run:r1", "--to", "r.csv", "--grader", "citation_accuracy")
    fill(recorded.folder / "r.csv", disposition="passes", why="Not so.")
    assert n
    capsys.readouterr()

    spancheck("review", "run:r1", "--from", "r.csv", "--author", "Bob")

    out = capsys.readouterr().out
    assert "Bob now says passes; Ann said confirmed on " in out
    assert spancheck("review", "run:r1", "--history", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [item["author"] for item in found] == ["Ann"] * n + ["Bob"] * n
    assert spancheck("review", "run:r1", "--history") == 0
    assert "Ann" in capsys.readouterr().out


def test_a_night_shows_both_rates_once_it_is_decided_again(project, capsys):
    target = (project.suite_folder / "target.py").read_text()
    project.write_target(target.replace('30 days written notice."', '90 days written notice."', 1))
    spancheck("nightly", "small")
    spancheck("review", "small", "--to", "r.csv", "--grader", "citation_accuracy")
    fill(project.folder / "r.csv", disposition="passes", why="Agreed with the landlord.")
    spancheck("review", "small", "--from", "r.csv")
    capsys.readouterr()

    spancheck("score", "small", "--regrade")

    assert "citation_accuracy: 100.0% with people's dispositions (8 passes), 0.0% without" in capsys.readouterr().out
    assert spancheck("audit", "verify", "small") == 0
    assert spancheck("audit", "history", "small") == 0
    shown = capsys.readouterr().out
    assert "--regrade" in shown, "why it was decided"
    assert "dispositions of reviewers, where none were" in shown
    assert shown.count("head: ") >= 3
    assert spancheck("audit", "history", "small", "--json") == 0
    history = json.loads(capsys.readouterr().out)
    assert [item["revision"] for item in history] == [1, 2]
    assert history[0]["grader_specs"]["citation_accuracy"]["spec"]["measurement"] == "citation_accuracy"
    assert history[0]["changes"] == []
    assert "dispositions of reviewers, where none were" in history[1]["changes"]
    assert history[0]["audit_log_head"] != history[1]["audit_log_head"]
    assert spancheck("audit", "export", "small", "--as-decided", "1", "--to", "then.json") == 0
    assert f"head: {history[0]['audit_log_head']}" in capsys.readouterr().err


def test_a_sample_is_labelled_and_becomes_a_gold_set(recorded, capsys):
    assert spancheck("gold", "sample", "run:r1", "--to", "s.csv", "--n", "5", "--by", "grade") == 0
    fill(recorded.folder / "s.csv", label="not_supported")

    assert spancheck("gold", "labels", "s.csv", "--to", "g.jsonl", "--domain", "leases", "--json") == 0

    out = capsys.readouterr().out
    assert json.loads(out[out.index("{") :])["n_items"] == 1, "one claim, however often it was made"
    assert json.loads((recorded.folder / "g.jsonl").read_text())["label"] == "not_supported"


MISTAKES = [
    (["review", "run:r1", "--to", "a.csv", "--from", "target.csv"], "one at a time"),
    (["review", "run:r1", "--all"], "choose what --to writes"),
    (["review", "run:r1"], "nobody signed a disposition"),
    (["review", "run:r1", "--history", "--to", "a.csv"], "goes without --to"),
    (["review", "run:r1", "--from", "target.csv", "--author", " "], "signed by somebody"),
    (["review", "run:r1", "--from", "target.csv"], "has no column 'row'"),
    (["gold", "sample", "run:r1", "--to", "s.csv", "--slice", "--by", "grade"], "goes without --by"),
    (["gold", "labels", "target.csv", "--to", "g.jsonl"], "not the items of a sample"),
    (["gold", "labels", "target.csv", "--to", "g.csv"], "is named .jsonl"),
]


def test_each_mistake_is_said_with_its_fix_and_ends_with_2(recorded, capsys):
    (recorded.folder / "target.csv").write_text("a,b\n1,2\n")
    for arguments, said in MISTAKES:
        assert spancheck(*arguments) == 2, arguments
        assert said in capsys.readouterr().err


def test_the_record_of_the_next_decision_says_what_was_signed_of_a_case(recorded, capsys):
    spancheck("review", "run:r1", "--to", "r.csv", "--grader", "citation_accuracy")
    fill(recorded.folder / "r.csv", disposition="passes", why="Agreed with the landlord.")
    spancheck("review", "run:r1", "--from", "r.csv", "--author", "R. Viewer\x1b[31m")
    assert spancheck("run", "small", "--run-id", "r1") == 1, "the suite does not let dispositions gate"
    capsys.readouterr()

    assert spancheck("audit", "show", "run:r1") == 0
    lines = capsys.readouterr().out.splitlines()
    case_id = next(line for line in lines if "citation_accuracy fail [people say: passes]:" in line).split()[0]
    assert spancheck("audit", "show", "run:r1", case_id) == 0
    shown = capsys.readouterr().out
    assert "signed: citation[0] passes by R. Viewer" in shown
    assert "– Agreed with the landlord." in shown
    assert "\x1b" not in shown.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert spancheck("audit", "verify", "run:r1") == 0
