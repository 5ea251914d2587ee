"""What a person should know beside the figures, said on stderr: labels that nothing reads, another target version."""

from scenario import cases_of, spancheck


def test_a_night_says_which_labels_nothing_reads_and_that_the_target_is_another_now(project, capfd):
    cases = cases_of(12)
    for case in cases[:2]:
        case["expected"] = "30 days"
    project.write_cases(cases)

    assert spancheck("nightly", "small", "--date", "2026-01-05", "--allow-past") == 0
    said = capfd.readouterr().err
    assert said.count("note: 2 cases have `expected`, and no grader of the suite reads it") == 1
    assert "is 2 now" not in said

    target = project.suite_folder / "target.py"
    target.write_text(target.read_text().replace('VERSION = "1"', 'VERSION = "2"'))
    n_calls = len(project.calls())
    assert spancheck("nightly", "small", "--date", "2026-01-05") == 0
    said = capfd.readouterr().err
    assert "note: small on 2026-01-05 was answered by 1, and the target is 2 now: the captured answers stand" in said
    assert len(project.calls()) == n_calls

    target.unlink()  # what cannot be loaded is of no consequence where nothing is called
    assert spancheck("nightly", "small", "--date", "2026-01-05") == 0
    assert "the target is" not in capfd.readouterr().err


def test_an_ad_hoc_run_says_which_labels_nothing_reads_and_its_json_stands_alone_on_stdout(project, capsys):
    cases = cases_of(3)
    cases[0]["expected"] = "30 days"
    project.write_cases(cases)

    spancheck("run", "small", "--json")
    shown = capsys.readouterr()
    assert shown.out.startswith("{")
    assert "note: 1 case has `expected`, and no grader of the suite reads it" in shown.err

    project.write_suite(graders=", expected_contains: {}")
    spancheck("run", "small", "--json")
    assert "note:" not in capsys.readouterr().err


def test_a_clean_record_says_so_and_a_failing_one_numbers_every_epoch(project, capsys):
    assert spancheck("run", "small", "--run-id", "clean") == 0
    capsys.readouterr()
    assert spancheck("audit", "show", "run:clean") == 0
    assert capsys.readouterr().out == "nothing failed, and nothing was left unmeasured\n"

    project.write_target('VERSION = "2"\ndef answer(question):\n    return ""\n')
    project.write_suite(more="epochs: 2\n")
    assert spancheck("run", "small", "--run-id", "twice") == 1
    capsys.readouterr()
    assert spancheck("audit", "show", "run:twice", "--grader", "completion") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[:2]] == ["q00 #0", "q00 #1"]


def test_an_ad_hoc_runs_scorecard_is_shown_by_its_name(project, capsys):
    assert spancheck("run", "small", "--run-id", "one") == 0
    capsys.readouterr()

    assert spancheck("score", "run:one") == 0
    assert "small · one · 12 cases" in capsys.readouterr().out
    assert spancheck("score", "run:one", "--regrade") == 2
    assert "spancheck gate run:one --regrade" in capsys.readouterr().err


def test_a_date_out_of_bounds_is_said_with_the_option_that_it_came_from(project, capsys):
    for option in ("--since", "--until"):
        assert spancheck("trend", "small", option, "2999-01-01") == 2
        assert f"{option} 2999-01-01 is in the future" in capsys.readouterr().err
