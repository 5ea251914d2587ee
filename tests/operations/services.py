"""A project's code server, daemon and webserver on loopback, each of them started, killed and started again at will.

Runs are launched as in production: over GraphQL, through the daemon's queue, in a process that the code server starts.
Everything is ended by process id.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import dagster as dg
from scenario import Project

from spancheck_pipeline.defs.home import INSTANCE_SETTINGS

T = TypeVar("T")
REPOSITORY = Path(__file__).parents[2]
SELECTOR = {"repositoryLocationName": "project", "repositoryName": "__repository__"}
QUICK = """\
run_coordinator:
  module: dagster._core.run_coordinator
  class: QueuedRunCoordinator
  config: {dequeue_interval_seconds: 1}
"""
LAUNCH = """mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
    ... on RunConfigValidationInvalid { errors { message } } } }"""


def wait_for(what: str, look: Callable[[], T | None], *, patience_s: float = 120) -> T:
    """Look until something is there."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"no {what} within {patience_s} s")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@dataclass(kw_only=True)
class Services(AbstractContextManager["Services"]):
    """The three servers of one project."""

    project: Project
    environ: dict[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=lambda: {"code": free_port(), "webserver": free_port()})

    def __enter__(self) -> Self:
        home = self.project.environment.dagster_home
        home.mkdir(parents=True)
        settings = INSTANCE_SETTINGS.replace("  start_timeout", "  poll_interval_seconds: 2\n  start_timeout", 1)
        (home / "dagster.yaml").write_text(settings + QUICK)
        with self.instance():
            pass  # databases are made by one process
        location = {"host": "127.0.0.1", "port": self.ports["code"], "location_name": "project"}
        (self.project.folder / "workspace.yaml").write_text(json.dumps({"load_from": [{"grpc_server": location}]}))
        self.start("code")
        wait_for("code server", lambda: self._listens("code"))
        self.start("daemon")
        self.start("webserver")
        wait_for("webserver", lambda: self._listens("webserver"))
        return self

    def __exit__(self, *_: object) -> None:
        for name in ("daemon", "webserver", "code"):
            for pid in [*self.children(name), self.processes[name].pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self.processes[name].wait()

    def instance(self) -> dg.DagsterInstance:
        """Open the project's Dagster instance in this process."""
        return dg.DagsterInstance.from_config(str(self.project.environment.dagster_home))

    def start(self, name: str) -> None:
        """Start one of the servers."""
        workspace = ["-w", str(self.project.folder / "workspace.yaml")]
        module = ["-m", "spancheck_pipeline.definitions", "-d", str(self.project.folder)]
        commands = {
            "code": ["dagster", "api", "grpc", *module, "-h", "127.0.0.1", "-p", str(self.ports["code"])],
            "daemon": ["dagster._daemon", "run", *workspace],
            "webserver": ["dagster_webserver", *workspace, "-h", "127.0.0.1", "-p", str(self.ports["webserver"])],
        }
        paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
        more = {"PYTHONPATH": os.pathsep.join(paths), "DAGSTER_DISABLE_TELEMETRY": "yes"}
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPANCHECK_", "DAGSTER_"))}
        with (self.project.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *commands[name]],
                cwd=self.project.folder,
                env=kept | more | self.project.environ | self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill(self, name: str) -> bool:
        """End a server, or the ``worker`` of a run, at once; return whether there was one."""
        if name != "worker":
            self.processes[name].kill()
            self.processes[name].wait()
            return True
        workers = self.workers()
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        return bool(workers)

    def children(self, name: str) -> list[int]:
        """Return the processes that a server has started."""
        found = []
        for thread in Path(f"/proc/{self.processes[name].pid}/task").glob("*/children"):
            try:
                found += [int(child) for child in thread.read_text().split()]
            except OSError:  # the thread has just ended
                continue
        return found

    def workers(self) -> list[int]:
        """Return the processes in which runs are executed."""
        found = []
        for pid in self.children("code"):
            try:
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:  # it has just ended
                continue
        return found

    def _listens(self, name: str) -> bool:
        if self.processes[name].poll() is not None:
            raise AssertionError(f"{name} ended: {(self.project.folder / f'{name}.log').read_text()[-2000:]}")
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.ports[name])) == 0

    def query(self, query: str, **variables: Any) -> Any:
        """Return the data of a GraphQL query; wait for a webserver that is just starting."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        url = f"http://127.0.0.1:{self.ports['webserver']}/graphql"

        def ask() -> Any:
            request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except OSError:
                return None

        found = wait_for("answer of the webserver", ask)
        assert "errors" not in found, found
        return found["data"]

    def launch(self, job: str, tags: dict[str, str], config: dict[str, Any] | None = None) -> str:
        """Put a run into the queue, as the launchpad does, and return its id."""
        params = {
            "selector": {**SELECTOR, "jobName": job},
            "runConfigData": json.dumps(config or {}),
            "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
        }
        launched = self.query(LAUNCH, params=params)["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        return str(launched["run"]["runId"])
