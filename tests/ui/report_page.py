"""A report opened in Chromium from the disk: every request it makes and everything it complains of is noted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ui.dagster_ui import CHROMIUM, FLAGS

AXE = os.environ.get("SPANCHECK_AXE")
"""Path of axe-core's ``axe.min.js`` (npm: axe-core)."""


@dataclass(kw_only=True)
class Reader:
    """A page of a browser that reads reports."""

    page: Any
    requests: list[str] = field(default_factory=list)
    """Every address that was asked for, the reports themselves included."""
    said: list[str] = field(default_factory=list)
    """What stands in the console, errors of scripts, dialogs and new windows."""

    def open(self, file: Path, after: str = "", **view: Any) -> Any:
        """Open a report at an address after its hash, and wait until it is ready."""
        if view:
            self.page.emulate_media(**view)
        self.page.goto("about:blank")
        self.page.goto(file.as_uri() + after, wait_until="commit")
        self.page.wait_for_selector("html[data-ready=true]", state="attached", timeout=30_000)
        return self.page

    def go(self, after: str, shown: str) -> Any:
        """Go on to another address within the report, and wait until something is shown there."""
        self.page.evaluate("after => { location.hash = after }", after)
        self.page.wait_for_selector(shown, timeout=15_000)
        return self.page

    def assert_quiet(self) -> None:
        """Check that nothing but reports was asked for, and that nobody complained."""
        assert [url for url in self.requests if not url.startswith(("file:", "about:blank"))] == []
        assert all(url.split("#")[0].endswith(".html") for url in self.requests if url.startswith("file:"))
        assert self.said == []


@contextmanager
def reader(width: int = 1400, height: int = 900, *, scale: float = 1, **context: Any) -> Iterator[Reader]:
    """Open Chromium without a head; ``context`` are settings of a Playwright browser context."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        opened = browser.new_context(
            viewport={"width": width, "height": height}, device_scale_factor=scale, accept_downloads=True, **context
        )
        found = Reader(page=opened.new_page())
        opened.on("request", lambda request: found.requests.append(request.url))
        opened.on("page", lambda page: found.said.append(f"a new window: {page.url}"))
        found.page.on("console", lambda message: found.said.append(f"{message.type}: {message.text}"))
        found.page.on("pageerror", lambda error: found.said.append(f"error: {error}"))
        found.page.on("dialog", lambda dialog: (found.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        try:
            yield found
        finally:
            browser.close()
