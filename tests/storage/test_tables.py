import json
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from scenario import AT, case, output, row

from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.storage.rows import (
    audit_row,
    captured_from_row,
    captured_to_row,
    case_from_audit_row,
    case_from_row,
    case_to_row,
    score_from_row,
    score_to_cells,
)
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, CASES, SCORES, TABLES

PINS = Path(__file__).with_name("schema_pins.json")


def through_arrow(row: dict, schema: pa.Schema) -> dict:
    return pa.Table.from_pylist([row], schema=schema).to_pylist()[0]


def test_a_case_survives_its_table_with_both_digests():
    before = case(
        question={"question": "when?", "tenant": 7},
        history=[{"role": "user", "text": "hello"}],
        expected=["30 days", "one month"],
        answerable=True,
        expected_sources=["s1"],
        criteria=[{"id": "c1", "type": "presence", "target": {"text": "30"}}],
        cluster="lease-1",
        contexts=[{"source_id": "s1", "text": "thirty days"}],
        meta={"nested": [1, {"a": None}]},
    )

    after = case_from_row(through_arrow(case_to_row(before, 0), CASES.schema))

    assert after == before
    assert (after.question_digest, after.label_digest) == (before.question_digest, before.label_digest)


def test_a_captured_row_survives_its_table():
    before = row(
        case(),
        output(
            contexts=["passage", {"source_id": "s2", "text": None, "uri": "https://example.org"}],
            citations=["quote", {"claim": "c", "source_id": "s2", "answer_start": 0, "answer_end": 3}],
            usage={"input_tokens": 3, "output_tokens": 0, "cost_usd": 0.0},
            abstained=False,
            finish_reason="stop",
            served_model="m1",
            versions={"index": "7", "prompt": "2"},
            raw={"a": [1.5, None]},
        ),
        latency_ms=1.5,
        latency_total_ms=2.5,
        attempts=2,
        started_at=AT,
        finished_at=AT,
        epoch=1,
    )

    assert captured_from_row(through_arrow(captured_to_row(before, "r"), CAPTURED_RUN.schema)) == before


def test_a_failed_call_survives_its_table():
    before = row(case(), None, attempts=3)

    assert captured_from_row(through_arrow(captured_to_row(before, "r"), CAPTURED_RUN.schema)) == before


def test_an_audit_row_holds_the_whole_case_and_call():
    asked, captured = case(meta={"a": 1}, contexts=["known"]), row(case(), output(), attempts=1)
    score = Score.judged(False, 0.5, reason="half", findings=(Finding(item="i", kind="k", outcome=Outcome.FAIL),))
    cells = {"grader": "g", **score_to_cells(score, grader_version="1", spec_digest="d")}

    stored = through_arrow(audit_row(asked, captured, run_id="r", cost_usd=0.0, scores=[cells]), AUDIT_LOG.schema)

    assert case_from_audit_row(stored) == asked
    assert captured_from_row(stored) == captured
    assert score_from_row(stored["scores"][0]) == score


texts = st.text(st.characters(codec="utf-8"), max_size=30)


@given(st.builds(Case, id=st.just("a"), input=texts | st.dictionaries(texts, st.integers(-9, 9)), expected=texts))
def test_any_text_and_any_object_survives_a_table(before):
    assert case_from_row(through_arrow(case_to_row(before, 0), CASES.schema)) == before


@given(texts, st.lists(texts, max_size=3))
def test_any_answer_and_passages_survive_a_table(answer, passages):
    before = CapturedRow(case_id="a", question_digest="d", output=Output(answer=answer, contexts=passages))

    assert captured_from_row(through_arrow(captured_to_row(before, "r"), CAPTURED_RUN.schema)) == before


def described(field: pa.Field) -> list:
    """Return a column in words that no version of pyarrow shortens or changes."""
    children = [field.type.field(i) for i in range(field.type.num_fields)]
    return [
        field.name,
        str(field.type) if not children else str(field.type.id),
        [described(child) for child in children],
    ]


def pinned() -> dict[str, str]:
    return {name: digest([described(field) for field in table.schema]) for name, table in TABLES.items()}


def test_schemas_are_pinned_to_the_contract_number():
    """A changed schema needs another contract number; then the pins are written anew (run this file)."""
    pins = json.loads(PINS.read_text())

    assert pins["contract"] == CONTRACT
    assert pins["tables"] == pinned()


def test_the_columns_that_the_path_says_are_in_no_file():
    for table in TABLES.values():
        assert not {"suite", "date"} & set(table.schema.names)
    assert "grader" not in SCORES.schema.names


if __name__ == "__main__":
    PINS.write_text(json.dumps({"contract": CONTRACT, "tables": pinned()}, indent=2) + "\n")
