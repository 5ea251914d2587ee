"""A suite that cannot be read, as Dagster shows it: one asset that says why, so that the other suites go on.

What is wrong with it is found by ``storage/datasets.py``.
"""

import re
import sys

import dagster as dg

from spancheck_pipeline.errors import SpancheckError


def broken_suite(
    name: str, error: SpancheckError, partitions: dg.DailyPartitionsDefinition, *, namespace: str | None = None
) -> dg.AssetsDefinition:
    """Return an asset in the suite's place that holds the message and fails with it when it is materialized.

    The message is also written to stderr, where whoever starts Dagster sees it.
    """
    message = f"the suite {name!r} is left out: {error}"
    sys.stderr.write(f"spancheck: {message}\n")
    key = [*([namespace] if namespace else []), re.sub(r"[^A-Za-z0-9_]", "_", name)]

    @dg.asset(
        key=[*key, "cannot_be_read"],
        group_name="_".join(key),
        partitions_def=partitions,
        description=f"**This suite cannot be read, and does not run.**\n\n```\n{message}\n```",
        tags={"stage": "evidence"},
        kinds={"error"},
    )
    def cannot_be_read() -> None:
        raise dg.Failure(description=message, allow_retries=False)

    return cannot_be_read
