"""The demo suites' reports in a browser, as somebody who was sent the file reads them."""

import csv
import io
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from ui.dagster_ui import CHROMIUM
from ui.report_night import CARELESS, demo
from ui.report_page import AXE, reader

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is missing (the extra `dev` has it)")
pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="a Chromium is missing (Debian: apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """A night that its gate let pass, and a careless build's night after it."""
    return demo(tmp_path_factory.mktemp("leases"), "leases", [{}, CARELESS])


@pytest.fixture(scope="module")
def usual(nights):
    return nights[0]


@pytest.fixture(scope="module")
def leases(nights):
    return nights[1]


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Five epochs, with cases that come out otherwise from one to the next."""
    return demo(tmp_path_factory.mktemp("forms"), "forms", [{}])[0]


@pytest.fixture(scope="module")
def seen():
    with reader() as seen:
        yield seen
        seen.assert_quiet()


def found(page) -> str:
    """Return what the table says of how many cases are left, once the filters have been applied."""
    page.wait_for_timeout(160)
    return page.inner_text("#found")


def ids(page) -> list[str]:
    return page.eval_on_selector_all("#table tbody a", "links => links.map(link => link.textContent)")


def test_the_first_screen_says_the_decision_the_rules_that_failed_and_the_rates(leases, seen):
    page = seen.open(leases.file)

    text = re.sub(r"\n+", "\n", page.inner_text("#overview"))
    assert text.startswith("FAIL\nThe gate does not let this run pass: ")
    for rule in leases.head.decision.rules:
        assert (rule.reason in text) == (rule.answer != "PASS")  # those that hold stand behind a fold
    rate = leases.head.summary.graders["citation_accuracy"].pass_rate
    assert f"{rate.value * 100:.1f} %" in text
    assert f"{rate.low * 100:.1f} – {rate.high * 100:.1f} %" in text
    assert "against the release and the last good run" in text  # one run that is both stands there once
    assert page.locator("figure svg").count() >= len(leases.head.summary.graders)
    assert page.locator("#cases").is_hidden()


def test_filters_leave_exactly_the_cases_that_the_scorecard_counts(leases, seen):
    page = seen.open(leases.file, "#view=cases")
    card, comparison = leases.head.summary, leases.head.comparisons[0]
    failing = card.graders["citation_accuracy"].failing_case_ids

    page.select_option("#filter-grader", "citation_accuracy")
    page.select_option("#filter-outcome", "f")
    assert found(page) == f"{len(failing)} cases of 68"
    assert set(ids(page)) <= set(failing)
    page.select_option("#filter-outcome", "")
    page.select_option("#filter-flag", "failing-0")
    newly = comparison.graders["citation_accuracy"].newly_failing_case_ids
    assert found(page) == f"{len(newly)} cases of 68"
    page.select_option("#filter-grader", "")
    page.select_option("#filter-flag", "")
    page.select_option("#filter-why", "invented")
    assert sorted(ids(page) if found(page) else []) == sorted(card.attributions["invented"])
    page.select_option("#filter-category", "unanswerable")
    unanswerable = {record.case.id for record in leases.records if record.case.category == "unanswerable"}
    expected = unanswerable & set(card.attributions["invented"])
    assert found(page).startswith(f"{len(expected)} ")
    page.click("button[type=reset]")
    assert found(page) == "68 cases of 68"


def test_flaky_cases_are_found_and_their_epochs_stand_side_by_side(forms, seen):
    page = seen.open(forms.file, "#view=cases&flag=flaky")
    flaky = forms.head.summary.graders["criteria"].flaky_case_ids

    assert sorted(ids(page)) == sorted(flaky)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.click("#table tbody a >> nth=0")
    page.wait_for_selector("#case .epochs")
    first = forms.case(ids(page)[0])
    assert page.inner_text("#case .chip.flaky") == "flaky: criteria"
    failed = [
        record.call.epoch
        for record in first
        if any(score.grader == "criteria" and score.outcome == "fail" for score in record.scores)
    ]
    assert page.get_attribute("#case .epoch", "data-epoch") == str(failed[0])  # and not the first, where that passed
    edges = page.eval_on_selector_all(
        "#case .epochs > .panel", "cards => cards.map(c => c.getBoundingClientRect().right)"
    )
    assert len(edges) == 5
    assert max(edges) <= 1280
    seen.go(f"case={first[0].case.id}&epoch=0", "#case .epoch[data-epoch='0']")
    page.set_viewport_size({"width": 1400, "height": 900})
    answers = page.eval_on_selector_all("#case .epochs .text", "blocks => blocks.map(block => block.textContent)")
    assert answers == [record.call.output.answer for record in first]
    chips = page.eval_on_selector_all("#case .matrix tbody tr", "rows => rows.map(row => row.innerText)")
    assert any({"pass", "fail"} <= set(re.split(r"\s+", row)) for row in chips)


def test_search_looks_into_ids_and_questions_at_once_and_into_texts_when_asked(leases, seen):
    page = seen.open(leases.file, "#view=cases")

    page.fill("#filter-q", "CHARGE bakery_service")  # every word, in any order, however the id writes its blanks
    assert found(page) == "1 case of 68"
    words = ["arcade", "cleaning", "lighting"]
    expected = {
        record.case.id for record in leases.records if all(word in " ".join(text_of(record)).lower() for word in words)
    }
    assert expected
    page.fill("#filter-q", "Lighting of-cleaning arcade")
    assert found(page) == "0 cases of 68"
    page.check("#filter-deep")
    page.wait_for_function(
        "n => document.getElementById('found').textContent.startsWith(n + ' cases')", arg=len(expected)
    )
    assert set(ids(page)) == expected
    assert "q=Lighting+of-cleaning+arcade" in page.url
    assert "deep=true" in page.url


def text_of(record) -> list[str]:
    """Return what a search in the texts looks into."""
    answer = record.call.output
    return [record.case.id, str(record.case.input), answer.answer, *(c.text or "" for c in answer.contexts)]


def test_an_address_opens_a_case_or_says_that_there_is_none(leases, seen):
    page = seen.open(leases.file, "#case=bakery-service-charge")

    assert page.inner_text("#case h2") == "bakery-service-charge"
    assert page.locator("#overview").is_hidden()
    record = leases.case("bakery-service-charge")[0]
    assert record.call.output.answer in page.eval_on_selector("#case .answer", "node => node.textContent")
    seen.go("case=nobody", "text=No such case")
    seen.go("view=cases", "#table tbody a")
    page.go_back()
    page.wait_for_selector("text=No such case")


OFFSETS = """selector => [...document.querySelectorAll(selector)].map(block => {
  const found = {};
  let at = 0;
  const walk = (node, numbers) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const length = [...node.data].length;
      for (const number of numbers) {
        found[number] = found[number] || [at, at];
        found[number][1] = at + length;
      }
      at += length;
      return;
    }
    const own = node.dataset && node.dataset.findings ? node.dataset.findings.split(" ") : [];
    for (const child of node.childNodes) walk(child, [...numbers, ...own]);
  };
  walk(block, []);
  return { text: block.textContent, found };
})"""
"""Where each finding's marks begin and end, in code points of the text that is drawn."""


def test_marks_lie_exactly_at_the_offsets_of_the_findings(leases, seen):
    page = seen.open(leases.file)
    n_answer = n_passage = 0
    for record in leases.records:
        seen.go(f"case={record.case.id}", f"#case h2 bdi:text-is('{record.case.id}')")
        if page.locator("#case .marks select").count():
            page.select_option("#case .marks select", "")
        findings = dict(enumerate((f for score in record.scores for f in score.findings), start=1))
        (answer,) = page.evaluate(OFFSETS, "#case .answer .text")
        assert answer["text"] == record.call.output.answer
        expected = {
            str(n): [f.answer_start, f.answer_end]
            for n, f in findings.items()
            if f.answer_start is not None and f.answer_end > f.answer_start
        }
        assert answer["found"] == expected
        passages = page.evaluate(OFFSETS, "#case .passages .text")
        assert [passage["text"] for passage in passages] == [c.text for c in record.call.output.contexts]
        placed = [
            {
                str(n): [f.source_start, f.source_end]
                for n, f in findings.items()
                if f.source_id == context.source_id and f.source_start is not None
            }
            for context in record.call.output.contexts
        ]
        assert [passage["found"] for passage in passages] == placed
        n_answer += len(expected)
        n_passage += sum(map(len, placed))
    assert n_answer > 100
    assert n_passage > 50


def test_altered_words_are_shown_as_a_difference_and_missing_ones_are_named(usual, seen):
    page = seen.open(usual.file, "#case=bakery-service-charge")

    assert page.inner_text("#case .diff del") == "310.50"
    assert page.inner_text("#case .diff ins >> nth=0") == "310"
    assert page.inner_text("#case .scores .named >> nth=0") == "“310”"
    page.click("#case .finding button:text('in the passage') >> nth=0")
    assert page.locator("#case .passages mark.lit").count() == 1
    for score in usual.case("bakery-service-charge")[0].scores:
        assert score.reason in page.eval_on_selector("#case .scores", "node => node.textContent")


def test_a_flipped_case_shows_the_baselines_answer_beside_its_own(usual, leases, seen):
    page = seen.open(leases.file, "#view=changes")
    flipped = leases.head.comparisons[0].graders["citation_accuracy"].newly_failing_case_ids
    answers = [{r.case.id: r.call.output.answer for r in night} for night in (usual.records, leases.records)]
    other = next(case_id for case_id in flipped if answers[0][case_id] != answers[1][case_id])

    page.select_option("#changes .flips >> nth=0 >> select >> nth=0", "citation_accuracy")
    assert page.locator("#changes .flips").count() == 1, "the release and the last good run are one run"
    assert page.inner_text("#changes .flips >> nth=0 >> [role=status]") == f"{len(flipped)} cases"
    page.click(f"#changes .flip[data-case='{other}'] summary >> nth=0")
    page.wait_for_selector("#changes .sides")
    shown = page.eval_on_selector_all(
        "#changes .sides > .panel", "sides => sides.map(side => side.querySelector('.panel .text').textContent)"
    )
    assert shown == [answers[0][other], answers[1][other]]
    assert page.locator("#changes .sides + .diff del, #changes .sides + .diff ins").count() > 0
    reasons = page.inner_text("#changes .sides > .panel >> nth=0 >> details >> nth=0 >> summary")
    assert reasons == "Reasons"


def test_what_the_filters_leave_is_downloaded_as_csv_and_as_parquet(leases, seen):
    page = seen.open(leases.file, "#view=cases&grader=no_pii&outcome=f")
    failing = leases.head.summary.graders["no_pii"].failing_case_ids

    def downloaded(button: str) -> bytes:
        with page.expect_download() as download:
            page.click(button)
        assert (
            download.value.suggested_filename == f"leases-2026-03-12-cases{'.csv' if button == '#csv' else '.parquet'}"
        )
        return Path(download.value.path()).read_bytes()

    rows = list(csv.DictReader(io.StringIO(downloaded("#csv").decode("utf-8-sig"), newline="")))
    table = pq.read_table(io.BytesIO(downloaded("#parquet")))
    assert [row["case_id"] for row in rows] == table["case_id"].to_pylist()
    assert sorted(row["case_id"] for row in rows) == sorted(failing)
    assert {row["no_pii"] for row in rows} == set(table["no_pii"].to_pylist()) == {"fail"}
    assert [float(row["latency_ms"]) for row in rows] == table["latency_ms"].to_pylist()
    assert table.schema.metadata[b"contract"] == b"1"
    page.fill("#filter-q", "no such case at all")
    assert found(page) == "0 cases of 68"
    assert pq.read_table(io.BytesIO(downloaded("#parquet"))).num_rows == 0


def test_the_table_is_used_with_the_keyboard_alone(leases, seen):
    page = seen.open(leases.file, "#view=cases")
    page.focus("#table tbody a[tabindex='0']")
    order = [record.case.id for record in leases.records]

    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == order[2]
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.textContent") == order[-1]
    assert page.evaluate("document.activeElement.getBoundingClientRect().bottom <= innerHeight")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#case h2 bdi:text-is('{order[-1]}')")
    assert page.evaluate("document.activeElement.tagName") == "H2"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_readers_colours(leases, seen, scheme):
    page = seen.open(leases.file, color_scheme=scheme)

    ground, ink = (
        [int(n) for n in re.findall(r"\d+", page.evaluate(f"getComputedStyle(document.body).{name}"))[:3]]
        for name in ("backgroundColor", "color")
    )
    assert (sum(ground) < sum(ink)) == (scheme == "dark")


def test_it_prints_the_first_screen_and_the_cases_that_are_looked_at(leases, seen):
    page = seen.open(leases.file, "#view=cases", color_scheme="dark")
    page.evaluate("() => addEventListener('afterprint', () => { window.printed = true })")

    sheet = page.pdf(format="A4")

    assert sheet.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type /Page\b", sheet)) >= 2  # 68 rows do not fit on one
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator(".filters").first.is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")


def test_what_is_folded_on_the_screen_is_open_on_paper_and_no_number_is_torn(leases, seen):
    page = seen.open(leases.file)
    page.evaluate("""() => addEventListener('beforeprint', () => {
      window.folded = document.querySelectorAll('#overview details:not([open])').length;
    })""")
    assert page.locator("#overview details:not([open])").count() == 2
    page.pdf(format="A4")
    assert page.evaluate("window.folded") == 0
    assert page.locator("#overview details:not([open])").count() == 2, "they are folded again after it"

    page.set_viewport_size({"width": 703, "height": 900})  # A4 without its margins
    page.emulate_media(media="print")
    try:
        assert page.locator("#overview details table").first.is_visible()  # without any event, too
        lines = page.eval_on_selector_all(
            "#overview .whole", "parts => parts.map(part => part.getClientRects().length)"
        )
        assert len(lines) > 20
        assert set(lines) == {1}
        assert page.evaluate("document.documentElement.scrollWidth") <= 703
    finally:
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1400, "height": 900})


def test_no_part_is_wider_than_a_small_screen(leases, forms, seen):
    page = seen.page
    try:
        for report, after in (
            (leases, ""),
            (leases, "#view=cases"),
            (leases, "#case=bakery-service-charge"),
            (leases, "#view=changes"),
            (leases, "#view=provenance"),
            (forms, "#case=clinic-4-json"),
        ):
            seen.open(report.file, after)
            for width in (390, 820):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, after
    finally:
        page.set_viewport_size({"width": 1400, "height": 900})


PARTS = ["", "#view=cases&grader=no_pii", "#case=bakery-service-charge", "#view=changes", "#view=provenance"]


@pytest.mark.skipif(AXE is None, reason="axe-core is missing (npm install axe-core; SPANCHECK_AXE=…/axe.min.js)")
@pytest.mark.parametrize(("scheme", "parts"), [("light", PARTS), ("dark", ["", "#case=bakery-service-charge"])])
def test_axe_finds_no_serious_violation_in_any_part(leases, forms, seen, scheme, parts):
    axe = Path(AXE).read_text(encoding="utf-8")
    for report, after in (*((leases, after) for after in parts), (forms, "#case=clinic-4-json")):
        page = seen.open(report.file, after, color_scheme=scheme)
        page.evaluate("() => document.querySelectorAll('details').forEach((part, at) => { part.open = at < 3 })")
        page.evaluate("() => document.querySelectorAll('.flip:nth-child(n + 12)').forEach(part => part.remove())")
        page.evaluate(f"() => {{ {axe} }}")
        violations = page.evaluate("async () => (await axe.run()).violations")
        grave = [
            (found["id"], found["nodes"][0]["html"][:200], found["nodes"][0]["failureSummary"][:300])
            for found in violations
            if found["impact"] in {"serious", "critical"}
        ]
        assert grave == [], after
