"""Captures onto S3, as several machines would make them: each command has a disk of its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pandas as pd
import pytest
from machines import HERE, SLOW_TARGET
from scenario import Project, cases_of, spancheck

from spancheck_pipeline import definitions
from spancheck_pipeline.api.environment import read_environment
from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.errors import StorageError
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, SCORES

TODAY = read_environment({}).today()
NIGHT = Night("small", TODAY)
PATIENT = {"SPANCHECK_LEASE_SECONDS": "12"}
"""A busy machine is no dead one."""
QUICK = {"SPANCHECK_LEASE_SECONDS": "2", "SPANCHECK_JOURNAL_CALLS": "1", "SPANCHECK_JOURNAL_SECONDS": "0"}


class Machine:
    """A worker: a project checked out into a folder, and a home, temporary folder and Dagster home there."""

    def __init__(self, folder, bucket, *, n=12, concurrency=2, suite=""):
        self.folder = folder
        self.project = Project(folder, n=n, target=SLOW_TARGET)
        self.project.write_suite(target=f", concurrency: {concurrency}{suite}")
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        self.env = {
            **self.project.environ,
            **QUICK,
            "SPANCHECK_STORAGE": bucket,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        }


def wait_for_calls(log, count, process):
    give_up = time.monotonic() + 60
    while len(log.read_text().splitlines()) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_a_night_on_s3_is_captured_once_scored_again_and_read_by_others(bucket, tmp_path, monkeypatch, capsys):
    project = Project(tmp_path)
    for name, value in {**project.environ, "SPANCHECK_STORAGE": bucket}.items():
        monkeypatch.setenv(name, value)

    assert spancheck("nightly", "small") == 0
    assert len(project.calls()) == 12
    project.write_suite(graders=", latency: {max_ms: 60000}")
    assert spancheck("nightly", "small") == 0
    assert len(project.calls()) == 12
    store = Store(bucket)
    assert store.open(NIGHT, SCORES, "latency").n_rows == 12
    assert store.unfinished(NIGHT) == ()
    frame = pd.read_parquet(f"{bucket}/captured_run")
    assert (len(frame), set(frame["suite"])) == (12, {"small"})

    job = definitions.build(suites=["small"]).resolve_job_def("small_rescore")
    assert job.execute_in_process(partition_key=TODAY, raise_on_error=False).success
    assert len(project.calls()) == 12
    assert "secret" not in capsys.readouterr().err


def test_a_capture_whose_worker_is_killed_and_its_disk_deleted_resumes_elsewhere(bucket, tmp_path, command, calls_log):
    here = Machine(tmp_path / "here", bucket)
    first = command("nightly", "small", cwd=here.folder, env={**here.env, "CALL_S": "0.2"})
    wait_for_calls(calls_log, 6, first)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    shutil.rmtree(here.folder)
    before = Counter(calls_log.read_text().splitlines())

    elsewhere = Machine(tmp_path / "elsewhere", bucket)
    second = command("nightly", "small", cwd=elsewhere.folder, env=elsewhere.env)
    out, err = second.communicate(timeout=120)

    assert second.returncode == 0, out + err
    calls = Counter(calls_log.read_text().splitlines())
    assert set(calls) == {item["input"] for item in cases_of(12)}
    # Asked again at most: two in flight, and one that waited to be stored.
    assert calls.total() - 12 <= 3
    assert calls.total() - before.total() <= 12 - (before.total() - 3)
    assert Store(bucket).open(NIGHT, CAPTURED_RUN).n_rows == 12


def test_of_two_captures_at_once_one_is_refused_and_no_case_is_asked_twice(bucket, tmp_path, command, calls_log):
    one, two = Machine(tmp_path / "one", bucket), Machine(tmp_path / "two", bucket)
    hold = tmp_path / "hold"
    hold.touch()
    first = command("nightly", "small", cwd=one.folder, env={**one.env, "HOLD": str(hold), **PATIENT})
    wait_for_calls(calls_log, 1, first)

    second = command("nightly", "small", cwd=two.folder, env=two.env)
    out, err = second.communicate(timeout=120)
    assert second.returncode == 2, out + err
    assert "is being captured by process" in err

    hold.unlink()
    out, err = first.communicate(timeout=120)
    assert first.returncode == 0, out + err
    calls = calls_log.read_text().splitlines()
    assert len(calls) == len(set(calls)) == 12


def test_a_worker_that_was_suspended_and_overtaken_records_and_publishes_nothing_more(
    bucket, tmp_path, command, calls_log
):
    slow, quick = Machine(tmp_path / "slow", bucket), Machine(tmp_path / "quick", bucket)
    first = command("nightly", "small", cwd=slow.folder, env={**slow.env, "CALL_S": "0.2"})
    wait_for_calls(calls_log, 5, first)
    os.killpg(first.pid, signal.SIGSTOP)

    second = command("nightly", "small", cwd=quick.folder, env=quick.env)
    out, err = second.communicate(timeout=120)
    assert second.returncode == 0, out + err
    store = Store(bucket)
    published = store.open(NIGHT, CAPTURED_RUN).content_digest

    os.killpg(first.pid, signal.SIGCONT)
    _, err = first.communicate(timeout=120)
    assert first.returncode == 2
    assert "taken over" in err
    assert [file.content_digest for file in store.revisions(NIGHT, CAPTURED_RUN)] == [published]
    assert read_manifest(store, NIGHT).n_cases == 12
    calls = Counter(calls_log.read_text().splitlines())
    assert calls.total() - 12 <= 5


def test_a_capture_that_is_killed_again_and_again_loses_no_recorded_call(bucket, calls_log, tmp_path):
    pytest.importorskip("s3fs")
    done = subprocess.run(
        [sys.executable, str(HERE / "s3_kills.py"), bucket, str(tmp_path), "6", "20261130"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{HERE.parents[1]}:{HERE.parent}"},
        timeout=150,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 kills" in done.stdout


def test_a_bucket_that_is_not_there_is_said_as_such(bucket):
    store = Store("s3://no-such-bucket/store")

    assert not store.exists(NIGHT, CAPTURED_RUN)
    with pytest.raises(StorageError, match="there is no such bucket"):
        store.lock(NIGHT).acquire()


def test_a_server_that_cannot_be_reached_is_said_on_one_screen(bucket, tmp_path, monkeypatch, capsys):
    project = Project(tmp_path)
    for name, value in {**project.environ, "SPANCHECK_STORAGE": bucket}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    import fsspec

    fsspec.filesystem("s3").clear_instance_cache()
    assert spancheck("nightly", "small") == 2
    error = capsys.readouterr().err
    assert "check the address, the credentials and the network" in error
    assert "Traceback" not in error
    assert project.calls() == []
    fsspec.filesystem("s3").clear_instance_cache()
