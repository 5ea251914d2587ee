"""The assets of one suite, from cases to audit log and baseline, all on one partitions definition.

Checks live in ``checks.py``, jobs and schedules in ``jobs.py``.
"""

import datetime as dt
import getpass
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dagster as dg

from spancheck_pipeline.api.baselines import promote_place
from spancheck_pipeline.api.capturing import Captured, Mode, capture_place
from spancheck_pipeline.api.deciding import decide_place, summarize_place
from spancheck_pipeline.api.environment import Environment
from spancheck_pipeline.api.judging import judge_place, needed_judges
from spancheck_pipeline.api.recording import chain_head, record_place
from spancheck_pipeline.api.reporting import report_place
from spancheck_pipeline.api.scoring import score_place
from spancheck_pipeline.api.snapshot import is_begun, snapshot_cases
from spancheck_pipeline.api.targets import load_target
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.nights import deadline_cron, longest_pause_days
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.calibration import calibration_key
from spancheck_pipeline.defs.guard import guarded, refused_by_gate
from spancheck_pipeline.defs.resources import IO_MANAGER_KEY, STORE_KEY, StoreResource, resource_key, takes_store
from spancheck_pipeline.errors import CaptureRefusedError, PromotionRefusedError
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.evidence.packet import PACKET_VERSION
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.storage.datasets import LoadedSuite, load_cases
from spancheck_pipeline.storage.pruned import was_pruned
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import (
    AUDIT_LOG,
    CAPTURED_RUN,
    CASES,
    COMPARISON,
    JUDGE_VERDICTS,
    SCORECARD,
    SCORES,
    Table,
)


class CasesConfig(dg.Config):
    """How the cases of a date are fixed."""

    relabel: bool = False
    """Take today's labels for questions that are still the same; nothing is called."""


class CaptureConfig(dg.Config):
    """Whether a captured date is called for again. By default it never is."""

    recapture: bool = False
    """Call for every case again, and supersede the captured run."""
    retry_errors: bool = False
    """Call for the rows that failed, and for no other."""
    allow_past: bool = False
    """Capture a date that is over, although today's system answers."""

    def mode(self) -> Mode:
        """Return what is asked for."""
        if self.recapture and self.retry_errors:
            raise CaptureRefusedError("ask for recapture or for retry_errors, not for both")
        if self.recapture:
            return "recapture"
        return "retry_errors" if self.retry_errors else "capture"


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

    def warn(self, context: dg.AssetExecutionContext | dg.OpExecutionContext, warnings: Iterable[str]) -> None:
        """Put warnings (counts and ids, no texts) into the run's log, and before whoever waits for the run."""
        for warning in warnings:
            context.log.warning(warning)
            if self.on_warning:
                self.on_warning(warning)

    def warn_of_epochs(
        self, context: dg.AssetExecutionContext | dg.OpExecutionContext, night: Night, captured: Captured
    ) -> None:
        """Say so where a captured run was asked another number of times than the suite asks now."""
        if captured.manifest.epochs != self.loaded.suite.epochs:
            asked = f"{night} was asked {captured.manifest.epochs} times, and the suite asks {self.loaded.suite.epochs}"
            self.warn(context, [f"{asked} now: the captured run stands as it is"])

    is_debug: bool = False
    """Whether a foreign error's text may reach the event log."""
    bodies: list[AssetBody] = field(default_factory=list)
    """The function of each asset, in the order of the flow; a rescore walks many dates with them in one run."""
    target: LoadedTarget | None = None
    """A target that is loaded already; None: the suite's own is loaded when it is needed."""

    def load_target(self) -> LoadedTarget:
        """Return the target to call."""
        return self.target or load_target(self.loaded.suite.target, suite_folder=self.loaded.folder)

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


def suite_assets(suite: SuiteDefs) -> list[dg.AssetsDefinition]:
    """Return all assets of one suite."""
    judges = [_judge_verdicts(suite)] if needed_judges(suite.loaded.graders) else []
    graders = [_scores(suite, grader) for grader in suite.loaded.graders]
    decision = [_scorecard(suite), _comparison(suite), _audit_log(suite), _report(suite), _baseline(suite)]
    return [_cases(suite), _captured_run(suite), *judges, *graders, *decision]


def _cases(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = "The night's snapshot of the cases. A captured date keeps the snapshot that it was asked with."

    @suite.asset(CASES, "evidence", text, is_one_run=False)
    def cases(
        context: dg.AssetExecutionContext,
        config: CasesConfig,
        spancheck_store: dg.ResourceParam[StoreResource],
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            today = load_cases(suite.loaded.folder, suite.loaded.suite.cases)
            snapshot = snapshot_cases(store, night, today, relabel=config.relabel)
            suite.warn(context, snapshot.notes(str(night)))
            return snapshot.dataset_digest, metadata.of_snapshot(snapshot)

        return _each_night(context, suite, step)

    return cases


def _captured_run(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = "What the target answered, captured once. A captured date is re-used and never called for again."
    if suite.loaded.suite.target.shards > 1:
        from spancheck_pipeline.defs.sharded import sharded_capture  # which takes from here what both share

        return sharded_capture(suite, text)

    deps = [suite.key("cases")]
    fresh, pool = suite.freshness(), suite.pool

    @suite.asset(CAPTURED_RUN, "evidence", text, deps=deps, is_one_run=False, freshness=fresh, pool=pool)
    def captured_run(
        context: dg.AssetExecutionContext,
        config: CaptureConfig,
        spancheck_store: dg.ResourceParam[StoreResource],
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            refuse_past(suite, store, night, allow_past=config.allow_past)
            captured = capture_place(
                store,
                night,
                suite.loaded.suite,
                suite.load_target,
                mode=config.mode(),
                graders=suite.loaded.graders,
                on_progress=suite.on_progress,
                contain=contained,
            )
            suite.warn(context, captured.warnings)
            suite.warn_of_epochs(context, night, captured)
            return captured.published.content_digest, metadata.of_capture(captured)

        return _each_night(context, suite, step)

    return captured_run


def refuse_past(suite: SuiteDefs, store: Store, night: Night, *, allow_past: bool) -> None:
    """Refuse the first capture of a date that is over: today's system cannot answer for last week.

    Recorded answers may be read in for any date.

    Raises:
        CaptureRefusedError: unless ``allow_past``.
    """
    is_recorded = suite.loaded.suite.target.kind == "recorded"
    if allow_past or is_recorded or night.date >= suite.environment.today() or is_begun(store, night):
        return
    if was_pruned(store, night):
        raise CaptureRefusedError(
            f"{night} was pruned: what was decided about it stands, and its answers are gone; today's system cannot "
            "answer for that day. Capture it anew on purpose with recapture and allow_past (CLI: --recapture "
            "--allow-past)"
        )
    raise CaptureRefusedError(
        f"{night} was never captured and is over: today's system cannot answer for that day; "
        "capture it all the same with allow_past: true (CLI: --allow-past)"
    )


def _judge_verdicts(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = (
        "What judges replied about the captured answers. A packet that the same judge has judged, on any night and in "
        "any suite, is not sent again; what failed is asked for again when this is materialized."
    )
    deps = [suite.key("captured_run"), suite.key("cases")]
    judges = {judge.name: judge.identity for judge in needed_judges(suite.loaded.graders)}
    code_version = digest({"contract": CONTRACT, "packets": PACKET_VERSION, "judges": judges})

    @suite.asset(JUDGE_VERDICTS, "evidence", text, deps=deps, code_version=code_version, is_one_run=False)
    def judge_verdicts(
        context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            judged = judge_place(
                store,
                night,
                suite.loaded.graders,
                suite.loaded.judges,
                on_progress=suite.on_progress,
                limit_usd=suite.loaded.suite.budget.max_run_cost_usd,
                contain=contained,
            )
            suite.warn(context, judged.warnings(str(night)))
            return judged.published.content_digest, metadata.of_verdicts(judged)

        return _each_night(context, suite, step)

    return judge_verdicts


def _scores(suite: SuiteDefs, grader: Grader) -> dg.AssetsDefinition:
    spec = spec_of(grader)
    text = f"Scores of the grader {grader.name} (measurement {spec.measurement}, version {spec.version})."
    deps = [suite.key("captured_run"), suite.key("cases")]
    if needed_judges([grader]):
        deps.append(suite.key(JUDGE_VERDICTS.name))

    @suite.asset(SCORES, "grading", text, path=(SCORES.name, grader.name), deps=deps, code_version=spec.digest)
    def scores(
        context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            with contained(None):
                scored = score_place(store, night, grader)
            return scored.published.content_digest, metadata.of_scores(scored, spec.readable())

        return _each_night(context, suite, step)

    return scores


def _scorecard(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = "Counts and rates per grader and category. It holds no text."
    deps = [suite.key("captured_run"), suite.key("cases"), *suite.score_keys()]
    prices = {model: price.model_dump(mode="json") for model, price in suite.loaded.suite.prices.items()}
    made_by: dict[str, Any] = {"contract": CONTRACT, "prices": prices}
    if needed_judges(suite.loaded.graders):
        deps += [suite.key(JUDGE_VERDICTS.name), calibration_key(suite.environment.namespace)]
        made_by["judges"] = suite.loaded.suite.gate.judges.model_dump(mode="json")
    code_version = digest(made_by)

    @suite.asset(SCORECARD, "decision", text, deps=deps, code_version=code_version)
    def scorecard(
        context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            graders = suite.loaded.graders
            made = summarize_place(store, night, suite.loaded.suite, suite.grader_names, judging=graders)
            return made.published.content_digest, metadata.of_scorecard(made)

        return _each_night(context, suite, step)

    return scorecard


def _comparison(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = (
        "The night against the release baseline and the last good run, paired by case, and the gate's decision. "
        "Earlier dates are read from the storage; their digests stand in the metadata."
    )
    deps = [suite.key("captured_run"), suite.key("cases"), *suite.score_keys(), suite.key("scorecard")]
    gate = suite.loaded.suite.gate.model_dump(mode="json")

    @suite.asset(COMPARISON, "decision", text, deps=deps, code_version=digest({"contract": CONTRACT, "gate": gate}))
    def comparison(
        context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            with contained(None):
                decided = decide_place(
                    store,
                    night,
                    suite.loaded.suite,
                    suite.loaded.graders,
                    decided_at=dt.datetime.now(dt.UTC),
                    decided_by=getpass.getuser(),
                    note=f"Dagster run {context.run.run_id}",
                )
            # The decision names everything that it rests on, the comparisons among it.
            return decided.gate_file.content_digest, metadata.of_decision(decided)

        return _each_night(context, suite, step)

    return comparison


def _audit_log(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = "The record that a reviewer reads: per case what was asked, answered, cited, measured and decided."
    deps = [suite.key("captured_run"), suite.key("cases"), *suite.score_keys()]
    deps += [suite.key("scorecard"), suite.key("comparison")]

    @suite.asset(AUDIT_LOG, "decision", text, deps=deps)
    def audit_log(
        context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            now = dt.datetime.now(dt.UTC)
            published = record_place(store, night, suite.loaded.suite, suite.grader_names, created_at=now)
            return published.content_digest, metadata.of_audit_log(published, chain_head(store, night))

        return _each_night(context, suite, step)

    return audit_log


def _report(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = (
        "The record as one HTML page that needs nothing else: decision, rates, every case with its marks. "
        "Answers of the baselines and earlier dates are read from the storage."
    )
    deps = [suite.key("scorecard"), suite.key("comparison"), suite.key("audit_log")]

    @suite.asset(None, "decision", text, path=("report",), deps=deps, kind="html")
    def report(
        context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            reported = report_place(store, night)
            return reported.page.content_digest, metadata.of_report(reported)

        return _each_night(context, suite, step)

    return report


def _baseline(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = (
        "Promotion of the night to the last good run. The only asset that the gate holds back: where the gate does not "
        "let the night pass and blocks, this step fails. A recorded promotion is never rewritten."
    )

    @suite.asset(None, "decision", text, path=("baseline",), deps=[suite.key("comparison")])
    def baseline(
        context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()
        promoted: dict[str, metadata.Metadata] = {}
        refused: list[PromotionRefusedError] = []

        def step(night: Night) -> tuple[str, metadata.Metadata]:
            try:
                found = promote_place(store, night, at=dt.datetime.now(dt.UTC), by=getpass.getuser())
            except PromotionRefusedError as error:
                refused.append(error)
                return "", {}
            promoted[night.date] = metadata.of_promotion(found)
            return metadata.promoted_version(found), promoted[night.date]

        result = _each_night(context, suite, step)
        if refused:
            for date, shown in promoted.items():
                context.log_event(dg.AssetMaterialization(suite.key("baseline"), metadata=shown, partition=date))
            raise refused_by_gate(refused)
        return result

    return baseline


def _each_night(
    context: dg.AssetExecutionContext,
    suite: SuiteDefs,
    step: Callable[[Night], tuple[str, metadata.Metadata]],
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


__all__ = ["STORE_KEY", "AssetBody", "CaptureConfig", "CasesConfig", "SuiteDefs", "refuse_past", "suite_assets"]
