"""A stored audit log against every change that somebody who may write the storage can make to its Parquet file."""

import datetime as dt
import hashlib
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from recorded_place import PLACE, recorded, suite

from spancheck_pipeline.api.audit_logs import record_of_row
from spancheck_pipeline.api.auditing import export_log
from spancheck_pipeline.api.auditing_place import verify_place
from spancheck_pipeline.api.reporting import report_place
from spancheck_pipeline.api.review_subjects import subjects
from spancheck_pipeline.decision.audit import AuditHead, chained, entry_of
from spancheck_pipeline.decision.audit_chain import Chain
from spancheck_pipeline.errors import CorruptFileError, ForeignFileError
from spancheck_pipeline.evidence.canonical import canonical_json, digest
from spancheck_pipeline.storage.store import Store
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Store:
    return recorded(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def store(whole, tmp_path) -> Store:
    shutil.copytree(whole.root, tmp_path / "storage")
    return Store(tmp_path / "storage")


def rewrite(store, change, table=AUDIT_LOG) -> None:
    """Change rows and metadata, and make the content digest again, as somebody who knows the package does."""
    path = store.path(PLACE, table)
    file = pq.ParquetFile(path)
    said = {key.decode(): value.decode() for key, value in file.metadata.metadata.items() if key != b"ARROW:schema"}
    rows, said = change(file.read().to_pylist(), said)
    lines = hashlib.sha256()
    for row in rows:
        dated = {k: v.isoformat() if isinstance(v, dt.datetime) else v for k, v in row.items()}
        lines.update(canonical_json(dated).encode() + b"\n")
    said["content_digest"] = digest({"rows": lines.hexdigest(), "identity": json.loads(said["inputs"])})
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema.with_metadata(said)), path)


def rows_changed(change):
    def apply(rows, said):
        return change(rows), said

    return apply


def forged(rows, said):
    """Let every answer pass, and chain the whole log anew."""
    for row in rows:
        for score in row["scores"]:
            score["outcome"] = "pass" if score["outcome"] == "fail" else score["outcome"]
    head = AuditHead.model_validate_json(said["document"])
    chain = Chain(bytes.fromhex(head.chain.key))
    head = chained(head.model_copy(update={"chain": None}), chain)
    for row in rows:
        entry, _ = entry_of(record_of_row(row), chain)
        row["previous_digest"], row["record_digest"] = entry["chain"]["previous"], entry["chain"]["digest"]
    return rows, said | {"document": json.dumps(head.model_dump(mode="json"))}


def test_a_log_that_was_rewritten_in_the_same_words_is_another_file_and_has_no_other_fault(store):
    assert verify_place(store, PLACE).faults == ()

    rewrite(store, lambda rows, said: (rows, said))

    found = verify_place(store, PLACE)
    assert found.checked.ok
    (fault,) = found.faults
    assert "has other bytes than were sealed, though its content is the same" in fault


def test_a_forged_log_is_found_by_its_seal_and_by_the_scores_that_it_was_made_from(store):
    rewrite(store, forged)

    faults = verify_place(store, PLACE).faults

    assert "not the log that was sealed" in faults[0]
    assert any("record 3 (case 'q1', epoch 0): its score by citation_accuracy is not the one in" in f for f in faults)


def test_a_forged_log_does_not_escape_its_seal_by_saying_another_revision(store):
    rewrite(store, lambda rows, said: forged(rows, said | {"revision": "99"}))

    faults = verify_place(store, PLACE).faults

    assert "metadata revision 99, has no seal (seals lie there of revision 1)" in faults[0]
    assert any("its score by citation_accuracy is not the one in" in fault for fault in faults)


def test_a_log_whose_seal_was_deleted_does_not_verify_unless_its_head_is_known_from_elsewhere(store):
    head = verify_place(store, PLACE).checked.head
    for path in Path(store.root, "seals").rglob("*.json"):
        path.unlink()

    assert not verify_place(store, PLACE).ok
    assert verify_place(store, PLACE, head=head).ok


def test_an_older_log_in_the_place_of_a_later_one_is_found_by_the_later_seal(store):
    from recorded_place import GRADERS

    from spancheck_pipeline.api.stored import grade_place
    from spancheck_pipeline.grading.graders import build_graders

    first = Path(store.path(PLACE, AUDIT_LOG)).read_bytes()
    grade_place(store, PLACE, suite(min_pass_rate={"no_pii": 0.5}), build_graders(GRADERS), decided_by="you")
    assert verify_place(store, PLACE).ok
    Path(store.path(PLACE, AUDIT_LOG)).write_bytes(first)

    assert any("revision 2 was sealed after this one, 1" in fault for fault in verify_place(store, PLACE).faults)


def test_an_answer_that_is_not_the_captured_one_is_named(store):
    def other(rows, said):
        rows[2]["answer"] = "Another answer."
        return forged(rows, said)

    rewrite(store, other)

    faults = verify_place(store, PLACE).faults
    assert any(f"record 3 (case 'q1', epoch 0): its answer is not the one in {store.path(PLACE, CAPTURED_RUN)}" in f
               for f in faults)  # fmt: skip


def _otherwise(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, dt.datetime):
        return value + dt.timedelta(seconds=1)
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, dict):
        name = next(iter(value))
        return {**value, name: _otherwise(value[name])}
    if isinstance(value, list):
        return value[:-1]
    raise AssertionError(type(value))


@pytest.mark.parametrize("column", AUDIT_LOG.schema.names)
def test_a_changed_cell_of_any_column_is_a_changed_record(store, column):
    number = []

    def change(rows):
        index = next((i for i, row in enumerate(rows) if i and row[column] not in (None, [], {})), None)
        if index is not None:
            number.append(index + 1)
            rows[index][column] = _otherwise(rows[index][column])
        return rows

    rewrite(store, rows_changed(change))

    found = verify_place(store, PLACE)
    if not number:
        assert column in EMPTY, "nobody tests this column"
        return
    assert not found.ok
    # A digest that names another record before it is a matter of place, not of one record alone.
    assert found.checked.fault.number in {number[0], number[0] - 1}
    if column != "previous_digest":
        assert (found.checked.fault.what, found.checked.fault.number) == ("changed", number[0])


EMPTY = {
    "history", "cluster", "expected", "expected_sources", "criteria", "answerable", "verdicts", "served_model",
    "input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "reported_cost_usd",
    "reported_latency_ms", "cost_usd", "abstained", "finish_reason", "dispositions",
}  # fmt: skip
"""Columns without a value in the recorded place."""


@pytest.mark.parametrize("name", ["run_id", "gate", "contains_text", "inputs", "revision"])
def test_what_a_log_says_of_itself_is_compared_with_its_header(store, name):
    def change(rows, said):
        value = {"revision": "7", "inputs": '{"cases":"0"}'}.get(name, said[name] + "1")
        return rows, said | {name: value}

    rewrite(store, change)

    found = verify_place(store, PLACE)
    assert found.checked.ok, "no record was changed"
    assert any(name in fault and "metadata" in fault for fault in found.faults)


@pytest.mark.parametrize(("name", "value"), [
    ("suite", "other"), ("place", "audit_log/suite=small/date=2026-03-15"), ("place", "audit_log/suite=other/<b>"),
])  # fmt: skip
def test_a_log_that_names_another_place_is_not_read_by_anybody(store, name, value):
    rewrite(store, lambda rows, said: (rows, said | {name: value}))

    (fault,) = verify_place(store, PLACE).faults
    assert f"lies at {PLACE}, and is the audit_log of" in fault
    assert "<b>" not in fault
    with pytest.raises(ForeignFileError):
        report_place(store, PLACE)


@pytest.mark.parametrize(("change", "what", "number"), [
    (lambda rows: rows[:3] + rows[4:], "removed", 4),
    (lambda rows: rows[1:], "removed", 1),
    (lambda rows: [*rows[:4], rows[1], *rows[4:]], "added", 5),
    (lambda rows: [*rows[:2], rows[6], *rows[3:6], rows[2], rows[7]], "moved", 3),
    (lambda rows: rows[:5], "truncated", 6),
])  # fmt: skip
def test_rows_that_were_removed_added_and_moved_are_told_from_changed_ones(store, change, what, number):
    rewrite(store, rows_changed(change))

    fault = verify_place(store, PLACE).checked.fault

    assert (fault.what, fault.number) == (what, number)


def no_record(rows, said):
    rows[4]["meta_json"] = "{"
    rows[4]["scores"][0]["outcome"] = "fine"
    return rows, said


def test_a_cell_that_cannot_be_read_is_a_changed_record_and_a_message_to_everybody_else(store, tmp_path):
    rewrite(store, no_record)

    fault = verify_place(store, PLACE).checked.fault
    assert (fault.what, fault.number, fault.case_id) == ("changed", 5, "q2")
    for reading in (
        lambda: export_log(store, PLACE, tmp_path / "log.json"),
        lambda: report_place(store, PLACE),
        lambda: list(subjects(store, PLACE)),
    ):
        with pytest.raises(CorruptFileError, match="audit verify"):
            reading()
    assert not (tmp_path / "log.json").exists()


def test_a_header_that_is_none_is_said(store, tmp_path):
    rewrite(store, lambda rows, said: (rows, said | {"document": said["document"][:90]}))

    (fault,) = verify_place(store, PLACE).faults
    assert "its head is none" in fault


def test_a_damaged_file_that_the_log_was_made_from_is_a_fault_of_that_file(store):
    path = Path(store.path(PLACE, CAPTURED_RUN))
    path.write_bytes(path.read_bytes()[:500])

    found = verify_place(store, PLACE)
    assert found.checked.ok, "the record itself is whole"
    (fault,) = found.faults
    assert fault.startswith(f"{path}: not a readable Parquet file")
    assert fault.endswith("Keep it as it is, and restore it from a backup")
