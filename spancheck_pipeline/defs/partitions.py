"""The one partitions definition that all suites share: days of the project's time zone."""

import dagster as dg

from spancheck_pipeline.api.environment import Environment


def daily(environment: Environment) -> dg.DailyPartitionsDefinition:
    """Return the daily partitions of a project, today's included: a night belongs to the day on which it runs."""
    return dg.DailyPartitionsDefinition(start_date=environment.start_date, timezone=environment.timezone, end_offset=1)
