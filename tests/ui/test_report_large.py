"""A report of ten thousand cases: it opens, filters and scrolls without keeping its reader waiting.

The bounds are generous, for a busy machine; what it really takes is measured by ``tests/benchmarks/report.py``.
"""

import time

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


def test_ten_thousand_cases_open_filter_and_scroll_at_once(report):
    with reader() as seen:
        started = time.monotonic()
        page = seen.open(report)
        assert time.monotonic() - started < 10
        seen.go("view=cases", "#table tbody a")
        assert page.inner_text("#found") == "10,000 cases of 10,000"
        assert page.locator("#table tbody tr").count() < 100, "only the rows that can be seen are in the page"

        started = time.monotonic()
        page.select_option("#filter-grader", "no_pii")
        page.select_option("#filter-outcome", "f")
        page.wait_for_function("() => document.getElementById('found').textContent === '1,000 cases of 10,000'")
        page.fill("#filter-q", "case-0777")
        page.wait_for_function("() => document.getElementById('found').textContent === '1 case of 10,000'")
        page.fill("#filter-q", "")
        page.select_option("#filter-outcome", "")
        page.wait_for_function("() => document.getElementById('found').textContent === '10,000 cases of 10,000'")
        assert time.monotonic() - started < 10

        page.evaluate("() => { document.getElementById('rows').scrollTop = 36 * 9000 }")
        page.wait_for_selector("#table tbody a bdi:text-is('case-09005')")
        page.click("#table tbody a bdi:text-is('case-09005')")
        page.wait_for_selector("#case h2 bdi:text-is('case-09005')")
        assert page.locator("#case .way a:text-is('Next')").get_attribute("href") == "#case=case-09006"
        seen.assert_quiet()
