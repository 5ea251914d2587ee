"""A captured night is never called for again, whatever is materialized, retried, changed or deployed."""

import shutil
import textwrap
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest
from scenario import TARGET, Project, cases_of, spancheck

from spancheck_pipeline.definitions import build
from spancheck_pipeline.defs.home import prepare_home
from spancheck_pipeline.defs.run import run_nightly, run_rescore
from spancheck_pipeline.storage.store import Night

DATES = ["2026-01-05", "2026-01-06"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Make one Dagster home for the whole file: making one takes longer than a night."""
    home = tmp_path_factory.mktemp("home") / "dagster_home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(home))
        yield prepare_home(home)


@pytest.fixture(scope="module")
def captured(home, tmp_path_factory) -> Path:
    """Make a project with two captured nights, which every test copies."""
    project = Project(tmp_path_factory.mktemp("captured"))
    project.write_suite(gate=", min_measured: 1")
    for date in DATES:
        night(project, date, captured_run={"allow_past": True})
    assert len(project.calls()) == 24
    return project.folder


@pytest.fixture
def project(captured, home, tmp_path, monkeypatch) -> Project:
    project = Project(tmp_path / "project")
    shutil.rmtree(project.folder)
    shutil.copytree(captured, project.folder)
    for name, value in (project.environ | {"DAGSTER_HOME": str(home)}).items():
        monkeypatch.setenv(name, value)
    return project


def night(project: Project, date: str = DATES[0], **config) -> None:
    run_nightly(build(project.environment, suites=["small"]), project.environment, Night("small", date), config)


def the_job() -> dg.JobDefinition:
    """Return the nightly job of the project that the environment names; Dagster finds it by this function's name."""
    return build().resolve_job_def("small_nightly")


def assert_no_further_call(project: Project) -> None:
    assert Counter(project.calls()) == Counter({case["input"]: 2 for case in cases_of(12)})


def test_materializing_everything_again_calls_nothing(project):
    for date in DATES * 2:
        night(project, date)
    assert_no_further_call(project)


def test_a_range_with_everything_that_one_run_may_hold_calls_nothing(project):
    tags = {"dagster/asset_partition_range_start": DATES[0], "dagster/asset_partition_range_end": DATES[1]}
    with dg.DagsterInstance.get() as instance:
        for name in ("small_rescore", "small_nightly"):
            job = build(project.environment).resolve_job_def(name)
            assert job.execute_in_process(tags=tags, instance=instance).success
    assert_no_further_call(project)


def test_a_backfill_of_every_asset_over_the_dates_calls_nothing(project):
    job = build(project.environment).resolve_job_def("__ASSET_JOB")
    with dg.DagsterInstance.get() as instance:
        for date in DATES:
            tags = {"dagster/backfill": "abc", "dagster/partition": date}
            selection = [key for key in job.asset_layer.executable_asset_keys if key.path[0] == "small"]
            result = job.execute_in_process(tags=tags, instance=instance, partition_key=date, asset_selection=selection)
            assert result.success
    assert_no_further_call(project)


@pytest.mark.parametrize("strategy", [dg.ReexecutionOptions, dg.ReexecutionOptions.from_failure])
def test_executing_a_run_again_calls_nothing(project, strategy):
    project.write_suite(gate=", min_measured: 1, budget: {p95_latency_ms: 0.000001}")
    night(project)  # the gate fails now, and with it the run
    with dg.DagsterInstance.get() as instance:
        [run] = instance.get_runs(limit=1)
        assert run.status == dg.DagsterRunStatus.FAILURE
        options = strategy(run.run_id, instance) if strategy is not dg.ReexecutionOptions else strategy(run.run_id)
        again = dg.execute_job(
            dg.reconstructable(the_job),
            instance=instance,
            reexecution_options=options,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            raise_on_error=False,
        )
        assert again.run_id != run.run_id
    assert_no_further_call(project)


GRADER = """
    def mine(case, output):
        return {answer} in output.answer
"""


def change_the_target(project):
    project.write_target("raise RuntimeError('a target must not even be loaded')\n")


def change_the_version(project):
    project.write_target(TARGET.replace('VERSION = "1"', 'VERSION = "2"'))


def change_a_question(project):
    project.write_cases([{**case, "input": case["input"] + "?"} for case in cases_of(14)])


def change_a_label(project):
    project.write_cases([{**case, "answerable": True} for case in cases_of(12)])


def change_a_grader(project):
    project.write_suite(graders=', more: {use: contains, substr: "days"}')


def change_a_graders_code(project):
    (project.suite_folder / "mine.py").write_text(textwrap.dedent(GRADER.format(answer="'days'")))
    project.write_suite(graders=', mine: {use: "mine.py:mine"}')
    night(project)
    (project.suite_folder / "mine.py").write_text(textwrap.dedent(GRADER.format(answer="'lease'")))


JUDGE = """
    import pathlib


    def judge(system, user):
        with pathlib.Path(__file__).with_name("judge_calls.log").open("a") as log:
            log.write("asked\\n")
        return {"label": "supported", "reason": "it says so"}
"""


def write_judge(project, model):
    """Declare a judge of a model and let a grader use it; another model is another judge, as another prompt is."""
    folder = project.folder / "datasets"
    (folder / "my_judge.py").write_text(textwrap.dedent(JUDGE))
    (folder / "judges.yaml").write_text(
        f'contract: 1\njudges: {{mine: {{callable: "my_judge.py:judge", model: {model}}}}}\n'
    )
    project.write_suite(graders=', judged: {use: citation_accuracy, support: "judge:mine"}')


def judge_calls(project) -> int:
    log = project.folder / "datasets" / "judge_calls.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def change_a_judge(project):
    write_judge(project, "first")
    night(project)
    assert judge_calls(project) > 0
    write_judge(project, "second")


def change_a_threshold(project):
    project.write_suite(gate=", max_flaky: 0.5, regression: {detect: 0.3}")


def change_epochs_and_prices(project):
    project.write_suite(more="epochs: 3\nbudget: {max_run_cost_usd: 0.000001}\n")


@pytest.mark.parametrize(
    "change",
    [
        change_the_target, change_the_version, change_a_question, change_a_label, change_a_grader,
        change_a_graders_code, change_a_judge, change_a_threshold, change_epochs_and_prices,
    ],
)  # fmt: skip
def test_whatever_changes_a_captured_night_is_scored_and_not_called_for(project, change):
    change(project)
    night(project)
    assert spancheck("rescore", "--stale") == 0
    assert_no_further_call(project)


def test_a_rescore_for_another_judge_asks_nobody_and_names_what_is_missing(project):
    change_a_judge(project)
    n_asked = judge_calls(project)

    done = run_rescore(build(project.environment), project.environment, {"graders": ["judged"], "until": DATES[0]})

    assert judge_calls(project) == n_asked
    assert_no_further_call(project)
    [found] = [grader for night in done.nights for grader in night.graders]
    assert (found.grader, found.n_missing_verdicts) == ("judged", 8), "8 of 12 answers cite something"


# -- what calls again, because somebody asks for it -------------------------------------------------------------------


def test_recapture_by_run_config_calls_for_every_case(project):
    night(project, captured_run={"recapture": True})
    assert set(Counter(project.calls()).values()) == {3}


def test_recapture_and_retry_errors_by_command(project, monkeypatch):
    monkeypatch.chdir(project.folder)
    assert spancheck("nightly", "small", "--date", DATES[0], "--retry-errors") == 0
    assert_no_further_call(project)  # nothing had failed
    assert spancheck("nightly", "small", "--date", DATES[0], "--recapture") == 0
    assert set(Counter(project.calls()).values()) == {3}


def test_a_past_night_is_captured_when_it_is_allowed_by_command(project, monkeypatch, capsys):
    monkeypatch.chdir(project.folder)
    assert spancheck("nightly", "small", "--date", "2026-01-07") == 2
    assert "--allow-past" in capsys.readouterr().err
    assert_no_further_call(project)
    assert spancheck("nightly", "small", "--date", "2026-01-07", "--allow-past") == 0
    assert set(Counter(project.calls()).values()) == {3}
