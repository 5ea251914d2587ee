"""Records of the audit log on a terminal: what failed and why. Their texts are hostile and are printed escaped."""

from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Sequence

import click

from spancheck_pipeline.decision.audit import AuditDisposition, AuditRecord, AuditScore
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.report.visible import visible

_WIDTH = 100
_LONGEST = 2_000
"""Characters of one text that are shown; the whole stands in the exported document."""


def print_failures(records: Sequence[AuditRecord], grader: str | None) -> None:
    """Print one line a failed or unmeasured score: case, its epoch where there are several, grader, reason."""
    has_epochs = any(record.call.epoch for record in records)
    is_clean = True
    for record in records:
        for score in _of(record, grader):
            if score.outcome in {Outcome.FAIL, Outcome.UNMEASURED}:
                is_clean = False
                where = f"{record.case.id}" + (f" #{record.call.epoch}" if has_epochs else "")
                signed = sorted({item.disposition.value for item in record.dispositions if item.grader == score.grader})
                people = f" [people say: {', '.join(signed)}]" if signed else ""
                said = f"{visible(score.grader)} {score.outcome.value}{people}: {_line(score.reason)}"
                click.echo(f"{visible(where)}  {said}")
    if is_clean:
        click.echo("nothing failed, and nothing was left unmeasured")


def print_record(record: AuditRecord, grader: str | None) -> None:
    """Print one case: question, answer or error, passages, and every score with its findings."""
    call = record.call
    click.secho(f"{visible(record.case.id)}  ({visible(record.case.category)}, epoch {call.epoch})", bold=True)
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
        click.echo(f"  {visible(score.grader)}: {score.outcome.value}{value} – {_line(score.reason)}")
        for finding in score.findings:
            grade = f" {finding.grade}" if finding.grade else ""
            said = f"{finding.item} {finding.outcome.value}{grade}"
            click.echo(f"      {visible(said)} – {_line(finding.reason)}")
        for item in record.dispositions:
            if item.grader == score.grader:
                _disposition(item)
    click.echo()


def _disposition(item: AuditDisposition) -> None:
    """Print what a person signed of a finding: it stands beside what the grader said."""
    until = ""
    if item.expires_at is not None:  # the instant after the last day
        until = f" until {(item.expires_at - dt.timedelta(microseconds=1)).date().isoformat()}"
    counted = "" if item.is_counted else " (not counted: expired, or of a finding that says something else)"
    said = f"{item.item or 'the whole score'} {item.disposition.value} by {item.author or '(left out)'}{until}{counted}"
    click.secho(f"      signed: {visible(said)} – {_line(item.reason)}", fg="yellow")


def _of(record: AuditRecord, grader: str | None) -> list[AuditScore]:
    return [score for score in record.scores if grader in {None, score.grader}]


def _line(text: str) -> str:
    return visible(" ".join(text[:_LONGEST].split()))


def _block(label: str, text: str) -> None:
    shown = _line(text) + (" …" if len(text) > _LONGEST else "")
    click.echo(textwrap.fill(shown, _WIDTH, initial_indent=f"  {visible(label)}: ", subsequent_indent="    "))
