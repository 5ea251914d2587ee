"""The JSON Schemas in docs/schemas are those of the models, and a real audit log keeps to its own.

Run this file (``python tests/test_audit_schema.py``) to write them anew after a change of contract or schema
version.
"""

import json
from pathlib import Path

import jsonschema
import pytest

import spancheck_pipeline as sc
from spancheck_pipeline.decision import audit, audit_seal
from spancheck_pipeline.evidence.run import Manifest

FOLDER = Path(__file__).parents[1] / "docs" / "schemas"

SCHEMAS = {
    "audit_log-2.0": audit.json_schema(),
    "audit_log_seal": audit_seal.json_schema(),
    "manifest": Manifest.model_json_schema(mode="serialization"),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_published_schema_is_that_of_its_model(name):
    """Only descriptions may be reworded without a new contract number or schema version."""
    assert json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) == SCHEMAS[name]


def test_an_audit_log_keeps_to_its_published_schema():
    run = sc.evaluate(
        [sc.Case("a", {"q": "when?"}, history=[{"role": "user", "text": "hi"}]), sc.Case("b", "who?")],
        lambda question: {"answer": "30 days [1]", "contexts": ["30 days"]} if question != "who?" else 1 / 0,
    )
    document = json.loads(json.dumps(run.audit_log(decision=sc.gate(run, {"no_pii": 0.5}))))

    jsonschema.Draft202012Validator(json.loads((FOLDER / "audit_log-2.0.json").read_text())).validate(document)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, schema in SCHEMAS.items():
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
