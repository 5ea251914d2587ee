"""Publishing on object storage: a revision is committed by creating it once, and the folders follow."""

import threading
import uuid

import pytest
from scenario import case

from spancheck_pipeline.errors import LockedError, MissingDataError, StorageError
from spancheck_pipeline.storage.publication import ObjectPublisher
from spancheck_pipeline.storage.rows import case_to_row
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CASES

NIGHT = Night("leases", "2026-03-14")


@pytest.fixture
def store():
    return Store(f"memory://bucket-{uuid.uuid4().hex}")


def publish(store, *questions, place=NIGHT, **more):
    rows = [case_to_row(case(f"q{i}", text), i) for i, text in enumerate(questions)]
    return store.publish(place, CASES, iter(rows), identity={}, metadata={}, **more)


def contents(store):
    return [[row["input"] for row in file.rows()] for file in store.revisions(NIGHT, CASES)]


def shown(store):
    """Return what a reader of the folders gets, who knows nothing of the history."""
    with store.filesystem.open(store.path(NIGHT, CASES), "rb") as handle:
        import pyarrow.parquet as pq

        return pq.read_table(handle)["input"].to_pylist()


class Dies(BaseException):
    """A kill."""


def test_a_superseded_revision_stays_and_readers_of_the_folders_get_the_latest(store):
    publish(store, "a")
    assert publish(store, "b").revision == 2
    again = publish(store, "b")

    assert (again.revision, again.is_new) == (2, False)
    assert contents(store) == [["a"], ["b"]]
    assert shown(store) == ["b"]
    assert store.dates("leases", CASES) == ("2026-03-14",)


@pytest.mark.parametrize("seam", ["create_from", "put_from"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_writer_that_dies_at_any_step_loses_nothing_and_shows_no_half_file(store, monkeypatch, seam, when):
    publish(store, "a")
    files = type(store._objects)
    real = getattr(files, seam)

    def dies(self, *args):
        if when == "after":
            real(self, *args)
        raise Dies

    monkeypatch.setattr(files, seam, dies)
    with pytest.raises(Dies):
        publish(store, "b")
    monkeypatch.undo()

    committed = (seam, when) != ("create_from", "before")
    current = ["b"] if committed else ["a"]
    assert [row["input"] for row in store.open(NIGHT, CASES).rows()] == current
    assert contents(store) == ([["a"], ["b"]] if committed else [["a"]])
    publish(store, "b")
    assert contents(store) == [["a"], ["b"]]
    assert shown(store) == ["b"]


def test_a_first_revision_that_is_committed_is_there_although_its_copy_is_not(store, monkeypatch):
    def dies(*_args):
        raise Dies

    monkeypatch.setattr(type(store._objects), "put_from", dies)
    with pytest.raises(Dies):
        publish(store, "a")
    monkeypatch.undo()

    assert store.exists(NIGHT, CASES)
    assert store.dates("leases", CASES) == ("2026-03-14",)
    assert store.dataset([NIGHT], CASES).to_table(columns=["date", "input"]).to_pylist() == [
        {"date": "2026-03-14", "input": "a"}
    ]


def test_of_two_who_want_a_number_one_gets_it_and_the_other_the_next(store, monkeypatch):
    publish(store, "a")
    real = ObjectPublisher.replace
    first = threading.Event()

    def overtaken(self, *args, **more):
        if not first.is_set():
            first.set()
            publish(Store(f"memory://{store.root}"), "other")
        return real(self, *args, **more)

    monkeypatch.setattr(ObjectPublisher, "replace", overtaken)
    mine = publish(store, "mine", document=lambda revision, _digest: {"revision": revision})

    assert mine.revision == 3
    assert store.open(NIGHT, CASES).document() == {"revision": 3}
    assert contents(store) == [["a"], ["other"], ["mine"]]
    assert shown(store) == ["mine"]


def test_many_writers_at_once_lose_no_revision(store):
    def write(letter):
        for i in range(5):
            publish(Store(f"memory://{store.root}"), f"{letter}{i}")

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(texts[0] for texts in contents(store)) == sorted(f"{letter}{i}" for letter in "abc" for i in range(5))
    assert shown(store) == contents(store)[-1]


def test_who_has_lost_the_place_publishes_nothing(store):
    def lost():
        raise LockedError("taken over")

    with pytest.raises(LockedError):
        publish(store, "a", check=lost)
    with pytest.raises(MissingDataError):
        store.open(NIGHT, CASES)


def test_partitions_copied_from_a_disk_are_read_and_superseded(tmp_path):
    local = Store(tmp_path)
    publish(local, "a")
    publish(local, "b")
    store = Store(f"memory://bucket-{uuid.uuid4().hex}")
    for path in tmp_path.glob("**/*.parquet"):
        store.filesystem.pipe_file(f"{store.root}/{path.relative_to(tmp_path)}", path.read_bytes())

    assert contents(store) == [["a"], ["b"]]
    assert publish(store, "c").revision == 3
    assert contents(store) == [["a"], ["b"], ["c"]]


def test_a_store_that_fails_says_where_and_holds_no_text_of_its_client(store, monkeypatch):
    def away(*_args, **_more):
        raise ConnectionResetError("secret text")

    monkeypatch.setattr(type(store.filesystem), "pipe_file", away)
    with pytest.raises(StorageError, match="cannot be written \\(ConnectionResetError\\)") as raised:
        publish(store, "a")
    assert "secret" not in str(raised.value)


def test_a_package_that_is_missing_is_named_with_its_extra():
    with pytest.raises(StorageError, match=r"install it: spancheck-pipeline\[s3\], \[gcs\] or \[azure\]"):
        Store("unheardof://bucket/x")
