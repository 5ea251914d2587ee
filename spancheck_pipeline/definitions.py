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
from spancheck_pipeline.defs import assets, broken, checks, jobs, partitions, resources
from spancheck_pipeline.errors import SpancheckError
from spancheck_pipeline.storage.datasets import LoadedSuite, list_suites, load_suite

# A capture has no backfill policy (each date is its own run) and grading has one (many dates are one run): the nightly
# job holds both on purpose, and Dagster warns of it whenever it resolves the job.
warnings.filterwarnings("ignore", message=r"Asset job \w+_nightly materializes assets with varying BackfillPolicies")


def build(
    environment: Environment | None = None,
    *,
    suites: Sequence[str] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_warning: Callable[[str], None] | None = None,
    is_debug: bool = False,
    target: LoadedTarget | None = None,
) -> dg.Definitions:
    """Return the definitions of a project: all suites of its datasets folder, or those that are named.

    ``on_progress`` is told how far a capture in this process is, ``on_warning`` what a person should know of it. With
    ``is_debug`` a foreign error's text reaches the event log. ``target`` is called in place of the one that the
    (single) suite names, which is not loaded then.

    A suite that cannot be read is shown as one asset that says why, and the others go on; a named one is an error.

    Raises:
        ConfigError: for a named suite with mistakes, all of them at once.
        UsageError: when there is no datasets folder, or no suite of a name.
    """
    environment = environment or read_environment()
    with warnings.catch_warnings():
        # Backfill policies and partitioned checks are marked beta and preview; their behaviour is pinned by our tests.
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return _assemble(
            environment, suites, on_progress=on_progress, on_warning=on_warning, is_debug=is_debug, target=target
        )


def _assemble(
    environment: Environment,
    names: Sequence[str] | None,
    *,
    on_progress: Callable[[Progress], None] | None,
    on_warning: Callable[[str], None] | None,
    is_debug: bool,
    target: LoadedTarget | None,
) -> dg.Definitions:
    shared = partitions.daily(environment)
    loaded, left_out = _loaded(environment, names, shared)
    built = [
        assets.SuiteDefs(
            loaded=suite,
            environment=environment,
            partitions=shared,
            on_progress=on_progress,
            on_warning=on_warning,
            is_debug=is_debug,
            target=target,
        )
        for suite in loaded
    ]
    root, namespace = environment.storage, environment.namespace
    return dg.Definitions(
        assets=[*left_out, *(asset for suite in built for asset in assets.suite_assets(suite))],
        asset_checks=[checks.suite_checks(suite) for suite in built],
        jobs=[job for suite in built for job in jobs.suite_jobs(suite)],
        schedules=[schedule for suite in built for schedule in jobs.suite_schedules(suite)],
        resources={
            resources.STORE_KEY: resources.StoreResource(root=root, namespace=namespace),
            resources.IO_MANAGER_KEY: resources.StoredTables(root=root, namespace=namespace),
        },
        executor=dg.in_process_executor,
    )


def _loaded(
    environment: Environment, names: Sequence[str] | None, shared: dg.DailyPartitionsDefinition
) -> tuple[list[LoadedSuite], list[dg.AssetsDefinition]]:
    """Return the suites that can be read, and an asset in the place of each that cannot, unless it was named."""
    loaded: list[LoadedSuite] = []
    left_out: list[dg.AssetsDefinition] = []
    for name in list_suites(environment.datasets) if names is None else names:
        try:
            loaded.append(load_suite(environment.datasets, name, load_attribute))
        except SpancheckError as error:
            if names is not None:
                raise
            left_out.append(broken.broken_suite(name, error, shared))
    return loaded, left_out


@dg.definitions
def defs() -> dg.Definitions:
    """Return the project of the working folder and environment; Dagster calls this when it loads the module."""
    return build()
