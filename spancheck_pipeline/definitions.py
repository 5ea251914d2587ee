"""The project as Dagster loads it: every suite of the datasets folder, assembled. Nothing is defined here.

``dagster dev -w workspace.yaml``, ``spancheck ui`` and ``spancheck nightly`` all load this module's ``defs``. Who has
a Dagster already merges what ``build_definitions`` returns with their own, or names suites in ``defs.yaml``
(``component.py``).
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import dagster as dg

from spancheck_pipeline.api.environment import Environment, given_environment, read_environment
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.defs import assets, broken, calibration, checks, jobs, partitions, rescore, resources, sensors
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.errors import ConfigError, SpancheckError
from spancheck_pipeline.storage.datasets import SUITE_FILE, LoadedSuite, list_suites, load_suite
from spancheck_pipeline.storage.judges_file import DeclaredJudges, load_judges
from spancheck_pipeline.storage.yaml_document import read_yaml

# A capture has no backfill policy (each date is its own run) and grading has one (many dates are one run): the nightly
# job holds both on purpose, and Dagster warns of it whenever it resolves the job.
warnings.filterwarnings("ignore", message=r"Asset job \w+_nightly materializes assets with varying BackfillPolicies")


def build_definitions(
    suites: Sequence[str] | str | None = None,
    *,
    datasets: str | Path | None = None,
    storage: str | Path | None = None,
    namespace: str | None = None,
    timezone: str | None = None,
    start_date: str | None = None,
    folder: str | Path | None = None,
    has_calibration: bool | None = None,
    called: str | None = None,
    executor: dg.ExecutorDefinition | None = None,
) -> dg.Definitions:
    """Return a project's definitions, fit to be merged with others by ``dg.Definitions.merge``.

    All suites of the datasets folder, or those that are named (one name, or several). Each further argument stands in
    the place of the environment variable of its name (``SPANCHECK_DATASETS`` …); ``namespace=""`` is none. ``folder``
    is what relative paths are relative to, and where a ``.env`` is read; None: the working folder.

    No executor is set unless one is given: the code location's own runs the steps. Where a code location calls this
    several times for one namespace, one call has the asset ``calibration`` (``has_calibration``; None: where all suites
    are taken), and ``called`` tells apart the job and the sensors that belong to no single suite (``rescore_stale``,
    ``alert_on_…``): it stands in their names.

    Raises:
        ConfigError: for a named suite with mistakes, all of them at once. Of all suites, one that cannot be read is
            shown as an asset that says why.
        UsageError: when there is no datasets folder, no suite of a name, or an argument cannot be.
    """
    if isinstance(suites, str):
        suites = [suites]
    environment = given_environment(
        datasets=datasets,
        storage=storage,
        namespace=namespace,
        timezone=timezone,
        start_date=start_date,
        folder=None if folder is None else Path(folder),
    )
    if has_calibration is None:
        has_calibration = suites is None
    return _built(environment, suites, has_calibration=has_calibration, called=called, executor=executor)


def build(
    environment: Environment | None = None,
    *,
    suites: Sequence[str] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_warning: Callable[[str], None] | None = None,
    is_debug: bool = False,
    target: LoadedTarget | None = None,
) -> dg.Definitions:
    """Return the definitions of a project as its own code location: steps run in one process.

    The suites are all of its datasets folder, or those that are named. ``on_progress`` is told how far a capture in
    this process is, ``on_warning`` what a person should know of it. With ``is_debug`` a foreign error's text reaches
    the event log. ``target`` is called in place of the one that the (single) suite names, which is not loaded then.

    A suite that cannot be read is shown as one asset that says why, and the others go on; a named one is an error.

    Raises:
        ConfigError: for a named suite with mistakes, all of them at once.
        UsageError: when there is no datasets folder, or no suite of a name.
    """
    return _built(
        environment or read_environment(),
        suites,
        executor=dg.in_process_executor,
        has_calibration=suites is None,  # it is of no suite: one named suite's run goes without it
        on_progress=on_progress,
        on_warning=on_warning,
        is_debug=is_debug,
        target=target,
    )


def _built(
    environment: Environment,
    suites: Sequence[str] | None,
    *,
    executor: dg.ExecutorDefinition | None,
    called: str | None = None,
    has_calibration: bool,
    on_progress: Callable[[Progress], None] | None = None,
    on_warning: Callable[[str], None] | None = None,
    is_debug: bool = False,
    target: LoadedTarget | None = None,
) -> dg.Definitions:
    with warnings.catch_warnings():
        # Backfill policies and partitioned checks are marked beta and preview; their behaviour is pinned by our tests.
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        shared = partitions.daily(environment)
        loaded, errors = _loaded(environment, suites)
        left_out = [
            broken.broken_suite(name, error, shared, namespace=environment.namespace) for name, error in errors.items()
        ]
        built = [
            SuiteDefs(
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
        others = [*left_out, *([_calibration(environment, is_debug=is_debug)] if has_calibration else [])]
        has_rescore = bool(built) or suites is None  # definitions of no suite at all hold the calibration alone
        return _assembled(
            environment,
            built,
            others,
            executor=executor,
            called=called,
            has_rescore=has_rescore,
            errors={name: str(error) for name, error in errors.items()},
        )


def _assembled(
    environment: Environment,
    built: Sequence[SuiteDefs],
    others: Sequence[dg.AssetsDefinition],
    *,
    executor: dg.ExecutorDefinition | None,
    called: str | None,
    has_rescore: bool,
    errors: Mapping[str, str],
) -> dg.Definitions:
    namespace = environment.namespace
    return dg.Definitions(
        assets=[
            *others,
            *(asset for suite in built for asset in assets.suite_assets(suite)),
        ],
        asset_checks=[checks.suite_checks(suite) for suite in built],
        jobs=[
            *(job for suite in built for job in jobs.suite_jobs(suite)),
            *([rescore.rescore_job(built, namespace, called=called, left_out=errors)] if has_rescore else []),
        ],
        schedules=[schedule for suite in built for schedule in jobs.suite_schedules(suite)],
        sensors=[
            *([rescore.rescore_sensor(built, namespace, called=called)] if has_rescore else []),
            *sensors.alert_sensors(built, namespace, called=called),
        ],
        resources=resources.project_resources(environment.storage, namespace),
        executor=executor,
    )


def _calibration(environment: Environment, *, is_debug: bool) -> dg.AssetsDefinition:
    """Return the asset that all suites of a datasets folder share."""
    try:
        declared = load_judges(environment.datasets)
    except SpancheckError:  # each suite that names a judge says what is wrong
        declared = DeclaredJudges(folder=environment.datasets)
    return calibration.calibration_asset(environment, declared, is_debug=is_debug)


def _loaded(
    environment: Environment, names: Sequence[str] | None
) -> tuple[list[LoadedSuite], dict[str, SpancheckError]]:
    """Return the suites that can be read, and why the others cannot, unless one was named: then it is raised."""
    loaded: list[LoadedSuite] = []
    errors: dict[str, SpancheckError] = {}
    for name in list_suites(environment.datasets) if names is None else names:
        try:
            suite = load_suite(environment.datasets, name, load_attribute)
            _check_schedule(suite)
        except SpancheckError as error:
            if names is not None:
                raise
            errors[name] = error
        else:
            loaded.append(suite)
    return loaded, errors


def _check_schedule(suite: LoadedSuite) -> None:
    """Refuse a cron that Dagster does not take, or reads as other days than the suite's: it finds out at night."""
    settings = suite.suite.schedule
    why = jobs.why_not_dagsters(settings.cron) if settings else ""
    if why:
        document = read_yaml(suite.folder / SUITE_FILE)
        problem = document.problem(("schedule", "cron"), f"schedule.cron: {why}", "write out the list or the range")
        raise ConfigError(document.file, [problem])


@dg.definitions
def defs() -> dg.Definitions:
    """Return the project of the working folder and environment; Dagster calls this when it loads the module."""
    return build()
