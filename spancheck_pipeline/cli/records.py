"""Records of the audit log on a terminal: what failed and why. Their texts are hostile and are printed escaped."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import click

from spancheck_pipeline.cli.show import safe
from spancheck_pipeline.decision.audit import AuditRecord, AuditScore
from spancheck_pipeline.grading.score import Outcome

_WIDTH = 100
_LONGEST = 2_000
"""Characters of one text that are shown; the whole stands in the exported document."""


def print_failures(records: Iterable[AuditRecord], grader: str | None) -> None:
    """Print one line a failed or unmeasured score: case, grader, reason."""
    for record in records:
        for score in _of(record, grader):
            if score.outcome in {Outcome.FAIL, Outcome.UNMEASURED}:
                where = f"{record.case.id}" + (f" #{record.call.epoch}" if record.call.epoch else "")
                click.echo(f"{safe(where)}  {score.grader} {score.outcome.value}: {_line(score.reason)}")


def print_record(record: AuditRecord, grader: str | None) -> None:
    """Print one case: question, answer or error, passages, and every score with its findings."""
    call = record.call
    click.secho(f"{safe(record.case.id)}  ({safe(record.case.category)}, epoch {call.epoch})", bold=True)
    for turn in record.case.history:
        _block(turn.role, turn.text)
    _block("question", record.case.input if isinstance(record.case.input, str) else str(record.case.input))
    if record.case.expected is not None:
        _block("expected", str(record.case.expected))
    if call.output is None:
        _block("error", f"{call.error_class}: {call.error_message or ''}")
    else:
        _block("answer", call.output.answer)
        for i, context in enumerate(call.output.contexts):
            _block(f"passage {context.source_id or i}", context.text if context.text is not None else "(no text)")
    for score in _of(record, grader):
        value = "" if score.value is None else f" {score.value:.2f}"
        click.echo(f"  {score.grader}: {score.outcome.value}{value} – {_line(score.reason)}")
        for finding in score.findings:
            grade = f" {finding.grade}" if finding.grade else ""
            click.echo(f"      {finding.item} {finding.outcome.value}{grade} – {_line(finding.reason)}")
    click.echo()


def _of(record: AuditRecord, grader: str | None) -> list[AuditScore]:
    return [score for score in record.scores if grader in {None, score.grader}]


def _line(text: str) -> str:
    return safe(text.replace("\n", " "))[:_LONGEST]


def _block(label: str, text: str) -> None:
    shown = safe(text[:_LONGEST]) + (" …" if len(text) > _LONGEST else "")
    click.echo(textwrap.fill(shown, _WIDTH, initial_indent=f"  {safe(label)}: ", subsequent_indent="    "))
