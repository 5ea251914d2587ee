"""What a target prints, logs, warns or raises stays away from our output."""

import io
import json
import logging
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.capture.streams import LOG_LIMIT_BYTES
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.journal import MemoryJournal

TOKENS = (
    "print out",
    "print err",
    "bytes out",
    "dunder out",
    "fd one",
    "fd two",
    "c level",
    "child out",
    "child err",
    "child given",
    "logged root",
    "logged named",
    "logged last resort",
    "warned",
    "thread raised",
    "unraisable",
    "raised",
)


def tokens():
    """Unique words, one for each way out."""
    return [f"TOKEN<{name}>" for name in TOKENS]


NOISY = r"""
import ctypes, logging, os, subprocess, sys, threading, warnings

def say(name):
    return f"TOKEN<{name}>"

class Falls:
    def __del__(self):
        raise ValueError(say("unraisable"))

def raise_in_thread():
    raise ValueError(say("thread raised"))

def answer(question):
    print(say("print out"))
    print(say("print err"), file=sys.stderr)
    sys.stdout.buffer.write(say("bytes out").encode() + b"\n")
    print(say("dunder out"), file=sys.__stdout__)
    os.write(1, say("fd one").encode() + b"\n")
    os.write(2, say("fd two").encode() + b"\n")
    subprocess.run(["sh", "-c", "echo 'TOKEN<child out>'; echo 'TOKEN<child err>' >&2"], check=True)
    subprocess.run(["sh", "-c", "echo 'TOKEN<child given>'"], stdout=sys.stdout, check=True)
    logging.error(say("logged root"))
    logging.getLogger("sdk.http").warning(say("logged named"))
    warnings.warn(say("warned"))
    thread = threading.Thread(target=raise_in_thread)
    thread.start()
    thread.join()
    Falls()
    ctypes.CDLL(None).puts(say("c level").encode())  # last: showing an exception empties C's buffer
    raise RuntimeError(say("raised"))
"""

MAIN = r"""
import json, logging, sys
from pathlib import Path
exec(Path(sys.argv[1]).read_text())
from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.journal import MemoryJournal

logging.basicConfig(level=logging.DEBUG)      # a handler that the host installed
logging.getLogger("sdk.http").addHandler(logging.StreamHandler(sys.stdout))
print("before", end=" ")
journal = MemoryJournal()
log = Path(sys.argv[2]) if len(sys.argv) > 2 else None
with contained(log) as containment:
    print("progress", file=containment.stderr)
    summary = run_capture([Case("q1", "?")], load_callable(answer), settings=CaptureSettings(retries=0), epochs=1,
                          journal=journal)
print("after", summary.errors, journal.state(("q1", 0)).error_class)
logging.getLogger("host").info("host logs again")
row = next(iter(journal.rows([("q1", 0)])))
assert "TOKEN<raised>" in row.error_message
"""


@pytest.mark.parametrize("with_log", [True, False])
def test_no_token_of_a_target_reaches_our_streams_and_the_log_file_has_them(tmp_path, with_log):
    noisy, log = tmp_path / "noisy.py", tmp_path / "logs" / "target.log"
    noisy.write_text(NOISY)
    # C's own buffer holds text back only where Python leaves it one
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-c", MAIN, str(noisy), *([str(log)] if with_log else [])],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "TOKEN" not in done.stdout + done.stderr
    assert done.stdout == "before after {'RuntimeError': 1} RuntimeError\n"
    assert done.stderr == "progress\nINFO:host:host logs again\n"
    if with_log:
        said = log.read_text()
        missing = [t for t in tokens() if t not in said]
        # the error's text is in its row, and this process has handlers, so nothing falls to the last resort
        assert missing == ["TOKEN<logged last resort>", "TOKEN<raised>"]


def noisy_in_process(question):
    print("TOKEN<print out>")
    print("TOKEN<print err>", file=sys.stderr)
    os.write(1, b"TOKEN<fd one>\n")
    logging.getLogger("sdk").error("TOKEN<logged named>")
    warnings.warn("TOKEN<warned>", stacklevel=1)
    return "a"


def test_it_works_where_the_streams_are_no_files(tmp_path, capsys, caplog, monkeypatch):
    warnings.simplefilter("always")
    notebook = io.StringIO()
    monkeypatch.setattr(sys, "stdout", notebook)
    with contained(tmp_path / "target.log") as containment:
        run_capture(
            [Case("q1", "?")],
            load_callable(noisy_in_process),
            settings=CaptureSettings(retries=0),
            epochs=1,
            journal=MemoryJournal(),
        )
        containment.stderr.write("progress")
    assert sys.stdout is notebook
    print("after")
    assert notebook.getvalue() == "after\n"
    assert capsys.readouterr().err == "progress"
    assert caplog.records == []
    said = (tmp_path / "target.log").read_text()
    for token in ("print out", "print err", "fd one", "logged named", "warned"):
        assert f"TOKEN<{token}>" in said
    assert containment.kept_bytes == len(said.encode())
    assert containment.dropped_bytes == 0


def test_a_child_that_is_given_our_stream_is_contained_too(tmp_path, monkeypatch):
    with (tmp_path / "ours.txt").open("w") as ours:
        monkeypatch.setattr(sys, "stdout", ours)
        with contained(None):
            subprocess.run(["echo", "TOKEN"], stdout=sys.stdout, check=True)
        subprocess.run(["echo", "after"], stdout=sys.stdout, check=True)
    assert (tmp_path / "ours.txt").read_text() == "after\n"


def test_a_thread_that_outlives_it_stays_muted_and_everybody_else_is_heard(capsys, caplog):
    go, said = threading.Event(), threading.Event()

    def late(question):
        go.wait(20)
        print("TOKEN<late>")
        print("TOKEN<late>", file=sys.stderr)
        sys.stdout.flush()
        logging.getLogger("sdk").error("TOKEN<late>")
        said.set()
        return "a"

    target = load_callable(late)
    with contained(None):
        settings = CaptureSettings(timeout_s=0.05, retries=0)
        summary = run_capture([Case("q1", "?")], target, settings=settings, epochs=1, journal=MemoryJournal())
    assert summary.abandoned == 2
    print("ours")
    logging.getLogger("host").error("ours")
    go.set()
    assert said.wait(20)
    assert capsys.readouterr().out == "ours\n"
    assert [record.message for record in caplog.records] == ["ours"]
    while target.abandoned:  # their threads end; the next containment finds the real streams again
        time.sleep(0.001)
    with contained(None):
        print("TOKEN<second>")
    print("again")
    assert capsys.readouterr().out == "again\n"


def test_a_log_file_is_bounded_and_says_how_much_was_dropped(tmp_path):
    log = tmp_path / "target.log"
    with contained(log) as containment:
        for _ in range(30):
            print("x" * 99_999)
    assert (containment.kept_bytes, containment.dropped_bytes) == (LOG_LIMIT_BYTES, 30 * 100_000 - LOG_LIMIT_BYTES)
    assert log.stat().st_size < LOG_LIMIT_BYTES + 100
    assert log.read_text().endswith("[2000000 more bytes dropped]\n")


def test_a_log_file_that_cannot_be_written_does_not_stop_the_capture(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with contained(tmp_path / "file" / "target.log") as containment:
        print("lost")
    assert containment.dropped_bytes == 5


@pytest.mark.parametrize("outer", [None, "outer.log"])
def test_opened_twice_the_innermost_log_file_has_it_and_the_last_to_close_ends_it(tmp_path, capsys, outer):
    with contained(tmp_path / outer if outer else None):
        print("1 outer")
        os.write(1, b"2 outer\n")
        with contained(tmp_path / "inner.log"):
            print("3 inner")
            os.write(1, b"4 inner\n")
            with contained(None):
                print("5 inner")
            logging.getLogger("sdk").error("6 inner")
        print("7 outer")
        os.write(1, b"8 outer\n")
    print("free")
    assert capsys.readouterr().out == "free\n"
    assert (tmp_path / "inner.log").read_text() == "3 inner\n4 inner\n5 inner\nERROR sdk: 6 inner\n"
    if outer:
        assert (tmp_path / outer).read_text() == "1 outer\n2 outer\n7 outer\n8 outer\n"


def test_two_threads_may_close_in_any_order(tmp_path, capsys):
    first, second = contained(tmp_path / "a.log"), contained(tmp_path / "b.log")
    first.__enter__()
    second.__enter__()
    print("b")
    first.__exit__(None, None, None)
    print("still b")
    second.__exit__(None, None, None)
    print("free")
    assert capsys.readouterr().out == "free\n"
    assert (tmp_path / "b.log").read_text() == "b\nstill b\n"


def test_an_error_inside_gives_everything_back(tmp_path, capsys):
    before = (sys.stdout, sys.stderr, warnings.showwarning, logging.Logger.callHandlers, threading.excepthook)
    with pytest.raises(KeyboardInterrupt), contained(tmp_path / "a.log"):
        raise KeyboardInterrupt
    assert before == (sys.stdout, sys.stderr, warnings.showwarning, logging.Logger.callHandlers, threading.excepthook)


def test_it_leaves_no_descriptor_open(tmp_path):
    def opened():
        return len(list(Path("/proc/self/fd").iterdir()))

    before = opened()
    for _ in range(3):
        with contained(tmp_path / "a.log"):
            print(json.dumps({"a": 1}))
    assert opened() == before
