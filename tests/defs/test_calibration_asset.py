"""The asset ``calibration``: a partition a judge, figures and pictures as metadata, and what depends on it."""

from __future__ import annotations

import base64
import json
import re

import dagster as dg
import pytest
from scenario import Project

from spancheck_pipeline.definitions import build


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path, n=3)
    datasets = tmp_path / "datasets"
    (datasets / "judges.yaml").write_text("contract: 1\njudges:\n  off: {stub: {}}\n")
    (datasets / "gold").mkdir()
    for name, domain in (("one", "small"), ("two", "other")):
        rows = [
            {"id": f"{name}{i}", "claim": f"The notice period is {30 + i + i % 2} days.", "label": i % 2 == 0,
             "evidence": f"The notice period is {30 + i} days."}
            for i in range(6)
        ]  # fmt: skip
        (datasets / "gold" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (datasets / "gold" / f"{name}.yaml").write_text(f"contract: 1\ndomain: {domain}\n")
    return project


def materialize(project, partition, **config):
    definitions = build(project.environment)
    asset = definitions.get_assets_def("calibration")
    run_config = {"ops": {"calibration": {"config": config}}} if config else None
    return dg.materialize(
        [asset], partition_key=partition, resources=definitions.resources, run_config=run_config, raise_on_error=False
    )


def test_each_judge_and_each_deterministic_grader_is_a_partition(project):
    asset = build(project.environment).get_assets_def("calibration")

    assert asset.partitions_def.get_partition_keys() == ["off", "citation_accuracy", "groundedness"]
    assert asset.tags_by_key[asset.key]["stage"] == "grading"


@pytest.mark.parametrize("partition", ["off", "citation_accuracy"])
def test_it_shows_figures_tables_and_pictures_of_every_gold_set(project, partition):
    result = materialize(project, partition)

    (event,) = result.asset_materializations_for_node("calibration")
    shown = event.metadata
    assert (shown["agreement"].value, shown["other_agreement"].value) == (1.0, 1.0)
    assert (shown["n_measured"].value, shown["dagster/row_count"].value) == (6, 12)
    assert "| sensitivity | 100.0% |" in shown["figures"].md_str
    for name in ("reliability", "confusion"):
        picture = re.fullmatch(r"!\[[a-z ]+\]\(data:image/svg\+xml;base64,(.+)\)", shown[name].md_str)
        assert base64.b64decode(picture[1]).startswith(b"<svg")
    assert not any("notice period" in str(value) for value in shown.values())
    folders = sorted(path.parent.name for path in (project.storage / "calibration").glob("*/*/*.parquet"))
    assert folders == ["domain=other", "domain=small"]


def test_one_gold_set_can_be_chosen_and_a_wrong_name_is_said(project):
    (event,) = materialize(project, "off", gold=["two"]).asset_materializations_for_node("calibration")
    assert event.metadata["gold"].value.startswith("two (other, ")

    failed = materialize(project, "off", gold=["three"])
    (failure,) = [e for e in failed.all_events if e.is_step_failure]
    assert "there is no gold set 'three'; there are: one, two" in str(failure.event_specific_data)


def test_two_gold_sets_of_one_domain_are_refused_naming_both_and_neither_replaces_the_other(project):
    folder = project.folder / "datasets" / "gold"
    (folder / "two.yaml").write_text("contract: 1\ndomain: small\n")

    (failure,) = [e for e in materialize(project, "off").all_events if e.is_step_failure]
    assert f"{folder / 'one.jsonl'} and {folder / 'two.jsonl'} are both of the domain small" in str(
        failure.event_specific_data
    )
    assert not (project.storage / "calibration").exists()

    # One after the other is no way around it, unless it is meant.
    assert materialize(project, "off", gold=["one"]).success
    (failure,) = [e for e in materialize(project, "off", gold=["two"]).all_events if e.is_step_failure]
    assert "has a calibration for the domain small on the gold set 'one'" in str(failure.event_specific_data)
    assert materialize(project, "off", gold=["two"], replace=True).success


def test_without_a_gold_set_it_says_where_to_put_one(project):
    for path in (project.folder / "datasets" / "gold").iterdir():
        path.unlink()

    failed = materialize(project, "off")

    (failure,) = [e for e in failed.all_events if e.is_step_failure]
    assert "there is no gold set in" in str(failure.event_specific_data)


def test_only_scorecards_whose_graders_have_judges_depend_on_it(project):
    key, scorecard = dg.AssetKey("calibration"), dg.AssetKey(["small", "scorecard"])
    assert key not in build(project.environment).get_assets_def(scorecard).asset_deps[scorecard]

    project.write_suite(graders=', judged: {use: citation_accuracy, support: "judge:off"}')
    with_judge = build(project.environment)
    assert key in with_judge.get_assets_def(scorecard).asset_deps[scorecard]
    graders = dg.AssetKey(["small", "scores", "judged"])
    assert key not in with_judge.get_assets_def(graders).asset_deps[graders]
    assert dg.AssetKey("calibration") in with_judge.resolve_asset_graph().materializable_asset_keys


def test_an_asset_of_ones_own_gets_calibrations_as_a_dataset_with_judge_and_domain(project):
    definitions = build(project.environment)
    calibration = definitions.get_assets_def("calibration")
    seen = []

    @dg.asset(
        partitions_def=calibration.partitions_def,
        ins={"calibration": dg.AssetIn(input_manager_key="spancheck_io_manager")},
    )
    def mine(calibration):
        seen.append(calibration.to_table().to_pandas())

    dg.materialize([calibration, mine], partition_key="off", resources=definitions.resources)

    assert set(zip(seen[0].judge, seen[0].domain, strict=True)) == {("off", "small"), ("off", "other")}
    assert len(seen[0]) == 12


def test_another_policy_for_judges_makes_scorecards_that_rest_on_them_stale(project):
    scorecard = dg.AssetKey(["small", "scorecard"])

    def version(judge, gate):
        project.write_suite(graders=judge, gate=gate)
        return build(project.environment).get_assets_def(scorecard).code_versions_by_key[scorecard]

    judge, strict = ', judged: {use: citation_accuracy, support: "judge:off"}', ", judges: {min_gold: 300}"
    assert version(judge, "") != version(judge, strict)
    assert version("", "") == version("", strict)
