"""What the assets of one suite share: keys, partitions, what each says of itself, and the walk over a run's dates.

The assets themselves live in ``assets.py`` and ``captured_run.py``, checks in ``checks.py``, jobs in ``jobs.py``.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dagster as dg

from spancheck_pipeline.api.captured import Captured
from spancheck_pipeline.api.environment import Environment
from spancheck_pipeline.api.targets import load_target
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.nights import deadline_cron, longest_pause_days
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.calibration import calibration_key
from spancheck_pipeline.defs.guard import guarded
from spancheck_pipeline.defs.resources import IO_MANAGER_KEY, StoreResource, resource_key, takes_store
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.storage.datasets import LoadedSuite
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import SCORES, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetBody:
    """The function behind one asset, and what Dagster knows it by."""

    key: dg.AssetKey
    stage: str
    deps: tuple[dg.AssetKey, ...]
    code_version: str
    body: Callable[..., Any]
    """Called with a context (its ``partition_keys`` say which dates) and the store's resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDefs:
    """What the assets of one suite share."""

    loaded: LoadedSuite
    environment: Environment
    partitions: dg.DailyPartitionsDefinition
    on_progress: Callable[[Progress], None] | None = None
    """Told how far a capture is."""
    on_warning: Callable[[str], None] | None = None
    """Told what a person should know of a capture or a snapshot; it stands in the run's log too."""
    is_debug: bool = False
    """Whether a foreign error's text may reach the event log."""
    bodies: list[AssetBody] = field(default_factory=list)
    """The function of each asset, in the order of the flow; a rescore walks many dates with them in one run."""
    target: LoadedTarget | None = None
    """A target that is loaded already; None: the suite's own is loaded when it is needed."""

    def load_target(self) -> LoadedTarget:
        """Return the target to call."""
        return self.target or load_target(self.loaded.suite.target, suite_folder=self.loaded.folder)

    def warn(self, context: dg.AssetExecutionContext | dg.OpExecutionContext, warnings: Iterable[str]) -> None:
        """Put warnings (counts and ids, no texts) into the run's log, and before whoever waits for the run."""
        for warning in warnings:
            context.log.warning(warning)
            if self.on_warning:
                self.on_warning(warning)

    def warn_of_changes(
        self, context: dg.AssetExecutionContext | dg.OpExecutionContext, night: Night, captured: Captured
    ) -> None:
        """Say so where a captured run is of another target version, or was asked another number of times, than now."""
        version = self.target.facts.version if self.target else self.loaded.suite.target.version
        self.warn(context, captured.notes(str(night), self.loaded.suite, version))

    @property
    def name(self) -> str:
        """The suite's name: group, key prefix, folder."""
        return self.loaded.suite.name

    @property
    def group(self) -> str:
        """The group of the suite's assets: its name, with the namespace before it where there is one."""
        return "_".join(self.key().path)

    def key(self, *path: str) -> dg.AssetKey:
        """Return the key of one of the suite's assets."""
        namespace = self.environment.namespace
        return dg.AssetKey([*([namespace] if namespace else []), self.name, *path])

    def asset(
        self,
        table: Table | None,
        stage: str,
        description: str,
        *,
        path: Sequence[str] = (),
        deps: Sequence[dg.AssetKey] = (),
        code_version: str = str(CONTRACT),
        is_one_run: bool = True,
        kind: str = "json",
        freshness: dg.FreshnessPolicy | None = None,
        pool: str | None = None,
    ) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
        """Return the decorator of one of the suite's assets, with everything that all of them say of themselves.

        ``is_one_run``: a backfill of many dates is one run. A capture has no policy, so that each date is its own.
        Without a table the asset keeps single files of a ``kind``; it then needs a ``path``.
        """
        key = self.key(*(path or ((table.name,) if table else ())))
        decorate = dg.asset(
            key=key,
            deps=[self._dep(dep) for dep in deps],
            group_name=self.group,
            partitions_def=self.partitions,
            tags={"stage": stage},
            kinds={"python", "parquet" if table else kind},
            owners=list(self.loaded.suite.owners) or None,
            description=description,
            metadata=metadata.column_schema(table) if table else None,
            io_manager_key=resource_key(IO_MANAGER_KEY, self.environment.namespace),
            code_version=code_version,
            backfill_policy=dg.BackfillPolicy.single_run() if is_one_run else None,
            freshness_policy=freshness,
            pool=pool,
        )

        def registered(body: Callable[..., Any]) -> dg.AssetsDefinition:
            deps_of = tuple(deps)
            self.bodies.append(AssetBody(key=key, stage=stage, deps=deps_of, code_version=code_version, body=body))
            return decorate(takes_store(self.environment.namespace)(body))

        return registered

    def _dep(self, key: dg.AssetKey) -> dg.AssetDep:
        """Return a dependency: date on same date, but for the calibration, whose partitions are judges."""
        is_calibration = key == calibration_key(self.environment.namespace)
        return dg.AssetDep(key, partition_mapping=dg.AllPartitionMapping() if is_calibration else None)

    @property
    def pool(self) -> str:
        """Concurrency pool of whatever calls the target: the one that the suite names, or one of its own."""
        return self.loaded.suite.target.pool or "_".join([*self.key().path, "target"])

    def freshness(self) -> dg.FreshnessPolicy | None:
        """Return when a scheduled suite's capture counts as late, or None without a schedule.

        By the schedule's own cron where one cron says it; else by the longest pause that the schedule makes.
        """
        settings = self.loaded.suite.schedule
        if settings is None:
            return None
        late = dt.timedelta(hours=settings.late_after_hours)
        if deadline := deadline_cron(settings.cron, settings.late_after_hours):
            return dg.FreshnessPolicy.cron(
                deadline_cron=deadline, lower_bound_delta=late, timezone=self.environment.timezone
            )
        pause = dt.timedelta(days=longest_pause_days(settings.cron))
        return dg.FreshnessPolicy.time_window(fail_window=pause + late)

    @property
    def grader_names(self) -> list[str]:
        """Names of the suite's graders, in its order."""
        return [grader.name for grader in self.loaded.graders]

    def score_keys(self) -> list[dg.AssetKey]:
        """Return the keys of the score assets."""
        return [self.key(SCORES.name, name) for name in self.grader_names]


NightMade = tuple[str, metadata.Metadata]
"""What an asset made of one night: the digest of its content, and what Dagster shows of it."""


def nightly_asset(
    suite: SuiteDefs, table: Table | None, stage: str, description: str, **said: Any
) -> Callable[[Callable[[dg.AssetExecutionContext, Store, Night], NightMade]], dg.AssetsDefinition]:
    """Return the decorator of an asset that takes no configuration: its function makes one night.

    ``said`` is what ``SuiteDefs.asset`` takes.
    """

    def made_by(make: Callable[[dg.AssetExecutionContext, Store, Night], NightMade]) -> dg.AssetsDefinition:
        @suite.asset(table, stage, description, **said)
        def nightly(
            context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
        ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
            return each_night(context, suite, partial(make, context, spancheck_store.store()))

        return nightly

    return made_by


def each_night(
    context: dg.AssetExecutionContext,
    suite: SuiteDefs,
    step: Callable[[Night], NightMade],
) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
    """Walk the dates of a run in order; each one's metadata goes to its own partition.

    The data version of one date is the digest of its content; a range has the digest of all of them.
    """
    digests = []
    for date in sorted(context.partition_keys):
        content, shown = guarded(partial(step, Night(suite.name, date)), is_debug=suite.is_debug)
        context.add_asset_metadata(shown, partition_key=date)
        digests.append(content)
    return dg.MaterializeResult(data_version=dg.DataVersion(digests[0] if len(digests) == 1 else digest(digests)))
