"""Pictures of the page: well-formed, without a style of their own, and drawn where the numbers say."""

from xml.etree import ElementTree as ET

import pytest

from spancheck_pipeline.decision.figures import Rate
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.decision.trend import TrendPoint
from spancheck_pipeline.report.plots import figure_svg, rate_svg


def test_a_rate_is_drawn_with_interval_baseline_and_threshold():
    # The line is 118 units long and begins at 6: 0.5 lies at 65, 0.25 at 35.5, 1 at 124.
    svg = ET.fromstring(rate_svg(Rate(value=0.5, low=0.25, high=1.0, n=10), 0.25, 1.0))

    places = {shape.get("class"): shape for shape in svg}
    assert places["dot"].get("cx") == "65.0"
    assert (places["band"].get("x"), places["band"].get("width")) == ("35.5", "88.5")
    assert places["ring"].get("cx") == "35.5"
    assert places["threshold"].get("x1") == "124.0"


def test_a_rate_of_nothing_is_an_empty_line():
    svg = ET.fromstring(rate_svg(Rate()))

    assert [shape.get("class") for shape in svg] == ["axis"]


def test_a_figure_has_a_dot_a_date_in_the_colour_of_its_gate_and_a_line_where_something_changed():
    points = [
        TrendPoint(date="2026-03-12", value=0.5, low=0.4, high=0.6, n=10),
        TrendPoint(date="2026-03-13"),
        TrendPoint(date="2026-03-14", value=1.0, low=0.9, high=1.0, n=10, marks=("target",)),
    ]

    svg = ET.fromstring(figure_svg("<x>", points, {"2026-03-14": Answer.FAIL}, is_rate=True))

    assert svg.get("aria-label") == "<x> over 3 dates; the last: 100.0 %"
    dots = [shape for shape in svg if "night" in (shape.get("class") or "")]
    assert [dot.get("class") for dot in dots] == ["night undecided", "night fail"]
    assert [dot[0].text for dot in dots] == ["2026-03-12: 50.0 %, n = 10", "2026-03-14: 100.0 %, n = 10"]
    assert [shape[0].text for shape in svg if shape.get("class") == "mark"] == ["2026-03-14: another target"]


@pytest.mark.parametrize("points", [[], [TrendPoint(date="2026-03-12")], [TrendPoint(date="2026-03-12", value=0.0)]])
def test_a_figure_without_values_is_drawn_all_the_same(points):
    svg = ET.fromstring(figure_svg("cost", points, {}, is_rate=False))

    assert not svg.findall(".//*[@style]")
    assert svg.get("role") == "img"
