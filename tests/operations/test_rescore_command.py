"""``spancheck rescore`` as a user types it: what it prints, and what it refuses."""

import json

import pytest
from scenario import spancheck

SAYS = ', says: {{use: contains, substr: "{0}"}}'


def test_a_dry_run_then_the_real_one_then_nothing(project, capsys):
    project.write_suite(graders=SAYS.format("30 days"), gate=", min_measured: 1")
    assert spancheck("nightly", "small") == 0
    today = project.environment.today()
    project.write_suite(graders=SAYS.format("president"), gate=", min_measured: 1")
    project.write_target("raise RuntimeError('a target must not even be loaded')\n")
    capsys.readouterr()

    assert spancheck("rescore", "--stale", "--dry-run") == 0
    assert capsys.readouterr().out == (
        f"small: says on 1 night(s), {today} to {today}\nwould score 1 partition(s) again on 1 night(s), in one run\n"
    )

    assert spancheck("rescore", "--stale", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    [changed] = document["outcomes_changed"]
    assert (changed["before"], changed["after"], changed["n"]) == ("pass", "fail", 8)
    assert changed["case_ids"] == ["q00", "q01", "q03", "q04", "q06", "q07", "q09", "q10"]
    assert (document["target_calls"], document["problems"], document["is_dry_run"]) == (0, [], False)

    project.write_suite(graders=SAYS.format("days"), gate=", min_measured: 1")
    assert spancheck("rescore", "--stale", "--grader", "says", "--from", today, "--to", today) == 0
    assert capsys.readouterr().out == (
        "scored 1 partition(s) again on 1 night(s); no target call\n"
        "  small says: fail → pass × 8 on 1 night(s): q00, q01, q03, q04, q06, q07, q09, q10\n"
    )

    assert spancheck("rescore", "--stale") == 0
    assert capsys.readouterr().out == "nothing is stale: every captured night was scored by today's graders\n"
    assert len(project.calls()) == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say what is scored again: --stale"),
        (["--stale", "--from", "yesterday"], "'yesterday' is not a date; write it as YYYY-MM-DD"),
        (["--stale", "--suite", "smal"], "there is no suite 'smal'"),
        (["--stale", "--from", "2026-02-02", "--to", "2026-02-01"], "the first date is after the last; swap them"),
    ],
)
def test_a_call_that_cannot_work_says_why_and_does_nothing(project, arguments, said, capsys):
    assert spancheck("rescore", *arguments) == 2
    assert said in capsys.readouterr().err
    assert not project.storage.exists()


def test_a_suite_that_cannot_be_read_is_a_problem_and_not_nothing(project, capsys):
    folder = project.folder / "datasets" / "broken"
    folder.mkdir()
    (folder / "suite.yaml").write_text("contract: 1\nname: broken\n")

    assert spancheck("rescore", "--stale", "--json") == 2
    said = capsys.readouterr()
    [problem] = json.loads(said.out)["problems"]
    assert problem.startswith("the suite 'broken' cannot be read: ")
    assert "suite.yaml" in problem

    assert spancheck("rescore", "--stale", "--dry-run") == 2
    said = capsys.readouterr()
    assert said.out == "of the suites that can be read, nothing that was chosen is stale\n"
    assert "the suite 'broken' cannot be read" in said.err

    assert spancheck("rescore", "--stale", "--suite", "small") == 0, "it was not asked about"
    assert capsys.readouterr().out == "nothing chosen is stale\n"


def test_a_choice_without_a_stale_night_says_how_many_others_there_are(project, capsys):
    project.write_suite(graders=SAYS.format("30 days"))
    spancheck("nightly", "small")
    project.write_suite(graders=SAYS.format("president"))
    capsys.readouterr()

    assert spancheck("rescore", "--stale", "--to", "2026-01-05") == 0
    assert capsys.readouterr().out == "nothing chosen is stale; 1 other night(s) are\n"
    assert spancheck("rescore", "--stale", "--grader", "no_pii", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["nights"], document["n_others"]) == ([], 1)


def test_a_damaged_captured_run_is_a_problem_whose_message_names_a_way_that_works(project, capsys):
    project.write_suite(gate=", min_measured: 1")
    spancheck("nightly", "small")
    [captured] = (project.storage / "captured_run").rglob("*.parquet")
    captured.write_bytes(captured.read_bytes()[:300])
    capsys.readouterr()

    assert spancheck("rescore", "--stale") == 2
    said = capsys.readouterr().err
    assert (
        "restore it from a backup. Without one, move it to a safe place and capture the night again on purpose" in said
    )
    assert spancheck("nightly", "small") == 2
    captured.rename(project.folder / "damaged.parquet")
    assert spancheck("nightly", "small") == 2
    assert len(project.calls()) == 12, "nothing was called for again"

    assert spancheck("nightly", "small", "--recapture") == 0
    assert len(project.calls()) == 24
