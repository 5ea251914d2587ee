"""The report of a stored place: what it is made from, an earlier decision's report, and what a baseline answered."""

import json
from pathlib import Path

import pytest
from report_scenario import blocks_of
from scenario import AT, Project

from spancheck_pipeline.api.audit_logs import chain_head, open_audit_log, read_records
from spancheck_pipeline.api.promoting import promote_place
from spancheck_pipeline.api.reporting import refresh_report, report_place
from spancheck_pipeline.api.stored import grade_place, run_place
from spancheck_pipeline.api.targets import load_target
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import AdHoc, Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN

WORSE = """
    VERSION = "2"


    def answer(question):
        return {"answer": "Nobody can say that for certain; it may be 90 days.", "contexts": ["a passage"]}
"""
FIRST, SECOND = Night("small", "2026-03-14"), Night("small", "2026-03-15")


@pytest.fixture
def project(tmp_path) -> Project:
    project = Project(tmp_path)
    project.write_suite(gate=", regression: {alpha: 0.05, detect: 0.2}")
    return project


def loaded(project: Project):
    return load_suite(project.folder / "datasets", project.name, load_attribute)


def take(project: Project, place) -> Store:
    suite, store = loaded(project), Store(project.storage)
    decided = run_place(
        store,
        place,
        suite.suite,
        load_cases(suite.folder, suite.suite.cases),
        graders=suite.graders,
        load_target=lambda: load_target(suite.suite.target, suite_folder=suite.folder),
        decided_by="anna",
    )
    if isinstance(place, Night) and decided.decision.answer.is_ok:
        promote_place(store, place, at=AT, by="anna")
    return store


def cases_in(page: str) -> list[dict]:
    packs = {name: json.loads(block) for name, block in blocks_of(page).items() if name.startswith("pack-")}
    return [item for pack in packs.values() for item in pack["cases"]]


def test_a_report_shows_every_record_of_the_audit_log(project):
    store = take(project, FIRST)

    made = report_place(store, FIRST)

    page = Path(made.page.path).read_text()
    records = list(read_records(open_audit_log(store, FIRST)))
    shown = cases_in(page)
    assert [item["id"] for item in shown] == [record.case.id for record in records]
    assert [item["epochs"][0]["answer"] for item in shown] == [record.call.output.answer for record in records]
    assert len(project.calls()) == 12
    assert f'id="chain-head">{chain_head(store, FIRST)}<' in page


def test_a_report_is_made_again_only_when_something_that_it_shows_has_changed(project):
    store = take(project, FIRST)

    first, again = report_place(store, FIRST), report_place(store, FIRST)
    project.write_suite(gate=", budget: {mean_cost_usd: 1e-9}")
    grade_place(store, FIRST, loaded(project).suite, loaded(project).graders, decided_by="ben")
    third = report_place(store, FIRST)

    assert (first.page.is_new, again.page.is_new, third.page.is_new) == (True, False, True)
    assert (first.page.revision, third.page.revision) == (1, 2)
    assert third.head.decision.answer == "FAIL"
    kept = list(Path(store.root, "_history", "report").rglob("report.html"))
    assert len(kept) == 1
    assert "lets this run pass" in kept[0].read_text()


def test_an_earlier_decision_is_reported_as_it_was_decided_and_the_current_report_stays(project, tmp_path):
    store = take(project, FIRST)
    project.write_suite(gate=", budget: {mean_cost_usd: 1e-9}")
    grade_place(store, FIRST, loaded(project).suite, loaded(project).graders, decided_by="ben")
    current = report_place(store, FIRST).page

    then = report_place(store, FIRST, as_decided=1, to=tmp_path / "then.html")

    assert then.head.decision.revision == 1
    assert "The gate lets this run pass" in (tmp_path / "then.html").read_text()
    assert "This is not the latest decision: decision 2 says FAIL." in (tmp_path / "then.html").read_text()
    said = then.head.decision.answer.value
    assert f"1 decision was made before it; it said {said}." in Path(current.path).read_text()
    assert "does not let this run pass" in Path(current.path).read_text()
    with pytest.raises(MissingDataError, match="no decision number 7"):
        report_place(store, FIRST, as_decided=7, to=tmp_path / "x.html")


def test_a_baselines_answers_stand_there_for_the_cases_that_flipped_and_for_no_others(project):
    take(project, FIRST)
    project.write_target(WORSE)
    store = take(project, SECOND)

    made = report_place(store, SECOND)

    blocks = blocks_of(Path(made.page.path).read_text())
    comparison = made.head.comparisons[0]
    flipped = {
        case_id
        for figures in comparison.graders.values()
        for ids in (figures.newly_failing_case_ids, figures.newly_passing_case_ids, figures.newly_unmeasured_case_ids)
        for case_id in ids
    }
    lines = [json.loads(line) for line in blocks["table-of-earlier"].decode().splitlines()]
    of_release = {line[1]: line for line in lines if line[0] == "release"}
    assert set(of_release) == flipped
    earlier = {record.case.id: record for record in read_records(open_audit_log(store, FIRST))}
    for case_id, (kind, _, pack, place) in of_release.items():
        (epoch,) = json.loads(blocks[f"before-{kind}-{pack}"])["cases"][place]["epochs"]
        assert epoch["answer"] == earlier[case_id].call.output.answer
        assert [score["reason"] for score in epoch["scores"]] == [s.reason for s in earlier[case_id].scores]


def test_a_baseline_whose_capture_is_gone_leaves_the_report_whole(project):
    store = take(project, FIRST)
    project.write_target(WORSE)
    take(project, SECOND)
    Path(store.path(FIRST, CAPTURED_RUN)).unlink()

    page = Path(report_place(store, SECOND).page.path).read_text()

    assert len(cases_in(page)) == 12
    assert blocks_of(page)["table-of-earlier"] == b""


def test_an_ad_hoc_run_is_reported_beside_its_record(project):
    store = take(project, AdHoc("small", "a1"))

    made = report_place(store, AdHoc("small", "a1"))

    assert made.page.path.endswith("storage/runs/a1/report/report.html")
    assert "Trend" not in Path(made.page.path).read_text().partition("<main")[2].partition("</main>")[0]


def test_a_report_is_written_again_only_where_one_stands(project):
    store = take(project, FIRST)

    assert refresh_report(store, FIRST) is None
    path = Path(report_place(store, FIRST).page.path)
    path.write_text(path.read_text().replace("content-digest", "content-digest-of-another"))
    assert refresh_report(store, FIRST).page.is_new


def test_a_place_without_a_record_has_no_report(project):
    with pytest.raises(MissingDataError, match="there is no audit_log for small on 2026-03-14"):
        report_place(Store(project.storage), FIRST)
