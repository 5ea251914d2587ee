"""Says every night whether a grounded-answer system's answers can be trusted.

The library's public names. Each is imported when it is first used, so that ``import spancheck_pipeline`` and
``spancheck --help`` stay fast: nothing here pulls in Dagster, pandas or scipy by itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Case": "evidence.case",
    "Criterion": "evidence.case",
    "Context": "evidence.run",
    "Output": "evidence.run",
    "adapter": "evidence.run",
    "normalize": "evidence.run",
    "Citation": "evidence.citation",
    "GradeResult": "grading.score",
    "grader": "grading.grader",
    "default_graders": "grading.graders",
    "citation_accuracy": "grading.graders",
    "CitationVerdict": "grading.graders.citation_accuracy",
    "verify_citation": "grading.graders.citation_accuracy",
    "check_support": "grading.support",
    "detect_abstention": "grading.abstention",
    "judge_entailment": "grading.judge_provider",
    "judge_support": "grading.judge_provider",
    "llm_judge": "grading.graders",
    "calibrate_judge": "api.calibrating",
    "load_prompt": "grading.judge",
    "CaseResult": "api.case_result",
    "Run": "api.run",
    "Scorecard": "api.run_figures",
    "evaluate": "api.evaluation",
    "run_eval": "api.evaluation",
    "comparable": "api.comparing",
    "diff": "api.comparing",
    "gate": "api.comparing",
    "cost_latency": "api.run",
    "build_audit_log": "api.run",
    "SCHEMA_VERSION": "decision.audit",
}
"""Public name → the module that defines it."""

_DAGSTER_HOMES = {
    "EvaluationSuite": "component",
    "JudgeCalibration": "component",
    "build_definitions": "definitions",
}
"""Names for those who have a Dagster already; ``from spancheck_pipeline import *`` does not import it for them."""

__all__ = ["__version__", "graders", *sorted(_HOMES)]  # noqa: PLE0604 - the names are the keys above

if TYPE_CHECKING:
    from spancheck_pipeline.grading import graders


def __getattr__(name: str) -> Any:
    if name == "graders":
        return importlib.import_module("spancheck_pipeline.grading.graders")
    home = _HOMES.get(name) or _DAGSTER_HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__) | set(_DAGSTER_HOMES))
