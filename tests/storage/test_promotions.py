import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spancheck_pipeline.decision.promotion import Promotion, PromotionKey
from spancheck_pipeline.errors import ContractError, CorruptFileError, StorageError, UsageError
from spancheck_pipeline.storage.promotions import promotions, read_promotion, record_promotion
from spancheck_pipeline.storage.store import Night, Store


def promotion(date="2026-03-02", **changes):
    facts = {
        "kind": "last_good", "number": 1, "suite": "small", "date": date, "run_id": "r", "captured_run": "c",
        "cases": "k", "gate": "g", "decision_revision": 1, "answer": "PASS", "promoted_by": "anna", "note": "",
        "promoted_at": dt.datetime(2026, 3, 2, 4, tzinfo=dt.UTC),
    }  # fmt: skip
    return Promotion(**{**facts, **changes})


def file(store: Store, name: str) -> Path:
    return Path(store.root) / "baselines" / "suite=small" / "kind=last_good" / name


def test_promotions_are_numbered_listed_by_their_names_and_read_again(tmp_path):
    store = Store(tmp_path)

    first = record_promotion(store, promotion("2026-03-02", note="na\u00efve \u2603"))
    second = record_promotion(store, promotion("2026-03-01"))

    assert (first.number, second.number) == (1, 2)
    assert promotions(store, "small", "last_good") == (PromotionKey(1, "2026-03-02"), PromotionKey(2, "2026-03-01"))
    assert promotions(store, "small", "release") == ()
    assert read_promotion(store, "small", "last_good", PromotionKey(1, "2026-03-02")) == first
    assert json.loads(file(store, "00001_2026-03-02.json").read_text(encoding="utf-8"))["contract"] == 1


def test_recording_never_touches_what_is_recorded(tmp_path):
    store = Store(tmp_path)
    record_promotion(store, promotion())
    before = file(store, "00001_2026-03-02.json").read_bytes()

    record_promotion(store, promotion(answer="INCONCLUSIVE"))

    assert file(store, "00001_2026-03-02.json").read_bytes() == before
    assert len(promotions(store, "small", "last_good")) == 2


def test_promotions_at_the_same_moment_get_numbers_of_their_own(tmp_path):
    store = Store(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        numbers = [made.number for made in pool.map(lambda _: record_promotion(store, promotion()), range(16))]

    assert sorted(numbers) == list(range(1, 17))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ('{"contract": 7}', ContractError),
        ("[]", ContractError),
        ("{", CorruptFileError),
        ('{"contract": 1, "kind": "last_good"}', CorruptFileError),
        ("\ud800", CorruptFileError),
    ],
)
def test_a_file_that_is_no_promotion_is_refused(tmp_path, content, error):
    store = Store(tmp_path)
    record_promotion(store, promotion())
    file(store, "00001_2026-03-02.json").write_bytes(content.encode("utf-8", "surrogatepass"))

    with pytest.raises(error):
        read_promotion(store, "small", "last_good", PromotionKey(1, "2026-03-02"))


def test_files_of_others_in_the_folder_are_passed_over(tmp_path):
    store = Store(tmp_path)
    record_promotion(store, promotion())
    file(store, "notes.json").write_text("{}")

    assert promotions(store, "small", "last_good") == (PromotionKey(1, "2026-03-02"),)


def test_a_name_cannot_leave_the_folder(tmp_path):
    with pytest.raises(ValueError, match="is not a name"):
        promotions(Store(tmp_path), "../x", "release")
    with pytest.raises(UsageError):
        Night("small", "../2026")


def test_a_storage_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "root").write_text("a file stands where the folder should be")

    with pytest.raises(StorageError):
        record_promotion(Store(tmp_path / "root"), promotion())


def test_other_file_systems_keep_promotions_too():
    store = Store("memory://baselines-test")
    made = record_promotion(store, promotion())

    assert read_promotion(store, "small", "last_good", promotions(store, "small", "last_good")[0]) == made
