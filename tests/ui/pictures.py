"""Takes the pictures of the documentation from a real run: ``python tests/ui/pictures.py docs/pictures``.

It works in /tmp/demo, so that no path of the machine gets into a picture, on a copy of the shipped suite: one night for
the terminal's scorecard, then a week of nights for Dagster's UI and the report. On one night of that week a careless
build answers.
"""

from __future__ import annotations

import datetime as dt
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from dagster_ui import SPANCHECK, Home, Server, Window, serving, window
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

DEMO = Path("/tmp/demo")
GROUP = "/locations/__repository__@spancheck_pipeline.definitions/asset-groups/leases"
SCORECARD = "/assets/leases/scorecard"
CAPTURED_RUN = "/assets/leases/captured_run"
COMPARISON = "/assets/leases/comparison"
COLUMNS = 100
USUAL = {"callable": "target.py:answer", "version": None, "version_from": "target.py:VERSION"}
CARELESS = {"callable": "target.py:careless_answer", "version": "1.5.0-careless", "version_from": None}
NIGHTS, CARELESS_NIGHT = 7, 3
TERMINAL = """<body style="margin: 0; background: {background}; color: {foreground}; display: inline-block">
<pre style="margin: 0; padding: 18px 22px; font: 14px/1.35 'DejaVu Sans Mono', monospace">{code}</pre></body>"""


def main(to: Path) -> None:
    if DEMO.exists():
        sys.exit(f"{DEMO} exists; move it away first")
    try:
        take_scorecard(Home.make(DEMO), to / "scorecard.png")
        shutil.rmtree(DEMO)
        take_ui(Home.make(DEMO), to)
    finally:
        shutil.rmtree(DEMO)


def take_scorecard(home: Home, file: Path) -> None:
    printed = on_a_terminal(home, "nightly", "leases")
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115 - ends with the script
    console.print(Text.assemble(("$ ", "dim"), ("spancheck nightly leases", "bold")))
    console.print(Text.from_ansi(printed), soft_wrap=True)
    html = console.export_html(theme=MONOKAI, code_format=TERMINAL, inline_styles=True)
    with window(scale=1.25) as opened:
        opened.page.set_content(html)
        opened.page.locator("body").screenshot(path=file)


def on_a_terminal(home: Home, *arguments: str) -> str:
    """Run a command with a terminal for its stdout, and return what it printed, colours included."""
    ours, theirs = pty.openpty()
    environ = home.environ(COLUMNS=str(COLUMNS), TERM="xterm-256color")
    with subprocess.Popen(
        [*SPANCHECK, *arguments], cwd=home.folder, env=environ, stdout=theirs, stderr=subprocess.DEVNULL
    ):
        os.close(theirs)
        printed = bytearray()
        while block := read_block(ours):
            printed += block
    os.close(ours)
    return printed.decode().replace("\r\n", "\n").rstrip()


def read_block(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def take_ui(home: Home, to: Path) -> None:
    today = dt.datetime.now(dt.UTC).date()
    dates = [(today - dt.timedelta(days=n)).isoformat() for n in reversed(range(NIGHTS))]
    for number, date in enumerate(dates):
        home.change_suite("target", **(CARELESS if number == CARELESS_NIGHT else USUAL))
        night = home.spancheck("nightly", "leases", "--date", date, "--allow-past", SPANCHECK_START_DATE=dates[0])
        assert night.returncode == (number == CARELESS_NIGHT), night.stderr
    take_report(home, to, failed=dates[CARELESS_NIGHT], last=dates[-1])
    with serving(home, [*SPANCHECK, "ui"], SPANCHECK_START_DATE=dates[0]) as server:
        server.locations()
        with window(1000, 1700, scale=1.1) as opened:  # narrow, so that Dagster draws all of the graph
            take_lineage(server, opened, to / "lineage.png")
        with window(1280, 800) as opened:
            take_checks(server, opened, to / "checks.png", dates[CARELESS_NIGHT])
            take_plots(server, opened, to / "plots.png")
            take_partitions(server, opened, to / "partitions.png", dates[-1])


def take_report(home: Home, to: Path, *, failed: str, last: str) -> None:
    """Show the first screen of the night that failed, and one case of a usual one."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from ui.report_page import reader

    reports = home.folder / "storage" / "report" / "suite=leases"
    with reader(1240, 1000) as seen:
        seen.open(reports / f"date={failed}" / "report.html").screenshot(path=to / "report.png")
        page = seen.open(reports / f"date={last}" / "report.html", "#case=bakery-service-charge")
        page.set_viewport_size({"width": 1240, "height": 720})
        page.screenshot(path=to / "report-case.png")


def take_lineage(server: Server, opened: Window, file: Path) -> None:
    opened.show(server.url + GROUP, "captured_run", "scorecard")
    opened.page.get_by_text("Hide navigation").click()
    opened.page.add_style_tag(content="* { background-image: none !important }")  # the dots of the ground: 150 kB
    settle(opened.page)
    opened.page.screenshot(path=file)


def take_checks(server: Server, opened: Window, file: Path, date: str) -> None:
    """Show one rule of the gate over the week, and what it said of the night on which it failed."""
    rule = "min_pass_rate_citation_accuracy"
    opened.show(f"{server.url}{COMPARISON}?view=checks&checkDetail={rule}", rule, "Evaluation result")
    opened.page.get_by_text("Hide navigation").click()
    opened.page.get_by_text("Partitions", exact=True).last.click()
    settle(opened.page)
    opened.page.get_by_text(date, exact=True).first.click()
    settle(opened.page)
    opened.page.screenshot(path=file)


def take_plots(server: Server, opened: Window, file: Path) -> None:
    opened.show(server.url + SCORECARD, "Metadata", "hallucination_rate")
    opened.page.get_by_role("button", name="Plots").click()
    opened.page.get_by_role("button", name="Columns").click()
    settle(opened.page)
    opened.page.screenshot(path=file)


def take_partitions(server: Server, opened: Window, file: Path, date: str) -> None:
    """Show which nights of the captured run are there: one partition a date."""
    opened.show(f"{server.url}{CAPTURED_RUN}?view=partitions", "captured_run", date)
    settle(opened.page)
    opened.page.screenshot(path=file)


def settle(page: Any) -> None:
    """Wait until the page asks for nothing more and its animations have ended."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1500)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
