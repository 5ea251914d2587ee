"""The picture of a trend, read back by expat."""

from xml.dom import minidom

from spancheck_pipeline.decision.trend import TrendDocument, TrendNight, TrendPoint
from spancheck_pipeline.report.trend_svg import trend_svg


def trend(values, name="cites", **marks):
    dates = [f"2026-03-{day + 1:02d}" for day in range(len(values))]
    points = [
        TrendPoint(date=d, value=v, low=None if v is None else v / 2, high=None if v is None else 1.0, n=9)
        for d, v in zip(dates, values, strict=True)
    ]
    if marks:
        points[marks["at"]] = points[marks["at"]].model_copy(update={"marks": ("grader",)})
    nights = [TrendNight(date=d, run_id="r", answer="PASS") for d in dates]
    times = [TrendPoint(date=d, value=v and v * 900, n=9) for d, v in zip(dates, values, strict=True)]
    numbers = {"p95_latency_ms": tuple(times)}
    return TrendDocument(suite="leases", nights=nights, rates={name: tuple(points)}, numbers=numbers)


def drawn(document):
    root = minidom.parseString(trend_svg(document)).documentElement
    return lambda tag, name=None: [
        node for node in root.getElementsByTagName(tag) if name is None or node.getAttribute("class") == name
    ]


def test_a_rate_is_a_line_in_its_band_and_a_change_a_dashed_line():
    elements = drawn(trend([0.5, 0.75, 1.0], at=1))

    [band] = elements("polygon", "b")
    line, other = elements("polyline", "l")
    # 498 between the first and the last date; a plot is 64 high, and the foot of the first is at 120.
    assert line.getAttribute("points") == "198.0,88.0 447.0,72.0 696.0,56.0"
    assert len(band.getAttribute("points").split()) == 6
    assert other.getAttribute("points").split()[-1] == "696.0,152.0", "a number's plot ends at its largest value"
    [mark] = elements("line", "m")
    assert mark.getElementsByTagName("title")[0].firstChild.data == "2026-03-02: another grader"


def test_what_was_not_measured_leaves_a_gap_and_no_point():
    elements = drawn(trend([0.5, None, 1.0]))

    assert len(elements("circle", "d")) == 4
    assert all("nan" not in line.getAttribute("points") for line in elements("polyline"))


def test_one_date_none_and_nothing_at_all_are_drawn():
    assert len(drawn(trend([0.5]))("circle", "d")) == 2
    assert drawn(trend([None]))("circle", "d") == []
    assert drawn(TrendDocument(suite="leases", nights=()))("polyline") == []


def test_a_hostile_name_stays_text():
    elements = drawn(trend([0.5], name='</text><script>alert(1)</script>"&'))

    assert elements("script") == []
