"""A project's definitions inside somebody else's Dagster: merged, and twice on one storage."""

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pyarrow.dataset as pads
import pytest
from scenario import Project

from spancheck_pipeline.definitions import build_definitions
from spancheck_pipeline.defs.rescore import step_name
from spancheck_pipeline.errors import ConfigError, UsageError

JUDGED = """\
contract: 1
name: small
target: {callable: "target.py:answer", version_from: "target.py:VERSION", retries: 0}
graders: {no_pii: {}, second: {use: citation_accuracy, support: "judge:offline"}}
gate: {min_pass_rate: {no_pii: 0.9}}
schedule: {cron: "0 2 * * *"}
"""


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    for name in [name for name in os.environ if name.startswith("SPANCHECK_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster_home"))
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, n=3)


def judged(project: Project) -> None:
    (project.suite_folder / "suite.yaml").write_text(JUDGED, encoding="utf-8")
    (project.folder / "datasets" / "judges.yaml").write_text("contract: 1\njudges: {offline: {stub: {}}}\n")


def loaded(definitions: dg.Definitions) -> dg.RepositoryDefinition:
    """Return the definitions as a code location loads them: everything is resolved, every name is unique."""
    dg.Definitions.validate_loadable(definitions)
    repository = definitions.get_repository_def()
    repository.load_all_definitions()
    return repository


def names(repository: dg.RepositoryDefinition) -> set[str]:
    jobs = {job.name for job in repository.get_all_jobs() if not job.name.startswith("__")}
    return jobs | {item.name for item in [*repository.schedule_defs, *repository.sensor_defs]}


def test_it_is_merged_with_what_is_there_and_sets_no_executor(project):
    judged(project)

    @dg.asset
    def mine() -> int:
        return 1

    own = dg.Definitions(assets=[mine], resources={"store": dg.ResourceDefinition.none_resource()})
    merged = dg.Definitions.merge(own, build_definitions())

    assert merged.executor is None
    assert set(merged.resources) == {"store", "spancheck_store", "spancheck_io_manager"}
    assert names(loaded(merged)) == {
        "small_nightly", "small_rescore", "rescore_stale", "small_nightly_schedule", "rescore_stale_sensor",
        "alert_on_failed_night", "alert_on_failed_gate",
    }  # fmt: skip
    assert dg.Definitions.merge(
        dg.Definitions(executor=dg.multiprocess_executor), build_definitions()
    ).executor is dg.multiprocess_executor  # fmt: skip


def test_the_first_example_of_the_docs_loads_as_it_is_written(project):
    page = (Path(__file__).parents[2] / "docs" / "existing-dagster.md").read_text(encoding="utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    (project.folder / "my_code.py").write_text(code, encoding="utf-8")
    (project.folder / "evaluation").mkdir()
    (project.folder / "datasets").rename(project.folder / "evaluation" / "datasets")
    (project.folder / "dagster_home").mkdir()

    dagster = [Path(sys.executable).with_name("dagster"), "definitions", "validate", "-m", "my_code"]
    done = subprocess.run(dagster, cwd=project.folder, capture_output=True, text=True, check=False, timeout=120)

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_an_asset_of_somebody_else_with_the_suites_prefix_stays_out_of_the_night(project):
    @dg.asset(key=["small", "lengths"], group_name="small", partitions_def=dg.StaticPartitionsDefinition(["a"]))
    def lengths() -> None: ...

    repository = loaded(dg.Definitions.merge(dg.Definitions(assets=[lengths]), build_definitions()))

    selected = repository.get_job("small_nightly").asset_layer.executable_asset_keys
    assert dg.AssetKey(["small", "captured_run"]) in selected
    assert dg.AssetKey(["small", "lengths"]) not in selected


def test_rescore_leaves_out_what_calls_a_target_or_a_judge(project):
    judged(project)

    selected = loaded(build_definitions()).get_job("small_rescore").asset_layer.executable_asset_keys

    kept_out = {dg.AssetKey(["small", name]) for name in ("cases", "captured_run", "judge_verdicts")}
    assert not kept_out & set(selected)
    assert dg.AssetKey(["small", "scores", "second"]) in selected


def test_two_teams_with_a_suite_of_one_name_share_a_storage_and_a_code_location(project):
    judged(project)
    teams = {team: build_definitions(namespace=team) for team in ("team_a", "team_b")}

    repository = loaded(dg.Definitions.merge(*teams.values()))

    first, second = (names(loaded(definitions)) for definitions in teams.values())
    assert names(repository) == first | second
    assert {name.replace("team_a_", "team_b_") for name in first} == second
    assert not first & second
    assert not set(teams["team_a"].resources) & set(teams["team_b"].resources)
    keys = {key.to_user_string() for key in repository.asset_graph.get_all_asset_keys()}
    assert {
        "team_a/calibration",
        "team_b/calibration",
        "team_a/small/captured_run",
        "team_b/small/captured_run",
    } <= keys
    pools = {asset.op.pool for asset in repository.assets_defs_by_key.values() if asset.key.path[-1] == "captured_run"}
    assert pools == {"team_a_small_target", "team_b_small_target"}

    steps = [["cases"], ["captured_run"], ["judge_verdicts"], ["scores", "second"]]
    with dg.DagsterInstance.ephemeral() as instance:
        for team in teams:
            job = repository.get_job(f"{team}_small_nightly")
            selected = [dg.AssetKey([team, "small", *step]) for step in steps]
            today = project.environment.today()
            assert job.execute_in_process(instance=instance, partition_key=today, asset_selection=selected).success
    assert len(project.calls()) == 2 * 3  # nobody was given the other's answers
    assert sorted(path.name for path in project.storage.iterdir() if path.name[0] not in "._") == ["team_a", "team_b"]
    for team in teams:
        # What the judges said is kept for one's own namespace: it is never another team's verdict that is re-used.
        for table in ("captured_run", "scores", "judge_verdicts", "judge_verdicts_kept"):
            assert list((project.storage / team / table).rglob("*.parquet")), (team, table)


def test_schedule_sensors_and_jobs_of_a_namespace_are_given_its_own_store(project):
    judged(project)
    definitions = build_definitions(namespace="team_a")
    repository = loaded(definitions)
    at = dt.datetime.now(dt.UTC)
    with dg.DagsterInstance.ephemeral() as instance:
        given = {"instance": instance, "resources": dict(definitions.resources), "repository_def": repository}
        with dg.build_schedule_context(scheduled_execution_time=at, **given) as schedule_context:
            tick = repository.get_schedule_def("team_a_small_nightly_schedule").evaluate_tick(schedule_context)
        assert [request.partition_key for request in tick.run_requests] == [project.environment.today(at)]
        with dg.build_sensor_context(**given) as sensor_context:
            found = repository.get_sensor_def("team_a_rescore_stale_sensor").evaluate_tick(sensor_context)
        assert found.skip_message == "no captured night was scored by another grader spec than today's"
        job = repository.get_job("team_a_rescore_stale")
        config = {"ops": {step_name(job.name): {"config": {"dry_run": True}}}}
        assert job.execute_in_process(instance=instance, run_config=config).success
        for name in ("team_a_alert_on_failed_night", "team_a_alert_on_failed_gate"):
            assert repository.get_sensor_def(name).required_resource_keys == {"team_a_spancheck_store"}


def test_checks_say_what_they_demand_and_columns_what_they_hold(project):
    repository = loaded(build_definitions())

    said = {}
    for definition in set(repository.asset_checks_defs_by_key.values()):
        said |= {spec.name: spec.description for spec in definition.check_specs}
    assert said["min_pass_rate_citation_accuracy"].startswith("At least 90 % of the measured cases must pass citation")
    columns = 0
    for asset in repository.assets_defs_by_key.values():
        for metadata in asset.metadata_by_key.values():
            schema = metadata.get("dagster/column_schema")
            for column in schema.columns if schema else ():
                columns += 1
                assert column.description, (asset.key, column.name)
    assert columns > 100


def test_one_call_a_suite_is_told_apart_by_what_it_is_called(project):
    other = Project(project.folder / "elsewhere", name="second")
    other.suite_folder.rename(project.folder / "datasets" / "second")
    parts = [build_definitions(["small"], called="small", has_calibration=True)]
    parts.append(build_definitions(["second"], called="second"))

    merged = dg.Definitions.merge(*parts)

    found = names(loaded(merged))
    assert {"small_rescore_stale", "second_rescore_stale", "small_alert_on_failed_gate"} <= found
    assert [asset.key.to_user_string() for asset in merged.assets].count("calibration") == 1


def test_an_argument_stands_in_the_place_of_the_environment(project, monkeypatch):
    monkeypatch.setenv("SPANCHECK_NAMESPACE", "elsewhere")
    monkeypatch.setenv("SPANCHECK_TIMEZONE", "Asia/Tokyo")
    monkeypatch.setenv("SPANCHECK_DATASETS", "nowhere")
    judged(project)

    found = build_definitions(
        datasets="datasets", storage="kept", namespace="", timezone="Europe/Berlin", start_date="2026-05-01",
        folder=project.folder,
    )  # fmt: skip

    [schedule] = found.schedules
    assert (schedule.name, schedule.execution_timezone) == ("small_nightly_schedule", "Europe/Berlin")
    assert found.resources["spancheck_store"].root == str(project.folder / "kept")
    partitions = next(asset.partitions_def for asset in found.assets if asset.key.path[-1] == "captured_run")
    assert partitions.get_first_partition_key() == "2026-05-01"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"timezone": "Mars"}, "timezone: 'Mars' is not a time zone"),
        ({"namespace": "Team A"}, "namespace: 'Team A' is not a name"),
        ({"start_date": "soon"}, "start_date: 'soon' is not a date"),
        ({"datasets": "nowhere"}, "there is no datasets folder at"),
        ({"suites": ["smal"]}, "did you mean 'small'"),
    ],
)
def test_an_argument_that_cannot_be_is_refused_in_its_own_words(project, given, message):
    with pytest.raises(UsageError, match=message):
        build_definitions(**given)


def test_a_broken_suite_is_an_asset_where_all_are_taken_and_an_error_where_it_is_named(project, capsys):
    (project.suite_folder / "suite.yaml").write_text("contract: 1\nname: small\n", encoding="utf-8")

    [broken, *_] = [asset for asset in build_definitions(namespace="team_a").assets if asset.key.path[1] == "small"]

    assert broken.key.path == ["team_a", "small", "cannot_be_read"]
    assert "suite.yaml" in capsys.readouterr().err
    with pytest.raises(ConfigError):
        build_definitions(["small"])


def test_a_table_of_a_suite_that_is_called_as_its_namespace_reaches_an_asset_of_ones_own(project):
    definitions = build_definitions(["small"], namespace="small")
    today = project.environment.today()
    night = definitions.resolve_job_def("small_small_nightly")
    seen = []

    @dg.asset(
        ins={"run": dg.AssetIn(key=["small", "small", "captured_run"], input_manager_key="small_spancheck_io_manager")},
        partitions_def=dg.DailyPartitionsDefinition("2026-01-01", end_offset=1),
    )
    def lengths(run: pads.Dataset) -> None:
        seen.extend(run.to_table(columns=["suite", "date"]).to_pylist())

    with dg.DagsterInstance.ephemeral() as instance:
        night.execute_in_process(instance=instance, partition_key=today, raise_on_error=False)
    upstream = dg.AssetSpec(["small", "small", "captured_run"], partitions_def=lengths.partitions_def)
    dg.materialize([lengths, upstream], resources=definitions.resources, partition_key=today, selection=[lengths])

    assert seen == [{"suite": "small", "date": today}] * 3
