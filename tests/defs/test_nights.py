"""Nights by schedule: clock changes, missed nights, lateness, pools, retries, and what somebody is told."""

import dataclasses
import datetime as dt
import logging
import shutil
import time
import zoneinfo
from pathlib import Path

import dagster as dg
import pytest
from clients.test_webhook import receiver
from dagster._utils.schedules import schedule_execution_time_iterator
from scenario import Project

from spancheck_pipeline.api.environment import Environment
from spancheck_pipeline.api.trending import missed_dates
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.definitions import build
from spancheck_pipeline.defs.home import INSTANCE_SETTINGS, prepare_home
from spancheck_pipeline.defs.jobs import suite_schedules
from spancheck_pipeline.defs.partitions import daily
from spancheck_pipeline.defs.resources import StoreResource
from spancheck_pipeline.defs.run import run_nightly
from spancheck_pipeline.defs.sensors import said_of
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.errors import StepFailedError
from spancheck_pipeline.storage.datasets import load_suite
from spancheck_pipeline.storage.store import Night, Store

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
NIGHTLY = 'schedule: {cron: "30 2 * * *"}\n'


@pytest.fixture(scope="module")
def empty_home(tmp_path_factory) -> Path:
    """Make one Dagster home, which every test copies: making one takes longer than a night."""
    home = tmp_path_factory.mktemp("empty") / "dagster_home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home))
        return prepare_home(home)


@pytest.fixture
def project(empty_home, tmp_path, monkeypatch) -> Project:
    project = Project(tmp_path)
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SPANCHECK_ALERT_WEBHOOK", raising=False)
    shutil.copytree(empty_home, project.environment.dagster_home)
    project.write_suite(more=NIGHTLY)
    return project


def suite_of(project: Project, environment: Environment | None = None) -> SuiteDefs:
    environment = environment or project.environment
    loaded = load_suite(environment.datasets, project.name, load_attribute)
    return SuiteDefs(loaded=loaded, environment=environment, partitions=daily(environment))


def berlin(project: Project) -> Environment:
    return dataclasses.replace(project.environment, timezone="Europe/Berlin")


_REPOSITORIES: dict[str, dg.RepositoryDefinition] = {}


def repository(environment: Environment) -> dg.RepositoryDefinition:
    """Return what Dagster looks jobs and partitions up in; one for all tests of a time zone."""
    if environment.timezone not in _REPOSITORIES:
        _REPOSITORIES[environment.timezone] = build(environment).get_repository_def()
    return _REPOSITORIES[environment.timezone]


def tick(suite: SuiteDefs, at: dt.datetime, *, now: dt.datetime | None = None):
    """Evaluate the schedule as the daemon does at an instant; ``now`` is when it comes to it."""
    [schedule] = suite_schedules(suite, now=lambda: now or at)
    known = repository(suite.environment)
    with (
        dg.DagsterInstance.get() as instance,
        dg.build_schedule_context(
            instance=instance,
            repository_def=known,
            scheduled_execution_time=at,
            resources={"spancheck_store": StoreResource(root=suite.environment.storage)},
        ) as context,
    ):
        return schedule.evaluate_tick(context)


def night(project: Project, date: str, **config) -> Store:
    environment = project.environment
    config = {"captured_run": {"allow_past": True}} | config
    run_nightly(build(environment, suites=[project.name]), environment, Night(project.name, date), config)
    return Store(environment.storage)


# -- clock changes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cron", ["30 2 * * *", "0 2 * * *", "0 3 * * *", "30 1 * * *", "0 0 * * *", "30 1-3 * * *"])
@pytest.mark.parametrize("first", [dt.date(2026, 3, 27), dt.date(2026, 10, 23)], ids=["spring", "autumn"])
def test_no_night_is_lost_or_doubled_when_clocks_change(project, cron, first):
    # Berlin: on 2026-03-29 there is no 02:30, on 2026-10-25 there are two.
    project.write_suite(more=f'schedule: {{cron: "{cron}"}}\n')
    suite = suite_of(project, berlin(project))
    start = dt.datetime.combine(first, dt.time(), BERLIN)
    asked = []
    for at in schedule_execution_time_iterator(start.timestamp(), cron, "Europe/Berlin"):
        if at >= start + dt.timedelta(days=5):
            break
        asked += [(request.run_key, request.partition_key) for request in tick(suite, at).run_requests]

    days = [(first + dt.timedelta(days=n)).isoformat() for n in range(5)]
    # A run key is launched once, so that more than one tick of a day is still one night.
    assert list(dict.fromkeys(asked)) == [(day, day) for day in days]
    if cron != "30 1-3 * * *":
        assert len(asked) == len(days)


def test_a_day_of_a_clock_change_is_one_partition_like_any_other(project):
    partitions = daily(berlin(project))
    keys = partitions.get_partition_keys(current_time=dt.datetime(2026, 11, 1, tzinfo=BERLIN))
    first = dt.date(2026, 1, 1)
    assert keys == [(first + dt.timedelta(days=n)).isoformat() for n in range((dt.date(2026, 11, 1) - first).days + 1)]


# -- missed nights ------------------------------------------------------------------------------------------------

MISSED = ["2026-01-06", "2026-01-07"]


def test_a_tick_that_comes_when_its_day_is_over_invents_nothing_and_marks_the_night(project):
    store = night(project, "2026-01-05")
    suite = suite_of(project)
    late = dt.datetime(2026, 1, 8, 9, 0, tzinfo=dt.UTC)

    for date in MISSED:
        at = dt.datetime.fromisoformat(f"{date}T02:30:00+00:00")
        result = tick(suite, at, now=late)
        assert result.run_requests == []
        assert "is over and was not captured" in result.skip_message
    [request] = tick(suite, dt.datetime(2026, 1, 8, 2, 30, tzinfo=dt.UTC), now=late).run_requests
    assert request.partition_key == "2026-01-08", "its day is not over: the night runs late"

    assert observed() == MISSED
    assert len(project.calls()) == 12
    assert missed_dates(store, "small", "30 2 * * *", until="2026-01-07") == tuple(MISSED)


def observed() -> list[str]:
    with dg.DagsterInstance.get() as instance:
        records = instance.fetch_observations(dg.AssetKey(["small", "captured_run"]), limit=100).records
    assert all(record.asset_observation.metadata["missed_night"].value is True for record in records)
    return sorted(record.partition_key for record in records)


def test_nights_that_never_ticked_are_marked_by_the_next_tick_once(project):
    night(project, "2026-01-05")
    suite = suite_of(project)
    for _ in range(2):
        [request] = tick(suite, dt.datetime(2026, 1, 8, 2, 30, tzinfo=dt.UTC)).run_requests
    assert request.partition_key == "2026-01-08"
    assert observed() == MISSED


def test_a_night_that_was_begun_is_finished_though_its_day_is_over(project):
    night(project, "2026-01-05")
    journal = project.storage / "_journal" / "captured_run" / "suite=small" / "date=2026-01-06"
    journal.mkdir(parents=True)
    (journal / "capture.jsonl").write_text("{}\n")
    at = dt.datetime(2026, 1, 6, 2, 30, tzinfo=dt.UTC)

    [request] = tick(suite_of(project), at, now=at + dt.timedelta(days=1)).run_requests

    assert request.partition_key == "2026-01-06"
    assert observed() == []


def test_somebody_is_told_of_a_missed_night(project, monkeypatch):
    night(project, "2026-01-05")
    with receiver(200) as (url, got):
        monkeypatch.setenv("SPANCHECK_ALERT_WEBHOOK", url)
        tick(suite_of(project), dt.datetime(2026, 1, 8, 2, 30, tzinfo=dt.UTC))
    assert got == [{"text": "small: scheduled and not captured: 2026-01-06, 2026-01-07"}]


# -- what a run is held to ------------------------------------------------------------------------------------------


def test_the_home_that_is_made_monitors_runs_and_lets_one_run_at_a_time_call_a_target(project):
    assert "max_runtime_seconds: 43200" in INSTANCE_SETTINGS
    with dg.DagsterInstance.get() as instance:
        assert instance.run_monitoring_enabled
        assert instance.run_retries_enabled
        assert instance.run_retries_max_retries == 0
        pools = instance.get_concurrency_config().pool_config
        assert (pools.default_pool_limit, pools.pool_granularity.value) == (1, "run")


def test_a_nightly_run_says_how_long_it_may_take_and_how_often_it_is_started_again(project):
    project.write_suite(more='schedule: {cron: "30 2 * * *", max_run_hours: 2, retries: 4}\n')
    job = build(project.environment).resolve_job_def("small_nightly")
    assert job.run_tags["dagster/max_runtime"] == "7200"
    assert job.run_tags["dagster/max_retries"] == "4"
    assert job.run_tags["dagster/retry_on_asset_or_op_failure"] == "false"


def test_suites_that_name_a_pool_share_it(project):
    def pools() -> set[str]:
        return {asset.op.pool for asset in build(project.environment).assets if asset.key.path[-1] == "captured_run"}

    assert pools() == {"small_target"}
    project.write_suite(target=", pool: gpu_box")
    assert pools() == {"gpu_box"}


@pytest.mark.parametrize(
    ("schedule", "policy"),
    [
        ('{cron: "30 2 * * *"}', ("30 8 * * *", 6 * 3600, "UTC")),
        ('{cron: "0 22 * * mon-fri", late_after_hours: 8}', 3 * 86400 + 8 * 3600),
    ],
)
def test_a_scheduled_suite_has_a_freshness_policy_and_another_has_none(project, schedule, policy):
    project.write_suite(more=f"schedule: {schedule}\n")
    found = suite_of(project).freshness()
    if isinstance(found, type(dg.FreshnessPolicy.cron("0 1 * * *", dt.timedelta(hours=1)))):
        assert (found.deadline_cron, found.lower_bound_delta.total_seconds(), found.timezone) == policy
    else:
        assert found.fail_window.to_timedelta().total_seconds() == policy
    project.write_suite()
    assert suite_of(project).freshness() is None


# -- alerts -------------------------------------------------------------------------------------------------------

SECRET_ANSWER = """
    VERSION = "1"


    def answer(question):
        return {"answer": "ZEBRAFISH says so", "citations": [{"quote": "ZEBRAFISH quote", "source_id": "s"}]}
"""


def told(project: Project) -> tuple[str, str] | None:
    with dg.DagsterInstance.get() as instance:
        [run] = instance.get_runs(limit=1)
        store = Store(project.environment.storage)
        return said_of(run, instance, store, Night("small", run.tags["dagster/partition"]))


def test_a_failing_gate_is_told_with_its_rules_and_without_any_text(project):
    project.write_target(SECRET_ANSWER)
    night(project, "2026-01-05")

    occasion, text = told(project)

    assert occasion == "gate"
    assert text.startswith("small on 2026-01-05: the gate says FAIL\nmin_pass_rate_citation_accuracy: FAIL: ")
    assert "ZEBRAFISH" not in text
    assert "notice number" not in text


def test_a_gate_that_passes_is_not_told_of(project):
    night(project, "2026-01-05")
    assert told(project) is None


def test_a_gate_that_does_not_block_is_told_all_the_same(project):
    project.write_target(SECRET_ANSWER)
    project.write_suite(gate=", blocking: false", more=NIGHTLY)
    night(project, "2026-01-05")
    assert told(project)[0] == "gate"


def test_a_night_that_could_not_run_is_told_with_the_step_and_our_own_words(project):
    project.write_target('VERSION = "1"\nraise RuntimeError("ZEBRAFISH")\n')
    with pytest.raises(StepFailedError):
        night(project, "2026-01-05")

    occasion, text = told(project)

    assert occasion == "failure"
    assert text.startswith("small on 2026-01-05 could not run\nsmall/captured_run: ")
    assert "ZEBRAFISH" not in text


def test_a_run_that_is_started_again_is_not_told_of_yet(project):
    with dg.DagsterInstance.get() as instance:
        job = build(project.environment).resolve_job_def("small_nightly")
        for retries in (1, 0):
            tags = {"dagster/partition": "2026-01-05", "dagster/max_retries": str(retries)}
            run = instance.create_run_for_job(job, tags=tags)
            instance.report_run_failed(run)
            failed = instance.get_run_by_id(run.run_id)
            found = said_of(failed, instance, Store(project.environment.storage), Night("small", "2026-01-05"))
            if retries:
                assert found is None
    assert found[1].startswith("small on 2026-01-05 could not run: its process died or took too long (run ")


def test_what_a_suite_does_not_want_to_know_is_logged_and_not_sent(project, monkeypatch, caplog):
    from spancheck_pipeline.defs.alerts import alert

    project.write_suite(more="alerts: {on: [failure], webhook_from: MY_HOOK}\n")
    suite, log = suite_of(project), logging.getLogger("alerts under test")
    caplog.set_level(logging.INFO)
    with receiver(200) as (url, got):
        monkeypatch.setenv("MY_HOOK", url)
        assert not alert(log, suite, "gate", "one")
        assert alert(log, suite, "failure", "two")
        monkeypatch.delenv("MY_HOOK")
        assert not alert(log, suite, "failure", "three")
    assert [item["text"] for item in got] == ["two"]
    assert [record.message for record in caplog.records] == [
        "one", "two", "three", "alert was logged only: MY_HOOK is not set",
    ]  # fmt: skip


def test_a_webhook_that_hangs_ends_the_tick_in_time_and_is_not_told_again(project, monkeypatch):
    definitions = build(project.environment)
    sensor = definitions.get_repository_def().get_sensor_def("alert_on_failed_night")
    project.write_target(SECRET_ANSWER)

    def evaluated(cursor: str | None) -> tuple[int, str]:
        with (
            dg.DagsterInstance.get() as instance,
            dg.build_sensor_context(
                instance=instance,
                cursor=cursor,
                repository_def=definitions.get_repository_def(),
                resources={"spancheck_store": StoreResource(root=project.environment.storage)},
            ) as context,
        ):
            found = sensor.evaluate_tick(context)
        return len(found.dagster_run_reactions or []), found.cursor

    _, before = evaluated(None)
    night(project, "2026-01-05")
    with receiver(200, late_s=8) as (url, got):
        monkeypatch.setenv("SPANCHECK_ALERT_WEBHOOK", url)
        began = time.monotonic()
        n_told, after = evaluated(before)
        took = time.monotonic() - began
        n_again, _ = evaluated(after)
    assert (n_told, n_again, len(got)) == (1, 0, 1)
    assert after != before
    # Five runs at most are looked at in a tick, which Dagster ends after a minute.
    assert took < 60 / 5


def test_the_alert_sensors_are_off_until_somebody_turns_them_on(project):
    found = build(project.environment).get_repository_def().sensor_defs
    assert {sensor.name: sensor.default_status.value for sensor in found} == {
        "rescore_stale_sensor": "STOPPED",
        "alert_on_failed_night": "STOPPED",
        "alert_on_failed_gate": "STOPPED",
    }
