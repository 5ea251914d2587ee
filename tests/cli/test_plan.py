"""``spancheck plan``, and what a budget does to ``nightly``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
from scenario import spancheck

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "plan.json"


def test_a_plan_tells_calls_tokens_and_cost_and_calls_nothing(project, capsys):
    project.write_target("raise RuntimeError('a plan imports no target')")

    assert spancheck("plan", "small") == 0

    out = capsys.readouterr().out.splitlines()
    assert out[0] == "small · 12 cases"
    # Retries are 0 in this suite: 12 calls, 1 in 50 twice, at most one more in the second pass.
    assert out[3].split() == ["target", "calls", "12", "12", "24"]
    assert [line.split()[:3] for line in out[4:7]] == [
        ["input", "tokens", "a"],
        ["output", "tokens", "a"],
        ["cost", "in", "USD"],
    ]
    assert "assumed, since no run of this target is captured" in out[7]
    assert project.calls() == []
    assert not project.storage.exists()


def test_each_configuration_has_its_own_plan(project, capsys):
    project.write_suite(more="configs: {twice: {epochs: 2}}\n")

    assert spancheck("plan", "small", "--json") == 0
    plans = json.loads(capsys.readouterr().out)

    assert [(plan["config"], plan["epochs"], plan["calls"][0]["n_calls"]["low"]) for plan in plans] == [
        (None, 1, 12), ("twice", 2, 24),
    ]  # fmt: skip
    for plan in plans:
        jsonschema.validate(plan, json.loads(SCHEMA.read_text()))
    spancheck("plan", "small", "--config", "twice")
    assert capsys.readouterr().out.startswith("small (twice) · 12 cases × 2 epochs")


def test_an_unknown_price_is_said_and_no_sum_is_printed(project, capsys):
    text = (project.suite_folder / "suite.yaml").read_text().replace("prices: {m1", "prices: {m9")
    (project.suite_folder / "suite.yaml").write_text(text)
    spancheck("nightly", "small")
    capsys.readouterr()

    spancheck("plan", "small")

    out = capsys.readouterr().out
    assert "unknown: no price or no usage is known of (not reported), m1" in out
    assert "0.00" not in out


def test_a_budget_that_the_plan_exceeds_ends_with_1_and_nightly_does_not_begin(project, capsys):
    project.write_suite(more="budget: {max_run_cost_usd: 0.0001}\n")

    assert spancheck("plan", "small") == 1
    assert "budget: 0.0001 USD a run; above it, so the run will not begin" in capsys.readouterr().out
    assert spancheck("nightly", "small") == 2
    err = capsys.readouterr().err
    assert "captured_run: small" in err
    assert "Nothing was called" in err
    assert project.calls() == []


def test_a_plan_after_a_night_says_which_run_it_is_from(project, capsys):
    spancheck("nightly", "small", "--json")
    run_id = json.loads(capsys.readouterr().out)["scorecard"]["run_id"]

    spancheck("plan", "small")

    assert f"as in the captured run {run_id}" in capsys.readouterr().out


def test_a_budget_that_no_price_answers_ends_with_2_and_never_as_if_it_were_kept(project, capsys):
    project.write_suite(more="budget: {max_run_cost_usd: 5}\n")
    text = (project.suite_folder / "suite.yaml").read_text()
    (project.suite_folder / "suite.yaml").write_text(re.sub(r"(?m)^prices: .*\n", "", text))

    assert spancheck("plan", "small") == 2
    assert "budget: 5 USD a run; whether it is within it could not be told" in capsys.readouterr().out
    project.write_suite(more="budget: {max_run_cost_usd: 5}\n")
    assert spancheck("plan", "small") == 0
    assert "budget: 5 USD a run; within it" in capsys.readouterr().out
