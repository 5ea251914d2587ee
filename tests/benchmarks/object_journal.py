"""What a journal on object storage costs a capture, against one on a local disk: S3 by moto on loopback.

Run as ``python object_journal.py <rows> <milliseconds a call> [<milliseconds a request>]`` with the extra
``integration`` installed. The third figure is added to every request, as a network does.
"""

import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.journal import JournalHeader
from spancheck_pipeline.storage.object_files import ObjectFiles
from spancheck_pipeline.storage.object_journal import Flush
from spancheck_pipeline.storage.store import AdHoc, Store

PLACE = AdHoc("s", "measured")
SERVER = Path(__file__).parents[1] / "integration" / "s3_server.py"


def capture(root, n_rows, call_s, flush=None):
    """Return the seconds that a capture takes, from the lock to the last row stored."""

    def answer(question):
        time.sleep(call_s)
        return question * 40

    target = load_callable(answer)
    facts = {"run_id": "r", "suite": "s", "dataset_digest": "d", "epochs": 1}
    header = JournalHeader(**facts, target=target.facts, started_at=datetime(2026, 11, 30, tzinfo=UTC))
    store = Store(root)
    cases = [Case(f"q{n}", f"question {n}") for n in range(n_rows)]
    started = time.perf_counter()
    with store.lock(PLACE) as lock:
        journal = store.journal("capture", PLACE, header, lock=lock, flush=flush)
        run_capture(cases, target, settings=CaptureSettings(concurrency=8), epochs=1, journal=journal)
        journal.flush()
        seconds = time.perf_counter() - started
        journal.discard()
    return seconds


def main(n_rows, call_s, request_s):
    server = subprocess.Popen([sys.executable, SERVER, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().split()[1]
    os.environ.update(AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s")
    import fsspec

    fsspec.filesystem("s3", use_listings_cache=False).mkdir("bench")
    create, names = ObjectFiles.create, ObjectFiles.names
    ObjectFiles.create = lambda self, *args: (time.sleep(request_s), create(self, *args))[1]
    ObjectFiles.names = lambda self, *args: (time.sleep(request_s), names(self, *args))[1]
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = capture(folder, n_rows, call_s)
        print(f"{n_rows} rows, {call_s * 1e3:g} ms a call, {request_s * 1e3:g} ms added to a request")
        print(f"local disk                     {file:6.2f} s")
        for flush in (Flush(), Flush(calls=1, seconds=0)):
            taken = capture("s3://bench/x", n_rows, call_s, flush)
            print(f"S3, calls={flush.calls:<2} seconds={flush.seconds:g}       {taken:6.2f} s  x{taken / file:.2f}")
    finally:
        server.kill()


if __name__ == "__main__":
    n_rows, call_ms, *request_ms = sys.argv[1:]
    main(int(n_rows), float(call_ms) / 1e3, float(request_ms[0]) / 1e3 if request_ms else 0.0)
