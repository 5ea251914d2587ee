"""A night as production has it: schedule, queue, run worker, gate, sensor and webhook, all real, on loopback."""

import datetime as dt
import json

import dagster as dg
from clients.test_webhook import SECRET, receiver
from operations.services import SELECTOR, Services, wait_for
from scenario import Project

TARGET = """
    VERSION = "1"


    def answer(question):
        return {"answer": "ZEBRAFISH says so.", "citations": [{"quote": "ZEBRAFISH quote", "source_id": "s"}]}
"""
TICK = """mutation ($selector: ScheduleSelector!, $at: Float!) {
    scheduleDryRun(selectorData: $selector, timestamp: $at) { __typename ... on DryRunInstigationTick {
    evaluationResult { runRequests { runKey tags { key value } } error { message } } } } }"""
START_SENSOR = """mutation ($selector: SensorSelector!) { startSensor(sensorSelector: $selector) {
    __typename ... on PythonError { message } } }"""
START_SCHEDULE = """mutation ($selector: ScheduleSelector!) { startSchedule(scheduleSelector: $selector) {
    __typename ... on PythonError { message } } }"""


def looks(services: Services, sensor: str) -> int:
    """Return how often the daemon has evaluated a sensor."""
    with services.instance() as instance:
        states = [state for state in instance.all_instigator_state() if state.instigator_name == sensor]
        return sum(len(instance.get_ticks(state.instigator_origin_id, state.selector_id)) for state in states)


def test_a_scheduled_night_whose_gate_fails_is_told_over_the_webhook_without_any_text(tmp_path):
    project = Project(tmp_path, target=TARGET)
    project.write_suite(more='schedule: {cron: "0 0 * * *"}\n')
    with receiver(200) as (url, got), Services(project=project, environ={"SPANCHECK_ALERT_WEBHOOK": url}) as services:
        selector = {**SELECTOR, "sensorName": "alert_on_failed_night"}
        assert services.query(START_SENSOR, selector=selector)["startSensor"]["__typename"] == "Sensor"
        # At its first look a sensor only notes where the events end: what ended before is nobody's alert.
        wait_for("first look of the sensor", lambda: looks(services, "alert_on_failed_night"))
        schedule = {**SELECTOR, "scheduleName": "small_nightly_schedule"}
        started = services.query(START_SCHEDULE, selector=schedule)["startSchedule"]
        assert started["__typename"] == "ScheduleStateResult"

        # The clock just over midnight: the tick that the daemon evaluates then, evaluated by the code server now.
        midnight = dt.datetime.combine(dt.datetime.now(dt.UTC).date(), dt.time(), dt.UTC)
        tick = services.query(TICK, selector=schedule, at=midnight.timestamp())["scheduleDryRun"]
        [request] = tick["evaluationResult"]["runRequests"]
        assert request["runKey"] == midnight.date().isoformat()
        tags = {tag["key"]: tag["value"] for tag in request["tags"]}
        run_id = services.launch("small_nightly", tags)

        [alert] = wait_for("alert", lambda: list(got), patience_s=180)
        with services.instance() as instance:
            run = instance.get_run_by_id(run_id)
    date = midnight.date().isoformat()
    assert run.status == dg.DagsterRunStatus.FAILURE
    assert (run.tags["dagster/partition"], run.tags["dagster/max_retries"]) == (date, "2")
    assert alert["text"].startswith(f"small on {date}: the gate says FAIL\n")
    assert "min_pass_rate_citation_accuracy: FAIL" in alert["text"]
    for secret in ("ZEBRAFISH", "notice number", "president"):
        assert secret not in json.dumps(alert)
    for path in project.environment.dagster_home.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), f"the webhook's URL stands in {path}"
    for log in project.folder.glob("*.log"):
        assert SECRET not in log.read_text(), log
