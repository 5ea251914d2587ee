"""The asset ``calibration``: one, with a partition a judge or deterministic grader; each against every gold set.

Gold sets are the ``.jsonl`` files of ``datasets/gold``. Scorecards of suites whose graders have judges depend on it.
"""

import datetime as dt
import getpass
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from spancheck_pipeline.api.calibrating import CalibratedSubject, calibrate_subject, calibrated_names
from spancheck_pipeline.api.environment import Environment
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.guard import guarded
from spancheck_pipeline.defs.resources import IO_MANAGER_KEY, StoreResource, resource_key, takes_store
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.evidence.gold import GoldSet
from spancheck_pipeline.report.calibration_markdown import calibration_markdown
from spancheck_pipeline.report.calibration_plots import confusion_svg, reliability_svg
from spancheck_pipeline.storage.gold_files import GOLD_FOLDER, gold_files, read_gold
from spancheck_pipeline.storage.judges_file import DeclaredJudges
from spancheck_pipeline.storage.tables import CALIBRATION


class CalibrationConfig(dg.Config):
    """Which gold sets a judge is put to."""

    gold: list[str] | None = None
    """Names of gold sets (files without their ending); none: all of ``datasets/gold``."""
    replace: bool = False
    """Whether a calibration on another gold set of the same domain may be replaced."""


def calibration_key(namespace: str | None) -> dg.AssetKey:
    """Return the key of the asset."""
    return dg.AssetKey([*([namespace] if namespace else []), CALIBRATION.name])


def calibration_asset(
    environment: Environment, declared: DeclaredJudges, *, is_debug: bool = False
) -> dg.AssetsDefinition:
    """Return the asset that measures judges and deterministic graders against people's labels."""

    @dg.asset(
        key=calibration_key(environment.namespace),
        group_name="_".join(calibration_key(environment.namespace).path),
        partitions_def=dg.StaticPartitionsDefinition(list(calibrated_names(declared))),
        tags={"stage": "grading"},
        kinds={"python", "parquet"},
        description=(
            "How far each judge and deterministic grader agrees with people, on the gold sets of datasets/gold. "
            "Scorecards and gates read it; a grader never does. Only verdicts that nobody asked for are asked for."
        ),
        metadata=metadata.column_schema(CALIBRATION),
        io_manager_key=resource_key(IO_MANAGER_KEY, environment.namespace),
        code_version=str(CONTRACT),
    )
    @takes_store(environment.namespace)
    def calibration(
        context: dg.AssetExecutionContext,
        config: CalibrationConfig,
        spancheck_store: dg.ResourceParam[StoreResource],
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()
        now = dt.datetime.now(dt.UTC)

        def measured() -> list[CalibratedSubject]:
            return [
                calibrate_subject(
                    store, declared, context.partition_key, gold, by=getpass.getuser(),
                    contain=contained, replace=config.replace, now=lambda: now,
                )
                for gold in _read(_chosen(environment.datasets, config.gold))
            ]  # fmt: skip

        made = guarded(measured, is_debug=is_debug)
        for subject in made:
            for warning in subject.judged.warnings if subject.judged else ():
                context.log.warning(warning)
        versions = [subject.published.content_digest for subject in made]
        return dg.MaterializeResult(
            metadata=dict(_shown(made)),
            data_version=dg.DataVersion(versions[0] if len(versions) == 1 else digest(versions)),
        )

    return calibration


def _chosen(datasets: Path, names: list[str] | None) -> list[Path]:
    """Return the gold sets to take.

    Raises:
        UsageError: when there is none, or none of a name.
    """
    found = {path.stem: path for path in gold_files(datasets)}
    if not found:
        raise UsageError(f"there is no gold set in {datasets / GOLD_FOLDER}; write one labelled claim a line (.jsonl)")
    if unknown := [name for name in names or () if name not in found]:
        raise UsageError(f"there is no gold set {unknown[0][:80]!r}; there are: {', '.join(found)}")
    return [found[name] for name in names or found]


def _read(paths: list[Path]) -> list[GoldSet]:
    """Return gold sets, each of a domain of its own: of two of one domain the second would replace the first.

    Raises:
        UsageError: naming both files.
    """
    first: dict[str, Path] = {}
    sets = []
    for path in paths:
        gold = read_gold(path)
        if (other := first.setdefault(gold.domain, path)) != path:
            raise UsageError(
                f"{other} and {path} are both of the domain {gold.domain}, which has one calibration: give one another "
                "domain (in the .yaml beside it), join the two, or choose one (config: gold)"
            )
        sets.append(gold)
    return sets


def _shown(made: list[CalibratedSubject]) -> Iterator[tuple[str, Any]]:
    """Yield what the UI shows: of each gold set the figures, as numbers and as a table, and the pictures."""
    for number, subject in enumerate(made):
        document, prefix = subject.document, "" if number == 0 else f"{subject.document.gold.domain}_"
        figures = document.figures
        numbers = {
            "agreement": figures.agreement.value,
            "balanced_accuracy": figures.balanced_accuracy.value,
            "sensitivity": figures.sensitivity.value,
            "sensitivity_low": figures.sensitivity.low_at_worst,
            "specificity": figures.specificity.value,
            "specificity_low": figures.specificity.low_at_worst,
            "kappa": figures.kappa.value if figures.kappa else None,
            "brier": document.graded.brier if document.graded else None,
        }
        yield from ((f"{prefix}{name}", value) for name, value in numbers.items() if value is not None)
        yield f"{prefix}n_measured", figures.n_measured
        yield f"{prefix}n_without_answer", sum(document.failures.values())
        yield f"{prefix}gold", f"{document.gold.name} ({document.gold.domain}, {document.gold.digest[:12]})"
        yield f"{prefix}figures", dg.MetadataValue.md(calibration_markdown(document))
        yield f"{prefix}reliability", dg.MetadataValue.md(_picture("reliability diagram", reliability_svg(document)))
        yield f"{prefix}confusion", dg.MetadataValue.md(_picture("confusion matrix", confusion_svg(document)))
        yield f"{prefix}path", dg.MetadataValue.path(subject.published.path)
        yield f"{prefix}content_digest", subject.published.content_digest
        if subject.judged:
            yield f"{prefix}calls_made", subject.judged.n_calls
    yield "dagster/row_count", sum(subject.published.n_rows for subject in made)


def _picture(name: str, svg: str) -> str:
    return f"![{name}](data:image/svg+xml;base64,{b64encode(svg.encode()).decode()})"
