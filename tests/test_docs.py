"""Pages that must exist, links that must lead somewhere, and commands that the README shows as they are."""

import re
from pathlib import Path

import pytest

from spancheck_pipeline.cli.main import _COMMANDS, cli
from spancheck_pipeline.grading.graders import MEASUREMENTS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "datasets").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_has_a_page_that_names_its_options(name):
    page = (ROOT / "docs" / "commands" / f"{name}.md").read_text(encoding="utf-8")
    command = cli.get_command(None, name)
    subcommands = getattr(command, "commands", {"": command}).values()

    for option in {opt for c in subcommands for p in c.params for opt in p.opts if opt.startswith("--")}:
        assert option in page, option


@pytest.mark.parametrize("name", sorted(MEASUREMENTS))
def test_every_grader_has_a_page(name):
    assert (ROOT / "docs" / "graders" / f"{name}.md").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_names_a_folder_of_one_machine(page):
    assert not re.search(r"/(?:root|home/\w+|tmp|work)/", page.read_text(encoding="utf-8"))
