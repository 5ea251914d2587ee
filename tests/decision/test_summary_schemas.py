"""The published schemas of scorecards, decisions, comparisons: they hold for real ones, and cannot change unnoticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, ComparisonDocument, compare
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision, decide
from spancheck_pipeline.decision.gate_settings import Budget, GateSettings, Regression
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.grading.score import Outcome

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
PUBLISHED: dict[str, type[BaseModel]] = {
    "scorecard": ScorecardDocument,
    "decision": GateDecision,
    "comparison": ComparisonDocument,
}


def published(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def shape(schema: Any) -> Any:
    """Return a schema without its words."""
    if isinstance(schema, dict):
        return {key: shape(item) for key, item in schema.items() if key not in {"description", "title"}}
    return [shape(item) for item in schema] if isinstance(schema, list) else schema


def documents() -> dict[str, BaseModel]:
    """One of each, with every optional part filled."""
    names = [f"c{i}" for i in range(40)]
    scores = [
        ScoreFacts(grader="g", case_id=c, epoch=e, category="k", cluster="d", outcome=Outcome.PASS, value=1.0)
        for c in names
        for e in (0, 1)
    ]
    rows = [RowFacts(case_id=c, epoch=e, answered=True, latency_ms=5.0) for c in names for e in (0, 1)]
    graders = [GraderFacts(name="g", measurement="groundedness")]
    scorecard = build_scorecard(suite="s", run_id="r", rows=rows, scores=scores, graders=graders)
    side = ComparedRun(
        run_id="r", epochs=2, cases={c: ComparedCase(question_digest=c) for c in names}, scores=scores, rows=rows
    )
    comparison = compare(side, side, suite="s", graders=["g"])
    settings = GateSettings(min_pass_rate={"g": 0.9}, regression=Regression(), budget=Budget(p95_latency_ms=9))
    decision = decide(scorecard, settings, comparisons=[comparison])
    return {"scorecard": scorecard, "decision": decision, "comparison": comparison}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_real_document_is_as_its_schema_says(name):
    jsonschema.validate(documents()[name].model_dump(mode="json"), published(name))


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_format_does_not_change_unnoticed(name):
    """A changed format needs a new contract number, or is an addition that old files do without.

    Then write the schema anew: ``json.dumps(Model.model_json_schema(mode="serialization"), indent=1)`` and a newline.
    """
    assert shape(published(name)) == shape(PUBLISHED[name].model_json_schema(mode="serialization"))


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_another_contract_is_refused_by_schema_and_reader(name):
    changed = {**documents()[name].model_dump(mode="json"), "contract": 2}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, published(name))
    with pytest.raises(ValueError, match="contract"):
        PUBLISHED[name].model_validate(changed)
