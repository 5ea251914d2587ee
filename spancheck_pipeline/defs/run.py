"""Running a suite's job in this process, on the project's instance, without a server."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from spancheck_pipeline.api.environment import Environment
from spancheck_pipeline.api.rescoring import Rescored
from spancheck_pipeline.defs.guard import is_refused_by_gate
from spancheck_pipeline.defs.rescore import job_name, step_name
from spancheck_pipeline.errors import SpancheckError, StepFailedError
from spancheck_pipeline.storage.store import Night


def run_nightly(definitions: dg.Definitions, environment: Environment, place: Night, config: dict[str, Any]) -> None:
    """Materialize everything of a suite for one date; ``config`` is asset name → its configuration.

    Raises:
        StepFailedError: when a step could not run, with its own message. A gate that fails is not an error: the run
            ends as failed in Dagster, since the promotion is refused, and everything else of it is made.
    """
    key = [*([environment.namespace] if environment.namespace else []), place.suite]
    job = definitions.resolve_job_def("_".join([*key, "nightly"]))
    run_config = {
        "ops": {"__".join([*key, name]): {"config": settings} for name, settings in config.items()},
        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
    }
    with dg.DagsterInstance.get() as instance:
        result = job.execute_in_process(
            run_config=run_config, instance=instance, partition_key=place.date, raise_on_error=False
        )
    failed = [event for event in result.all_events if event.is_step_failure]
    if not result.success and not (failed and all(map(is_refused_by_gate, failed))):
        raise _failure(failed)


def run_rescore(definitions: dg.Definitions, environment: Environment, config: dict[str, Any]) -> Rescored:
    """Score stale nights again in one run of this process; ``config`` is that of ``RescoreConfig``.

    Raises:
        StepFailedError: when nothing could be begun. A night that could not be scored again is told in the result.
    """
    name = job_name(environment.namespace)
    step = step_name(name)
    with dg.DagsterInstance.get() as instance:
        result = definitions.resolve_job_def(name).execute_in_process(
            run_config={
                "ops": {step: {"config": config}},
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            },
            instance=instance,
            raise_on_error=False,
        )
    failed = [event for event in result.all_events if event.is_step_failure]
    if any(event.step_key == step for event in failed) or not (failed or result.success):
        raise _failure(failed)
    return Rescored.model_validate(result.output_for_node(step))


def _failure(failed: Sequence[dg.DagsterEvent]) -> SpancheckError:
    """Return the first failed step's message; later steps only say that an earlier one failed."""
    for event in failed:
        if not is_refused_by_gate(event):
            data = event.step_failure_data
            described = data.user_failure_data.description if data.user_failure_data else None
            message = described or (data.error.message.strip() if data.error else "it failed without a message")
            return StepFailedError(str(event.step_key), message)
    return StepFailedError("the run", "it did not succeed; `spancheck ui` shows its events")
