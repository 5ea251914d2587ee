"""Walking nights in one run: the functions of the very assets, and what an asset's own run would record of them.

Which nights are walked, and the job and sensor that ask for it, live in ``rescore.py``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import dagster as dg

from spancheck_pipeline.api.rescoring import NightRescored, changes_between, decision_of, outcomes_of, score_file
from spancheck_pipeline.api.staleness import StaleNight
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.checks import evaluations, log_evaluation
from spancheck_pipeline.defs.guard import guarded
from spancheck_pipeline.defs.resources import StoreResource
from spancheck_pipeline.defs.suite_defs import AssetBody, SuiteDefs
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import SCORES

# The tags by which Dagster tells whether a partition is up to date; an asset's own run writes the same.
_DATA_VERSION, _CODE_VERSION = "dagster/data_version", "dagster/code_version"

_IS_GIVEN = "dagster/data_version_is_user_provided"

_INPUT_VERSION = "dagster/input_data_version/"

_EVENT_POINTER = "dagster/input_event_pointer/"


@dataclass(kw_only=True)
class Walker:
    """Scores nights of one suite again, one after the other, in one run."""

    suite: SuiteDefs
    resource: StoreResource
    outer: dg.OpExecutionContext

    @cached_property
    def store(self) -> Store:
        """Where the nights are stored."""
        return self.resource.store()

    @cached_property
    def known(self) -> "_Materialized":
        """What Dagster knows of the partitions that the night's assets depend on."""
        return _Materialized(self.outer.instance)

    def rescore(self, stale: StaleNight) -> NightRescored:
        """Score one night again and decide again; what goes wrong with it is told, and the other nights go on."""
        night = stale.night
        if stale.problem:
            return NightRescored(suite=night.suite, date=night.date, problem=stale.problem)
        before, _ = decision_of(self.store, night)
        graders = []
        try:
            for name in stale.graders:
                graders.append(self._score(night, name))  # noqa: PERF401 - what was scored before a failure is told too
            for body in self._downstream():
                self._materialize(body, night)
            for evaluation in guarded(lambda: evaluations(self.suite, self.store, night)):
                log_evaluation(self.outer, evaluation)
        except dg.Failure as failure:
            problem = failure.description or "it failed without a message"
            return NightRescored(
                suite=night.suite, date=night.date, graders=tuple(graders), decision_before=before, problem=problem
            )
        decision, revision = decision_of(self.store, night)
        return NightRescored(
            suite=night.suite,
            date=night.date,
            graders=tuple(graders),
            decision_before=before,
            decision=decision,
            decision_revision=revision,
        )

    def _score(self, night: Night, grader: str) -> Any:
        body = self._body(self.suite.key(SCORES.name, grader))
        before = guarded(lambda: score_file(self.store, night, grader))
        known = guarded(lambda: outcomes_of(before))
        shown, version = self._call(body, night)
        changes = guarded(lambda: changes_between(before, known, self.store.open(night, SCORES, grader), grader))
        self._record(body, night, {**shown, **metadata.of_changes(changes)}, version)
        return changes

    def _materialize(self, body: AssetBody, night: Night) -> None:
        shown, version = self._call(body, night)
        self._record(body, night, shown, version)

    def _call(self, body: AssetBody, night: Night) -> tuple[metadata.Metadata, str]:
        context = _OneNight(outer=self.outer, date=night.date)
        result = body.body(context, spancheck_store=self.resource)
        return context.shown, result.data_version.value

    def _record(self, body: AssetBody, night: Night, shown: metadata.Metadata, version: str) -> None:
        """Record a materialization with what an asset's own run would record, so that the UI does not call it stale."""
        tags = {_DATA_VERSION: version, _CODE_VERSION: body.code_version, _IS_GIVEN: "true"}
        for key in body.deps:
            known = self.known.of(key, night.date)
            tags[f"{_INPUT_VERSION}{key.to_user_string()}"] = known.version
            tags[f"{_EVENT_POINTER}{key.to_user_string()}"] = known.event
        self.outer.log_event(dg.AssetMaterialization(body.key, metadata=shown, partition=night.date, tags=tags))
        self.known.take(body.key, night.date, version)

    def _body(self, key: dg.AssetKey) -> AssetBody:
        return next(body for body in self.suite.bodies if body.key == key)

    def _downstream(self) -> Iterator[AssetBody]:
        """Yield what follows from scores. A promotion does not: what was good enough then was decided then."""
        baseline = self.suite.key("baseline")
        yield from (body for body in self.suite.bodies if body.stage == "decision" and body.key != baseline)


class _Version(NamedTuple):
    version: str
    event: str
    """Number of the materialization's event, as a tag holds it."""


class _Materialized:
    """The data version and the latest materialization of partitions, as Dagster knows them."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._storage = instance.event_log_storage
        self._by_asset: dict[dg.AssetKey, dict[str, _Version]] = {}

    def of(self, key: dg.AssetKey, date: str) -> _Version:
        """Return what is known of a partition; one that was never materialized there has Dagster's words for that."""
        if key not in self._by_asset:
            self._by_asset[key] = self._read(key)
        return self._by_asset[key].get(date, _Version("INITIAL", "NULL"))

    def take(self, key: dg.AssetKey, date: str, version: str) -> None:
        """Take over the materialization of a partition that was recorded just now."""
        self.of(key, date)
        event = self._events(key, {date}).get(date)
        self._by_asset[key][date] = _Version(version, str(event or "NULL"))

    def _read(self, key: dg.AssetKey) -> dict[str, _Version]:
        tags = self._storage.get_latest_tags_by_partition(
            key, dg.DagsterEventType.ASSET_MATERIALIZATION, [_DATA_VERSION]
        )
        events = self._events(key, None)
        return {date: _Version(found.get(_DATA_VERSION, "INITIAL"), str(events[date])) for date, found in tags.items()}

    def _events(self, key: dg.AssetKey, dates: set[str] | None) -> dict[str, int]:
        kind = dg.DagsterEventType.ASSET_MATERIALIZATION
        return dict(self._storage.get_latest_storage_id_by_partition(key, kind, dates))


@dataclass(kw_only=True)
class _OneNight:
    """What an asset's function asks of Dagster's context, answered for one date of a run that walks many."""

    outer: dg.OpExecutionContext
    date: str
    shown: metadata.Metadata = field(default_factory=dict)

    @property
    def partition_keys(self) -> list[str]:
        return [self.date]

    def add_asset_metadata(self, metadata: metadata.Metadata, *, partition_key: str) -> None:
        assert partition_key == self.date
        self.shown |= metadata

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outer, name)
