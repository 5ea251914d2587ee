"""What had changed between two decisions about one place."""

import shutil
from pathlib import Path

import pytest
from recorded_place import CASES, GRADERS, PLACE, recorded, suite

from spancheck_pipeline.api.auditing_history import decided_dates, decision_history
from spancheck_pipeline.api.stored import grade_place
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.grading.graders import build_graders
from spancheck_pipeline.storage.rows import case_to_row
from spancheck_pipeline.storage.store import Store
from spancheck_pipeline.storage.tables import CASES as CASES_TABLE


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Store:
    return recorded(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def store(whole, tmp_path) -> Store:
    shutil.copytree(whole.root, tmp_path / "storage")
    return Store(tmp_path / "storage")


def decided_again(store, graders, **gate) -> tuple[str, ...]:
    settings = suite(**gate).model_copy(update={"graders": graders})
    grade_place(store, PLACE, settings, build_graders(graders), decided_by="you")
    return decision_history(store, PLACE)[-1].changes


def test_the_first_decision_has_nothing_before_it(whole):
    (only,) = decision_history(whole, PLACE)

    assert (only.changes, only.is_recorded) == ((), True)
    assert decided_dates(whole, PLACE.suite) == (PLACE.date,)
    with pytest.raises(MissingDataError, match="on any date"):
        decided_dates(whole, "other")


def test_a_changed_grader_is_named_with_its_specs_and_the_settings_that_changed(store):
    (changed,) = decided_again(store, GRADERS | {"groundedness": {"threshold": 0.9}})

    specs = [item.graders["groundedness"].spec_digest[:12] for item in decision_history(store, PLACE)]
    assert changed == f"grader groundedness changed: spec {specs[0]} → {specs[1]}; settings threshold"


def test_a_grader_that_came_and_other_rules_are_named(store):
    changes = decided_again(store, GRADERS | {"latency": {"max_ms": 5}}, min_measured=1)

    assert changes == ("grader latency added", "other rules of the gate")


def test_graders_whose_scores_were_pruned_are_not_said_to_have_changed(store):
    decided_again(store, GRADERS | {"groundedness": {"threshold": 0.9}})
    shutil.rmtree(Path(store.root, "scores"))
    shutil.rmtree(Path(store.root, "_history", "scores"), ignore_errors=True)

    assert decision_history(store, PLACE)[-1].changes == (
        "whether graders changed is not known of 4 of them: their scores are not kept",
    )


def test_relabelled_cases_are_counted(store):
    there = store.open(PLACE, CASES_TABLE)
    cases = [Case(**case.model_dump() | {"answerable": False}) if case.id in {"q0", "q2"} else case for case in CASES]
    store.publish(
        PLACE, CASES_TABLE, [case_to_row(case, i) for i, case in enumerate(cases)],
        identity=there.inputs, metadata={k: v for k, v in there.metadata.items() if k == "run_id"},
    )  # fmt: skip

    assert "2 cases relabelled" in decided_again(store, GRADERS)
