"""The published schemas of the files that users write: they hold for the demo suite, and cannot change unnoticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.case import Case

ROOT = Path(__file__).parents[2]
PUBLISHED: dict[str, type[BaseModel]] = {"suite": Suite, "case": Case}


def published(name: str) -> Any:
    return json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text())


def keys(schema: dict[str, Any]) -> dict[str, tuple[list[str], list[str]]]:
    """Return the keys and the needed keys of every object in a schema."""
    parts = {"": schema, **schema.get("$defs", {})}
    # A part that may also be written as a path holds its object second.
    parts = {name: part["anyOf"][-1] if "anyOf" in part else part for name, part in parts.items()}
    return {
        name: (sorted(part["properties"]), sorted(part.get("required", ())))
        for name, part in parts.items()
        if "properties" in part
    }


def test_the_demo_suite_and_its_cases_are_as_the_schemas_say() -> None:
    folder = ROOT / "datasets" / "leases"
    suite = yaml.safe_load((folder / "suite.yaml").read_text())
    jsonschema.validate(suite, published("suite"))
    for line in (folder / "cases.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), published("case"))


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_a_format_does_not_change_unnoticed(name: str) -> None:
    """A changed format needs a new contract number, or is an addition that old files do without.

    Then write the schema anew: ``json.dumps(Suite.model_json_schema(), indent=1)``.
    """
    assert keys(published(name)) == keys(PUBLISHED[name].model_json_schema())


def test_a_wrong_suite_is_refused_by_the_schema_too() -> None:
    wrong = {"contract": 2, "name": "x", "target": {"callable": "a:b"}, "graders": {}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, published("suite"))
