"""Nights against their baselines, on stored places, without Dagster."""

import json
from pathlib import Path

import pytest
from scenario import AT, Project, cases_of

from spancheck_pipeline.api.audit_logs import open_audit_log, read_head
from spancheck_pipeline.api.baselines import baselines_before
from spancheck_pipeline.api.deciding import read_comparisons, read_decision
from spancheck_pipeline.api.promoting import pin_release, promote_place
from spancheck_pipeline.api.stored import grade_place, run_place
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.errors import MissingDataError, PromotionRefusedError, UsageError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import AdHoc, Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, COMPARISON, GATE, SCORES

REGRESSION = ", regression: {alpha: 0.05, detect: 0.2}"

WORSE = """
    VERSION = "2"


    def answer(question):
        return {"answer": "Nobody can say that for certain; it may be 90 days.", "contexts": ["a passage"]}
"""


@pytest.fixture
def project(tmp_path) -> Project:
    project = Project(tmp_path)
    project.write_suite(gate=REGRESSION)
    return project


def loaded(project: Project):
    return load_suite(project.folder / "datasets", project.name, load_attribute)


def night(project: Project, date: str, *, promote: bool = True, mode: str = "capture", place=None):
    """Take a date from cases to audit log and, where its gate lets it, to last good run."""
    suite, store = loaded(project), Store(project.storage)
    place = place or Night(project.name, date)
    decided = run_place(
        store,
        place,
        suite.suite,
        load_cases(suite.folder, suite.suite.cases),
        graders=suite.graders,
        load_target=lambda: load_target(suite.suite.target, suite_folder=suite.folder),
        decided_by="anna",
        mode=mode,
    )
    if promote and decided.decision.answer.is_ok:
        promote_place(store, place, at=AT, by="anna")
    return decided


def rescored(project: Project, date: str):
    suite = loaded(project)
    return grade_place(Store(project.storage), Night(project.name, date), suite.suite, suite.graders, decided_by="anna")


def files(folder: Path, *parts: str) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and set(parts) <= set(p.parts)}


def test_a_night_is_compared_with_the_release_and_the_last_good_run(project):
    first = night(project, "2026-03-01")
    night(project, "2026-03-02")
    third = night(project, "2026-03-03")

    assert first.comparisons == ()
    assert "no comparable baseline" in first.decision.rules[-1].reason
    assert {c.baseline_kind: c.baseline.date for c in third.comparisons} == {
        "release": "2026-03-01", "last_good": "2026-03-02",
    }  # fmt: skip
    assert third.decision.answer == "INCONCLUSIVE", "twelve cases are too few"
    store, place = Store(project.storage), Night("small", "2026-03-03")
    rows = list(store.open(place, COMPARISON).rows())
    assert [(row["baseline_kind"], row["grader"]) for row in rows[:2]] == [
        ("release", "completion"), ("release", "citation_accuracy"),
    ]  # fmt: skip
    assert (rows[1]["n_pairs"], rows[1]["n_newly_failing"], rows[1]["difference"]) == (8, 0, 0.0)
    assert len(rows) == 2 * 5
    gate = {row["rule"]: row for row in store.open(place, GATE).rows()}
    assert gate["regression_citation_accuracy"]["p_value"] == 1.0
    assert gate["regression_citation_accuracy"]["cases_needed"] > 8
    assert read_head(open_audit_log(store, place)).comparisons == third.comparisons


def test_a_worse_system_fails_against_its_baseline_and_is_not_promoted(project):
    project.write_cases(cases_of(40))
    project.write_suite(gate=REGRESSION + ", min_measured: 1")
    suite_file = project.suite_folder / "suite.yaml"
    suite_file.write_text(suite_file.read_text().replace("abstention_correct: 0.9", "abstention_correct: 0.1"))
    night(project, "2026-03-01")
    project.write_target(WORSE)

    decided = night(project, "2026-03-02")

    rules = {rule.rule: rule for rule in decided.decision.rules}
    # Every third of 40 cases (13) was declined rightly and is answered now: p = 2^-13. It is the second smallest of the
    # two gating graders' p-values (no citation is left), which Holm leaves as it is.
    assert rules["regression_abstention_correct"].answer == "FAIL"
    assert rules["regression_abstention_correct"].p_value == pytest.approx(0.5**13)
    assert decided.comparisons[0].candidate.target_version == "2"
    with pytest.raises(PromotionRefusedError, match="regression_abstention_correct"):
        promote_place(Store(project.storage), Night("small", "2026-03-02"), at=AT, by="anna")
    assert baselines_before(Store(project.storage), "small", None)["last_good"].date == "2026-03-01"


def test_a_suite_that_does_not_block_is_not_promoted_and_raises_nothing(project):
    project.write_suite(gate=", blocking: false, budget: {p95_latency_ms: 0.000001}")
    night(project, "2026-03-01")

    promoted = promote_place(Store(project.storage), Night("small", "2026-03-01"), at=AT, by="anna")

    assert (promoted.promotion, promoted.answer) == (None, "FAIL")
    assert baselines_before(Store(project.storage), "small", None) == {}


def test_added_cases_a_corrected_label_and_a_bumped_grader_are_compared_and_the_baseline_is_left_alone(project):
    project.write_cases(cases_of(20))
    night(project, "2026-03-01")
    before = files(project.storage, "date=2026-03-01")
    cases = cases_of(22)
    cases[0]["answerable"] = False
    cases[1]["input"] += " Really?"
    project.write_cases(cases)
    project.write_suite(gate=REGRESSION, graders=', notice: {use: contains, substr: "notice"}')

    [release, last] = night(project, "2026-03-02").comparisons

    assert release.is_comparable
    assert release.added_case_ids == ("q20", "q21")
    assert (release.relabelled_case_ids, release.reworded_case_ids) == (("q00",), ("q01",))
    # q00 is answered in both runs, and both are graded by the label that says it should have been declined.
    abstention = release.graders["abstention_correct"]
    assert (abstention.n_both_pass, abstention.n_both_fail, abstention.n_pairs) == (18, 1, 19)
    # The baseline has no stored scores of this grader; its outputs were graded again.
    assert release.graders["notice"].n_pairs == 19
    assert last.graders == release.graders
    assert files(project.storage, "date=2026-03-01") == before


def test_stored_scores_and_grading_again_give_the_same_comparison(project):
    night(project, "2026-03-01")
    read = night(project, "2026-03-02", promote=False).comparisons
    for path in files(project.storage, "scores", "date=2026-03-01"):
        Path(path).unlink()

    assert rescored(project, "2026-03-02").comparisons == read


def test_the_same_night_again_is_no_new_decision_and_earlier_dates_never_see_later_ones(project):
    for date in ("2026-03-01", "2026-03-02"):
        night(project, date)
    for date in ("2026-03-02", "2026-03-01"):
        rescored(project, date)

    store = Store(project.storage)
    for date in ("2026-03-01", "2026-03-02"):
        assert [file.revision for file in store.revisions(Night("small", date), GATE)] == [1]
        assert [file.revision for file in store.revisions(Night("small", date), COMPARISON)] == [1]


def test_a_decision_as_decided_keeps_the_comparisons_that_it_saw(project):
    for date in ("2026-03-01", "2026-03-02", "2026-03-03"):
        night(project, date)
    store, place = Store(project.storage), Night("small", "2026-03-03")
    pin_release(store, Night("small", "2026-03-02"), at=AT, by="anna", note="shipped")

    rescored(project, "2026-03-03")

    dates = [
        {c.baseline_kind: c.baseline.date for c in read_head(open_audit_log(store, place, as_decided=n)).comparisons}
        for n in (1, 2)
    ]
    assert dates == [
        {"release": "2026-03-01", "last_good": "2026-03-02"}, {"release": "2026-03-02", "last_good": "2026-03-02"},
    ]  # fmt: skip
    decision = read_decision(store, place)
    current = store.open(place, COMPARISON)
    assert decision.inputs["comparison"] == current.content_digest
    assert {c.baseline_kind: c.digest for c in read_comparisons(current)} == decision.comparisons


def test_a_baseline_that_was_recaptured_is_read_as_it_was_promoted(project):
    night(project, "2026-03-01")
    promoted = Store(project.storage).open(Night("small", "2026-03-01"), CAPTURED_RUN)
    project.write_target(WORSE)
    night(project, "2026-03-01", mode="recapture", promote=False)

    [comparison, _] = night(project, "2026-03-02").comparisons

    assert comparison.baseline.run_id == promoted.run_id
    assert comparison.baseline.target_version == "1"
    assert comparison.graders["abstention_correct"].baseline_rate == 1.0


@pytest.mark.parametrize("breaks", ["gone", "corrupt"])
def test_a_baseline_that_cannot_be_read_is_said_and_the_thresholds_alone_decide(project, breaks):
    night(project, "2026-03-01")
    path = Path(Store(project.storage).path(Night("small", "2026-03-01"), CAPTURED_RUN))
    path.write_bytes(b"PAR1") if breaks == "corrupt" else path.unlink()

    decided = night(project, "2026-03-02")

    assert not decided.comparisons[0].is_comparable
    assert decided.comparisons[0].not_comparable[0].startswith("the baseline cannot be read: ")
    assert "no comparable baseline" in decided.decision.rules[-1].reason
    assert list(Store(project.storage).open(Night("small", "2026-03-02"), COMPARISON).rows()) == []


def test_runs_of_other_epochs_are_not_comparable(project):
    night(project, "2026-03-01")
    project.write_suite(gate=REGRESSION, more="epochs: 2\n")

    decided = night(project, "2026-03-02")

    assert "epochs differ: 2 in the candidate, 1 in the baseline" in decided.comparisons[0].not_comparable[0]


def test_a_promotion_is_recorded_once_and_kept_whatever_is_decided_later(project):
    night(project, "2026-03-01")
    before = files(project.storage, "baselines")
    changed = [{**case, "answerable": not case["answerable"]} for case in cases_of(12)]
    project.write_cases(changed)
    store, place = Store(project.storage), Night("small", "2026-03-01")
    assert not promote_place(store, place, at=AT, by="somebody else").is_new
    project.write_suite(gate=", budget: {p95_latency_ms: 0.000001}")
    rescored(project, "2026-03-01")

    with pytest.raises(PromotionRefusedError):
        promote_place(store, place, at=AT, by="anna")
    assert files(project.storage, "baselines") == before


def test_a_release_is_pinned_with_who_and_when_and_a_failed_run_only_with_a_note(project):
    project.write_suite(gate=", budget: {p95_latency_ms: 0.000001}")
    night(project, "2026-03-01")
    store, place = Store(project.storage), Night("small", "2026-03-01")

    with pytest.raises(UsageError, match="say with --note"):
        pin_release(store, place, at=AT, by="anna")
    pinned = pin_release(store, place, at=AT, by="anna", note="shipped all the same")

    assert (pinned.promotion.promoted_by, pinned.promotion.promoted_at, pinned.promotion.answer) == ("anna", AT, "FAIL")
    assert baselines_before(store, "small", "2026-03-02") == {"release": pinned.promotion}
    assert not pin_release(store, place, at=AT, by="anna", note="again").is_new
    with pytest.raises(MissingDataError):
        pin_release(store, Night("small", "2026-03-05"), at=AT, by="anna")


def test_an_ad_hoc_run_is_compared_with_the_nightly_baselines(project):
    night(project, "2026-03-01")

    decided = night(project, "", place=AdHoc("small", "pull-7"), promote=False)

    assert [c.baseline.date for c in decided.comparisons] == ["2026-03-01", "2026-03-01"]
    assert decided.comparisons[0].candidate.date is None


def test_no_text_of_cases_or_answers_stands_in_comparisons_or_promotions(project):
    project.write_cases([{**case, "input": case["input"] + " INPUT-TOKEN"} for case in cases_of(12)])
    project.write_target(WORSE.replace("a passage", "PASSAGE-TOKEN").replace("90 days", "ANSWER-TOKEN"))
    project.write_suite(gate=", blocking: false")
    for date in ("2026-03-01", "2026-03-02"):
        night(project, date)
        pin_release(Store(project.storage), Night("small", date), at=AT, by="anna", note="kept")

    found = {**files(project.storage, "comparison"), **files(project.storage, "baselines")}
    assert len(found) >= 4
    assert not [path for path, content in found.items() if b"TOKEN" in content]
    metadata = Store(project.storage).open(Night("small", "2026-03-02"), COMPARISON).metadata
    assert metadata["contains_text"] == "false"
    assert json.loads(metadata["document"])["contract"] == 1


def test_scores_are_on_todays_terms_only_where_spec_and_capture_are_the_same(project):
    night(project, "2026-03-01")
    project.write_suite(gate=REGRESSION, graders=', notice: {use: contains, substr: "notice"}')
    rescored(project, "2026-03-01")
    store = Store(project.storage)
    assert store.exists(Night("small", "2026-03-01"), SCORES, "notice")
    project.write_suite(gate=REGRESSION, graders=', notice: {use: contains, substr: "nothing like this"}')

    [comparison, _] = night(project, "2026-03-02").comparisons

    # The stored scores say "pass" for eight cases; today's grader passes none.
    assert comparison.graders["notice"].n_both_fail == 12
