"""Kills a capture onto S3 at seeded instants and checks, after each kill, what was kept and what is called again.

Run as ``python s3_kills.py <storage> <folder> <kills> <seed>``. Each session and each look is a child process, so that
nothing but the storage is handed from one to the next. The target notes each call in a file with O_APPEND.
"""

import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.journal import JournalHeader
from spancheck_pipeline.storage.object_journal import Flush
from spancheck_pipeline.storage.store import AdHoc, Store

CONCURRENCY, WINDOW, LEASE_S = 4, 3, 1.0
CASES = [Case(f"q{n}", f"q{n}") for n in range(400)]
STARTED = datetime(2026, 11, 30, tzinfo=UTC)


def system(log):
    def answer(question):
        os.write(log, f"{question}\n".encode())
        time.sleep(0.02)
        return "x" * 300

    return answer


def journal_of(store, lock, place):
    target = load_callable(system)
    header = JournalHeader(run_id="r", suite="s", dataset_digest="d", target=target.facts, epochs=1, started_at=STARTED)
    return store.journal("capture", place, header, lock=lock, flush=Flush(calls=WINDOW, seconds=0.05))


def capture(root, folder, place):
    """Capture to the end: what the child does until it is killed."""
    log = os.open(folder / "kills.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    store = Store(root)
    with store.lock(place, lease_s=LEASE_S) as lock:
        journal = journal_of(store, lock, place)
        target = load_callable(system(log))
        summary = run_capture(
            CASES, target, settings=CaptureSettings(concurrency=CONCURRENCY), epochs=1, journal=journal
        )
        assert summary.n_answered == len(CASES)
        journal.close()


def look(root, folder, place):
    """Write down what is recorded."""
    store = Store(root)
    with store.lock(place, lease_s=LEASE_S) as lock:
        journal = journal_of(store, lock, place)
        (folder / "kept").write_text("\n".join(case_id for case_id, _ in journal.recorded_keys()))
        journal.close()


def child(work, *given):
    """Fork a child that works; it knows nothing but where things are."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work(*given)
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it is, it is shown before the child ends
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def session(root, folder, place, delay):
    """Capture in a child, kill it after a time (None: never), and return whether that came before its end."""
    pid = child(capture, root, folder, place)
    if delay is not None:
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the capture failed by itself"
    return os.WIFSIGNALED(status)


def check(root, folder, place, kept_before, calls_before):
    """Check what one session did, given what was recorded and called before it; return what is now."""
    log = folder / "kills.log"
    calls = Counter(log.read_text().split()) if log.exists() else Counter()
    made = calls - calls_before
    assert not [key for key in kept_before if made[key]], "a recorded call was repeated"
    assert all(count == 1 for count in made.values()), "a call was repeated within one session"
    assert os.waitpid(child(look, root, folder, place), 0)[1] == 0, "the journal cannot be read"
    kept = set((folder / "kept").read_text().split())
    assert kept_before <= kept, "a recorded call was lost"
    assert len(set(made) - kept) <= CONCURRENCY + WINDOW, "more was lost than the flush allows"
    return kept, calls


def main(root, folder, kills, seed):
    """Kill so often; whenever a capture came to its end, begin another."""
    rng = random.Random(seed)
    killed = finished = again = 0
    while killed < kills:
        place, here = AdHoc("s", f"killed{finished}"), folder / f"killed{finished}"
        here.mkdir()
        kept, calls, done = set(), Counter(), False
        while not done:
            done = not session(root, here, place, rng.uniform(0.3, 2.0) if killed < kills else None)
            killed += not done
            kept, calls = check(root, here, place, kept, calls)
        assert len(kept) == len(CASES)
        finished += 1
        again += calls.total() - len(CASES)
    print(f"{killed} kills, {finished} captures, {again} calls made again")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
