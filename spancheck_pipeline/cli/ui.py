"""``spancheck ui``: Dagster's webserver and daemon on this project, with the right home and telemetry off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import click

from spancheck_pipeline.cli.options import open_project


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=3000, show_default=True, type=click.IntRange(1, 65535), help="Port to listen on.")
def ui(*, host: str, port: int) -> int:
    """Open Dagster's UI on this project: lineage, partitions, checks, schedules.

    Runs until it is interrupted; webserver and daemon end together.
    """
    from spancheck_pipeline.defs.home import prepare_home

    environment, _ = open_project()
    home = prepare_home(environment.dagster_home)
    module = ["-m", "spancheck_pipeline.definitions", "-d", str(os.getcwd())]  # noqa: PTH109 - Dagster takes a plain path
    commands = [
        [sys.executable, "-m", "dagster_webserver", *module, "-h", host, "-p", str(port)],
        [sys.executable, "-m", "dagster._daemon", "run", *module],
    ]
    click.echo(f"Dagster UI: http://{host}:{port} (home {home}); press Ctrl-C to end it", err=True)
    children = []
    # A terminal that is closed hangs up; the servers are sessions of their own, and would go on without us.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: sys.exit(0))
    try:
        for command in commands:  # one by one: what has started is known whenever a signal comes
            children.append(subprocess.Popen(command, start_new_session=True))  # noqa: S603, PERF401 - our own servers, one by one
        while all(child.poll() is None for child in children):
            time.sleep(0.2)
    except KeyboardInterrupt:
        return 0
    finally:
        _end(children)
    return 2


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    """End the process groups of both servers: politely, then not."""
    for polite in (signal.SIGTERM, signal.SIGKILL):
        for child in children:
            try:
                os.killpg(child.pid, polite)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(child.poll() is None for child in children):
            time.sleep(0.1)
