"""The project as Dagster loads it: every suite of the datasets folder, assembled. Nothing is defined here.

``dagster dev -w workspace.yaml``, ``spancheck ui`` and ``spancheck nightly`` all load this module's ``defs``.
"""

import warnings
from collections.abc import Callable, Sequence

import dagster as dg

from spancheck_pipeline.api.environment import Environment, read_environment
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.defs import assets, checks, jobs, partitions, resources
from spancheck_pipeline.storage.datasets import list_suites, load_suite

# A capture has no backfill policy (each date is its own run) and grading has one (many dates are one run): the nightly
# job holds both on purpose, and Dagster warns of it whenever it resolves the job.
warnings.filterwarnings("ignore", message=r"Asset job \w+_nightly materializes assets with varying BackfillPolicies")


def build(
    environment: Environment | None = None,
    *,
    suites: Sequence[str] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    is_debug: bool = False,
    target: LoadedTarget | None = None,
) -> dg.Definitions:
    """Return the definitions of a project: all suites of its datasets folder, or those that are named.

    ``on_progress`` is told how far a capture in this process is. With ``is_debug`` a foreign error's text reaches the
    event log. ``target`` is called in place of the one that the (single) suite names, which is not loaded then.

    Raises:
        ConfigError: for a suite with mistakes, all of them at once.
        UsageError: when there is no datasets folder, or no suite of a name.
    """
    environment = environment or read_environment()
    names = list_suites(environment.datasets) if suites is None else suites
    with warnings.catch_warnings():
        # Backfill policies and partitioned checks are marked beta and preview; their behaviour is pinned by our tests.
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return _assemble(environment, names, on_progress, is_debug=is_debug, target=target)


def _assemble(
    environment: Environment,
    names: Sequence[str],
    on_progress: Callable[[Progress], None] | None,
    *,
    is_debug: bool,
    target: LoadedTarget | None,
) -> dg.Definitions:
    shared = partitions.daily(environment)
    built = [
        assets.SuiteDefs(
            loaded=load_suite(environment.datasets, name, load_attribute),
            environment=environment,
            partitions=shared,
            on_progress=on_progress,
            is_debug=is_debug,
            target=target,
        )
        for name in names
    ]
    root, namespace = environment.storage, environment.namespace
    return dg.Definitions(
        assets=[asset for suite in built for asset in assets.suite_assets(suite)],
        asset_checks=[checks.suite_checks(suite) for suite in built],
        jobs=[job for suite in built for job in jobs.suite_jobs(suite)],
        schedules=[schedule for suite in built for schedule in jobs.suite_schedules(suite)],
        resources={
            resources.STORE_KEY: resources.StoreResource(root=root, namespace=namespace),
            resources.IO_MANAGER_KEY: resources.StoredTables(root=root, namespace=namespace),
        },
        executor=dg.in_process_executor,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Return the project of the working folder and environment; Dagster calls this when it loads the module."""
    return build()
