"""Comparison and promotion through the real Dagster: what the gate holds back, and what it does not."""

import dagster as dg
import pytest
from scenario import Project

from spancheck_pipeline.api.deciding import read_decision
from spancheck_pipeline.api.promoting import all_promotions
from spancheck_pipeline.definitions import build
from spancheck_pipeline.defs.home import prepare_home
from spancheck_pipeline.defs.run import run_nightly
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG

DATES = ["2026-01-05", "2026-01-06", "2026-01-07"]
TOO_SLOW = ", budget: {p95_latency_ms: 0.000001}"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster_home"))
    project = Project(tmp_path)
    prepare_home(project.environment.dagster_home)
    return project


def night(project: Project, date: str) -> Store:
    config = {"captured_run": {"allow_past": True}}
    run_nightly(build(project.environment, suites=["small"]), project.environment, Night("small", date), config)
    return Store(project.environment.storage)


def promoted(store: Store) -> list[str]:
    return [item.date for item in all_promotions(store, "small", "last_good")]


def latest(name: str) -> dict:
    with dg.DagsterInstance.get() as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey(["small", name]))
        return {key: value.value for key, value in event.asset_materialization.metadata.items()}


def test_a_night_that_passes_is_promoted_and_the_next_one_is_compared_with_it(project):
    project.write_suite(gate=", regression: {detect: 0.2}")
    for date in DATES[:2]:
        store = night(project, date)

    assert promoted(store) == DATES[:2]
    shown = latest("comparison")
    assert (shown["release_date"], shown["last_good_date"], shown["last_good_n_shared"]) == (DATES[0], DATES[0], 12)
    assert shown["release_captured_run"] == all_promotions(store, "small", "last_good")[0].captured_run
    assert shown["last_good_difference_citation_accuracy"] == 0.0
    assert (latest("baseline")["promoted"], latest("baseline")["number"]) == (True, 2)
    with dg.DagsterInstance.get() as instance:
        key = dg.AssetCheckKey(dg.AssetKey(["small", "comparison"]), "regression_citation_accuracy")
        [record] = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    shown = record.event.asset_check_evaluation.metadata
    assert shown["p_value"].value == 1.0
    assert shown["cases_needed"].value > 8


def test_a_night_that_fails_fails_the_promotion_alone_and_its_record_is_made(project):
    project.write_suite(gate=TOO_SLOW)
    store = night(project, DATES[0])

    assert promoted(store) == []
    assert store.exists(Night("small", DATES[0]), AUDIT_LOG)
    with dg.DagsterInstance.get() as instance:
        [run] = instance.get_runs()
        assert run.status is dg.DagsterRunStatus.FAILURE
        failed = [r.event_log_entry for r in instance.get_records_for_run(run.run_id).records]
    failed = [e.dagster_event for e in failed if e.dagster_event and e.dagster_event.is_step_failure]
    assert [event.step_key for event in failed] == ["small__baseline"]
    said = failed[0].step_failure_data.user_failure_data.description
    assert "the gate says FAIL (budget_p95_latency_ms)" in said


def test_a_suite_that_does_not_block_ends_well_and_is_not_promoted(project):
    project.write_suite(gate=TOO_SLOW + ", blocking: false")
    store = night(project, DATES[0])

    assert promoted(store) == []
    assert latest("baseline") == {"decision": "FAIL", "promoted": False}
    with dg.DagsterInstance.get() as instance:
        assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.SUCCESS]


def test_a_range_is_walked_in_order_and_what_may_be_promoted_is(project):
    slow = project.suite_folder / "target.py"
    fast = slow.read_text()
    for date in DATES:
        slow.write_text(fast if date != DATES[1] else fast + "\n\ndef answer(question):\n    return ''\n")
        night(project, date)
    store = Store(project.environment.storage)
    for path in (project.storage / "baselines").rglob("*.json"):
        path.unlink()
    tags = {"dagster/asset_partition_range_start": DATES[0], "dagster/asset_partition_range_end": DATES[2]}

    with dg.DagsterInstance.get() as instance:
        job = build(project.environment, suites=["small"]).resolve_job_def("small_rescore")
        result = job.execute_in_process(tags=tags, instance=instance, raise_on_error=False)
        made = instance.get_materialized_partitions(dg.AssetKey(["small", "baseline"]))

    assert [event.step_key for event in result.all_events if event.is_step_failure] == ["small__baseline"]
    assert [read_decision(store, Night("small", date)).answer for date in DATES] == ["PASS", "FAIL", "PASS"]
    assert promoted(store) == [DATES[0], DATES[2]]
    assert made == {DATES[0], DATES[2]}


def test_another_rule_of_the_gate_makes_another_data_version_of_the_decision(project):
    def version() -> str:
        with dg.DagsterInstance.get() as instance:
            event = instance.get_latest_materialization_event(dg.AssetKey(["small", "comparison"]))
            return event.asset_materialization.tags["dagster/data_version"]

    night(project, DATES[0])
    first = version()
    project.write_suite(gate=", max_flaky: 0.5")
    night(project, DATES[0])

    assert version() != first
