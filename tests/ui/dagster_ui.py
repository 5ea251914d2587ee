"""A project of one suite, Dagster's servers on it, and a browser that may reach nothing but this machine.

The tests of this folder and ``pictures.py`` share it. Everything that is started here has the project's own HOME in its
environment: that is how what is left of a server's tree is found, and ended, by process id.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

REPOSITORY = Path(__file__).parents[2]
SPANCHECK = (sys.executable, "-m", "spancheck_pipeline.cli")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LOCATIONS = """{ workspaceOrError { ... on Workspace { locationEntries { name loadStatus locationOrLoadError {
    __typename ... on PythonError { message } } } } } }"""


@dataclass(frozen=True, kw_only=True)
class Home:
    """A working folder, with a HOME of its own and a copy of the shipped suite ``leases``."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Home:
        home = cls(folder=folder)
        home.user.mkdir(parents=True)
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / "datasets" / "leases", home.suite, ignore=skipped)
        shutil.copy(REPOSITORY / "datasets" / "judges.yaml", home.suite.parent)
        return home

    @property
    def user(self) -> Path:
        """HOME of everything that runs here."""
        return self.folder / "home"

    @property
    def dagster(self) -> Path:
        return self.folder / ".spancheck" / "dagster_home"

    @property
    def suite(self) -> Path:
        return self.folder / "datasets" / "leases"

    def environ(self, **more: str) -> dict[str, str]:
        """Return this process's environment without its own settings of spancheck and Dagster."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPANCHECK_", "DAGSTER_"))}
        paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
        return kept | {"HOME": str(self.user), "PYTHONPATH": os.pathsep.join(paths)} | more

    def change_suite(self, section: str, **settings: Any) -> None:
        """Change settings of one section of ``suite.yaml``; None takes a setting away."""
        file = self.suite / "suite.yaml"
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        changed = document[section] | settings
        document[section] = {name: value for name, value in changed.items() if value is not None}
        file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")

    def spancheck(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        command = [*SPANCHECK, *arguments]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environ(**environ),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def left(self) -> list[int]:
        """Return the processes that still run with this HOME (Linux: it is read from /proc)."""
        wanted = f"HOME={self.user}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = wanted in (entry / "environ").read_bytes().split(b"\0")
                is_zombie = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:  # it has ended, or it is somebody else's
                continue
            if is_ours and not is_zombie:
                found.append(int(entry.name))
        return found


@dataclass(kw_only=True)
class Server:
    """A command that serves Dagster's UI on a free port of the loopback."""

    home: Home
    port: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def query(self, query: str, **variables: Any) -> Any:
        """Return the data of a GraphQL query."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)["data"]

    def locations(self) -> list[dict[str, Any]]:
        """Wait for the server and return its code locations, loaded or not able to be."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                entries = self.query(LOCATIONS)["workspaceOrError"]["locationEntries"]
            except OSError:  # it does not listen yet
                entries = []
            if entries and all(entry["loadStatus"] == "LOADED" for entry in entries):
                return entries
            time.sleep(0.3)
        raise AssertionError(f"no code location was loaded; {self.log} ends with:\n{self.log.read_text()[-2000:]}")

    def end(self, how: signal.Signals = signal.SIGTERM, *, patience_s: float = 10) -> list[int]:
        """End the command, and return the processes that it left behind after a while; those are killed."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        deadline = time.monotonic() + patience_s
        while (left := self.home.left()) and time.monotonic() < deadline:
            time.sleep(0.2)
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return left


@contextmanager
def serving(home: Home, command: Sequence[str], *, folder: Path | None = None, **environ: str) -> Iterator[Server]:
    """Run a command with ``--port`` and a free one added, and end it and its tree."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = home.folder / f"server-{port}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=folder or home.folder,
            env=home.environ(**environ),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(home=home, port=port, process=process, log=log)
    try:
        yield server
    finally:
        server.end(patience_s=0)  # `dagster dev` leaves its children, however long one waits


@dataclass(kw_only=True)
class Window:
    """A page of a browser, and every address outside this machine that it asked for; those requests are refused."""

    page: Any
    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """Errors of the page's own scripts."""

    def show(self, url: str, *expected: str) -> str:
        """Open an address, wait until the page shows all of the expected texts, and return its text."""
        self.page.goto(url)
        script = "texts => texts.every(text => document.body.innerText.includes(text))"
        self.page.wait_for_function(script, arg=list(expected), timeout=20_000)
        return str(self.page.inner_text("body"))


@contextmanager
def window(width: int = 1600, height: int = 1000, scale: float = 1) -> Iterator[Window]:
    """Open Chromium without a head."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        context = browser.new_context(viewport={"width": width, "height": height}, device_scale_factor=scale)
        opened = Window(page=context.new_page())

        def refuse_foreign(route: Any) -> None:
            if urlsplit(route.request.url).hostname == "127.0.0.1":
                route.continue_()
            else:
                opened.foreign.append(route.request.url)
                route.abort()

        def note_socket(socket: Any) -> None:
            if urlsplit(socket.url).hostname != "127.0.0.1":
                opened.foreign.append(socket.url)

        context.route(lambda url: not url.startswith(("data:", "blob:")), refuse_foreign)
        opened.page.on("websocket", note_socket)
        opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
        try:
            yield opened
        finally:
            browser.close()
