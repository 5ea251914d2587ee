"""``docs/contract.md`` is the authority on formats: it names every file, column and schema, and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.tables import TABLES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
RULES = re.findall(r"^(\d+)\. \*\*(.+?)\*\*(.*?)(?=^\d+\. \*\*|^## )", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_is_of_this_contract():
    assert PAGE.startswith(f"# Contract {CONTRACT}\n")


def test_every_rule_is_guarded_by_tests_that_exist():
    tests = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^ *(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert [int(number) for number, _, _ in RULES] == list(range(1, 14))
    for _, rule, text in RULES:
        named = re.findall(r"`(test_\w+)`", text)
        assert named, rule
        assert set(named) <= tests, (rule, set(named) - tests)


@pytest.mark.parametrize("name", TABLES)
def test_this_page_names_every_column_of_every_table(name):
    section = re.search(rf"^### `{name}` – .*?\n\n\((.*?)\) (.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert re.findall(r"`(\w+)`", section[2]) == TABLES[name].schema.names
    assert (section[1] == "contains text") is TABLES[name].contains_text


def test_every_published_schema_is_named():
    for path in (ROOT / "docs" / "schemas").glob("*.json"):
        assert f"](schemas/{path.name})" in PAGE, path.name
