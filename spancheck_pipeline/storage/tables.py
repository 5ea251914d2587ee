"""Every Parquet table: its Arrow schema.

How a noun becomes a row lives in ``rows.py``; where a file lies and how it is replaced in ``store.py``. A column that
the path says (suite, date, grader) is not in the file. Changing a schema here without changing ``CONTRACT`` fails a
test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa


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
FINDINGS = _list_of(
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
    ("findings", FINDINGS),
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
            ("clusters_needed", pa.int64()),
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

_OF_A_DISPOSITION = pa.struct(
    [
        ("grader", pa.string()),
        ("item", pa.string()),
        ("finding_digest", pa.string()),
        ("disposition", pa.string()),
        ("reason", pa.string()),
        ("author", pa.string()),
        ("signed_at", pa.string()),  # ISO 8601, as in the document: no other list of this package holds instants
        ("expires_at", pa.string()),
        ("is_counted", pa.bool_()),
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
            pa.field("dispositions", _list_of(_OF_A_DISPOSITION)),
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
