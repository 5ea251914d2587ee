"""Scoring stale nights again: whatever nights they are, in one run, and what depends on them; a job and a sensor.

Dagster can put a contiguous range of partitions into one run, and no other set of them. So this is a job with one step
that walks the stale nights in order, calls the functions of the very assets, and records a materialization for each
partition that it made, with the versions that an asset's own run would record. A run that is killed leaves whole nights
done and the others stale. Which nights are stale is read from the files (``api/staleness.py``).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dagster as dg

from spancheck_pipeline.api.rescoring import LeftOut, NightRescored, Rescored, planned
from spancheck_pipeline.api.staleness import StaleNight, check_span, plan_digest, stale_nights
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.guard import guarded
from spancheck_pipeline.defs.rescore_walk import Walker
from spancheck_pipeline.defs.resources import StoreResource, takes_store
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.storage.store import Store

JOB = "rescore_stale"


class RescoreConfig(dg.Config):
    """Which stale nights are scored again; without any of these all of them are."""

    suites: list[str] = []  # noqa: RUF012 - a field of a model, not a shared default
    graders: list[str] = []  # noqa: RUF012 - as above
    since: str | None = None
    """First date, YYYY-MM-DD."""
    until: str | None = None
    """Last date, YYYY-MM-DD."""
    dry_run: bool = False
    """Only say what would be scored again."""


def job_name(environment_namespace: str | None, called: str | None = None) -> str:
    """Return the job's name: ``rescore_stale``, with the namespace before it where there is one.

    ``called`` stands between them, where a code location has several such jobs.
    """
    return "_".join(part for part in (environment_namespace, called, JOB) if part)


def step_name(job: str) -> str:
    """Return the name of the job's step, which takes its configuration: Dagster wants one other than the job's."""
    return f"{job}_nights"


def find_stale(suites: Sequence[SuiteDefs], store: Store, config: RescoreConfig) -> dict[str, tuple[StaleNight, ...]]:
    """Return the stale nights that a configuration chooses, by suite; suites without any are left out.

    Raises:
        UsageError: for a suite or grader that does not exist, a date that is none, or a choice that leaves a stale
            grader on a night.
    """
    check_span(config.since, config.until)
    known = {suite.name: suite for suite in suites}
    if unknown := [name for name in config.suites if name not in known]:
        raise UsageError(f"there is no suite {unknown[0][:80]!r}; there are: {', '.join(known) or 'none'}")
    chosen = [known[name] for name in config.suites] or list(suites)
    graders = {name for suite in chosen for name in suite.grader_names}
    if nowhere := [name for name in config.graders if name not in graders]:
        raise UsageError(f"no suite here has a grader {nowhere[0][:80]!r}; there are: {', '.join(sorted(graders))}")
    found = {}
    for suite in chosen:
        only = [name for name in config.graders if name in suite.grader_names]
        if config.graders and not only:
            continue
        stale = stale_nights(store, suite.name, suite.loaded.graders, only=only, since=config.since, until=config.until)
        if stale:
            found[suite.name] = stale
    return found


class _Choice(NamedTuple):
    found: dict[str, tuple[StaleNight, ...]]
    left_out: tuple[LeftOut, ...]
    """Suites that cannot be read and were not chosen away."""
    n_others: int | None
    """Stale nights that were not chosen, where none that was chosen is stale."""


def _choice(suites: Sequence[SuiteDefs], store: Store, config: RescoreConfig, left_out: Mapping[str, str]) -> _Choice:
    meant = tuple(
        LeftOut(suite=name, problem=problem)
        for name, problem in left_out.items()
        if not config.suites or name in config.suites
    )
    named = [name for name in config.suites if name not in left_out]
    if config.suites and not named:
        return _Choice({}, meant, None)  # no name is left, which would mean all suites
    found = find_stale(suites, store, config.model_copy(update={"suites": named}))
    is_choice = bool(config.suites or config.graders or config.since or config.until)
    if found or not is_choice:
        return _Choice(found, meant, None)
    return _Choice(found, meant, sum(map(len, find_stale(suites, store, RescoreConfig()).values())))


def rescore_job(
    suites: Sequence[SuiteDefs],
    namespace: str | None,
    *,
    called: str | None = None,
    left_out: Mapping[str, str] | None = None,
) -> dg.JobDefinition:
    """Return the job that scores stale nights again; its launchpad takes a ``RescoreConfig``.

    ``left_out`` are suites that cannot be read, and why: whether their nights are stale is not known, which is a
    problem that the job ends with.
    """
    name = job_name(namespace, called)

    @dg.op(name=step_name(name), out=dg.Out(dict), description="Walks the stale nights in order. Nothing is called.")
    @takes_store(namespace)
    def walk(
        context: dg.OpExecutionContext, config: RescoreConfig, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dict[str, Any]:
        store = spancheck_store.store()
        found, meant, n_others = guarded(lambda: _choice(suites, store, config, left_out or {}))
        if config.dry_run:
            stale = (night for nights in found.values() for night in nights)
            done = planned(stale, store, left_out=meant, n_others=n_others)
        else:
            nights: list[NightRescored] = []
            total = sum(map(len, found.values()))
            for suite in suites:
                walker = Walker(suite=suite, resource=spancheck_store, outer=context)
                for night in found.get(suite.name, ()):
                    nights.append(walker.rescore(night))
                    if suite.on_progress:
                        suite.on_progress(Progress(len(nights), total, sum(bool(item.problem) for item in nights)))
            done = Rescored(is_dry_run=False, nights=tuple(nights), left_out=meant, n_others=n_others)
        context.add_output_metadata(metadata.of_rescore(done))
        if done.problems:
            context.log.error("\n".join(done.problems[:20]))
        document: dict[str, Any] = done.model_dump(mode="json")
        return document

    @dg.op(name=f"{name}_outcome", description="Fails where a night could not be scored again; the others are done.")
    def outcome(document: dict[str, Any]) -> None:
        done = Rescored.model_validate(document)
        if done.problems and not done.is_dry_run:
            raise dg.Failure(description="\n".join(done.problems[:20]), allow_retries=False)

    @dg.job(
        name=name,
        description=(
            "Scores every captured night again whose scores were made by another grader spec than today's, and what "
            "depends on them (scorecard, comparison, record), in one run. Nothing is called, nothing is promoted."
        ),
    )
    def rescore_stale() -> None:
        outcome(walk())

    return rescore_stale


def rescore_sensor(
    suites: Sequence[SuiteDefs], namespace: str | None, *, called: str | None = None
) -> dg.SensorDefinition:
    """Return the sensor that launches the job when nights are stale; it is off until somebody turns it on.

    One and the same piece of work is asked for once: a run that fails is not repeated until something has changed.
    """
    name = job_name(namespace, called)

    @dg.sensor(
        name=f"{name}_sensor",
        job_name=name,
        minimum_interval_seconds=300,
        description="Scores stale nights again when a grader's spec has changed. The files say what is stale.",
    )
    @takes_store(namespace)
    def sensor(
        context: dg.SensorEvaluationContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.RunRequest | dg.SkipReason:
        at_work = [name, *("_".join([*suite.key().path, "nightly"]) for suite in suites)]
        if running := _running(context.instance, at_work):
            return dg.SkipReason(f"{running} is running")
        found = guarded(lambda: find_stale(suites, spancheck_store.store(), RescoreConfig()))
        work = {suite: [night for night in nights if not night.problem] for suite, nights in found.items()}
        if not any(work.values()):
            return dg.SkipReason("no captured night was scored by another grader spec than today's")
        graders = {suite.name: suite.loaded.graders for suite in suites}
        key = "-".join(plan_digest(nights, graders[suite])[:16] for suite, nights in sorted(work.items()))
        return dg.RunRequest(run_key=key, run_config=dg.RunConfig(ops={step_name(name): RescoreConfig()}))

    return sensor


def _running(instance: dg.DagsterInstance, jobs: Sequence[str]) -> str | None:
    """Return a job that is at work: its night is not stale, it is not finished."""
    statuses = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED]
    for run in instance.get_runs(dg.RunsFilter(statuses=statuses), limit=200):
        if run.job_name in jobs:
            return run.job_name
    return None
