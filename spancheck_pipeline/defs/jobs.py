"""Jobs and the nightly schedule of each suite, and what its nights are held to: time, retries, freshness.

Alerts about runs live in ``sensors.py``, scoring stale nights again in ``rescore.py``.
"""

import datetime as dt
import itertools
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import dagster as dg

# Dagster has no public name for how it reads a cron.
from dagster._utils.schedules import is_valid_cron_schedule, schedule_execution_time_iterator

from spancheck_pipeline.api.judge_needs import needed_judges
from spancheck_pipeline.api.snapshot import is_begun
from spancheck_pipeline.api.trending import missed_dates
from spancheck_pipeline.decision.cron import CronDays, single_time
from spancheck_pipeline.defs.alerts import alert
from spancheck_pipeline.defs.resources import StoreResource, takes_store
from spancheck_pipeline.defs.suite_defs import SuiteDefs
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
    # By their keys: somebody else's assets may stand beside them, under the same prefix or in the same group.
    asked, made = suite_keys(suite)
    return [
        dg.define_asset_job(
            job_name(suite, "nightly"),
            selection=dg.AssetSelection.assets(*asked, *made),
            run_tags=run_tags(suite) or None,
            description=f"Capture {suite.name} for a date (once), score it, decide, and write the record.",
        ),
        dg.define_asset_job(
            job_name(suite, "rescore"),
            selection=dg.AssetSelection.assets(*made),
            description=f"Score the captured run of {suite.name} again and decide again. Nothing is called.",
        ),
    ]


def suite_keys(suite: SuiteDefs) -> tuple[list[dg.AssetKey], list[dg.AssetKey]]:
    """Return the keys of a suite's own assets: what is asked of target and judges, and what is made of it."""
    judges = ["judge_verdicts"] if needed_judges(suite.loaded.graders) else []
    asked = [suite.key(name) for name in ("cases", "captured_run", *judges)]
    made = ("scorecard", "comparison", "audit_log", "report", "baseline")
    return asked, [*suite.score_keys(), *map(suite.key, made)]


@lru_cache(maxsize=256)
def why_not_dagsters(cron: str) -> str:
    """Return why Dagster cannot run a cron schedule as the suite reads it; an empty text where it can.

    Missed nights and lateness are reckoned by the suite's reading, ticks by Dagster's.
    """
    if not is_valid_cron_schedule(cron):
        return f"Dagster does not take {cron[:80]!r} as a cron schedule"
    days, start, end = CronDays(cron), dt.datetime(2028, 1, 1, tzinfo=dt.UTC), dt.datetime(2029, 1, 1, tzinfo=dt.UTC)
    if cron.startswith("@"):
        return ""
    minute, hour, *date = cron.split()
    ticks = _ticks(" ".join(["0 0", *date]), start, end)  # one a day: a year of minutes takes seconds
    if {tick.date() for tick in ticks} != {day for day in _days(start, end) if day in days}:
        return f"Dagster reads {cron[:80]!r} as other days than those that it names to other crons"
    of_a_day = _ticks(f"{minute} {hour} * * *", start, start + dt.timedelta(days=1), most=2)
    if (len(list(of_a_day)) == 1) != (single_time(cron) is not None):
        return f"Dagster reads {cron[:80]!r} as other times than those that it names to other crons"
    return ""


def _ticks(cron: str, start: dt.datetime, end: dt.datetime, *, most: int = 400) -> Iterator[dt.datetime]:
    ticks = schedule_execution_time_iterator(start.timestamp(), cron, "UTC")
    return itertools.islice(itertools.takewhile(lambda tick: tick < end, ticks), most)


def _days(start: dt.datetime, end: dt.datetime) -> Iterator[dt.date]:
    return (start.date() + dt.timedelta(days=n) for n in range((end - start).days))


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
