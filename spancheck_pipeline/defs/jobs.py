"""Jobs and the nightly schedule of each suite, and what its nights are held to: time, retries, freshness.

Alerts about runs live in ``sensors.py``, scoring stale nights again in ``rescore.py``.
"""

import datetime as dt
from collections.abc import Callable
from typing import Any

import dagster as dg

from spancheck_pipeline.api.snapshot import is_begun
from spancheck_pipeline.api.trending import missed_dates
from spancheck_pipeline.defs.alerts import alert
from spancheck_pipeline.defs.assets import SuiteDefs
from spancheck_pipeline.defs.resources import StoreResource, takes_store
from spancheck_pipeline.errors import StorageError
from spancheck_pipeline.storage.store import Night

Clock = Callable[[], dt.datetime]


def job_name(suite: SuiteDefs, what: str) -> str:
    """Return the name of a suite's job: ``leases_nightly``, with the namespace before it where there is one."""
    return "_".join([*suite.key().path, what])


def run_tags(suite: SuiteDefs) -> dict[str, str]:
    """Return what Dagster's daemon reads of a nightly run: how long it may take, how often it is started again.

    A run is started again when its process died or took too long, never because a step or a gate failed; it resumes the
    capture.
    """
    settings = suite.loaded.suite.schedule
    if settings is None:
        return {}
    return {
        "dagster/max_runtime": str(round(settings.max_run_hours * 3600)),
        "dagster/max_retries": str(settings.retries),
        "dagster/retry_on_asset_or_op_failure": "false",
    }


def suite_jobs(suite: SuiteDefs) -> list[Any]:
    """Return the nightly job (everything) and the rescore job (all that lies downstream of the captured run)."""
    # Of the assets with the suite's prefix only its own: somebody else's may stand beside them.
    whole = dg.AssetSelection.key_prefixes(suite.key().path) & dg.AssetSelection.groups(suite.group)
    evidence = whole & dg.AssetSelection.tag("stage", "evidence")  # what was asked, answered, and said by judges
    return [
        dg.define_asset_job(
            job_name(suite, "nightly"),
            selection=whole,
            run_tags=run_tags(suite) or None,
            description=f"Capture {suite.name} for a date (once), score it, decide, and write the record.",
        ),
        dg.define_asset_job(
            job_name(suite, "rescore"),
            selection=whole - evidence,
            description=f"Score the captured run of {suite.name} again and decide again. Nothing is called.",
        ),
    ]


def suite_schedules(suite: SuiteDefs, *, now: Clock = lambda: dt.datetime.now(dt.UTC)) -> list[dg.ScheduleDefinition]:
    """Return the suite's nightly schedule, where it has one; it is off until somebody turns it on.

    A tick asks for one run of its own day, however often that day ticks. A tick that comes when its day is over asks
    for nothing, unless the capture was begun: today's system cannot answer for that day, which is marked as missed.
    """
    settings = suite.loaded.suite.schedule
    if settings is None:
        return []

    @dg.schedule(
        name=job_name(suite, "nightly_schedule"),
        cron_schedule=settings.cron,
        execution_timezone=suite.environment.timezone,
        job_name=job_name(suite, "nightly"),
        description=f"Runs {suite.name} on its day, in {suite.environment.timezone}.",
    )
    @takes_store(suite.environment.namespace)
    def nightly(
        context: dg.ScheduleEvaluationContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.RunRequest | dg.SkipReason:
        date = suite.environment.today(context.scheduled_execution_time)
        is_over = date < suite.environment.today(now())
        _mark_missed(context, suite, spancheck_store, until=date if is_over else _day_before(date))
        if is_over and not _can_still_run(suite, spancheck_store, date):
            return dg.SkipReason(f"{date} is over and was not captured: it stays missing, today's system cannot answer")
        return dg.RunRequest(run_key=date, partition_key=date, tags=run_tags(suite))

    return [nightly]


def _day_before(date: str) -> str:
    return (dt.date.fromisoformat(date) - dt.timedelta(days=1)).isoformat()


def _can_still_run(suite: SuiteDefs, resource: StoreResource, date: str) -> bool:
    return suite.loaded.suite.target.kind == "recorded" or is_begun(resource.store(), Night(suite.name, date))


def _mark_missed(
    context: dg.ScheduleEvaluationContext, suite: SuiteDefs, resource: StoreResource, *, until: str
) -> None:
    """Put an observation on each scheduled night that was not captured, once, and alert about it.

    The night that is due runs, whatever becomes of this.
    """
    settings = suite.loaded.suite.schedule
    assert settings is not None
    key = suite.key("captured_run")
    try:
        store = resource.store()
        missed = [
            date
            for date in missed_dates(store, suite.name, settings.cron, until=until)
            if not is_begun(store, Night(suite.name, date))
        ]
    except StorageError as error:
        context.log.warning("%s: missed nights are not looked for (%s)", suite.name, type(error).__name__)
        return
    if not missed:
        return
    known = context.instance.fetch_observations(
        dg.AssetRecordsFilter(asset_key=key, asset_partitions=missed), limit=len(missed) * 10
    )
    fresh = [date for date in missed if date not in {record.partition_key for record in known.records}]
    for date in fresh:
        context.instance.report_runless_asset_event(
            dg.AssetObservation(
                key,
                partition=date,
                description=f"{suite.name} was scheduled on {date} and not captured. It stays missing.",
                metadata={"missed_night": True, "schedule": settings.cron},
            )
        )
    if fresh:
        nights = ", ".join(fresh[:10]) + (f" and {len(fresh) - 10} more" if len(fresh) > 10 else "")  # noqa: PLR2004 - a line
        alert(context.log, suite, "missed", f"{suite.name}: scheduled and not captured: {nights}")
