"""One answer about which a grader has a quarter of a million things to say: the page shows the first, and says so."""

import pytest
from report_scenario import answered, write_page_of
from ui.dagster_ui import CHROMIUM
from ui.report_page import reader

from spancheck_pipeline.grading.graders.no_pii import NoPii
from spancheck_pipeline.grading.score import Finding, Outcome

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is missing (the extra `dev` has it)")
pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="a Chromium is missing (Debian: apt-get install chromium)"),
]

N = 250_000
GRADERS = (NoPii(),)
ANSWER = "a" * 2_000


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    quiet = answered("quiet", ANSWER, graders=GRADERS)
    finding = {"kind": "word", "value": 0.0, "reason": ""}
    findings = tuple(
        Finding(
            item=f"word[{i}]",
            outcome=Outcome.FAIL if i >= N - 5 else Outcome.PASS,  # what failed stands last
            answer_start=i % 2_000,
            answer_end=i % 2_000 + 1,
            **finding,
        )
        for i in range(N)
    )
    said = quiet.scores[0].model_copy(update={"outcome": Outcome.FAIL, "findings": findings})
    loud = answered("loud", ANSWER, graders=GRADERS).model_copy(update={"scores": (said,)})
    return write_page_of(tmp_path_factory.mktemp("many") / "report.html", [quiet, loud], graders=GRADERS)


def test_a_case_with_250_000_findings_opens_with_the_gravest_and_draws_more_when_asked(report):
    with reader() as seen:
        page = seen.open(report, "#case=loud")

        page.wait_for_selector(".finding")
        assert page.locator(".finding").count() == 200
        assert page.inner_text(".first [role=status]") == "200 of 250,000 findings are shown."
        assert page.locator(".finding.fail").count() == 5  # they stand last in the record
        assert page.inner_text(".finding >> nth=0").startswith("249996 word[249995]")
        assert "1,000 of 250,000 marks are drawn, what failed first." in page.inner_text("#case div.answer")
        assert page.locator("mark.fail").count() == 5
        page.click("text=Show 1,000 more")
        assert page.locator(".finding").count() == 1_200
        assert page.inner_text(".first [role=status]") == "1,200 of 250,000 findings are shown."
        seen.assert_quiet()
