"""Jobs and the nightly schedule of each suite."""

from typing import Any

import dagster as dg

from spancheck_pipeline.defs.assets import SuiteDefs


def job_name(suite: SuiteDefs, what: str) -> str:
    """Return the name of a suite's job: ``leases_nightly``, with the namespace before it where there is one."""
    return "_".join([*suite.key().path, what])


def suite_jobs(suite: SuiteDefs) -> list[Any]:
    """Return the nightly job (everything) and the rescore job (all that lies downstream of the captured run)."""
    whole = dg.AssetSelection.key_prefixes(suite.key().path)
    evidence = dg.AssetSelection.assets(suite.key("cases"), suite.key("captured_run"))
    return [
        dg.define_asset_job(
            job_name(suite, "nightly"),
            selection=whole,
            description=f"Capture {suite.name} for a date (once), score it, decide, and write the record.",
        ),
        dg.define_asset_job(
            job_name(suite, "rescore"),
            selection=whole - evidence,
            description=f"Score the captured run of {suite.name} again and decide again. Nothing is called.",
        ),
    ]


def suite_schedules(suite: SuiteDefs) -> list[dg.ScheduleDefinition]:
    """Return the suite's nightly schedule, where it has one; it is off until somebody turns it on."""
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
    def nightly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        date = suite.environment.today(context.scheduled_execution_time)
        return dg.RunRequest(run_key=date, partition_key=date)

    return [nightly]
