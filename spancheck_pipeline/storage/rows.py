"""How a noun becomes a row of a Parquet table, and a row the noun again.

The tables and their columns live in ``tables.py``; where a file lies and how it is replaced in ``store.py``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from spancheck_pipeline.evidence.canonical import canonical_json
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.storage.tables import FINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Row = dict[str, Any]


def text_or_json(value: Any) -> tuple[str | None, bool]:
    """Return a value as a table cell: a text as it is, anything else as canonical JSON, and which of the two it is."""
    if value is None or isinstance(value, str):
        return value, False
    return canonical_json(value), True


def _value_of(cell: str | None, is_json: bool | None) -> Any:
    return json.loads(cell) if cell is not None and is_json else cell


def case_to_row(case: Case, position: int) -> Row:
    """Return a case as a row of ``cases``; ``position`` is its place in the suite's file, 0-based."""
    text, is_json = text_or_json(case.input)
    expected, expected_is_json = text_or_json(case.expected)
    return {
        "position": position,
        "case_id": case.id,
        "question_digest": case.question_digest,
        "label_digest": case.label_digest,
        "input": text,
        "input_is_json": is_json,
        "history": [turn.model_dump() for turn in case.history],
        "category": case.category,
        "cluster": case.cluster,
        "expected": expected,
        "expected_is_json": expected_is_json,
        "answerable": case.answerable,
        "expected_sources": list(case.expected_sources),
        "criteria": [
            {
                "id": item.id,
                "type": item.type,
                "target_json": canonical_json(item.target),
                "comment": item.comment,
            }
            for item in case.criteria
        ],
        "contexts": [context.model_dump() for context in case.contexts],
        "meta_json": canonical_json(case.meta),
    }


def case_from_row(row: Mapping[str, Any]) -> Case:
    """Return the case of a row of ``cases``; its digests are those of the case that was written."""
    return Case(
        id=row["case_id"],
        input=_value_of(row["input"], row["input_is_json"]),
        category=row["category"],
        expected=_value_of(row["expected"], row["expected_is_json"]),
        meta=json.loads(row["meta_json"]),
        history=row["history"],
        answerable=row["answerable"],
        expected_sources=row["expected_sources"],
        criteria=[
            {
                "id": c["id"],
                "type": c["type"],
                "target": json.loads(c["target_json"]),
                "comment": c["comment"],
            }
            for c in row["criteria"]
        ],
        cluster=row["cluster"],
        contexts=row["contexts"],
    )


_USAGE = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")


def captured_to_row(row: CapturedRow, run_id: str) -> Row:
    """Return one case × epoch as a row of ``captured_run``; what a failed call did not return is null."""
    output = row.output
    return {
        "run_id": run_id,
        "case_id": row.case_id,
        "question_digest": row.question_digest,
        "epoch": row.epoch,
        "answered": output is not None,
        "answer": output.answer if output else None,
        "contexts": [context.model_dump() for context in output.contexts] if output else None,
        "citations": [citation.model_dump() for citation in output.citations] if output else None,
        "abstained": output.abstained if output else None,
        "finish_reason": output.finish_reason if output else None,
        "served_model": output.served_model if output else None,
        "versions": sorted(output.versions.items()) if output else None,
        **{name: getattr(output.usage, name) if output else None for name in _USAGE},
        "reported_cost_usd": output.usage.cost_usd if output else None,
        "reported_latency_ms": output.latency_ms if output else None,
        "latency_ms": row.latency_ms,
        "latency_total_ms": row.latency_total_ms,
        "attempts": row.attempts,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
        "error_class": row.error_class,
        "error_message": row.error_message,
        "raw_json": canonical_json(output.raw) if output and output.raw is not None else None,
    }


def captured_from_row(row: Mapping[str, Any]) -> CapturedRow:
    """Return the case × epoch of a row of ``captured_run``."""
    output = None
    if row["answered"]:
        output = Output(
            answer=row["answer"],
            contexts=row["contexts"],
            citations=row["citations"],
            usage={**{name: row[name] for name in _USAGE}, "cost_usd": row["reported_cost_usd"]},
            latency_ms=row["reported_latency_ms"],
            abstained=row["abstained"],
            finish_reason=row["finish_reason"],
            served_model=row["served_model"],
            versions=dict(row["versions"] or ()),
            raw=json.loads(row["raw_json"]) if row["raw_json"] is not None else None,
        )
    names = (
        "case_id",
        "question_digest",
        "epoch",
        "error_class",
        "error_message",
        "latency_ms",
        "latency_total_ms",
    )
    rest = ("attempts", "started_at", "finished_at")
    return CapturedRow(output=output, **{name: row[name] for name in (*names, *rest)})


def finding_to_row(finding: Finding) -> Row:
    """Return a finding as the struct that stands in a score's ``findings``."""
    row = {field.name: getattr(finding, field.name) for field in FINDINGS.value_type}
    row["outcome"] = finding.outcome.value
    return row


def score_to_cells(score: Score, *, grader_version: str, spec_digest: str) -> Row:
    """Return the cells that a score fills, in ``scores`` and in ``audit_log.scores`` alike."""
    return {
        "grader_version": grader_version,
        "spec_digest": spec_digest,
        "outcome": score.outcome.value,
        "value": score.value,
        "reason_code": score.reason_code,
        "reason": score.reason,
        "findings": [finding_to_row(finding) for finding in score.findings],
    }


def score_from_row(row: Mapping[str, Any]) -> Score:
    """Return the score of a row of ``scores`` or of a struct of ``audit_log.scores``."""
    return Score(
        outcome=Outcome(row["outcome"]),
        value=row["value"],
        reason_code=row["reason_code"],
        reason=row["reason"],
        findings=tuple(Finding(**{**f, "outcome": Outcome(f["outcome"])}) for f in row["findings"] or ()),
    )


def audit_row(
    case: Case,
    row: CapturedRow,
    *,
    run_id: str,
    cost_usd: float | None,
    scores: Iterable[Row],
    verdicts: Iterable[Row] = (),
    dispositions: Iterable[Row] = (),
    previous_digest: str | None = None,
    record_digest: str | None = None,
) -> Row:
    """Return one case × epoch as a row of ``audit_log``: the case, the call, every score, verdict, disposition.

    ``scores`` are cells of ``score_to_cells`` with the ``grader``'s name beside them.
    """
    asked = case_to_row(case, 0)
    known = asked.pop("contexts")
    del asked["position"]
    return {
        **asked,
        "known_contexts": known,
        **captured_to_row(row, run_id),
        "cost_usd": cost_usd,
        "scores": list(scores),
        "verdicts": list(verdicts),
        "dispositions": list(dispositions),
        "previous_digest": previous_digest,
        "record_digest": record_digest,
    }


def case_from_audit_row(row: Mapping[str, Any]) -> Case:
    """Return the case of a row of ``audit_log``."""
    return case_from_row({**row, "contexts": row["known_contexts"]})
