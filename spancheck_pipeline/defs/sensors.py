"""Sensors that tell somebody when a night failed or its gate does not pass. They are off until somebody turns them on.

How it is told lives in ``alerts.py``. The sensor that scores stale nights again stands in ``rescore.py``.
"""

from collections.abc import Sequence

import dagster as dg

from spancheck_pipeline.api.deciding import read_decision
from spancheck_pipeline.defs.alerts import Occasion, alert
from spancheck_pipeline.defs.guard import is_refused_by_gate
from spancheck_pipeline.defs.jobs import job_name
from spancheck_pipeline.defs.resources import StoreResource, takes_store
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.errors import SpancheckError
from spancheck_pipeline.storage.store import Night, Store

_SHOWN_RULES = 10


def alert_sensors(
    suites: Sequence[SuiteDefs], namespace: str | None, *, called: str | None = None
) -> list[dg.SensorDefinition]:
    """Return the two sensors of a project: on nightly runs that failed, and on those that ended well.

    A run ends well with a gate that does not pass where the suite says ``blocking: false``. ``called`` stands in their
    names, before what they do.
    """
    if not suites:
        return []  # a sensor of no job would watch them all
    prefix = "".join(f"{part}_" for part in (namespace, called) if part)
    by_job = {job_name(suite, "nightly"): suite for suite in suites}
    return [_sensor(f"{prefix}alert_on_{name}", status, by_job, namespace) for name, status in _STATUSES.items()]


_STATUSES = {"failed_night": dg.DagsterRunStatus.FAILURE, "failed_gate": dg.DagsterRunStatus.SUCCESS}


def _sensor(
    name: str, status: dg.DagsterRunStatus, by_job: dict[str, SuiteDefs], namespace: str | None
) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        run_status=status,
        name=name,
        minimum_interval_seconds=15,
        description="Tells of nights that could not run or whose gate does not pass; see docs/operations.md.",
    )
    @takes_store(namespace)
    def sensor(context: dg.RunStatusSensorContext, spancheck_store: dg.ResourceParam[StoreResource]) -> None:
        run = context.dagster_run
        suite, date = by_job.get(run.job_name), run.tags.get("dagster/partition")
        if suite is None or date is None:
            return
        told = said_of(run, context.instance, spancheck_store.store(), Night(suite.name, date))
        if told is not None:
            alert(context.log, suite, *told)

    return sensor


def said_of(
    run: dg.DagsterRun, instance: dg.DagsterInstance, store: Store, night: Night
) -> tuple[Occasion, str] | None:
    """Return what is told of a nightly run that ended, or None where nothing is.

    Of a run that Dagster starts again, only the last one is told.
    """
    if run.tags.get("dagster/will_retry") == "true":
        return None
    events = [entry.dagster_event for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE)]
    failed = [event for event in events if event and not is_refused_by_gate(event)]
    if failed:
        return "failure", "\n".join([f"{night} could not run", *map(_failure, failed[:_SHOWN_RULES])])
    if run.status == dg.DagsterRunStatus.FAILURE and not events:
        return "failure", f"{night} could not run: its process died or took too long (run {run.run_id})"
    try:
        decision = read_decision(store, night)
    except SpancheckError as error:
        return "failure", f"{night}: its decision cannot be read ({type(error).__name__})"
    rules = [rule for rule in decision.rules if not rule.answer.is_ok]
    if decision.answer.is_ok:
        return None
    lines = [f"{rule.rule}: {rule.answer.value}: {rule.reason}" for rule in rules[:_SHOWN_RULES]]
    return "gate", "\n".join([f"{night}: the gate says {decision.answer.value}", *lines])


def _failure(event: dg.DagsterEvent) -> str:
    """Return a step and our own words for why; of a foreign error only its class, since its text may quote anything."""
    data = event.step_failure_data
    described = data.user_failure_data.description if data.user_failure_data else None
    why = described or (data.error.cls_name if data.error else None) or "no message"
    return f"{(event.step_key or 'the run').replace('__', '/')}: {why}"
