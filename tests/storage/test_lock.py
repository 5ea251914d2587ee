"""The lock of a partition."""

import os
import signal
import subprocess
import sys

import pytest

from spancheck_pipeline.errors import LockedError, StorageError
from spancheck_pipeline.storage.lock import PartitionLock

HOLDER = """
import sys, time
from pathlib import Path
from spancheck_pipeline.storage.lock import PartitionLock
with PartitionLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_released_lock_can_be_taken_again(tmp_path):
    lock = PartitionLock(tmp_path / "part" / "capture.lock")
    with lock:
        pass
    with lock, pytest.raises(LockedError):
        PartitionLock(tmp_path / "part" / "capture.lock").acquire()
    lock.release()  # nothing happens


def test_another_process_is_named_and_its_lock_ends_with_it_even_by_kill(tmp_path):
    path = tmp_path / "capture.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(LockedError, match=f"captured by process {holder.pid} on '.*' since 2.*; wait until"):
            PartitionLock(path).acquire()
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with PartitionLock(path):
            pass
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_a_place_that_cannot_be_written_is_a_storage_error(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match="cannot lock"):
        PartitionLock(tmp_path / "file" / "capture.lock").acquire()
