"""A page a format, and the command on it."""

from pathlib import Path

import pytest

from spancheck_pipeline.importers.formats import FORMATS

DOCS = Path(__file__).parents[2] / "docs" / "formats"
ROWS = {"jsonl", "csv", "parquet"}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_page_with_its_command_and_what_is_not_carried(name):
    page = (DOCS / f"{'rows' if name in ROWS else name}.md").read_text(encoding="utf-8")
    assert f"spancheck import {name} " in page
    assert "Not carried" in page
    assert f"`{name}`" in (DOCS / "README.md").read_text(encoding="utf-8")
