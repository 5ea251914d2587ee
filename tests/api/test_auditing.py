"""Stored audit logs: sealed, exported, redacted, and checked against every way of changing them."""

import datetime as dt
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from recorded_place import CASES, GRADERS, NAMES, PLACE, recorded, suite
from scenario import AT, DATE, PASSAGE, cited, output

import spancheck_pipeline as sc
from spancheck_pipeline.api.audit_logs import chain_head, open_audit_log, read_records
from spancheck_pipeline.api.auditing import export_earlier, export_log, read_log, seal_path_of
from spancheck_pipeline.api.auditing_checks import verify_file
from spancheck_pipeline.api.auditing_place import verify_place
from spancheck_pipeline.api.recording import record_place
from spancheck_pipeline.decision.audit_chain import Chain
from spancheck_pipeline.errors import ConfigError, ContractError, StorageError
from spancheck_pipeline.grading.graders import build_graders
from spancheck_pipeline.storage.rows import case_to_row
from spancheck_pipeline.storage.seals import seals
from spancheck_pipeline.storage.store import Store
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, GATE, SCORECARD, SCORES


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Store:
    """A recorded place that no test changes."""
    return recorded(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def store(whole, tmp_path) -> Store:
    """A copy of it, for tests that change it."""
    import shutil

    shutil.copytree(whole.root, tmp_path / "storage")
    return Store(tmp_path / "storage")


def test_a_stored_log_is_sealed_and_is_as_it_was_written(whole):
    found = verify_place(whole, PLACE)

    assert found.ok, found.faults
    assert found.checked.n_records == 8
    assert found.seal.head == found.checked.head == chain_head(whole, PLACE)
    assert (found.seal.revision, found.seal.date, found.seal.signature) == (1, DATE, None)


@pytest.mark.parametrize("name", ["log.json", "log.jsonl"])
def test_an_export_holds_the_stored_records_and_ends_in_the_stored_head(whole, tmp_path, name):
    done = export_log(whole, PLACE, tmp_path / name)

    head, records = read_log(tmp_path / name)
    stored = open_audit_log(whole, PLACE)
    assert list(records) == list(read_records(stored))
    assert head.model_dump(mode="json") == stored.document()
    assert done.head == chain_head(whole, PLACE)
    assert done.seal_path == seal_path_of(tmp_path / name)
    assert verify_file(tmp_path / name).ok


def test_a_passage_stands_once_in_an_export(whole, tmp_path):
    for name in ("log.json", "log.jsonl"):
        export_log(whole, PLACE, tmp_path / name)
        assert (tmp_path / name).read_text().count(f'"text": "{PASSAGE}"') == 1


def test_recording_the_same_again_changes_no_digest_and_writes_no_second_seal(store):
    before = store.open(PLACE, AUDIT_LOG)
    later = AT + dt.timedelta(days=1)

    again = record_place(store, PLACE, suite(), NAMES, created_at=later)

    assert not again.is_new
    assert again.content_digest == before.content_digest
    assert len(seals(store, PLACE, 1)) == 1


def test_a_log_whose_seal_was_never_written_is_sealed_the_next_time(store):
    for path in Path(store.root, "seals").rglob("*.json"):
        path.unlink()
    assert "has no seal (no seal of this place lies there)" in verify_place(store, PLACE).faults[0]

    record_place(store, PLACE, suite(), NAMES, created_at=AT)

    assert verify_place(store, PLACE).seal is not None


def test_a_new_decision_gets_a_record_with_a_key_and_a_seal_of_its_own_and_the_old_one_still_verifies(store):
    old = chain_head(store, PLACE)
    changed = suite(min_pass_rate={"no_pii": 0.5})
    from spancheck_pipeline.api.stored import grade_place

    grade_place(store, PLACE, changed, build_graders(GRADERS), decided_by="you")

    assert chain_head(store, PLACE) != old
    keys = {file.document()["chain"]["key"] for file in store.revisions(PLACE, AUDIT_LOG)}
    assert len(keys) == 2
    first = verify_place(store, PLACE, as_decided=1)
    assert (first.ok, first.checked.head) == (True, old)
    assert verify_place(store, PLACE, as_decided=2).ok


def test_a_log_whose_header_an_earlier_version_wrote_with_fewer_fields_is_recorded_anew(store):
    def change(rows, metadata):
        document = json.loads(metadata[b"document"])
        del document["calibration"]
        start = Chain(bytes.fromhex(document["chain"]["key"])).start(document)
        return rows, metadata | {b"document": json.dumps(document | {"chain": start.model_dump()}).encode()}

    rewrite(store, AUDIT_LOG, change)

    assert record_place(store, PLACE, suite(), NAMES, created_at=AT).revision == 2
    found = verify_place(store, PLACE)
    assert found.checked.ok
    assert found.faults == (f"{PLACE}, log 1: is not the log that was sealed; it was changed",), "by this very test"


# -- changed files ----------------------------------------------------------------------------------------------


def rewrite(store: Store, table, change, grader=None) -> None:
    """Change a stored file's rows or metadata in place, as somebody with the right to write can."""
    path = store.path(PLACE, table, grader)
    arrow = pq.read_table(path, partitioning=None)
    metadata = dict(arrow.schema.metadata or {})
    raw = pq.ParquetFile(path).metadata.metadata
    metadata |= {key: value for key, value in raw.items() if key != b"ARROW:schema"}
    rows = arrow.to_pylist()
    rows, metadata = change(rows, metadata)
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema.with_metadata(metadata)), path)


def test_a_changed_row_of_the_stored_log_is_named(store):
    def change(rows, metadata):
        rows[5]["answer"] = "Another answer."
        return rows, metadata

    rewrite(store, AUDIT_LOG, change)

    found = verify_place(store, PLACE)
    assert (found.checked.fault.number, found.checked.fault.case_id, found.checked.fault.epoch) == (6, "q2", 1)
    assert any("not what its content digest is of" in fault for fault in found.faults)


def test_a_changed_decision_in_the_stored_log_is_named(store):
    def change(rows, metadata):
        document = json.loads(metadata[b"document"])
        document["decision"]["answer"] = "PASS" if document["decision"]["answer"] != "PASS" else "FAIL"
        return rows, metadata | {b"document": json.dumps(document).encode()}

    rewrite(store, AUDIT_LOG, change)

    assert "the header was changed" in verify_place(store, PLACE).faults[0]


@pytest.mark.parametrize(
    ("table", "grader", "column"),
    [(CAPTURED_RUN, None, "answer"), (SCORES, "no_pii", "reason"), (SCORECARD, None, "n_pass"), (GATE, None, "answer")],
)
def test_a_changed_row_of_a_file_that_the_log_was_made_from_is_named(store, table, grader, column):
    def change(rows, metadata):
        rows[0][column] = 77 if isinstance(rows[0][column], int) else "changed"
        return rows, metadata

    rewrite(store, table, change, grader)

    found = verify_place(store, PLACE)
    assert len(found.faults) == 1
    assert store.path(PLACE, table, grader) in found.faults[0]
    assert found.checked.ok, "the log itself is whole"


def test_a_changed_document_in_a_files_metadata_is_named(store):
    def change(rows, metadata):
        document = json.loads(metadata[b"document"])
        document["answer"] = "PASS" if document["answer"] != "PASS" else "FAIL"
        return rows, metadata | {b"document": json.dumps(document).encode()}

    rewrite(store, GATE, change)

    assert "the decision in its metadata is not the one" in verify_place(store, PLACE).faults[0]


def test_a_log_that_was_written_anew_as_a_whole_does_not_fit_its_seal(store):
    kept = {path: path.read_bytes() for path in Path(store.root, "seals").rglob("*.json")}
    Path(store.path(PLACE, AUDIT_LOG)).unlink()
    record_place(store, PLACE, suite(), NAMES, created_at=AT)
    assert len(seals(store, PLACE, 1)) == 2

    both = verify_place(store, PLACE)
    assert any("two seals of revision 1" in fault for fault in both.faults)
    for path in Path(store.root, "seals").rglob("*.json"):
        if path not in kept:
            path.unlink()
    assert "not the log that was sealed" in verify_place(store, PLACE).faults[0]


# -- exported files ---------------------------------------------------------------------------------------------


def test_a_line_taken_out_of_an_exported_file_is_named(whole, tmp_path):
    path = tmp_path / "log.jsonl"
    export_log(whole, PLACE, path)
    lines = path.read_text().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if '"kind": "record"' in line][3]
    path.write_text("".join(lines[:at] + lines[at + 1 :]))

    assert verify_file(path).checked.fault.number == 4


@pytest.mark.parametrize("name", ["log.json", "log.jsonl"])
def test_a_file_that_is_cut_off_anywhere_is_named_where_it_ends(whole, tmp_path, name):
    export_log(whole, PLACE, tmp_path / name)
    content = (tmp_path / name).read_bytes()

    ends = [match.end() for match in re.finditer(rb'"withheld": {}}}', content)][-8:]  # lines: the header has one too
    assert len(ends) == 8
    cut = tmp_path / f"cut-{name}"
    seal_path_of(cut).write_bytes(seal_path_of(tmp_path / name).read_bytes())
    for n_whole, end in enumerate(ends[:-1], start=1):
        cut.write_bytes(content[: end + 40])
        fault = verify_file(cut).checked.fault
        assert (fault.what, fault.number) == ("truncated", n_whole + 1)


def test_a_file_that_is_cut_off_after_its_records_says_so(whole, tmp_path):
    export_log(whole, PLACE, tmp_path / "log.json")
    content = (tmp_path / "log.json").read_text()
    (tmp_path / "cut.json").write_text(content[: content.index('"texts"') + 60])

    fault = verify_file(tmp_path / "cut.json").checked.fault

    assert (fault.what, fault.number) == ("truncated", None)
    assert fault.detail.startswith("after all 8 records")


def test_a_file_that_another_tool_laid_out_anew_still_verifies(whole, tmp_path):
    export_log(whole, PLACE, tmp_path / "log.json")
    document = json.loads((tmp_path / "log.json").read_text())
    (tmp_path / "sorted.json").write_text(json.dumps(document, indent=4, sort_keys=True))

    assert verify_file(tmp_path / "sorted.json").ok


def test_a_redacted_export_ends_in_the_same_head_and_fits_the_same_seal(whole, tmp_path):
    for name in ("copy.json", "copy.jsonl"):
        export_log(whole, PLACE, tmp_path / name, redact=frozenset({"contexts", "answers"}))

        found = verify_file(tmp_path / name, head=chain_head(whole, PLACE))
        assert found.ok, found.faults
        assert found.checked.redacted == ("contexts", "answers")
        text = (tmp_path / name).read_text()
        assert PASSAGE not in text
        assert cited().answer not in text


def test_a_run_that_the_library_made_is_checked_too(tmp_path):
    sc.evaluate(CASES, lambda question: output("x")).save(tmp_path / "run.json")

    found = verify_file(tmp_path / "run.json")

    assert found.ok
    assert "neither a seal nor a head" in found.notes[0]


def test_a_1_0_document_is_refused_since_it_has_no_chain(whole, tmp_path):
    export_earlier(whole, PLACE, tmp_path / "old.json")

    with pytest.raises(ConfigError, match=r"schema 1\.0, which has no chain"):
        verify_file(tmp_path / "old.json")


def test_a_seal_that_gives_an_earlier_time_than_its_log_is_said(whole, tmp_path):
    export_log(whole, PLACE, tmp_path / "log.json")
    seal = json.loads(seal_path_of(tmp_path / "log.json").read_text())
    assert "the seal is not signed" in verify_file(tmp_path / "log.json").notes[0]
    seal_path_of(tmp_path / "log.json").write_text(json.dumps(seal | {"sealed_at": "2020-01-01T00:00:00Z"}))

    assert "put together later" in verify_file(tmp_path / "log.json").faults[0]


def test_what_is_no_chained_log_is_refused(whole, tmp_path):
    export_log(whole, PLACE, tmp_path / "log.json")
    document = json.loads((tmp_path / "log.json").read_text())
    bad = tmp_path / "bad.json"
    for content, error in [
        ({**document, "chain": None}, ConfigError), ({**document, "schema_version": "3.0"}, ContractError),
        ({**document, "contract": 9}, ContractError), ([], ConfigError), ({"schema_version": 2}, ConfigError),
    ]:  # fmt: skip
        bad.write_text(json.dumps(content))
        with pytest.raises(error):
            verify_file(bad)
    with pytest.raises(ConfigError):
        verify_file(tmp_path / "nowhere.json")


def test_a_failed_export_leaves_what_stood_there(whole, tmp_path, monkeypatch):
    path = tmp_path / "log.json"
    path.write_text("before")
    from spancheck_pipeline.storage.audit_files import LogWriter

    def full(self, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LogWriter, "entry", full)

    with pytest.raises(StorageError, match="No space"):
        export_log(whole, PLACE, path)
    assert path.read_text() == "before"
    assert [item.name for item in tmp_path.iterdir()] == ["log.json"]


# -- schema 1.0 -------------------------------------------------------------------------------------------------


def test_a_1_0_document_is_read_back_with_what_it_can_hold(whole, tmp_path):
    done = export_earlier(whole, PLACE, tmp_path / "old.json")

    run = sc.Run.load(tmp_path / "old.json")
    document = json.loads((tmp_path / "old.json").read_text())
    assert done.n_records == len(run) == 4, "the first epoch of each case"
    assert document["schema_version"] == "1.0"
    first = run.results[0]
    assert first.output.answer == cited().answer
    assert first.output.contexts[0].text == PASSAGE
    assert {g.grader: g.passed for g in first.grades}["citation_accuracy"] is True
    assert document["cases"][0]["citations"][0]["span_found"] is True
    assert run.results[3].error == "ValueError"
    # The failed call fails completion and is unmeasured by the others, as the recorded scores say.
    outcomes = [{g.grader: g.outcome for g in result.grades} for result in run.results]
    recorded = [r for r in read_records(open_audit_log(whole, PLACE)) if r.call.epoch == 0]
    assert outcomes == [{score.grader: score.outcome for score in record.scores} for record in recorded]
    assert outcomes[3]["completion"] == "fail"
    assert run.scorecard().document.headline.hallucination is None
    # 3 of 4 cases are measured by each of the three graders, and pass; completion has 3 of 4 as well.
    by_grader = document["summary"]["by_grader"]
    assert {name: figures["n"] for name, figures in by_grader.items()} == {
        "completion": 4, "citation_accuracy": 3, "no_pii": 3, "groundedness": 3,
    }  # fmt: skip


def test_the_stored_case_is_in_the_chain_as_it_was_asked():
    """Builders and tables agree on what a case is: a digest made before and after a table is the same."""
    assert case_to_row(CASES[0], 0)["meta_json"] == '{"n":0.5}'


def test_a_log_on_object_storage_is_recorded_sealed_and_checked(whole):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(f"{whole.root}/", "/audited/", recursive=True)
    try:
        store = Store("memory://audited")
        assert verify_place(store, PLACE).seal is not None
        memory.rm("/audited/seals", recursive=True)

        record_place(store, PLACE, suite(), NAMES, created_at=AT)

        assert verify_place(store, PLACE).checked.head == chain_head(whole, PLACE)
    finally:
        memory.rm("/audited", recursive=True)
