"""The published schemas, for whoever holds a document against one."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def published_schema():
    folder = Path(__file__).parents[2] / "docs" / "schemas"
    return lambda name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
