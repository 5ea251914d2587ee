"""Every Parquet table: its Arrow schema, and how a noun becomes a row and a row the noun again.

Where a file lies and how it is replaced lives in ``store.py``. A column that the path says (suite, date, grader) is not
in the file. Changing a schema here without changing ``CONTRACT`` fails a test.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from spancheck_pipeline.evidence.canonical import canonical_json
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.grading.score import Finding, Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Row = dict[str, Any]


def _list_of(item: pa.DataType) -> pa.ListType:
    """Return a list type whose element is named, since pyarrow's own name for it has changed between versions."""
    return pa.list_(pa.field("element", item))


_INSTANT = pa.timestamp("us", tz="UTC")
_CONTEXTS = _list_of(
    pa.struct(
        [
            ("source_id", pa.string()),
            ("text", pa.string()),
            ("uri", pa.string()),
            ("title", pa.string()),
            ("page", pa.int32()),
            ("rank", pa.int32()),
        ]
    )
)
_CITATIONS = _list_of(
    pa.struct(
        [
            ("claim", pa.string()),
            ("quote", pa.string()),
            ("source_id", pa.string()),
            ("answer_start", pa.int64()),
            ("answer_end", pa.int64()),
            ("source_start", pa.int64()),
            ("source_end", pa.int64()),
            ("flags", _list_of(pa.string())),
        ]
    )
)
_FINDINGS = _list_of(
    pa.struct(
        [
            ("item", pa.string()),
            ("kind", pa.string()),
            ("outcome", pa.string()),
            ("value", pa.float64()),
            ("grade", pa.string()),
            ("reason", pa.string()),
            ("source_id", pa.string()),
            ("source_start", pa.int64()),
            ("source_end", pa.int64()),
            ("answer_start", pa.int64()),
            ("answer_end", pa.int64()),
        ]
    )
)
_SCORE_FIELDS = [
    ("grader_version", pa.string()),
    ("spec_digest", pa.string()),
    ("outcome", pa.string()),
    ("value", pa.float64()),
    ("reason_code", pa.string()),
    ("reason", pa.string()),
    ("findings", _FINDINGS),
]
_HISTORY = _list_of(pa.struct([("role", pa.string()), ("text", pa.string())]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One kind of file: its name (a folder), its schema, and whether texts of cases or answers stand in it."""

    name: str
    schema: pa.Schema
    contains_text: bool


CASES: Final = Table(
    name="cases",
    contains_text=True,
    schema=pa.schema(
        [
            ("position", pa.int64()),
            ("case_id", pa.string()),
            ("question_digest", pa.string()),
            ("label_digest", pa.string()),
            ("input", pa.string()),
            ("input_is_json", pa.bool_()),
            ("history", _HISTORY),
            ("category", pa.string()),
            ("cluster", pa.string()),
            ("expected", pa.string()),
            ("expected_is_json", pa.bool_()),
            ("answerable", pa.bool_()),
            ("expected_sources", _list_of(pa.string())),
            (
                "criteria",
                _list_of(
                    pa.struct(
                        [
                            ("id", pa.string()),
                            ("type", pa.string()),
                            ("target_json", pa.string()),
                            ("comment", pa.string()),
                        ]
                    )
                ),
            ),
            ("contexts", _CONTEXTS),
            ("meta_json", pa.string()),
        ]
    ),
)

CAPTURED_RUN: Final = Table(
    name="captured_run",
    contains_text=True,
    schema=pa.schema(
        [
            ("run_id", pa.string()),
            ("case_id", pa.string()),
            ("question_digest", pa.string()),
            ("epoch", pa.int32()),
            ("answered", pa.bool_()),
            ("answer", pa.string()),
            ("contexts", _CONTEXTS),
            ("citations", _CITATIONS),
            ("abstained", pa.bool_()),
            ("finish_reason", pa.string()),
            ("served_model", pa.string()),
            ("versions", pa.map_(pa.string(), pa.string())),
            ("input_tokens", pa.int64()),
            ("output_tokens", pa.int64()),
            ("cached_input_tokens", pa.int64()),
            ("reasoning_tokens", pa.int64()),
            ("reported_cost_usd", pa.float64()),
            ("reported_latency_ms", pa.float64()),
            ("latency_ms", pa.float64()),
            ("latency_total_ms", pa.float64()),
            ("attempts", pa.int32()),
            ("started_at", _INSTANT),
            ("finished_at", _INSTANT),
            ("error_class", pa.string()),
            ("error_message", pa.string()),
            ("raw_json", pa.string()),
        ]
    ),
)

SCORES: Final = Table(
    name="scores",
    contains_text=True,
    schema=pa.schema(
        [
            ("run_id", pa.string()),
            ("case_id", pa.string()),
            ("question_digest", pa.string()),
            ("label_digest", pa.string()),
            ("epoch", pa.int32()),
            ("category", pa.string()),
            ("cluster", pa.string()),
            *_SCORE_FIELDS,
        ]
    ),
)

SCORECARD: Final = Table(
    name="scorecard",
    contains_text=False,
    schema=pa.schema(
        [
            ("run_id", pa.string()),
            ("grader", pa.string()),
            ("grader_version", pa.string()),
            ("spec_digest", pa.string()),
            ("category", pa.string()),
            ("n_cases", pa.int64()),
            ("n_pass", pa.int64()),
            ("n_fail", pa.int64()),
            ("n_flaky", pa.int64()),
            ("n_not_applicable", pa.int64()),
            ("n_unmeasured", pa.int64()),
            ("pass_rate", pa.float64()),
            ("pass_rate_low", pa.float64()),
            ("pass_rate_high", pa.float64()),
            ("mean_score", pa.float64()),
            ("mean_score_low", pa.float64()),
            ("mean_score_high", pa.float64()),
            ("n_clusters", pa.int64()),
        ]
    ),
)

GATE: Final = Table(
    name="gate",
    contains_text=False,
    schema=pa.schema(
        [
            ("run_id", pa.string()),
            ("rule", pa.string()),
            ("kind", pa.string()),
            ("subject", pa.string()),
            ("threshold", pa.float64()),
            ("observed", pa.float64()),
            ("answer", pa.string()),
            ("reason", pa.string()),
            ("p_value", pa.float64()),
            ("detectable_drop", pa.float64()),
            ("cases_needed", pa.int64()),
            ("is_blocking", pa.bool_()),
            ("is_ignored", pa.bool_()),
        ]
    ),
)

COMPARISON: Final = Table(
    name="comparison",
    contains_text=False,
    schema=pa.schema(
        [
            ("run_id", pa.string()),
            ("baseline_kind", pa.string()),
            ("baseline_run_id", pa.string()),
            ("baseline_date", pa.string()),
            ("grader", pa.string()),
            ("n_pairs", pa.int64()),
            ("n_unpaired", pa.int64()),
            ("n_both_pass", pa.int64()),
            ("n_newly_failing", pa.int64()),
            ("n_newly_passing", pa.int64()),
            ("n_both_fail", pa.int64()),
            ("baseline_rate", pa.float64()),
            ("candidate_rate", pa.float64()),
            ("difference", pa.float64()),
            ("difference_low", pa.float64()),
            ("difference_high", pa.float64()),
            ("score_difference", pa.float64()),
            ("score_difference_low", pa.float64()),
            ("score_difference_high", pa.float64()),
            ("p_value", pa.float64()),
            ("n_independent", pa.float64()),
            ("n_clusters", pa.int64()),
            ("newly_failing_case_ids", _list_of(pa.string())),
            ("newly_passing_case_ids", _list_of(pa.string())),
            ("newly_unmeasured_case_ids", _list_of(pa.string())),
            ("flaky_flip_case_ids", _list_of(pa.string())),
            ("judge_flip_case_ids", _list_of(pa.string())),
        ]
    ),
)
"""One row a grader and comparable baseline; reasons why one is not comparable stand in the document."""

_OF_THE_CASE = [field for field in CASES.schema if field.name not in {"position", "contexts"}]
_OF_THE_CALL = [field for field in CAPTURED_RUN.schema if field.name not in {"case_id", "question_digest"}]

_OF_A_VERDICT = pa.struct(
    [
        ("judge", pa.string()),
        ("graders", _list_of(pa.string())),
        ("served_model", pa.string()),
        ("prompt", pa.string()),
        ("prompt_digest", pa.string()),
        ("packet_digest", pa.string()),
        ("repeat", pa.int32()),
        ("label", pa.string()),
        ("score", pa.float64()),
        ("reason", pa.string()),
        ("finish_reason", pa.string()),
        ("latency_ms", pa.float64()),
        ("attempts", pa.int32()),
        ("cost_usd", pa.float64()),
        ("error_class", pa.string()),
    ]
)

AUDIT_LOG: Final = Table(
    name="audit_log",
    contains_text=True,
    schema=pa.schema(
        [
            *_OF_THE_CASE,
            pa.field("known_contexts", _CONTEXTS),
            *_OF_THE_CALL,
            pa.field("cost_usd", pa.float64()),
            pa.field("scores", _list_of(pa.struct([("grader", pa.string()), *_SCORE_FIELDS]))),
            pa.field("verdicts", _list_of(_OF_A_VERDICT)),
            pa.field("previous_digest", pa.string()),
            pa.field("record_digest", pa.string()),
        ]
    ),
)
"""Rows stand in the order of their chain (``decision/audit_chain.py``), whose start stands in the document."""

JUDGE_VERDICTS: Final = Table(
    name="judge_verdicts",
    contains_text=True,
    schema=pa.schema(
        [
            ("judge", pa.string()),
            ("identity", pa.string()),
            ("prompt", pa.string()),
            ("prompt_digest", pa.string()),
            ("packet_kind", pa.string()),
            ("packet_version", pa.int32()),
            ("packet_digest", pa.string()),
            ("repeat", pa.int32()),
            ("model", pa.string()),
            ("served_model", pa.string()),
            ("label", pa.string()),
            ("score", pa.float64()),
            ("reason", pa.string()),
            ("reply", pa.string()),
            ("finish_reason", pa.string()),
            ("latency_ms", pa.float64()),
            ("attempts", pa.int32()),
            ("input_tokens", pa.int64()),
            ("output_tokens", pa.int64()),
            ("cached_input_tokens", pa.int64()),
            ("reasoning_tokens", pa.int64()),
            ("cost_usd", pa.float64()),
            ("error_class", pa.string()),
            ("judged_at", _INSTANT),
            (
                "uses",
                _list_of(pa.struct([("grader", pa.string()), ("case_id", pa.string()), ("epoch", pa.int32())])),
            ),
        ]
    ),
)
"""Verdicts that the graders of a place read; and, under another folder, all answers of a judge (``verdicts.py``)."""

CALIBRATION: Final = Table(
    name="calibration",
    contains_text=False,
    schema=pa.schema(
        [
            ("item_id", pa.string()),
            ("stratum", pa.string()),
            ("group", pa.string()),
            ("label", pa.bool_()),
            ("supported", pa.bool_()),
            ("score", pa.float64()),
            ("code", pa.string()),
            ("repeats", _list_of(pa.bool_())),
        ]
    ),
)
"""What a judge or grader said of each gold item; its folder names it and the gold set's domain."""

ADJUDICATIONS: Final = Table(
    name="adjudications",
    contains_text=True,
    schema=pa.schema(
        [
            ("run_id", pa.string()),
            ("grader", pa.string()),
            ("case_id", pa.string()),
            ("epoch", pa.int32()),
            ("item", pa.string()),
            ("finding_digest", pa.string()),
            ("outcome", pa.string()),
            ("disposition", pa.string()),
            ("reason", pa.string()),
            ("author", pa.string()),
            ("signed_at", _INSTANT),
            ("expires_at", _INSTANT),
        ]
    ),
)

TABLES: Final = {
    table.name: table
    for table in (
        CASES,
        CAPTURED_RUN,
        JUDGE_VERDICTS,
        CALIBRATION,
        SCORES,
        SCORECARD,
        COMPARISON,
        GATE,
        AUDIT_LOG,
        ADJUDICATIONS,
    )
}


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
    row = {field.name: getattr(finding, field.name) for field in _FINDINGS.value_type}
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
    previous_digest: str | None = None,
    record_digest: str | None = None,
) -> Row:
    """Return one case × epoch as a row of ``audit_log``: all of the case, all of the call, every score and verdict.

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
        "previous_digest": previous_digest,
        "record_digest": record_digest,
    }


def case_from_audit_row(row: Mapping[str, Any]) -> Case:
    """Return the case of a row of ``audit_log``."""
    return case_from_row({**row, "contexts": row["known_contexts"]})
