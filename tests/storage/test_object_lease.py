"""The lease of a place on object storage."""

import threading
import time

import fsspec
import pytest
from object_place import bucket

from spancheck_pipeline.errors import CorruptFileError, LockedError, StorageError
from spancheck_pipeline.storage import object_lease
from spancheck_pipeline.storage.object_files import ObjectFiles
from spancheck_pipeline.storage.object_lease import ObjectLease


@pytest.fixture(autouse=True)
def _no_margin(monkeypatch):
    monkeypatch.setattr(object_lease, "_MARGIN_S", 0.0)  # this bucket tells times exactly


@pytest.fixture
def files():
    return bucket()


def lease(files, length_s=0.3):
    return ObjectLease(files, f"{files.root}/_locks/place/capture", length_s=length_s)


def dies(held):
    """Let a holder fall silent, as a killed process does: its renewals end, and it releases nothing."""
    held._stop.set()
    held._renewer.join()


def test_a_lease_that_was_let_go_is_taken_at_once_under_a_higher_token(files):
    with lease(files, 60) as first:
        assert first.token == 1
        first.check()
    started = time.monotonic()
    with lease(files, 60) as second:
        assert second.token == 2
    assert time.monotonic() - started < 5


def test_a_holder_that_gives_signs_of_life_is_named_and_keeps_it(files):
    with lease(files) as held:
        with pytest.raises(LockedError, match=r"captured by process \d+ on '.*' since 2.*; wait until it ends"):
            lease(files).acquire()
        held.check()


def test_the_place_of_a_dead_holder_is_taken_over_after_the_length_of_its_lease(files):
    dead = lease(files, 0.4)
    dead.acquire()
    dies(dead)
    started = time.monotonic()

    with lease(files, 0.4) as heir:
        assert heir.token == 2
        with pytest.raises(LockedError, match=r"another one has taken over \(token 2 after 1\)"):
            dead.check()
    assert time.monotonic() - started >= 0.2
    dead.release()  # it says so under its own token, which nobody looks at any more
    with lease(files) as third:
        assert third.token == 3


def test_a_holder_that_died_long_ago_is_not_waited_for(files):
    dead = lease(files, 0.5)
    dead.acquire()
    dies(dead)
    time.sleep(0.7)
    started = time.monotonic()
    with lease(files, 0.5):
        assert time.monotonic() - started < 0.3


def test_of_many_who_want_a_place_at_once_one_gets_it(files):
    results, start = [], threading.Barrier(8)

    def want():
        mine = lease(files, 5)
        start.wait()
        try:
            mine.acquire()
        except LockedError:
            results.append(None)
        else:
            results.append(mine)

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    holders = [held for held in results if held]
    assert len(results) == 8
    assert len(holders) == 1
    holders[0].check()
    holders[0].release()


def test_a_lower_token_that_is_created_again_after_it_was_cleared_away_holds_nothing(files):
    with lease(files):
        pass
    slow = lease(files)
    with lease(files, 5) as current:
        assert current.token == 2
        files.remove([f"{files.root}/_locks/place/capture/lease-00000001.json"])
        with pytest.raises(LockedError):
            slow._take(1)
        current.check()


def test_what_is_not_held_cannot_be_checked_and_is_released_without_a_word(files):
    idle = lease(files)
    idle.release()
    with pytest.raises(LockedError, match="not held by this process"):
        idle.check()


def test_a_lease_of_another_contract_is_refused(files):
    files.put(f"{files.root}/_locks/place/capture/lease-00000001.json", b'{"contract": 7}')
    with pytest.raises(CorruptFileError, match="contract 7, and this version knows 1"):
        lease(files).acquire()


def test_a_store_that_overwrites_what_was_to_be_created_once_is_refused(files, monkeypatch):
    """A server that ignores the condition is told by trying it, before anything is written."""
    real = files.filesystem.pipe_file
    monkeypatch.setattr(
        type(files.filesystem), "pipe_file", lambda self, path, value, mode="overwrite": real(path, value)
    )
    with pytest.raises(StorageError, match="overwrites an object that was to be created only where none is"):
        lease(ObjectFiles(files.filesystem, files.root)).acquire()


def test_a_kind_of_store_that_is_not_known_to_create_once_is_refused():
    files = ObjectFiles(fsspec.filesystem("dir", path="/x", target_protocol="memory"), "/x")
    with pytest.raises(StorageError, match=r"nothing is written to this kind of storage \(dir\)"):
        lease(files).acquire()
