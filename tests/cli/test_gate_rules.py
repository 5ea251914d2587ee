"""Which rules ``gate`` decides by, what it says where the suite has others now, and what it prints when it cannot."""

import json

import pytest
from scenario import cases_of, spancheck


@pytest.fixture
def decided(project):
    """A small suite with two decided ad-hoc runs, ``one`` and ``two``; the second asked one case more."""
    assert spancheck("run", "small", "--run-id", "one") == 0
    project.write_cases(cases_of(13))
    assert spancheck("run", "small", "--run-id", "two") == 0
    return project


def test_an_ad_hoc_run_is_named_as_everywhere_else_and_decided_by_its_own_rules(decided, capsys):
    capsys.readouterr()

    assert spancheck("gate", "run:one", "--json") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["run_id"] == "one"
    assert shown.err == ""
    assert spancheck("gate", "run:one", "--regrade") == 0
    assert spancheck("gate", "run:one", "no_pii=1") == 0


def test_a_gate_that_is_another_one_now_is_said_in_one_line_and_not_applied(decided, capsys):
    decided.write_suite(gate=", min_measured: 5, budget: {p95_latency_ms: 0.000001}")
    text = (decided.suite_folder / "suite.yaml").read_text()
    (decided.suite_folder / "suite.yaml").write_text(text.replace("citation_accuracy: 0.9", "no_pii: 1.0"))
    capsys.readouterr()

    for more in ([], ["--regrade"]):
        assert spancheck("gate", "run:one", *more) == 0
        said = capsys.readouterr().err
        [note] = [line for line in said.splitlines() if line.startswith("note: ")]
        assert "(min_pass_rate.citation_accuracy, min_pass_rate.no_pii, min_measured, budget)" in note
    assert spancheck("gate", "run:one", "no_pii=1") == 0
    assert capsys.readouterr().err == ""  # thresholds that are given are nobody's else


def test_a_grader_that_the_suite_got_since_is_answered_with_regrade(decided, capsys):
    decided.write_suite(graders=", contains: {substr: lease}")
    capsys.readouterr()

    assert spancheck("gate", "run:one", "contains=0.1") == 2
    assert "contains: the suite has it now, and the run was not graded with it; ask with --regrade" in (
        capsys.readouterr().err
    )
    assert spancheck("gate", "run:one", "contains=0.1", "--regrade") == 0


def test_what_of_the_cases_is_another_than_in_the_baseline_is_counted(decided, capsys):
    capsys.readouterr()

    assert spancheck("gate", "run:two", "--baseline", "run:one") == 0
    shown = capsys.readouterr()
    assert "against the baseline (one): 12 shared cases, 0 newly failing, 0 newly passing; cases: 1 added" in shown.out
    assert spancheck("gate", "run:two", "--baseline", "run:one", "--json") == 0
    assert json.loads(capsys.readouterr().out)["case_changes"] == ["against the baseline (one): cases: 1 added"]


@pytest.mark.parametrize(
    "arguments", [("diff", "run:one", "run:far"), ("gate", "run:far", "--baseline", "run:one")], ids=["diff", "gate"]
)
def test_runs_that_cannot_be_compared_are_a_json_document_too(decided, capsys, arguments):
    decided.write_cases([{**case, "input": f"another {case['input']}"} for case in cases_of(12)])
    assert spancheck("run", "small", "--run-id", "far") == 0
    capsys.readouterr()

    assert spancheck(*arguments, "--json") == 3
    shown = capsys.readouterr()
    document = json.loads(shown.out)
    [reason] = document["comparison"]["not_comparable"]
    assert reason.startswith("only 0 of 12 questions are shared")
    assert len(document["comparison"]["reworded_case_ids"]) == 12
    assert {"what": "shared questions", "baseline": "0 of 12", "candidate": "0 of 12", "effect": "refused"} in (
        document["differences"]
    )
    assert (document["tests"], document["comparison"]["graders"]) == ({}, {})
    assert reason in shown.err


def test_a_run_of_another_configuration_is_graded_again_by_that_configurations_graders(project, capsys):
    project.write_suite(more="configs: {strict: {graders: {citation_accuracy: {require_citation: true}}}}\n")
    assert spancheck("run", "small", "--config", "strict", "--run-id", "strict") in {0, 1}
    capsys.readouterr()
    kept = spancheck("gate", "run:strict", "--json")
    before = json.loads(capsys.readouterr().out)

    assert spancheck("gate", "run:strict", "--regrade", "--json") == kept
    shown = capsys.readouterr()
    assert [rule["reason"] for rule in json.loads(shown.out)["rules"]] == [rule["reason"] for rule in before["rules"]]
    assert shown.err == ""
