"""``captured_run`` of a suite whose capture is made in shards: a graph of steps behind the same asset.

``begin`` says which shards there are, each ``shard`` captures one of them, durably on its own, and ``collect``
publishes. An executor may run the shards on different machines: nothing is handed from step to step but a shard's name,
everything else stands in the storage. The one-step asset is in ``assets.py``; what each step does in
``api/sharding.py``.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import dagster as dg

from spancheck_pipeline.api.capturing import Captured
from spancheck_pipeline.api.sharding import Shard, ShardDone, capture_shard, collect_shards, plan_shards
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.assets import CaptureConfig, SuiteDefs, refuse_past
from spancheck_pipeline.defs.guard import guarded
from spancheck_pipeline.defs.resources import StoreResource, takes_store
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.store import Night
from spancheck_pipeline.storage.tables import CAPTURED_RUN


def sharded_capture(suite: SuiteDefs, description: str) -> dg.AssetsDefinition:
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
        descriptions_by_output_name={"result": description},
        metadata_by_output_name={"result": metadata.column_schema(CAPTURED_RUN)},
        code_versions_by_output_name={"result": str(CONTRACT)},
        tags_by_output_name={"result": tags},
        owners_by_output_name={"result": list(suite.loaded.suite.owners)} if suite.loaded.suite.owners else None,
    )


def _step_name(suite: SuiteDefs, step: str) -> str:
    """Return a name that no other suite's step has: Dagster wants one definition a name."""
    return "__".join([*suite.key(CAPTURED_RUN.name).path, step])


def _begin(suite: SuiteDefs) -> dg.OpDefinition:
    @dg.op(
        name=_step_name(suite, "begin"),
        ins={"cases": dg.In(dg.Nothing)},
        out=dg.DynamicOut(dg.Nothing),
        description="Begins the capture, or finds the one that was begun; one step a shard follows.",
        pool=suite.pool,  # here alone: a run has it or waits for it, and its shards go on side by side
    )
    @takes_store(suite.environment.namespace)
    def begin(
        context: dg.OpExecutionContext, config: CaptureConfig, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> Iterator[dg.DynamicOutput[None]]:
        store, night = spancheck_store.store(), Night(suite.name, context.partition_key)

        def step() -> tuple[Shard, ...]:
            refuse_past(suite, store, night, allow_past=config.allow_past)
            return plan_shards(
                store, night, suite.loaded.suite, suite.load_target, mode=config.mode(), contain=contained
            )

        for part in guarded(step, is_debug=suite.is_debug):
            yield dg.DynamicOutput(None, mapping_key=part.key)

    return begin


def _shard(suite: SuiteDefs) -> dg.OpDefinition:
    @dg.op(
        name=_step_name(suite, "shard"),
        ins={"begun": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        description="Calls the target for one shard's cases. What it records is kept whatever becomes of the others.",
    )
    @takes_store(suite.environment.namespace)
    def shard(
        context: dg.OpExecutionContext, config: CaptureConfig, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> None:
        store, night = spancheck_store.store(), Night(suite.name, context.partition_key)
        part = Shard.from_key(context.get_mapping_key() or "")

        def step() -> ShardDone:
            return capture_shard(
                store,
                night,
                suite.loaded.suite,
                suite.load_target,
                part,
                mode=config.mode(),
                on_progress=suite.on_progress,
                contain=contained,
            )

        done = guarded(step, is_debug=suite.is_debug)
        suite.warn(context, done.warnings)
        context.log.info("shard %d of %d: %d rows, %d from before", part.number + 1, part.of, done.n_rows, done.n_kept)

    return shard


def _collect(suite: SuiteDefs) -> dg.OpDefinition:
    @dg.op(
        name=_step_name(suite, "collect"),
        ins={"shards": dg.In(dg.Nothing)},
        out=dg.Out(dg.Nothing),
        description="Publishes the captured run that the shards have recorded. Nothing is called.",
    )
    @takes_store(suite.environment.namespace)
    def collect(
        context: dg.OpExecutionContext, config: CaptureConfig, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> Iterator[dg.Output[None]]:
        store, night = spancheck_store.store(), Night(suite.name, context.partition_key)

        def step() -> Captured:
            graders = suite.loaded.graders
            return collect_shards(store, night, suite.loaded.suite, mode=config.mode(), graders=graders)

        captured = guarded(step, is_debug=suite.is_debug)
        suite.warn_of_epochs(context, night, captured)
        version = dg.DataVersion(captured.published.content_digest)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.BetaWarning)  # of data_version; its behaviour is pinned by our tests
            output = dg.Output(None, data_version=version, metadata=metadata.of_capture(captured))
        yield output

    return collect
