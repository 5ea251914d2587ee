"""``spancheck diff``: two runs, case by case."""

from __future__ import annotations

from pathlib import Path

import click

from spancheck_pipeline.cli.options import (
    file_option,
    graders_at_hand,
    json_option,
    load_run,
    open_project,
    regrade_option,
    regraded,
)


@click.command()
@click.argument("baseline", metavar="BASELINE")
@click.argument("candidate", metavar="CANDIDATE")
@regrade_option
@json_option
@file_option("markdown", "the comparison as Markdown (a step summary, a comment)")
def diff(baseline: str, candidate: str, *, regrade: bool, as_json: bool, markdown_file: Path | None) -> int:
    """Compare CANDIDATE with BASELINE: each is SUITE@DATE, run:ID or an audit log's file.

    Cases are paired by id and question; the baseline is graded again with the candidate's graders and labels where they
    differ. Nothing is called. Exit code 3 with every reason when they cannot be compared.
    """
    from spancheck_pipeline.api.comparing import comparison
    from spancheck_pipeline.cli import show
    from spancheck_pipeline.decision.difference import difference_of
    from spancheck_pipeline.report.markdown import difference_markdown
    from spancheck_pipeline.storage.documents import write_text

    environment, store = open_project()
    old, new = (load_run(environment, store, what, None) for what in (baseline, candidate))
    if regrade:
        old, new = regraded(environment, candidate, old, new)
    found = difference_of(comparison(old, new, graders_at_hand(environment, candidate)))
    if markdown_file:
        write_text(markdown_file, difference_markdown(found))
    if as_json:
        show.print_json(found.model_dump(mode="json"))
    else:
        show.print_difference(found)
    return 0
