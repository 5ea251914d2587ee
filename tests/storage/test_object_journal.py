"""The journal on object storage: segments that are whole or not there, and count for one holder only."""

import json
import time
from concurrent.futures import wait

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from object_place import bucket, header, row

from spancheck_pipeline.errors import (
    CaptureRefusedError,
    ContractError,
    CorruptFileError,
    LockedError,
    MissingDataError,
    StorageError,
)
from spancheck_pipeline.storage import object_lease
from spancheck_pipeline.storage.object_journal import Flush, ObjectJournal
from spancheck_pipeline.storage.object_lease import ObjectLease
from spancheck_pipeline.storage.object_segments import read_object_header, segments

AT_ONCE = Flush(calls=1, seconds=0)


@pytest.fixture(autouse=True)
def _no_margin(monkeypatch):
    monkeypatch.setattr(object_lease, "_MARGIN_S", 0.0)


class Place:
    """One place of a bucket: its leases and journals."""

    def __init__(self):
        self.files = bucket()
        self.folder = f"{self.files.root}/_journal/place/capture"

    def lease(self, length_s=30.0):
        return ObjectLease(self.files, f"{self.files.root}/_locks/place/capture", length_s=length_s)

    def journal(self, lease, flush=AT_ONCE, set_aside_other=False, **changes):
        return ObjectJournal(
            self.files, self.folder, header(**changes), lease=lease, flush=flush, set_aside_other=set_aside_other
        )

    def names(self):
        return self.files.names(self.folder)


@pytest.fixture
def place():
    return Place()


def write(journal, *rows, pass_number=1):
    for item in rows:
        journal.append(item, pass_number=pass_number).result(timeout=10)


def test_a_resumed_journal_has_the_rows_and_the_run_of_the_first_session(place):
    with place.lease() as lease:
        first = place.journal(lease)
        assert not first.resumed
        write(first, row("a"), row("b", answer="é\u2028\u0000\r"))
        first.close()
    with place.lease() as lease:
        again = place.journal(lease, run_id="run-2")
        assert again.resumed
        assert again.header == header()
        assert list(again.rows([("b", 0), ("a", 0)])) == [row("b", answer="é\u2028\u0000\r"), row("a")]
        assert again.state(("a", 0)).answered
        assert again.state(("c", 0)) is None
        with pytest.raises(MissingDataError, match="case 'zzz'"):
            list(again.rows([("zzz", 0)]))
        assert read_object_header(place.files, place.folder) == header()
        again.discard()
    assert place.names() == []
    assert read_object_header(place.files, place.folder) is None


def test_rows_share_a_segment_as_far_as_the_flush_allows(place):
    with place.lease() as lease:
        journal = place.journal(lease, Flush(calls=3, seconds=600))
        futures = [journal.append(row(f"q{n}"), pass_number=1) for n in range(3)]
        wait(futures, timeout=10)
        assert [future.result() for future in futures] == [None] * 3
        last = journal.append(row("q3"), pass_number=1)
        time.sleep(0.05)
        assert not last.done()
        assert journal.state(("q3", 0)) is None
        journal.flush()
        assert last.done()
        journal.close()
    # Segment 0 says what the journal is about; then one of three rows and one of a single row.
    assert len(place.names()) == 3


def test_a_row_does_not_wait_longer_than_the_flush_says(place):
    with place.lease() as lease:
        journal = place.journal(lease, Flush(calls=1000, seconds=0.1))
        started = time.monotonic()
        write(journal, row("a"))
        assert 0.05 < time.monotonic() - started < 5
        journal.close()


def test_every_segment_says_its_contract_and_that_it_contains_text(place):
    with place.lease() as lease:
        journal = place.journal(lease)
        write(journal, row("a"))
        journal.close()
    for name in place.names():
        first = json.loads(place.files.read(f"{place.folder}/{name}").splitlines()[0])
        assert (first["contract"], first["contains_text"], first["token"]) == (1, True, 1)


def test_what_a_former_holder_writes_after_it_was_overtaken_fails_and_counts_for_nobody(place):
    stale_lease = place.lease(length_s=0.2)
    stale_lease.acquire()
    stale = place.journal(stale_lease)
    write(stale, row("a"))
    stale_lease._stop.set()  # it falls silent, for example suspended, and comes back later
    stale_lease._renewer.join()

    with place.lease() as lease:
        heir = place.journal(lease)
        assert heir.recorded_keys() == (("a", 0),)
        with pytest.raises(LockedError, match="taken over"):
            write(stale, row("late"))
        with pytest.raises(LockedError):
            write(stale, row("later"))
        write(heir, row("b"))
        heir.close()
    with pytest.raises(LockedError):
        stale_lease.check()
    with place.lease() as lease:
        third = place.journal(lease)
        assert sorted(third.recorded_keys()) == [("a", 0), ("b", 0)]
        stale.close()
        third.discard()
    assert place.names() == []


def test_a_former_holder_that_discards_removes_nothing_of_its_heir(place):
    stale_lease = place.lease(length_s=0.2)
    stale_lease.acquire()
    stale = place.journal(stale_lease)
    write(stale, row("a"))
    stale_lease._stop.set()
    stale_lease._renewer.join()
    with place.lease() as lease:
        heir = place.journal(lease)
        before = place.names()
        stale.discard()
        assert place.names() == before
        heir.close()


def test_a_journal_of_another_run_is_refused_or_set_aside(place):
    with place.lease() as lease:
        journal = place.journal(lease)
        write(journal, row("a"))
        journal.close()
    with place.lease() as lease:
        with pytest.raises(CaptureRefusedError, match="epochs 1 there, 2 now"):
            place.journal(lease, epochs=2)
        other = place.journal(lease, epochs=2, set_aside_other=True)
        assert not other.resumed
        assert other.recorded_keys() == ()
        other.close()
    assert len(place.files.names(f"{place.folder}.1.aside")) == 2
    with place.lease() as lease:
        assert place.journal(lease, epochs=2).resumed


def test_a_segment_that_is_missing_or_damaged_is_refused_wherever_it_is_cut(place):
    with place.lease() as lease:
        journal = place.journal(lease)
        write(journal, row("a"), row("b"))
        journal.close()
    path = f"{place.folder}/{place.names()[1]}"
    whole = place.files.read(path)
    with place.lease() as lease:
        for length in range(0, len(whole), max(1, len(whole) // 20)):
            place.files.put(path, whole[:length])
            if whole[:length].endswith(b"\n"):
                continue
            with pytest.raises(CorruptFileError):
                place.journal(lease)
        place.files.remove([path])
        with pytest.raises(CorruptFileError, match="is missing; restore it"):
            place.journal(lease)
        assert place.journal(lease, set_aside_other=True).recorded_keys() == ()


def test_a_segment_of_another_contract_is_refused_naming_both_numbers(place):
    with place.lease() as lease:
        place.journal(lease).close()
        path = f"{place.folder}/{place.names()[0]}"
        place.files.put(path, b'{"contract": 7}\n')
        with pytest.raises(ContractError, match="contract 7"):
            place.journal(lease)


def test_a_failed_write_fails_its_rows_and_all_later_ones_and_keeps_the_earlier(place, monkeypatch):
    with place.lease() as lease:
        journal = place.journal(lease)
        write(journal, row("a"))

        def away(*_args, **_more):
            raise ConnectionResetError

        monkeypatch.setattr(type(place.files.filesystem), "pipe_file", away)
        with pytest.raises(StorageError, match="ConnectionResetError"):
            write(journal, row("b"))
        monkeypatch.undo()
        with pytest.raises(StorageError):
            write(journal, row("c"))
        assert journal.recorded_keys() == (("a", 0),)
        journal.close()
    with place.lease() as lease:
        assert place.journal(lease).recorded_keys() == (("a", 0),)


@settings(max_examples=25)
@given(
    sessions=st.lists(
        st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), max_size=6), min_size=1, max_size=4
    )
)
def test_over_any_number_of_sessions_the_latest_row_of_each_key_counts(sessions):
    place = Place()
    expected = {}
    for number, rows in enumerate(sessions):
        with place.lease() as lease:
            journal = place.journal(lease, Flush(calls=2, seconds=600))
            for position, (case_id, epoch) in enumerate(rows):
                item = row(case_id, epoch, answer=f"{number}-{position}")
                journal.append(item, pass_number=1)
                expected[item.key] = item
            journal.close()
    with place.lease() as lease:
        journal = place.journal(lease)
        assert {item.key: item for item in journal.rows(journal.recorded_keys())} == expected
        journal.discard()
    assert segments(place.files, place.folder) == []
