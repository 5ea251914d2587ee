"""A report of ten thousand cases: it opens, filters and scrolls without keeping its reader waiting.

What it really takes is measured by ``tests/benchmarks/report.py``: about half a second. The promise is 3 seconds on a
machine that does nothing else, so the bound is 3 seconds times what this machine makes a busy loop wait just now: wall
time over its own time on a processor is 1 on an idle machine, whatever its speed, and grows with what others take.
"""

import time
from collections.abc import Callable

import pytest
from report_scenario import answered, renamed, write_page_of
from scenario import PASSAGE, QUOTE
from ui.dagster_ui import CHROMIUM
from ui.report_page import reader

from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy
from spancheck_pipeline.grading.graders.no_pii import NoPii

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is missing (the extra `dev` has it)")
pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="a Chromium is missing (Debian: apt-get install chromium)"),
]

N = 10_000
GRADERS = (CitationAccuracy(), NoPii())


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    good, bad = (
        answered("x", answer, passages=[("lease", PASSAGE)], quotes=[("lease", QUOTE)], graders=GRADERS)
        for answer in (f"You may {QUOTE}.", f"You may {QUOTE}; call +49 30 901820.")
    )
    records = [renamed(bad if i % 10 == 0 else good, f"case-{i:05d}") for i in range(N)]
    return write_page_of(tmp_path_factory.mktemp("large") / "report.html", records, graders=GRADERS)


PROMISED_S = 3.0


def waiting() -> float:
    """Return how many times longer than its own time a busy loop takes here just now; at least 1."""
    wall, own = time.perf_counter(), time.process_time()
    while time.process_time() - own < 0.15:
        pass
    return max(1.0, (time.perf_counter() - wall) / (time.process_time() - own))


def assert_quick(act: Callable[[], object], what: str) -> None:
    """Check that something takes no more than promised; others may get in its way twice."""
    seen = []
    for _ in range(3):
        before, started = waiting(), time.perf_counter()
        act()
        took, load = time.perf_counter() - started, max(before, waiting())
        if took < PROMISED_S * load:
            return
        seen.append(f"{took:.1f} s where a busy loop takes {load:.1f} times its time")
    raise AssertionError(f"{what}: " + "; ".join(seen))


def test_ten_thousand_cases_open_filter_and_scroll_at_once(report):
    with reader() as seen:
        page = seen.page
        assert_quick(lambda: seen.open(report), "opening")
        seen.go("view=cases", "#table tbody a")
        assert page.inner_text("#found") == "10,000 cases of 10,000"
        assert page.locator("#table tbody tr").count() < 100, "only the rows that can be seen are in the page"

        def shown(found: str) -> None:
            page.wait_for_function(f"() => document.getElementById('found').textContent === '{found} of 10,000'")

        def filtered() -> None:
            page.select_option("#filter-grader", "no_pii")
            page.select_option("#filter-outcome", "f")
            shown("1,000 cases")
            page.fill("#filter-q", "case-0777")
            shown("1 case")
            page.fill("#filter-q", "")
            page.select_option("#filter-outcome", "")
            shown("10,000 cases")

        assert_quick(filtered, "four changes of the filters")

        page.evaluate("() => { document.getElementById('rows').scrollTop = 36 * 9000 }")
        page.wait_for_selector("#table tbody a bdi:text-is('case-09005')")
        page.click("#table tbody a bdi:text-is('case-09005')")
        page.wait_for_selector("#case h2 bdi:text-is('case-09005')")
        assert page.locator("#case .way a:text-is('Next')").get_attribute("href") == "#case=case-09006"
        seen.assert_quiet()
