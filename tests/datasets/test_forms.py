"""The second demo suite: every criterion type has something to catch, and what is flaky is flaky by design."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from spancheck_pipeline.api.stored import run_place, stored_run
from spancheck_pipeline.cli.main import main
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.decision.figures import GraderFigures
from spancheck_pipeline.evidence.case import CRITERION_TYPES
from spancheck_pipeline.evidence.criterion import SHAPES, read_target
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import AdHoc, Store

ROOT = Path(__file__).parents[2]
LOADED = load_suite(ROOT / "datasets", "forms", load_attribute)
CASES = load_cases(LOADED.folder, LOADED.suite.cases)


def night(folder: Path, run_id: str = "r"):
    store = Store(folder)
    return run_place(
        store,
        AdHoc("forms", run_id),
        LOADED.suite,
        CASES,
        graders=LOADED.graders,
        load_target=lambda: load_target(LOADED.suite.target, suite_folder=LOADED.folder),
        decided_by="x",
    )


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    return night(tmp_path_factory.mktemp("forms"))


def figures(decided) -> GraderFigures:
    return decided.scorecard.graders["criteria"]


def test_the_suite_goes_through_its_gate_with_failures_to_look_at(decided):
    assert decided.decision.ok
    n = figures(decided).counts
    assert (n.n_cases, n.n_pass, n.n_fail, n.n_flaky, n.n_unmeasured) == (38, 16, 12, 8, 2)


def test_every_flaw_that_its_readme_names_is_caught_where_it_says(decided):
    caught = figures(decided)
    assert set(caught.flaky_case_ids) >= {"repair-8-warranty", "clinic-4-dose", "clinic-4-json"}
    assert set(caught.failing_case_ids) >= {
        "boat-14-signature", "ledger-2-keeper", "boat-15-transcribe", "clinic-5-date", "ledger-2-transcribe",
        "boat-14-licence", "repair-9-json", "ledger-2-json", "clinic-5-json",
    }  # fmt: skip
    assert set(caught.unmeasured_case_ids) == {"ledger-1-keeper", "repair-9-note"}


def test_every_type_and_shape_of_criterion_is_used():
    assert {criterion.type for case in CASES for criterion in case.criteria} == set(CRITERION_TYPES)
    used = {type(read_target(c.type, c.target)) for case in CASES for c in case.criteria}
    assert used >= {shape for shapes in SHAPES.values() for shape in shapes.values()}
    assert len(CASES) >= 30


def test_every_case_asks_something_of_its_own():
    # The reader counts how often it read a question: two cases that ask the same would share their luck.
    assert len({case.question_digest for case in CASES}) == len(CASES)


def test_flakiness_is_counted_and_nothing_is_rounded_into_a_share(decided):
    caught = figures(decided)
    assert decided.scorecard.epochs == 5
    rates = [p.value for p in caught.pass_hat_k]
    assert rates == sorted(rates, reverse=True)
    # All five readings pass: 16 of the 36 cases that were measured, a flaky one being none of them.
    assert rates[-1] == pytest.approx(16 / 36) == caught.pass_rate.value
    assert {pair.case_id for pair in caught.criteria.flaky} >= set(caught.flaky_case_ids)


def test_nightly_takes_it_from_cases_to_audit_log(tmp_path, monkeypatch, capsys):
    for name, value in {
        "SPANCHECK_DATASETS": ROOT / "datasets", "SPANCHECK_STORAGE": tmp_path / "s", "DAGSTER_HOME": tmp_path / "home",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SystemExit) as ended:
        main(["nightly", "forms"])

    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "38 cases × 5 epochs" in out
    assert "flaky in criteria: boat-15-deposit, clinic-4-dose" in out
    assert "pass^5 44.4%" in out
    assert list((tmp_path / "s" / "audit_log" / "suite=forms").rglob("part-0.parquet"))


def test_the_same_seed_gives_the_same_night_again(decided, tmp_path):
    again, before = figures(night(tmp_path)), figures(decided)

    # Which epoch gets which reading depends on the threads; what they come to does not.
    assert (again.counts, again.criteria, again.pass_hat_k) == (before.counts, before.criteria, before.pass_hat_k)
    assert again.flaky_case_ids == before.flaky_case_ids
    assert again.failing_case_ids == before.failing_case_ids


def test_every_answer_of_an_epoch_is_a_call_of_its_own(tmp_path):
    night(tmp_path)
    run = stored_run(Store(tmp_path), AdHoc("forms", "r"))
    answers = {}
    for result in run:
        answers.setdefault(result.case_id, set()).add(result.output.answer)

    assert len(run) == 38 * 5
    assert len(answers["repair-8-warranty"]) > 1


def test_the_suite_and_its_cases_are_as_the_published_schemas_say():
    schemas = ROOT / "docs" / "schemas"
    jsonschema.validate(
        yaml.safe_load((LOADED.folder / "suite.yaml").read_text()), json.loads((schemas / "suite.json").read_text())
    )
    schema = json.loads((schemas / "case.json").read_text())
    for line in (LOADED.folder / "cases.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), schema)
