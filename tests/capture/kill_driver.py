"""Kills a capture at random instants and checks, after each kill, what was kept and what was called again.

Run as ``python kill_driver.py <folder> <kills> <seed>``. It forks each capture, so a kill costs no start of Python.
The target logs each call as it begins, one line with O_APPEND, which survives the kill.
"""

import os
import random
import signal
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.file_journal import FileJournal
from spancheck_pipeline.storage.journal import JournalHeader

CONCURRENCY = 8
CASES = [Case(f"q{n}", f"q{n}") for n in range(400)]
STARTED = datetime(2026, 11, 30, tzinfo=UTC)


def system(log):
    def answer(question):
        os.write(log, f"{question}\n".encode())
        time.sleep(0.002)
        return "x" * 300

    return answer


def open_journal(path):
    target = load_callable(system)
    header = JournalHeader(run_id="r", suite="s", dataset_digest="d", target=target.facts, epochs=1, started_at=STARTED)
    return FileJournal(path, header)


def capture(folder):
    """Capture to the end: what the child does until it is killed."""
    log = os.open(folder / "calls.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    journal = open_journal(folder / "j.jsonl")
    settings = CaptureSettings(concurrency=CONCURRENCY)
    summary = run_capture(CASES, load_callable(system(log)), settings=settings, epochs=1, journal=journal)
    assert summary.n_answered == len(CASES)
    journal.close()


def calls_of(folder):
    log = folder / "calls.log"
    return Counter(log.read_text().split()) if log.exists() else Counter()


def session(folder, delay):
    """Run a capture in a child, kill it after a time (None: never), and return whether that came before its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            capture(folder)
            code = 0
        finally:
            os._exit(code)
    if delay is not None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the capture failed by itself"
    return os.WIFSIGNALED(status)


def check(folder, kept_before, calls_before):
    """Check what one session did, given what was journaled and called before it; return what is kept now."""
    calls = calls_of(folder)
    made = calls - calls_before
    assert not [key for key in kept_before if made[key]], "a journaled call was repeated"
    assert all(count == 1 for count in made.values()), "a call was repeated within one session"
    if not (folder / "j.jsonl").exists():
        return frozenset(), calls
    journal = open_journal(folder / "j.jsonl")
    kept = frozenset(case_id for case_id, _ in journal.recorded_keys())
    journal.close()
    assert kept_before <= kept, "a journaled call was lost"
    in_flight = set(made) - kept
    assert len(in_flight) <= CONCURRENCY, "more was lost than the calls in flight"
    return kept, calls


def main(root, kills, seed):
    """Kill so often; whenever a capture came to its end, check its rows and begin another."""
    rng = random.Random(seed)
    killed = finished = again = 0
    while killed < kills:
        folder = root / f"capture{finished}"
        folder.mkdir()
        kept, calls, done = frozenset(), Counter(), False
        while not done:
            done = not session(folder, rng.uniform(0.0, 0.06) if killed < kills else None)
            killed += not done
            kept, calls = check(folder, kept, calls)
            done = done or len(kept) == len(CASES)
        finished += 1
        again += calls.total() - len(CASES)
        check_rows(folder)
    print(f"{killed} kills, {finished} captures, {again} calls made again")


def check_rows(folder):
    """Check that a finished capture has one row for each case."""
    lines = (folder / "j.jsonl").read_bytes().splitlines()
    assert len(lines) == 1 + len(CASES)
    journal = open_journal(folder / "j.jsonl")
    rows = list(journal.rows((case.id, 0) for case in CASES))
    assert [row.case_id for row in rows] == [case.id for case in CASES]
    assert all(row.answered and row.attempts == 1 for row in rows)
    journal.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
