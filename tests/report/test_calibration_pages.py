"""A calibration as Markdown and as pictures: whole, well-formed, and without a text of an item."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from gold import SERVED, SUBJECT, answer, calibrated, gold, item

from spancheck_pipeline.decision.calibration import GoldAnswer, calibrate
from spancheck_pipeline.decision.standing import CalibrationPolicy
from spancheck_pipeline.decision.trust import standing
from spancheck_pipeline.report.calibration_markdown import calibration_markdown
from spancheck_pipeline.report.calibration_plots import confusion_svg, reliability_svg

SVG = "{http://www.w3.org/2000/svg}"


def full():
    items = gold([item(f"i{n}", n % 2 == 0, stratum="a|b", labellers=[True, n % 3 == 0]) for n in range(40)])
    answers = {i.id: answer(None, (n % 10) / 10, (True, n % 4 == 0)) for n, i in enumerate(items.items)}
    answers["i0"] = GoldAnswer(supported=None, code="judge_failed:TimeoutError")
    return calibrate(items, answers, SUBJECT, served_models=SERVED)


def test_the_page_has_every_figure_and_where_the_judge_stands():
    document = calibrated()
    page = calibration_markdown(document, standing(SUBJECT, SERVED, [document], CalibrationPolicy(), domain="small"))

    assert "**trusted**: 200 gold items" in page
    # 193 of 200; Wilson .9296 – .9829 … of the passes 95 of 100: .8882 – .9785
    assert "| agreement | 96.5% | 93.0% – 98.3% | 200 |" in page
    assert "| sensitivity | 95.0% | 88.8% – 97.8% | 100 |" in page
    assert "| Cohen&#39;s kappa" not in page
    assert "| people pass | 95 | 5 |" in page
    assert "| people fail | 2 | 98 |" in page


def test_strata_failures_repeats_and_labellers_are_on_the_page():
    page = calibration_markdown(full())

    assert "| without an answer | judge_failed:TimeoutError × 1 |" in page
    assert "| a&#124;b | 40 | 1 |" in page
    assert "Asked again, it says the same on" in page
    assert "Two people agree with a chance of" in page
    assert "The best threshold on one half" in page


def test_the_reliability_diagram_has_a_point_a_bin_with_its_interval():
    document = full()
    picture = ET.fromstring(reliability_svg(document))

    points = picture.findall(f"{SVG}circle")
    assert len(points) == len(document.graded.bins) == 10
    assert len([line for line in picture.findall(f"{SVG}line") if line.get("class") == "i"]) == 10


def test_the_confusion_matrix_shows_the_four_counts():
    picture = ET.fromstring(confusion_svg(calibrated((95, 2, 5, 98))))

    assert [text.text for text in picture.findall(f"{SVG}text") if text.get("class") == "n"] == ["95", "5", "2", "98"]


def test_a_calibration_without_an_answer_has_a_page_and_pictures():
    nothing = calibrate(gold([item("a", True)]), {}, SUBJECT)

    assert "| agreement | – | – | 0 |" in calibration_markdown(nothing)
    assert ET.fromstring(reliability_svg(nothing)).findall(f"{SVG}circle") == []
    assert ET.fromstring(confusion_svg(nothing)) is not None


def test_pictures_are_small_enough_for_an_event_log():
    assert len(reliability_svg(full())) + len(confusion_svg(full())) < 12_000
