"""Schedules that Dagster reads otherwise, and suites whose names are taken: found when the code location loads."""

import dagster as dg
import pytest
from scenario import Project, spancheck

from spancheck_pipeline.definitions import build_definitions
from spancheck_pipeline.defs.assets import suite_assets
from spancheck_pipeline.defs.jobs import suite_keys, why_not_dagsters
from spancheck_pipeline.defs.partitions import daily
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.errors import ConfigError
from spancheck_pipeline.storage.datasets import load_suite


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    project = Project(tmp_path)
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return project


@pytest.mark.parametrize(
    "cron", ["30 2 * * *", "0 2 29 2 *", "@hourly", "@monthly", "*/7 * * * *", "0 2 1,15 * fri", "0 2 15 * 0-7"]
)
def test_a_schedule_that_both_read_alike_is_taken(cron):
    assert why_not_dagsters(cron) == ""


@pytest.mark.parametrize(
    ("cron", "why"),
    [
        ("0 2 30 2 mon", "Dagster does not take '0 2 30 2 mon' as a cron schedule"),
        # A cron's 1/2 is 1, 3, 5, 7 with Sunday as 7; Dagster's ends with Saturday.
        ("0 2 * * 1/2", "Dagster reads '0 2 * * 1/2' as other days"),
    ],
)
def test_a_schedule_that_they_do_not_is_shown_with_its_file_and_line(project, capsys, cron, why):
    project.write_suite(more=f'schedule: {{cron: "{cron}"}}\n')

    found = build_definitions()

    dg.Definitions.validate_loadable(found)
    assert found.schedules == []
    assert dg.AssetKey(["small", "cannot_be_read"]) in {asset.key for asset in found.assets}
    said = capsys.readouterr().err
    assert why in said
    assert "suite.yaml:8: schedule.cron: " in said
    with pytest.raises(ConfigError, match=r"schedule\.cron"):
        build_definitions("small")


@pytest.mark.parametrize("name", ["calibration", "gold", "small__scores"])
def test_a_suite_with_a_name_that_is_taken_is_left_out_with_the_reason_and_the_others_go_on(project, capsys, name):
    project.suite_folder.rename(project.folder / "datasets" / name)
    other = Project(project.folder / "elsewhere")
    other.suite_folder.rename(project.folder / "datasets" / "small")
    suite = project.folder / "datasets" / name / "suite.yaml"
    suite.write_text(suite.read_text().replace("name: small", f"name: {name}"))

    found = build_definitions()

    dg.Definitions.validate_loadable(found)
    found.get_repository_def().load_all_definitions()
    said = capsys.readouterr().err
    assert f"suite.yaml:2: name: a suite cannot be called '{name}': " in said
    assert found.resolve_job_def("small_nightly")
    assert spancheck("nightly", name) == 2
    assert f"a suite cannot be called '{name}'" in capsys.readouterr().err


def test_the_jobs_of_a_suite_take_its_own_assets_all_of_them(project):
    environment = project.environment
    suite = SuiteDefs(
        loaded=load_suite(environment.datasets, "small"), environment=environment, partitions=daily(environment)
    )
    asked, made = suite_keys(suite)
    assert [*asked, *made] == [asset.key for asset in suite_assets(suite)]


def test_one_suite_may_be_named_without_a_list(project):
    assert {job.name for job in build_definitions("small").jobs} == {"small_nightly", "small_rescore", "rescore_stale"}
