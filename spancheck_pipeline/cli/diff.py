"""``spancheck diff``: two runs, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import (
    compared,
    file_option,
    json_option,
    load_run,
    note_other_suite,
    open_project,
    regrade_option,
    regraded,
    suite_now,
)

if TYPE_CHECKING:
    from spancheck_pipeline.decision.comparison import ComparisonDocument
    from spancheck_pipeline.decision.gate_settings import GateSettings, Regression


@click.command()
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidate", metavar="CANDIDATE")
@regrade_option
@json_option
@file_option("markdown", "the comparison as Markdown (a step summary, a comment)")
def diff(baseline: str, candidate: str, *, regrade: bool, as_json: bool, markdown_file: Path | None) -> int:
    """Compare CANDIDATE with BASELINE: each is SUITE@DATE, run:ID or an audit log's file.

    Cases are paired by id and question; the baseline is graded again with the candidate's graders and labels where they
    differ. Nothing is called. p-values are corrected over the graders that the candidate's suite watches for
    regressions, or else over all. Exit code 3 with every reason when they cannot be compared.
    """
    from spancheck_pipeline.cli import show_difference, terminal
    from spancheck_pipeline.decision.difference import difference_of
    from spancheck_pipeline.report.markdown import difference_markdown
    from spancheck_pipeline.storage.documents import write_text

    environment, store = open_project()
    old, new = (load_run(environment, store, what, None) for what in (baseline, candidate))
    note_other_suite(new, old)
    if regrade:
        new, old = regraded(environment, candidate, new, old)
    document = compared(environment, candidate, old, new, as_json=as_json)
    suite = suite_now(environment, candidate, new.suite)
    found = difference_of(document, *_family(suite.suite.gate if suite else None, document))
    if markdown_file:
        write_text(markdown_file, difference_markdown(found))
    if as_json:
        terminal.print_json(found.model_dump(mode="json"))
    else:
        show_difference.print_difference(found)
    return 0


def _family(gate: GateSettings | None, comparison: ComparisonDocument) -> tuple[Regression | None, list[str] | None]:
    """Return how a suite tests for regressions, and which graders; None for all, where it does not."""
    from spancheck_pipeline.decision.gate import gating_graders

    if gate is None or gate.regression is None:
        return None, None
    return gate.regression, gating_graders(gate, comparison.graders)
