"""The capture: once, durably, with retries, a second pass and clean interrupts."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from spancheck_pipeline.capture.attempts import CaptureSettings, wait_s
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.call_errors import Failure, HttpStatusError
from spancheck_pipeline.clients.target import load_callable, load_target
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.errors import CaptureRefusedError, StorageError, UsageError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import Output, TargetFacts
from spancheck_pipeline.storage.file_journal import FileJournal
from spancheck_pipeline.storage.journal import JournalHeader, MemoryJournal

FAST = CaptureSettings(concurrency=4, timeout_s=5.0, retries=2, backoff_s=0.001)
FACTS = TargetFacts(kind="callable", reference="app:answer", version="1", settings_digest="0" * 64)
HEADER = JournalHeader(
    run_id="run-1",
    suite="leases",
    dataset_digest="d" * 64,
    target=FACTS,
    epochs=1,
    started_at=datetime(2026, 11, 30, 2, 0, tzinfo=UTC),
)


def cases(count):
    return [Case(f"q{n}", f"Question {n}?") for n in range(count)]


def capture(system, wanted, *, settings=FAST, epochs=1, journal=None, **options):
    journal = journal or MemoryJournal()
    summary = run_capture(wanted, load_callable(system), settings=settings, epochs=epochs, journal=journal, **options)
    return summary, {row.key: row for row in journal.rows(journal.recorded_keys())}


class Flaky:
    """A system that fails a number of times per question before it answers, and logs its calls."""

    def __init__(self, failures, error=RuntimeError):
        self.failures, self.error, self.calls = failures, error, []
        self._lock = threading.Lock()

    def __call__(self, question):
        with self._lock:
            self.calls.append(question)
            count = self.calls.count(question)
        if count <= self.failures.get(question, 0):
            raise self.error("secret text")
        return f"{question} Yes."


def test_every_case_and_epoch_is_called_once_and_its_times_are_kept():
    system = Flaky({})
    before = datetime.now(UTC)
    summary, rows = capture(system, cases(20), epochs=2)
    assert sorted(system.calls) == sorted(2 * [f"Question {n}?" for n in range(20)])
    assert (summary.n_rows, summary.n_answered, summary.errors) == (40, 40, {})
    assert (summary.attempts, summary.retries, summary.n_kept) == (40, 0, 0)
    row = rows["q3", 1]
    assert row.output.answer == "Question 3? Yes."
    assert row.question_digest == cases(4)[3].question_digest
    assert row.attempts == 1
    assert 0 <= row.latency_ms <= row.latency_total_ms
    assert before <= row.started_at <= row.finished_at <= datetime.now(UTC)


def test_no_more_calls_run_at_once_than_the_suite_allows():
    now, most, lock = [0], [0], threading.Lock()

    def system(question):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.005)
        with lock:
            now[0] -= 1
        return "a"

    capture(system, cases(30), settings=CaptureSettings(concurrency=3))
    assert most[0] == 3


def test_a_failure_is_retried_and_the_answering_attempt_is_what_latency_means():
    def system(question, calls=[]):  # noqa: B006 - the calls are counted over calls
        calls.append(question)
        if len(calls) == 1:
            time.sleep(0.05)
            raise OSError("not now")
        return "a"

    summary, rows = capture(system, cases(1))
    row = rows["q0", 0]
    assert (row.attempts, summary.attempts, summary.retries) == (2, 2, 1)
    assert row.latency_total_ms - row.latency_ms >= 50


def test_rows_that_failed_get_a_second_pass_at_the_end_and_attempts_add_up():
    # retries 2: three attempts a pass. q1 fails four times: three in the first pass, one in the second, then it
    # answers: 5. q2 fails always: 3 + 3 = 6. The others: 8 · 1. In all 19 attempts, 4 + 5 = 9 of them retries.
    system = Flaky({"Question 1?": 4, "Question 2?": 99})
    progress = []
    summary, rows = capture(system, cases(10), on_progress=progress.append)
    assert (summary.attempts, summary.retries) == (19, 9)
    assert summary.errors == {"RuntimeError": 1}
    assert (summary.n_answered, summary.n_errors) == (9, 1)
    assert rows["q1", 0].attempts == 5
    assert rows["q2", 0].output is None
    assert (rows["q2", 0].error_class, rows["q2", 0].error_message) == ("RuntimeError", "secret text")
    assert set(system.calls[-4:]) == {"Question 1?", "Question 2?"}  # at the end
    assert progress[-1] == (10, 10, 1)
    assert max(item.failed for item in progress) == 2
    assert "secret" not in repr(summary)


def test_what_cannot_succeed_is_not_retried_within_a_pass():
    calls = []
    summary, _ = capture(calls.append, cases(2))
    assert summary.errors == {"InvalidOutputError": 2}
    assert len(calls) == 4  # two cases, two passes


def test_a_second_run_calls_nothing_that_is_answered_or_failed_twice(tmp_path):
    path = tmp_path / "j.jsonl"
    journal = FileJournal(path, HEADER)
    capture(Flaky({"Question 2?": 99}), cases(5), journal=journal)
    journal.close()
    again, system = FileJournal(path, HEADER), Flaky({})
    summary, rows = capture(system, cases(6), journal=again)
    assert system.calls == ["Question 5?"]
    assert (summary.n_kept, summary.errors) == (5, {"RuntimeError": 1})
    # asked for by name, a final failure is called again; an answer is not
    summary, rows = capture(system, cases(6), journal=again, keys={("q1", 0), ("q2", 0)})
    assert system.calls == ["Question 5?", "Question 2?"]
    assert (summary.n_rows, summary.n_answered, rows["q2", 0].attempts) == (2, 2, 7)
    again.close()


def test_a_row_that_failed_in_the_first_pass_of_a_killed_session_gets_its_second_pass(tmp_path):
    journal = MemoryJournal()
    _, rows = capture(Flaky({"Question 0?": 99}), cases(1))
    journal.append(rows["q0", 0].model_copy(update={"attempts": 3}), pass_number=1)
    system = Flaky({})
    _, rows = capture(system, cases(1), journal=journal)
    assert system.calls == ["Question 0?"]
    assert rows["q0", 0].attempts == 4
    assert journal.state(("q0", 0)).pass_number == 2


def test_answers_to_other_questions_are_not_continued_and_unknown_rows_are_refused():
    journal = MemoryJournal()
    capture(Flaky({}), cases(2), journal=journal)
    with pytest.raises(CaptureRefusedError, match=r"case 'q1', which asks something else now; .*--recapture"):
        capture(Flaky({}), [*cases(1), Case("q1", "Something else?")], journal=journal)
    with pytest.raises(CaptureRefusedError, match="case 'q1', which is not among the cases"):
        capture(Flaky({}), cases(1), journal=journal)
    with pytest.raises(UsageError, match="case 'zzz'"):
        capture(Flaky({}), cases(2), keys={("zzz", 0)})


def test_a_call_that_hangs_is_an_error_row_and_frees_its_place():
    release = threading.Event()

    def system(question):
        if question == "Question 0?":
            release.wait(20)
        return "a"

    settings = CaptureSettings(concurrency=1, timeout_s=0.05, retries=1, backoff_s=0.001)
    try:
        summary, rows = capture(system, cases(5), settings=settings)
    finally:
        release.set()
    assert summary.errors == {"TimeoutError": 1}
    assert rows["q0", 0].error_message == "no answer within 0.05 s"
    assert rows["q0", 0].latency_ms >= 49
    assert summary.abandoned == 4  # two attempts in each of two passes


HANGING = """
import time
from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.journal import MemoryJournal

async def hang_async(question):
    time.sleep(120)

for system in (lambda question: time.sleep(120), hang_async):
    summary = run_capture([Case("q", "?")], load_callable(system), epochs=1, journal=MemoryJournal(),
                          settings=CaptureSettings(timeout_s=0.05, retries=0))
    print(summary.errors)
"""


def test_a_call_that_hangs_does_not_hold_up_the_end_of_the_process():
    done = subprocess.run([sys.executable, "-c", HANGING], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout == 2 * "{'TimeoutError': 1}\n"
    assert done.stderr == ""


def test_a_system_that_raises_system_exit_is_an_error_row_not_our_exit():
    def system(question):
        raise SystemExit(1)

    async def async_system(question):
        raise KeyboardInterrupt

    assert capture(system, cases(3))[0].errors == {"SystemExit": 3}
    assert capture(async_system, cases(3))[0].errors == {"KeyboardInterrupt": 3}


def test_a_server_that_asks_to_wait_is_waited_for():
    # first attempt: 1 s doubled 0 times, half of it fixed, half random: 0.5 + 0.5 · 0.2 = 0.6; third: 4 · 0.6 = 2.4
    failure = Failure(error_class="X", message="", retryable=True, retry_after_s=None)
    assert wait_s(1, failure, backoff_s=1.0, jitter=0.2) == pytest.approx(0.6)
    assert wait_s(3, failure, backoff_s=1.0, jitter=0.2) == pytest.approx(2.4)
    assert wait_s(99, failure, backoff_s=1.0, jitter=0.0) == 30.0  # half of the longest wait, 60 s
    asked = Failure(error_class="X", message="", retryable=True, retry_after_s=90.0)
    assert wait_s(1, asked, backoff_s=1.0, jitter=0.2) == 90.0

    class Busy:
        facts, abandoned, calls = FACTS, 0, ()

        async def call(self, *_):
            self.calls = (*self.calls, time.monotonic())
            if len(self.calls) == 1:
                raise HttpStatusError(429, retry_after_s=0.2)
            return Output(answer="a")

        async def close(self):
            pass

    busy = Busy()
    run_capture(cases(1), busy, settings=FAST, epochs=1, journal=MemoryJournal())
    assert busy.calls[1] - busy.calls[0] >= 0.2


class Timed:
    """A target that notes when each attempt starts, in the event loop itself, and fails the first one."""

    facts, abandoned = FACTS, 0

    def __init__(self):
        self.starts = []

    async def call(self, *_):
        self.starts.append(time.monotonic())
        if len(self.starts) == 1:
            raise OSError("not now")
        return Output(answer="a")

    async def close(self):
        pass


def test_attempts_are_spread_evenly_under_a_rate_limit_retries_included():
    target = Timed()
    # 1 200 a minute is one every 50 ms: 5 cases and 1 retry are 6 attempts, so 5 gaps
    settings = CaptureSettings(concurrency=5, backoff_s=0.001, rate_limit_per_minute=1200)
    run_capture(cases(5), target, settings=settings, epochs=1, journal=MemoryJournal())
    assert len(target.starts) == 6
    assert target.starts[-1] - target.starts[0] >= 5 * 0.05 * 0.9


class BackwardClock:
    """A clock whose time of day is set back an hour whenever somebody looks."""

    def __init__(self):
        self._now = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)

    def now(self):
        self._now -= timedelta(hours=1)
        return self._now

    def monotonic(self):
        return time.monotonic()


def test_a_clock_that_goes_back_makes_no_row_end_before_it_began():
    journal = MemoryJournal()
    capture(Flaky({"Question 0?": 99}), cases(3), journal=journal, clock=BackwardClock())
    rows = {row.key: row for row in journal.rows(journal.recorded_keys())}
    first, other = rows["q0", 0], rows["q1", 0]
    # the time of day is looked at once, so that a row is as long as its call
    assert (other.finished_at - other.started_at).total_seconds() * 1000 == pytest.approx(other.latency_ms, abs=0.01)
    # in a later session the time of day is before that of the first
    later = MemoryJournal()
    later.append(first, pass_number=1)
    clock = BackwardClock()
    clock.now()
    _, rows = capture(Flaky({}), cases(3), journal=later, clock=clock)
    assert all(row.started_at <= row.finished_at for row in rows.values())


def test_recorded_answers_are_no_calls(tmp_path):
    lines = '{"id": "q0", "answer": "A", "latency_ms": 12.5}\n{"id": "q1", "answer": "B"}\n'
    (tmp_path / "answers.jsonl").write_text(lines)
    target = load_target(Target(recorded="answers.jsonl", rate_limit_per_minute=1), suite_folder=tmp_path)
    journal = MemoryJournal()
    summary = run_capture(cases(3), target, settings=FAST, epochs=1, journal=journal)
    rows = list(journal.rows([("q0", 0), ("q1", 0), ("q2", 0)]))
    assert [(row.attempts, row.latency_ms, row.latency_total_ms) for row in rows] == [
        (0, 12.5, None),
        (0, None, None),
        (0, None, None),
    ]
    assert summary.errors == {"NoRecordedAnswer": 1}
    assert (summary.attempts, summary.retries) == (0, 0)


SLOW_OR_ECHO = """
import json, sys, time
question = json.load(sys.stdin)["input"]
if question == "Question 1?":
    time.sleep(60)
print(json.dumps({"answer": question}))
"""


def test_a_program_is_captured_and_ended_at_its_time_limit(tmp_path):
    (tmp_path / "system.py").write_text(SLOW_OR_ECHO)
    command = [sys.executable, "{suite_folder}/system.py"]
    settings = Target(command=command, timeout_s=1.5, retries=0, concurrency=3)
    journal = FileJournal(tmp_path / "j.jsonl", HEADER)
    target = load_target(settings, suite_folder=tmp_path)
    summary = run_capture(cases(3), target, settings=settings, epochs=1, journal=journal)
    rows = {row.case_id: row for row in journal.rows(journal.recorded_keys())}
    journal.close()
    assert (rows["q0"].output.answer, rows["q2"].output.answer) == ("Question 0?", "Question 2?")
    assert summary.errors == {"TimeoutError": 1}
    assert (rows["q1"].attempts, summary.abandoned) == (2, 0)


def test_a_journal_that_cannot_be_written_ends_the_capture_with_what_it_has(tmp_path, monkeypatch):
    journal = FileJournal(tmp_path / "j.jsonl", HEADER)
    system = Flaky({})
    real = os.fsync
    count = []

    def full(fd):
        count.append(fd)
        if len(count) > 3:
            raise OSError(28, "No space left on device")
        real(fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            capture(system, cases(100), journal=journal)
    kept = len(journal.recorded_keys())
    journal.close()
    assert 3 <= kept < 100
    assert len(system.calls) <= kept + 2 * FAST.concurrency
    again = FileJournal(tmp_path / "j.jsonl", HEADER)
    assert len(again.recorded_keys()) == kept
    again.close()


def test_it_runs_where_another_event_loop_runs():
    async def notebook():
        return capture(Flaky({}), cases(3))[0]

    assert asyncio.run(notebook()).n_answered == 3


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored
from pathlib import Path
from datetime import UTC, datetime
from spancheck_pipeline.capture.attempts import CaptureSettings
from spancheck_pipeline.capture.engine import run_capture
from spancheck_pipeline.clients.target import load_callable
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.file_journal import FileJournal
from spancheck_pipeline.storage.journal import JournalHeader

def system(question):
    time.sleep(0.02)
    return "a"

target = load_callable(system)
header = JournalHeader(run_id="r", suite="s", dataset_digest="d", target=target.facts, epochs=1,
                       started_at=datetime(2026, 11, 30, tzinfo=UTC))
journal = FileJournal(Path(sys.argv[1]), header)
say = lambda progress: print(progress.done, flush=True)
try:
    run_capture([Case(f"q{n}", "?") for n in range(5000)], target, settings=CaptureSettings(), epochs=1,
                journal=journal, on_progress=say)
except BaseException as error:
    print("ended by", type(error).__name__, len(journal.recorded_keys()), flush=True)
    journal.close()
    raise
"""


@pytest.mark.parametrize(
    ("number", "name", "code"), [(signal.SIGINT, "KeyboardInterrupt", -2), (signal.SIGTERM, "SystemExit", 143)]
)
def test_an_interrupt_keeps_every_finished_call_and_is_raised(tmp_path, number, name, code):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "j.jsonl")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    for line in process.stdout:
        if line.strip() == "16":
            break
    os.kill(process.pid, number)
    last = process.stdout.read().splitlines()[-1].split()
    process.stdout.close()
    assert process.wait(timeout=30) in {code, 130 if number == signal.SIGINT else code}
    assert last[:3] == ["ended", "by", name]
    lines = (tmp_path / "j.jsonl").read_bytes().splitlines()
    assert len(lines) - 1 == int(last[3]) >= 16
