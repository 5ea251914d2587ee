"""``gate``, ``diff`` and ``promote`` as a user calls them, and the files that they write."""

import json
from pathlib import Path
from xml.dom import minidom

import jsonschema
import pytest
from scenario import AT, Project, cases_of, spancheck

from spancheck_pipeline.api.promoting import promote_place
from spancheck_pipeline.api.stored import run_place
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import Night, Store

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
REGRESSION = ", regression: {detect: 0.2}"


def is_as_published(document, name: str) -> None:
    jsonschema.validate(document, json.loads((SCHEMAS / f"{name}.json").read_text()))


def nightly(*dates: str) -> list[int]:
    return [spancheck("nightly", "small", "--date", date, "--allow-past") for date in dates]


def nights(project: Project, *dates: str) -> None:
    """Do what nightly does, but for Dagster, which takes most of its time."""
    store = Store(project.storage)
    suite = load_suite(project.folder / "datasets", "small", load_attribute)
    for date in dates:
        decided = run_place(
            store,
            Night("small", date),
            suite.suite,
            load_cases(suite.folder, suite.suite.cases),
            graders=suite.graders,
            load_target=lambda: load_target(suite.suite.target, suite_folder=suite.folder),
            decided_by="anna",
        )
        assert decided.decision.ok
        promote_place(store, Night("small", date), at=AT, by="anna")


def test_a_second_night_shows_its_baselines_and_warns_where_it_is_inconclusive(project, capsys):
    project.write_suite(gate=REGRESSION)
    assert nightly("2026-01-05", "2026-01-06") == [0, 0]

    shown = capsys.readouterr()
    once = "against the release baseline and the last good run (2026-01-05): 12 shared cases, 0 newly failing"
    assert shown.out.count("against ") == shown.out.count(once) == 1
    assert "gate: INCONCLUSIVE" in shown.out
    assert "p = 1; " in shown.out
    assert "--strict fails on it" in shown.err
    assert spancheck("gate", "small", "--date", "2026-01-06") == 0
    assert spancheck("gate", "small", "--date", "2026-01-06", "--strict") == 1
    assert "would have seen" in capsys.readouterr().out


def test_a_strict_night_ends_with_1_where_it_is_inconclusive_and_is_recorded_like_any_other(project, capsys):
    project.write_suite(gate=REGRESSION)
    assert nightly("2026-01-05", "2026-01-06") == [0, 0]
    capsys.readouterr()
    assert spancheck("nightly", "small", "--date", "2026-01-06", "--strict") == 1
    assert "--strict fails on it" not in capsys.readouterr().err
    assert spancheck("gate", "small", "--date", "2026-01-06") == 0


def test_a_failing_night_ends_with_1_and_says_so_in_every_format(project, capsys):
    project.write_suite(gate=", budget: {p95_latency_ms: 0.000001}")
    assert nightly("2026-01-05") == [1]
    assert "step" not in capsys.readouterr().err

    code = spancheck("gate", "small", "--date", "2026-01-05", "--json", "--junit", "j.xml", "--markdown", "m.md")

    assert code == 1
    document = json.loads(capsys.readouterr().out)
    is_as_published(document, "decision")
    assert document["answer"] == "FAIL"
    root = minidom.parse("j.xml").documentElement
    [failure] = root.getElementsByTagName("failure")
    assert failure.getAttribute("message").startswith("p95 latency")
    assert Path("m.md").read_text(encoding="utf-8").startswith("## ❌ FAIL — small · 2026-01-05")


def test_diff_corrects_over_the_graders_that_the_suite_watches(project, capsys):
    project.write_suite(gate=REGRESSION)
    nights(project, "2026-01-05", "2026-01-06")
    capsys.readouterr()
    assert spancheck("diff", "small@2026-01-05", "small@2026-01-06", "--json", "--markdown", "d.md") == 0
    tests = json.loads(capsys.readouterr().out)["tests"]
    gating = {name for name, test in tests.items() if test["p_adjusted"] is not None}
    assert gating == {"citation_accuracy", "abstention_correct"}
    assert "does not gate" in Path("d.md").read_text(encoding="utf-8")


def test_two_thresholds_of_one_grader_are_refused(project, capsys):
    nights(project, "2026-01-05")
    assert spancheck("gate", "small", "no_pii=0.9", "no_pii=0.1", "--date", "2026-01-05") == 2
    assert "'no_pii' has two thresholds; give one" in capsys.readouterr().err


def test_gate_with_a_baseline_keeps_the_rules_that_the_date_was_decided_by(project, capsys):
    nights(project, "2026-01-05")
    spancheck("run", "small", "--out", "now.json", "--run-id", "now")
    assert spancheck("diff", "small@2026-01-05", "run:now") == 0
    capsys.readouterr()

    assert spancheck("gate", "now.json", "--baseline", "small@2026-01-05", "--json", "--markdown", "m.md") == 0
    rules = [rule["rule"] for rule in json.loads(capsys.readouterr().out)["rules"]]
    assert rules == [
        "min_pass_rate_completion", "min_pass_rate_citation_accuracy", "min_pass_rate_abstention_correct",
        "regression_citation_accuracy", "regression_abstention_correct",
    ]  # fmt: skip
    assert "### Against the baseline <code>2026-01-05</code>" in Path("m.md").read_text(encoding="utf-8")
    assert spancheck("gate", "now.json", "--baseline", "small@2026-01-05", "--strict") == 1
    assert spancheck("gate", "now.json", "no_pii=1", "--baseline", "small@2026-01-05", "--max-regression", "0.9") == 0


def test_diff_prints_tests_intervals_and_changed_cases_and_its_json_is_as_published(project, capsys):
    spancheck("run", "small", "--out", "a.json")
    project.write_target((project.suite_folder / "target.py").read_text().replace("president", "number 1"))
    cases = cases_of(13)
    cases[3]["answerable"] = False
    project.write_cases(cases)
    spancheck("run", "small", "--out", "b.json")
    capsys.readouterr()

    assert spancheck("diff", "a.json", "b.json", "--markdown", "d.md") == 0
    out = capsys.readouterr().out
    assert "abstention_correct newly failing: q01, q02, q05, q08, q10" in out
    assert "added: q12" in out
    assert "relabelled: q03" in out
    assert "latency:" in out
    assert "p (Holm)" in out
    assert "relabelled: <code>q03</code>" in Path("d.md").read_text(encoding="utf-8")
    spancheck("diff", "a.json", "b.json", "--json")
    document = json.loads(capsys.readouterr().out)
    is_as_published(document, "difference")
    # Five newly failing, none newly passing: 2^-5, times the five graders.
    assert document["tests"]["abstention_correct"]["p_adjusted"] == pytest.approx(5 * 0.5**5)


def test_hostile_case_ids_break_no_file_and_no_table(project, capsys):
    hostile = ["<script>x", "| a |", "[x](http://e.example)", "[bold red]x[/]", *"abcdefgh"]
    project.write_cases([{**case, "id": name} for case, name in zip(cases_of(12), hostile, strict=True)])
    spancheck("run", "small", "--out", "a.json")
    project.write_target('VERSION = "2"\ndef answer(q):\n    return ""\n')
    spancheck("run", "small", "--out", "b.json")
    capsys.readouterr()

    assert spancheck("diff", "a.json", "b.json", "--markdown", "d.md") == 0
    assert spancheck("gate", "b.json", "--baseline", "a.json", "--junit", "j.xml", "--markdown", "m.md") == 1

    shown = capsys.readouterr()
    assert "[bold red]x[/]" in shown.out
    minidom.parse("j.xml")
    for name in ("d.md", "m.md"):
        text = Path(name).read_text(encoding="utf-8")
        assert "<script" not in text
        assert "http://" not in text


def test_promote_pins_a_release_that_later_nights_are_compared_with(project, capsys):
    nights(project, "2026-01-05", "2026-01-06")
    assert spancheck("promote", "small", "2026-01-06", "--note", "release 7", "--json") == 0
    is_as_published(json.loads(capsys.readouterr().out), "promotion")

    nights(project, "2026-01-07")
    assert spancheck("score", "small", "--date", "2026-01-07") == 0
    assert "against the release baseline and the last good run (2026-01-06)" in capsys.readouterr().out
    assert spancheck("promote", "small", "--list") == 0
    out = capsys.readouterr().out
    assert "release: 2026-01-06" in out
    assert ": release 7" in out
    assert spancheck("promote", "small", "--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [item["date"] for item in listed["last_good"]] == ["2026-01-05", "2026-01-06", "2026-01-07"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["promote", "small"], "say which date"),
        (["promote", "small", "2026-01-05"], "nothing stored"),
        (["promote", "../x", "--list"], "is not a name"),
        (["promote", "small", "2999-01-01"], "is in the future"),
        (["diff", "run:..x", "run:b"], "is not a run id"),
        (["diff", "run:a", "run:b"], "nothing stored"),
        (["gate", "small", "--markdown", "/"], "is a directory"),
        (["diff", "small@2026-01-05", "small@2026-01-06"], "nothing stored"),
    ],
)
def test_a_mistake_is_said_with_its_fix(project, capsys, arguments, says):
    assert spancheck(*arguments) == 2
    assert says in capsys.readouterr().err


def test_trend_shows_dates_with_intervals_and_marks_and_draws_them(project, capsys):
    nights(project, "2026-01-05")
    project.write_target((project.suite_folder / "target.py").read_text().replace('VERSION = "1"', 'VERSION = "2"'))
    nights(project, "2026-01-06")
    capsys.readouterr()

    assert spancheck("trend", "small", "--figure", "citation_accuracy", "--svg", "t.svg") == 0
    out = capsys.readouterr().out
    assert "67.6% – 100.0%" in out  # Wilson: 8 of 8
    assert out.split("2026-01-06")[1].split()[-1] == "target"
    assert minidom.parse("t.svg").documentElement.tagName == "svg"
    assert spancheck("trend", "small", "--json", "--since", "2026-01-06") == 0
    document = json.loads(capsys.readouterr().out)
    is_as_published(document, "trend")
    assert [item["target_version"] for item in document["nights"]] == ["2"]
    assert spancheck("trend", "small", "--figure", "nope") == 2
    assert spancheck("trend", "other") == 2


def test_a_baseline_of_another_suite_is_said_to_be_one(project, capsys):
    spancheck("run", "small", "--out", "mine.json")
    other = json.loads(Path("mine.json").read_text())
    other["suite"] = other["manifest"]["suite"] = "large"
    Path("other.json").write_text(json.dumps(other))
    note = "note: the baseline is a run of the suite large, and is compared with one of small"
    capsys.readouterr()

    spancheck("gate", "mine.json", "--baseline", "other.json")
    assert note in capsys.readouterr().err
    spancheck("diff", "other.json", "mine.json", "--json")
    shown = capsys.readouterr()
    assert note in shown.err
    assert json.loads(shown.out)["comparison"]["suite"] == "small"
    spancheck("gate", "mine.json", "--baseline", "mine.json")
    assert "note:" not in capsys.readouterr().err
