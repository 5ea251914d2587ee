"""Ways to make a stored record say something else and have it look as it was written: each is refused or named."""

import datetime as dt
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from recorded_place import CASES, GRADERS, suite
from two_nights import A, B, regrade, sign, two_nights

from spancheck_pipeline.api.audit_logs import open_audit_log, read_records
from spancheck_pipeline.api.auditing import export_log, read_log
from spancheck_pipeline.api.auditing_checks import verify_file
from spancheck_pipeline.api.auditing_history import decision_history
from spancheck_pipeline.api.auditing_place import verify_place
from spancheck_pipeline.api.baselines import baselines_before
from spancheck_pipeline.api.erased import gone_dates
from spancheck_pipeline.api.promoting import promote_place
from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.api.stored import grade_place, run_place
from spancheck_pipeline.api.trending import read_trend
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.errors import CaptureRefusedError, CorruptFileError, ForeignFileError, MissingDataError
from spancheck_pipeline.grading.graders import build_graders
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import (
    AUDIT_LOG,
    CAPTURED_RUN,
    COMPARISON,
    GATE,
    SCORECARD,
    SCORES,
)
from spancheck_pipeline.storage.tables import (
    CASES as CASES_TABLE,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Store:
    return two_nights(tmp_path_factory.mktemp("nights"))


@pytest.fixture
def store(whole, tmp_path) -> Store:
    shutil.copytree(whole.root, tmp_path / "storage")
    return Store(tmp_path / "storage")


def path(store, place, table, grader=None) -> Path:
    return Path(store.path(place, table, grader))


def faults(store, place=A) -> str:
    return "\n".join(verify_place(store, place).faults)


# -- a file of another place -------------------------------------------------------------------------------------


def test_a_capture_of_another_night_is_refused_by_whoever_reads_it_and_named_by_verify(store):
    shutil.copy(path(store, A, CAPTURED_RUN), path(store, B, CAPTURED_RUN))

    said = faults(store, B)

    assert f"lies at {B}, and is the captured_run of {A}, as it says itself" in said
    assert "--regrade" not in said
    with pytest.raises(ForeignFileError, match="copied or moved here"):
        regrade(store, B)


@pytest.mark.parametrize("table", [CASES_TABLE, CAPTURED_RUN, SCORECARD, COMPARISON, GATE, AUDIT_LOG],
                         ids=lambda table: table.name)  # fmt: skip
def test_two_nights_cannot_swap_a_table(store, table):
    first, second = path(store, A, table), path(store, B, table)
    mine = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(mine)

    assert f"lies at {A}, and is the {table.name} of {B}" in faults(store, A)
    assert f"lies at {B}, and is the {table.name} of {A}" in faults(store, B)
    with pytest.raises(ForeignFileError):
        regrade(store, A)


def test_scores_of_one_grader_are_not_read_as_those_of_another(store):
    shutil.copy(path(store, A, SCORES, "no_pii"), path(store, A, SCORES, "citation_accuracy"))

    assert f"lies at {A}, grader citation_accuracy, and is the scores of {A}, grader no_pii" in faults(store)


def test_a_night_that_never_happened_is_not_made_from_the_files_of_another(store, tmp_path):
    never = Night("small", "2026-03-16")
    for table in (CASES_TABLE, CAPTURED_RUN):
        path(store, never, table).parent.mkdir(parents=True)
        shutil.copy(path(store, A, table), path(store, never, table))

    with pytest.raises(ForeignFileError, match="2026-03-14"):
        grade_place(store, never, suite(), build_graders(GRADERS), decided_by="me")
    with pytest.raises(ForeignFileError, match="2026-03-14"):
        run_place(
            store, never, suite(), CASES, graders=build_graders(GRADERS), decided_by="me",
            load_target=lambda: load_target(suite().target, suite_folder=tmp_path),
        )  # fmt: skip


def test_a_file_without_a_place_is_known_by_its_own_document(store):
    """Files of an earlier version do not name their place; the manifest still says suite and date."""
    file = pq.ParquetFile(path(store, A, CAPTURED_RUN))
    said = {key: value for key, value in file.metadata.metadata.items() if key not in {b"ARROW:schema", b"place"}}
    rows = file.read()
    pq.write_table(rows.replace_schema_metadata(said), path(store, A, CAPTURED_RUN))
    assert store.open(A, CAPTURED_RUN).n_rows == len(rows)

    shutil.copy(path(store, A, CAPTURED_RUN), path(store, B, CAPTURED_RUN))
    with pytest.raises(ForeignFileError, match="captured_run of date 2026-03-14"):
        store.open(B, CAPTURED_RUN)


def test_a_storage_that_is_moved_or_gets_a_namespace_stays_as_it_was(store, tmp_path):
    (tmp_path / "bucket").mkdir()
    shutil.move(store.root, tmp_path / "bucket" / "team")

    moved = Store(tmp_path / "bucket", namespace="team")

    assert verify_place(moved, A).ok
    assert len(read_snapshot(moved, A)) == len(CASES)


def test_a_revision_in_the_place_of_another_one_is_named(store):
    regrade(store, A, min_pass_rate={"no_pii": 0.1})
    history = Path(store.history_folder(A, GATE))
    shutil.copy(history / "revision=00001" / "part-0.parquet", history / "revision=00002" / "part-0.parquet")

    assert f"lies at {A}, revision 2, and is the gate of revision 1" in faults(store)


def test_an_older_capture_that_is_put_back_and_decided_about_is_named_by_the_earlier_record(store, tmp_path):
    first = path(store, A, CAPTURED_RUN).read_bytes()
    (tmp_path / "target.py").write_text('def answer(question):\n    return "Another answer."\n')
    run_place(
        store, A, suite(), CASES, graders=build_graders(GRADERS), decided_by="me", mode="recapture",
        load_target=lambda: load_target(suite().target, suite_folder=tmp_path),
    )  # fmt: skip
    assert verify_place(store, A).ok
    path(store, A, CAPTURED_RUN).write_bytes(first)
    regrade(store, A)

    assert "log 3: " in faults(store)
    assert "no revision with digest" in faults(store)


# -- dispositions ------------------------------------------------------------------------------------------------


def batches(store, place=A) -> list[Path]:
    return sorted(Path(store.root, "adjudications").glob(f"suite=small/date={place.date}/batch=*"))


def test_a_record_says_who_waived_what_and_why(store):
    records = list(read_records(open_audit_log(store, A)))

    signed = [(record.case.id, item) for record in records for item in record.dispositions]
    # Question 1 fails its one citation in both epochs; nothing else is signed.
    assert [case_id for case_id, _ in signed] == ["q1", "q1"]
    item = signed[0][1]
    assert (item.grader, item.disposition, item.author) == ("citation_accuracy", "waived", "R. Viewer")
    assert (item.reason, item.is_counted) == ("Agreed on 2026-03-14.", True)
    assert item.expires_at.isoformat() == "2100-01-01T00:00:00+00:00"


def test_an_export_carries_dispositions_and_a_redacted_one_neither_author_nor_reason(store, tmp_path):
    export_log(store, A, tmp_path / "whole.jsonl")
    export_log(store, A, tmp_path / "copy.jsonl", redact=frozenset({"pii", "answers"}))

    _, records = read_log(tmp_path / "whole.jsonl")
    assert sum(len(record.dispositions) for record in records) == 2
    text = (tmp_path / "copy.jsonl").read_text() + (tmp_path / "copy.jsonl.seal.json").read_text()
    assert "waived" in text
    for gone in ("R. Viewer", "Agreed on", batches(store)[0].name.removeprefix("batch=")):
        assert gone in (tmp_path / "whole.jsonl").read_text()
        assert gone not in text
    for name in ("whole.jsonl", "copy.jsonl"):
        assert verify_file(tmp_path / name).ok


def test_dispositions_that_are_gone_or_rewritten_after_the_decision_are_named(store):
    (batch,) = batches(store)
    file = batch / "part-0.parquet"
    rows = pq.ParquetFile(file).read()
    changed = rows.set_column(rows.schema.get_field_index("author"), "author", pa.array(["Somebody"] * len(rows)))
    pq.write_table(changed, file)
    assert f"{file}: its content ({len(rows)} rows) is not what its content digest is of" in faults(store)

    shutil.rmtree(batch)
    assert "no revision with digest" in faults(store)
    assert "adjudications" in faults(store)


def test_dispositions_that_are_signed_after_the_decision_are_no_fault_of_it(store, tmp_path):
    sign(store, A, tmp_path / "r.csv", reason="Looked at again.")

    assert len(batches(store)) == 2
    assert verify_place(store, A).faults == ()


# -- what is gone ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tables", [["audit_log"], ["*", "*/*", "_history/*", "_history/*/*"]], ids=["log", "all"])
def test_an_erased_night_is_gone_and_not_unheard_of(store, tables):
    for pattern in tables:
        for folder in Path(store.root).glob(f"{pattern}/suite=small/date={B.date}"):
            if "seals" not in folder.parts:
                shutil.rmtree(folder)

    found = verify_place(store, B)

    assert found.faults[0].startswith(f"{B}: a log was sealed here at ")
    assert "and is gone" in found.faults[0]
    assert gone_dates(store, "small") == (B.date,)
    assert read_trend(store, "small").gone == (B.date,)
    with pytest.raises(MissingDataError, match="a log was sealed here at"):
        open_audit_log(store, B)


def test_a_night_whose_seals_are_gone_too_is_known_by_its_promotion(store):
    for folder in Path(store.root).rglob(f"suite=small/date={B.date}"):
        shutil.rmtree(folder)

    assert verify_place(store, B).faults[0] == (
        f"{B}: this night was promoted to a baseline, and its record is gone, or was never written"
    )
    assert gone_dates(store, "small") == (B.date,)


def test_an_erased_night_is_not_captured_again_as_if_it_had_never_been(store, tmp_path):
    for folder in Path(store.root).rglob(f"suite=small/date={B.date}"):
        if not {"seals", "_locks"} & {*folder.parts}:
            shutil.rmtree(folder)
    (tmp_path / "target.py").write_text("def answer(question):\n    raise SystemExit('it was called')\n")

    with pytest.raises(CaptureRefusedError, match="captured and decided about"):
        run_place(
            store, B, suite(), CASES, graders=build_graders(GRADERS), decided_by="me",
            load_target=lambda: load_target(suite().target, suite_folder=tmp_path),
        )  # fmt: skip


def test_superseded_decisions_that_are_gone_are_gaps(store):
    regrade(store, A, min_pass_rate={"no_pii": 0.1})
    shutil.rmtree(Path(store.root, "_history", "gate"))

    assert "revisions 1–2 of gate are gone" in faults(store)
    assert decision_history(store, A)[0].missing_before == (1, 2)


def test_a_log_that_was_superseded_and_removed_is_gone(store):
    shutil.rmtree(store.history_folder(A, AUDIT_LOG))

    assert f"{A}: log 1 was sealed at" in faults(store)
    assert verify_place(store, A, as_decided=1).faults == (f"{A}: decision 1 was made, and its record is gone",)
    with pytest.raises(MissingDataError, match="neither decision 7 nor a record of it is kept"):
        verify_place(store, A, as_decided=7)


def test_a_file_that_nobody_wrote_is_named(store):
    shutil.copy(path(store, A, CAPTURED_RUN), path(store, A, CAPTURED_RUN).with_name("part-1.parquet"))

    assert "part-1.parquet is no file of this package" in faults(store)


def test_damage_in_one_file_hides_no_damage_in_another(store):
    for table in (CAPTURED_RUN, SCORECARD):
        path(store, A, table).write_bytes(path(store, A, table).read_bytes()[:200])
    path(store, A, CASES_TABLE).unlink()

    said = faults(store)

    assert all(f"{path(store, A, table)}: " in said for table in (CAPTURED_RUN, SCORECARD, CASES_TABLE))
    assert "recapture" not in said


# -- promotions, seals, messages ---------------------------------------------------------------------------------


def test_a_promotion_that_was_rewritten_is_not_the_one_that_was_sealed(store):
    (release,) = Path(store.root, "baselines/suite=small/kind=release").glob(f"*_{B.date}.json")
    release.write_text(release.read_text().replace("A. Person", "Somebody"))

    assert "promotion 2 (release) of small: is not what was sealed at" in faults(store)


def test_a_promotion_whose_writer_died_before_its_seal_is_sealed_by_the_next_one(store):
    (seal,) = Path(store.root, "seals/baselines/suite=small/kind=last_good").glob("00001_*")
    kept = seal.read_bytes()
    seal.unlink()
    assert "promotion 1 (last good) of small: has no seal" in faults(store)

    promote_place(store, A, at=dt.datetime.now(dt.UTC), by="nightly")

    assert verify_place(store, A).ok
    assert json.loads(seal.read_bytes())["digest"] == json.loads(kept)["digest"]


def test_a_promotion_in_the_place_of_another_is_not_read(store):
    first, second = sorted(Path(store.root, "baselines/suite=small/kind=release").glob("*.json"))
    second.write_bytes(first.read_bytes())

    with pytest.raises(CorruptFileError, match="is another promotion, by what it says itself"):
        baselines_before(store, "small", None)


def test_a_promotion_that_is_gone_is_named_by_its_seal(store):
    (release,) = Path(store.root, "baselines/suite=small/kind=release").glob(f"*_{B.date}.json")
    release.unlink()

    assert "promotion 2 (release) of small: is gone; its seal lies there" in faults(store)


def test_the_seal_of_another_night_is_none_of_this_one(store):
    (theirs,) = Path(store.root, "seals/audit_log/suite=small", f"date={B.date}").glob("00002_*")
    mine = Path(store.root, "seals/audit_log/suite=small", f"date={A.date}")
    shutil.copy(theirs, mine / theirs.name)

    assert f"{theirs.name}: is the seal of another log" in faults(store)


def test_a_head_of_an_earlier_record_is_not_that_of_the_current_one(store):
    earlier = verify_place(store, A, as_decided=1)

    assert earlier.ok
    assert "not in the head that was given" in verify_place(store, A, head=earlier.checked.head).faults[0]


def test_a_night_that_is_not_stored_names_the_nearest_ones(store):
    with pytest.raises(MissingDataError) as error:
        open_audit_log(store, Night("small", "2026-04-01"))

    assert str(error.value).endswith("; stored are 2026-03-14, 2026-03-15 (spancheck trend small shows them)")
