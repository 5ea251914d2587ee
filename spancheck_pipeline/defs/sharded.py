"""``captured_run`` of a suite whose capture is made in shards: a graph of steps behind the same asset.

``begin`` says which shards there are, each ``shard`` captures one of them, durably on its own, and ``collect``
publishes. An executor may run the shards on different machines: nothing is handed from step to step but a shard's name,
everything else stands in the storage. The one-step asset is in ``captured_run.py``; what each step does in
``api/sharding.py``.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import dagster as dg

from spancheck_pipeline.api.sharding import Shard, capture_shard, collect_shards, plan_shards
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.captured_run import DESCRIPTION, CaptureConfig, refuse_past
from spancheck_pipeline.defs.guard import guarded
from spancheck_pipeline.defs.resources import StoreResource, takes_store
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN

_Made = dg.Output[None] | dg.DynamicOutput[None]
_Work = Callable[[dg.OpExecutionContext, CaptureConfig, Store, Night], Sequence[_Made]]


def sharded_capture(suite: SuiteDefs) -> dg.AssetsDefinition:
    """Return the asset ``captured_run`` as begin → shards → collect. Its run configuration is that of the one step."""
    key = suite.key(CAPTURED_RUN.name)
    begin, shard, collect = _begin(suite), _shard(suite), _collect(suite)

    @dg.config_mapping
    def to_steps(config: CaptureConfig) -> dict[str, Any]:
        return {step.name: {"config": dict(config)} for step in (begin, shard, collect)}

    @dg.graph(name="__".join(key.path), config=to_steps, ins={"cases": dg.GraphIn()})
    def captured_run(cases: Any) -> Any:
        return collect(begin(cases).map(shard).collect())

    tags = {"stage": "evidence", "dagster/kind/python": "", "dagster/kind/parquet": ""}
    return dg.AssetsDefinition.from_graph(
        captured_run,
        keys_by_input_name={"cases": suite.key("cases")},
        keys_by_output_name={"result": key},
        partitions_def=suite.partitions,
        group_name=suite.group,
        descriptions_by_output_name={"result": DESCRIPTION},
        metadata_by_output_name={"result": metadata.column_schema(CAPTURED_RUN)},
        code_versions_by_output_name={"result": str(CONTRACT)},
        tags_by_output_name={"result": tags},
        owners_by_output_name={"result": list(suite.loaded.suite.owners)} if suite.loaded.suite.owners else None,
    )


def _step(
    suite: SuiteDefs, name: str, *, after: str, out: dg.Out | dg.DynamicOut, description: str, pool: str | None = None
) -> Callable[[_Work], dg.OpDefinition]:
    """Return the decorator of one of the three steps: its function works on one night, after an input that is done."""

    def made_by(work: _Work) -> dg.OpDefinition:
        @dg.op(
            # No other suite's step has this name: Dagster wants one definition a name.
            name="__".join([*suite.key(CAPTURED_RUN.name).path, name]),
            ins={after: dg.In(dg.Nothing)},
            out=out,
            description=description,
            pool=pool,
        )
        @takes_store(suite.environment.namespace)
        def step(
            context: dg.OpExecutionContext, config: CaptureConfig, spancheck_store: dg.ResourceParam[StoreResource]
        ) -> Iterator[_Made]:
            store, night = spancheck_store.store(), Night(suite.name, context.partition_key)
            yield from guarded(partial(work, context, config, store, night), is_debug=suite.is_debug)

        return step

    return made_by


def _begin(suite: SuiteDefs) -> dg.OpDefinition:
    @_step(
        suite,
        "begin",
        after="cases",
        out=dg.DynamicOut(dg.Nothing),
        description="Begins the capture, or finds the one that was begun; one step a shard follows.",
        pool=suite.pool,  # here alone: a run has it or waits for it, and its shards go on side by side
    )
    def begin(_context: dg.OpExecutionContext, config: CaptureConfig, store: Store, night: Night) -> Sequence[_Made]:
        refuse_past(suite, store, night, allow_past=config.allow_past)
        shards = plan_shards(store, night, suite.loaded.suite, suite.load_target, mode=config.mode(), contain=contained)
        return [dg.DynamicOutput(None, mapping_key=part.key) for part in shards]

    return begin


def _shard(suite: SuiteDefs) -> dg.OpDefinition:
    @_step(
        suite,
        "shard",
        after="begun",
        out=dg.Out(dg.Nothing),
        description="Calls the target for one shard's cases. What it records is kept whatever becomes of the others.",
    )
    def shard(context: dg.OpExecutionContext, config: CaptureConfig, store: Store, night: Night) -> Sequence[_Made]:
        part = Shard.from_key(context.get_mapping_key() or "")
        done = capture_shard(
            store,
            night,
            suite.loaded.suite,
            suite.load_target,
            part,
            mode=config.mode(),
            on_progress=suite.on_progress,
            contain=contained,
        )
        suite.warn(context, done.warnings)
        context.log.info("shard %d of %d: %d rows, %d from before", part.number + 1, part.of, done.n_rows, done.n_kept)
        return ()  # it hands nothing on

    return shard


def _collect(suite: SuiteDefs) -> dg.OpDefinition:
    @_step(
        suite,
        "collect",
        after="shards",
        out=dg.Out(dg.Nothing),
        description="Publishes the captured run that the shards have recorded. Nothing is called.",
    )
    def collect(context: dg.OpExecutionContext, config: CaptureConfig, store: Store, night: Night) -> Sequence[_Made]:
        captured = collect_shards(store, night, suite.loaded.suite, mode=config.mode(), graders=suite.loaded.graders)
        suite.warn_of_changes(context, night, captured)
        version = dg.DataVersion(captured.published.content_digest)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.BetaWarning)  # of data_version; its behaviour is pinned by our tests
            return [dg.Output(None, data_version=version, metadata=metadata.of_capture(captured))]

    return collect
