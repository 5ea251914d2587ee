"""Dagster components: ``type: spancheck_pipeline.EvaluationSuite`` in a ``defs.yaml``, and the calibration of judges.

What a suite is made of is assembled in ``definitions.py``; here stands only what ``defs.yaml`` may say.
"""

from pathlib import Path
from typing import Annotated, Any

import dagster as dg
from dagster.components import ComponentTypeSpec
from pydantic import BaseModel

from spancheck_pipeline.decision.names import check_suite_name
from spancheck_pipeline.definitions import build_definitions
from spancheck_pipeline.errors import UsageError


class _ScaffoldParams(BaseModel):
    """What ``dg scaffold defs spancheck_pipeline.EvaluationSuite`` takes."""

    suite: str | None = None
    """Name of the suite; the folder's own unless one is given."""


class EvaluationSuiteScaffolder(dg.Scaffolder[_ScaffoldParams]):
    """Writes a ``defs.yaml`` that names the suite."""

    @classmethod
    def get_scaffold_params(cls) -> type[_ScaffoldParams]:
        """Return the model of what it takes."""
        return _ScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[_ScaffoldParams]) -> None:
        """Write the file, the suite called as the folder is unless a name was given."""
        name = request.params.suite or request.target_path.name
        try:
            check_suite_name(name)
        except ValueError as error:
            raise UsageError(f"the suite: {error}") from None
        dg.scaffold_component(request, {"suite": name})


class _ProjectSettings(dg.Model):
    """What every component of a project may say; each setting that is left out is what the environment says."""

    datasets: Annotated[
        str | None,
        dg.Resolver.default(
            description="The datasets folder, relative to the project's root. Default: SPANCHECK_DATASETS, or datasets."
        ),
    ] = None
    storage: Annotated[
        str | None,
        dg.Resolver.default(
            description="Where tables are written: a folder relative to the project's root, or a URL such as "
            "s3://bucket/place. Default: SPANCHECK_STORAGE, or storage."
        ),
    ] = None
    namespace: Annotated[
        str | None,
        dg.Resolver.default(
            description="Goes before asset keys, names of jobs and paths, so that several projects share a storage and "
            "a Dagster. Default: SPANCHECK_NAMESPACE, or none."
        ),
    ] = None
    timezone: Annotated[
        str | None,
        dg.Resolver.default(
            description="IANA name of the time zone of partitions and schedules. Default: SPANCHECK_TIMEZONE, or UTC."
        ),
    ] = None
    start_date: Annotated[
        str | None,
        dg.Resolver.default(
            description="First partition, YYYY-MM-DD in quotes. Default: SPANCHECK_START_DATE, or 2026-01-01."
        ),
    ] = None

    def build(self, context: dg.ComponentLoadContext, suites: list[str], **more: Any) -> dg.Definitions:
        """Return definitions of suites; relative paths are relative to the project's root."""
        return build_definitions(
            suites,
            datasets=self.datasets,
            storage=self.storage,
            namespace=self.namespace,
            timezone=self.timezone,
            start_date=self.start_date,
            folder=Path(context.project_root),
            **more,
        )


@dg.scaffold_with(EvaluationSuiteScaffolder)
class EvaluationSuite(_ProjectSettings, dg.Component, dg.Resolvable):
    """A suite of questions that a grounded-answer system is asked every night, graded, decided on and recorded.

    The suite itself is a folder with a ``suite.yaml`` (docs/suites.md).
    """

    suite: Annotated[
        str,
        dg.Resolver.default(description="Name of the suite: a folder of the datasets folder, with its suite.yaml."),
    ]

    @classmethod
    def get_spec(cls) -> ComponentTypeSpec:
        """Return how tools show the component."""
        return ComponentTypeSpec(
            description="Questions that a grounded-answer (RAG) system is asked every night, graded and decided on.",
            tags=["evaluation", "rag", "quality"],
            produces=["asset", "asset_check", "job", "schedule", "sensor", "resource"],
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the suite's definitions; its own job and sensors carry its name.

        Raises:
            ConfigError: when the suite has mistakes, all of them at once, each with its file and line.
            UsageError: when there is no such suite, or a setting cannot be.
        """
        return self.build(context, [self.suite], called=self.suite)


class JudgeCalibration(_ProjectSettings, dg.Component, dg.Resolvable):
    """How far the project's judges agree with people: the asset ``calibration``, which its suites share.

    One of it a project, where a suite has a judge (docs/judges.md).
    """

    @classmethod
    def get_spec(cls) -> ComponentTypeSpec:
        """Return how tools show the component."""
        return ComponentTypeSpec(
            description="Judges and deterministic graders, measured against people's labels.",
            tags=["evaluation", "rag", "quality"],
            produces=["asset", "resource"],
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the asset.

        Raises:
            UsageError: when a setting cannot be.
        """
        return self.build(context, [], has_calibration=True)
