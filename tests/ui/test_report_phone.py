"""A report on a telephone, 390 pixels wide: no rate and no chip is cut, and what goes on beyond an edge shows it."""

import pytest
from report_scenario import answered, record, renamed, write_page_of
from scenario import PASSAGE, QUOTE, case, row
from ui.dagster_ui import CHROMIUM
from ui.report_page import reader

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is missing (the extra `dev` has it)")
pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="a Chromium is missing (Debian: apt-get install chromium)"),
]

WRONG = "Either party may end the lease with 60 days notice; call +49 30 901820 or write to anna.berg@example.org."


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    good = answered("x", PASSAGE, passages=[("lease", PASSAGE)], quotes=[("lease", QUOTE)], answerable=True)
    bad = answered("x", WRONG, passages=[("lease", PASSAGE)], quotes=[("lease", WRONG)], answerable=False)
    failed = record(case("no-answer-came"), row(case("no-answer-came")))
    records = [renamed(bad, f"a-case-with-a-rather-long-name-{i}") for i in range(30)] + [renamed(good, "good"), failed]
    return write_page_of(tmp_path_factory.mktemp("phone") / "report.html", records)


@pytest.fixture(scope="module")
def phone():
    with reader(390, 844, is_mobile=True, has_touch=True) as seen:
        yield seen
        seen.assert_quiet()


def edges(page, selector: str) -> list[tuple[float, float]]:
    """Return left and right of everything that a selector finds and that takes any room."""
    return page.eval_on_selector_all(
        selector, "all => all.map(n => n.getBoundingClientRect()).filter(r => r.width > 1).map(r => [r.left, r.right])"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_rate_and_count_stands_within_the_screen(report, phone, scheme):
    page = phone.open(report, color_scheme=scheme)

    cells = edges(page, ".stacked th[scope=row], .stacked td, .stacked td a")
    assert len(cells) >= 4 * 8
    assert all(left >= 0 and right <= 390 for left, right in cells)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.inner_text(".stacked tbody tr >> nth=0").split()[0] == "citation_accuracy"
    label = page.eval_on_selector(".stacked td.count", "n => getComputedStyle(n, '::before').content")
    assert label == 'attr(data-label) " "' or label.startswith('"pass')


def test_a_case_and_its_chips_stand_beside_one_another_and_none_is_cut(report, phone):
    page = phone.open(report, "#view=cases")

    chips = page.eval_on_selector_all(
        "#table td.says .chip",
        "all => all.map(n => [n.getBoundingClientRect(), n.closest('td').getBoundingClientRect()])"
        ".map(([chip, cell]) => [chip.right <= Math.min(cell.right, 374) + 1, chip.bottom <= cell.bottom + 1])",
    )
    assert len(chips) > 30
    assert chips == [[True, True]] * len(chips)
    first = page.locator("#table td.says >> nth=0").locator(".chip").all_inner_texts()
    assert first == ["citation_accuracy", "abstention_correct", "groundedness", "no_pii"]
    heights = page.eval_on_selector_all("#table tbody tr[data-place]", "all => all.map(n => n.offsetHeight)")
    assert set(heights) == {68}  # what is scrolled to is reckoned with it


def test_where_chips_have_no_room_their_number_is_said_and_a_tooltip_names_them(report, phone):
    phone.page.set_viewport_size({"width": 1100, "height": 800})
    page = phone.open(report, "#view=cases")

    chips = page.locator("#table td.says >> nth=0").locator(".chip").all_inner_texts()
    assert chips == ["citation_accuracy", "abstention_correct"]
    rest = page.locator("#table td.says .faint >> nth=0")
    assert (rest.inner_text(), rest.get_attribute("title")) == ("+2", "groundedness, no_pii")


def test_a_table_that_is_wider_than_the_screen_has_a_shadow_where_it_goes_on(report, phone):
    page = phone.open(report)
    page.set_viewport_size({"width": 260, "height": 600})

    wide = page.locator(".columns .scroll").first
    assert wide.evaluate("n => n.scrollWidth > n.clientWidth")
    assert wide.evaluate("n => getComputedStyle(n).backgroundAttachment") == "local, local, scroll, scroll"
