"""Several machines: the instance on PostgreSQL, the storage on S3, the steps on two Celery workers through Redis.

Everything is started here, on loopback, and ended here. Kubernetes, Google Cloud Storage and Azure are not run.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import dagster as dg
import pytest
from machines import HERE, ROOT, SLOW_TARGET, kill_tree
from scenario import Project, cases_of

from spancheck_pipeline.api.environment import read_environment
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, GATE, SCORES

TODAY = read_environment({}).today()
NIGHT = Night("small", TODAY)
BIN = Path(sys.executable).parent
INSTANCE = """\
telemetry: {{enabled: false}}
storage:
  postgres:
    postgres_url: postgresql+psycopg2://postgres@127.0.0.1:{port}/dagster
"""
WORKER = "execution:\n  config:\n    broker: {broker}\n    backend: {broker}\n"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process):
    give_up = time.monotonic() + 60
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, "it ended while it was started"
        assert time.monotonic() < give_up
        time.sleep(0.1)


@pytest.fixture(scope="module")
def postgres():
    """Start Debian's PostgreSQL with a database of its own on loopback; return its port."""
    pytest.importorskip("dagster_postgres", reason="the extra spancheck-pipeline[integration] is not installed")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("Debian's package postgresql is not installed")
    bin_folder = programs[-1].parent
    folder, port = Path(tempfile.mkdtemp(prefix="spancheck-pg-")), free_port()
    as_user = []
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
    run = partial(subprocess.run, check=True, capture_output=True, cwd="/tmp", timeout=120)
    run([*as_user, bin_folder / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust"])
    server = subprocess.Popen(
        [*as_user, bin_folder / "postgres", "-D", folder / "data", "-p", str(port), "-h", "127.0.0.1", "-k", folder],
        cwd="/tmp",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port, server)
        url = f"postgresql://postgres@127.0.0.1:{port}"
        create = f"import psycopg2; c = psycopg2.connect({url!r}); c.autocommit = True; "
        run([sys.executable, "-c", create + "c.cursor().execute('create database dagster')"])
        yield port
    finally:
        server.send_signal(signal.SIGINT)  # fast shutdown
        server.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def redis():
    """Start Debian's Redis on loopback, keeping nothing on disk; return its URL."""
    pytest.importorskip("dagster_celery", reason="the extra spancheck-pipeline[integration] is not installed")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("Debian's package redis-server is not installed")
    port = free_port()
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
    try:
        wait_for(port, server)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(timeout=30)


class Machine:
    """One machine: a disk with the project, a Dagster home and a temporary folder; everything else is elsewhere."""

    def __init__(self, folder, *, bucket, s3, postgres, redis, calls_log):
        self.folder, self._redis = folder, redis
        self.project = project = Project(folder, n=18, target=SLOW_TARGET)
        project.write_suite(target=", concurrency: 2, shards: 3")
        for name in ("home", "tmp", "dagster_home"):
            (folder / name).mkdir()
        (folder / "dagster_home" / "dagster.yaml").write_text(INSTANCE.format(port=postgres))
        (folder / "worker.yaml").write_text(WORKER.format(broker=redis))
        self.env = {
            **os.environ,
            **s3,
            **project.environ,
            "PYTHONPATH": f"{ROOT}:{HERE}",
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "SPANCHECK_STORAGE": bucket,
            "SPANCHECK_LEASE_SECONDS": "3",
            "SPANCHECK_JOURNAL_CALLS": "1",
            "DAGSTER_DISABLE_TELEMETRY": "yes",
            "CELERY_BROKER": redis,
            "CALLS_LOG": str(calls_log),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        }

    def start(self, *arguments, **env):
        # What is said goes to a file outside the machine, so that a full pipe stops nobody.
        with (self.folder.parent / f"{self.folder.name}-{arguments[0]}.log").open("ab") as log:
            return subprocess.Popen(
                [BIN / arguments[0], *arguments[1:]],
                cwd=self.folder,
                env={**self.env, **env},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def worker(self, **env):
        more = ("--", "--pool", "solo", "--without-gossip", "--without-mingle")
        app = ("-A", "dagster_celery.app", "-y", "worker.yaml", "-n", self.folder.name)
        return self.start("dagster-celery", "worker", "start", *app, *more, **env)

    def job(self, name):
        tags = f'{{"dagster/partition": "{TODAY}"}}'
        return self.start("dagster", "job", "execute", "-m", "cluster_project", "-j", name, "--tags", tags)

    def said(self, program):
        return (self.folder.parent / f"{self.folder.name}-{program}.log").read_text()[-4000:]


@pytest.fixture
def services(bucket, s3, postgres, redis, calls_log):
    """Return what all machines reach."""
    return {"bucket": bucket, "s3": s3, "postgres": postgres, "redis": redis, "calls_log": calls_log}


@pytest.fixture
def machines(tmp_path, services):
    """Return what makes machines; whatever runs on them is ended with the test."""
    running = []

    class Counted(Machine):
        def start(self, *arguments, **env):
            running.append(super().start(*arguments, **env))
            return running[-1]

    def machine(name):
        return Counted(tmp_path / name, **services)

    yield machine
    for process in running:
        kill_tree(process)


def runs_of(postgres):
    """Return status by job of all runs on the instance, newest first."""
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "dagster.yaml").write_text(INSTANCE.format(port=postgres))
        with dg.DagsterInstance.from_config(home) as instance:
            return [(run.job_name, run.status.value) for run in instance.get_runs()]


def test_a_night_goes_on_after_a_worker_was_killed_and_its_disk_deleted(machines, bucket, postgres, calls_log):
    one, two = machines("one"), machines("two")
    workers = [one.worker(CALL_S="0.4"), two.worker(CALL_S="0.4")]
    night = one.job("small_nightly")
    give_up = time.monotonic() + 90
    while len(calls_log.read_text().splitlines()) < 6:
        assert night.poll() is None, one.said("dagster")
        assert time.monotonic() < give_up, one.said("dagster-celery") + one.said("dagster")
        time.sleep(0.05)
    # The machine that ran the night and one of the workers is gone, with its disk.
    for process in (night, workers[0]):
        kill_tree(process)
    shutil.rmtree(one.folder)
    kill_tree(workers[1])
    lost = calls_log.read_text().splitlines()

    three = machines("three")
    workers = [two.worker(), three.worker()]
    assert three.job("small_nightly").wait(timeout=150) == 0, three.said("dagster") + three.said("dagster-celery")

    calls = Counter(calls_log.read_text().splitlines())
    assert set(calls) == {item["input"] for item in cases_of(18)}
    # Two workers with two calls each in flight, and one each that waited to be stored.
    assert len(lost) <= calls.total() <= 18 + 6
    store = Store(bucket)
    assert store.open(NIGHT, CAPTURED_RUN).n_rows == 18
    assert store.unfinished(NIGHT) == ()
    assert store.exists(NIGHT, GATE)

    assert three.job("small_rescore").wait(timeout=120) == 0, three.said("dagster")
    assert three.job("small_nightly").wait(timeout=120) == 0, three.said("dagster")
    assert Counter(calls_log.read_text().splitlines()) == calls
    assert store.open(NIGHT, SCORES, "citation_accuracy").n_rows == 18
    assert [status for _, status in runs_of(postgres)][:3] == ["SUCCESS"] * 3
    assert [worker.poll() for worker in workers] == [None, None]

    # Another grader: what is stale is scored on the shared storage and instance, in this process, without a call.
    three.project.write_suite(target=", concurrency: 2, shards: 3", graders=', says: {use: contains, substr: "days"}')
    assert three.start("spancheck", "rescore", "--stale").wait(timeout=120) == 0, three.said("spancheck")
    assert "no target call" in three.said("spancheck")
    assert store.open(NIGHT, SCORES, "says").n_rows == 18
    assert runs_of(postgres)[0] == ("rescore_stale", "SUCCESS")
    assert Counter(calls_log.read_text().splitlines()) == calls
