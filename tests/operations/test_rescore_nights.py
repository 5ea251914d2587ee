"""Stale nights scored again in one Dagster run: exactly those, exactly what depends on them, and no call."""

import getpass
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import dagster as dg
import pytest
from scenario import TARGET, Project, cases_of

from spancheck_pipeline.api.deciding import read_decision
from spancheck_pipeline.api.promoting import all_promotions, promote_place
from spancheck_pipeline.api.rescoring import Rescored
from spancheck_pipeline.api.stored import run_place
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.definitions import build
from spancheck_pipeline.defs.home import prepare_home
from spancheck_pipeline.defs.rescore import RescoreConfig
from spancheck_pipeline.defs.run import run_nightly, run_rescore
from spancheck_pipeline.errors import StepFailedError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, GATE, SCORES

HOLES = ["2026-01-05", "2026-01-06", "2026-01-08", "2026-01-09", "2026-01-12", "2026-01-13", "2026-01-14", "2026-01-20"]
SAYS = ', says: {{use: contains, substr: "{0}"}}'
FORBIDDEN = "raise RuntimeError('a target must not even be loaded')\n"


@pytest.fixture(scope="module")
def captured(tmp_path_factory) -> Path:
    """Make a project with an empty Dagster home and eight captured nights, once for all tests, which copy it."""
    folder = tmp_path_factory.mktemp("captured")
    project = Project(folder)
    project.write_suite(graders=SAYS.format("30 days"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", project.environ["DAGSTER_HOME"])
        prepare_home(project.environment.dagster_home)
    capture(project, HOLES)
    return folder


@pytest.fixture
def project(captured, tmp_path, monkeypatch) -> Project:
    project = Project(tmp_path / "project")
    shutil.rmtree(project.folder)
    shutil.copytree(captured, project.folder)
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    return project


def only(project: Project, n: int) -> Store:
    """Keep the first nights and forget the others."""
    for date in HOLES[n:]:
        for folder in project.storage.rglob(f"date={date}"):
            shutil.rmtree(folder)
        for promotion in project.storage.rglob(f"*_{date}.json"):
            promotion.unlink()
    return Store(project.environment.storage)


def capture(project: Project, dates: list[str]) -> None:
    """Take nights from cases to promotion without Dagster, as quickly as possible, and take the target away."""
    loaded = load_suite(project.environment.datasets, project.name, load_attribute)
    store, cases = Store(project.environment.storage), load_cases(loaded.folder, loaded.suite.cases)
    for date in dates:
        place = Night(project.name, date)
        decided = run_place(
            store,
            place,
            loaded.suite,
            cases,
            graders=loaded.graders,
            load_target=lambda: load_target(loaded.suite.target, suite_folder=loaded.folder),
            decided_by=getpass.getuser(),
        )
        assert decided.decision.ok
        promote_place(store, place, at=decided.decision.decided_at, by="me")
    project.write_target(FORBIDDEN)


def rescore(project: Project, **config) -> Rescored:
    return run_rescore(build(project.environment), project.environment, config)


def runs() -> list[dg.DagsterRun]:
    with dg.DagsterInstance.get() as instance:
        return list(instance.get_runs())


def materialized(run: dg.DagsterRun) -> Counter:
    with dg.DagsterInstance.get() as instance:
        events = [record.dagster_event for record in instance.all_logs(run.run_id)]
    made = [event for event in events if event and event.is_step_materialization]
    return Counter((event.asset_key.path[-1], event.partition) for event in made)


def test_exactly_the_stale_partitions_and_what_depends_on_them_are_made_again_in_one_run(project):
    store = only(project, 8)
    before = {date: store.open(Night("small", date), SCORES, "no_pii").content_digest for date in HOLES}
    project.write_suite(graders=SAYS.format("written notice"))

    done = rescore(project)

    assert [(night.date, [grader.grader for grader in night.graders]) for night in done.nights] == [
        (date, ["says"]) for date in HOLES
    ]
    assert (done.n_partitions, done.target_calls, done.problems) == (8, 0, ())
    [run] = runs()
    assert run.status == dg.DagsterRunStatus.SUCCESS
    made = ["audit_log", "comparison", "report", "says", "scorecard"]
    assert materialized(run) == Counter({(name, date): 1 for name in made for date in HOLES})
    assert {date: store.open(Night("small", date), SCORES, "no_pii").content_digest for date in HOLES} == before
    assert len(project.calls()) == 12 * len(HOLES)
    assert rescore(project).nights == ()


POLITE = """
    from spancheck_pipeline import grader

    VERSION, WORD = "{version}", "{word}"


    @grader("polite", version=VERSION)
    def polite(case, output):
        return WORD in output.answer
"""


def test_another_version_of_a_grader_is_scored_again_and_settings_that_stand_are_not(project):
    store = only(project, 1)
    night = Night("small", HOLES[0])

    def write(version: str, word: str) -> None:
        (project.suite_folder / "mine.py").write_text(textwrap.dedent(POLITE.format(version=version, word=word)))

    write("1", "30 days")
    project.write_suite(graders=SAYS.format("30 days") + ', polite: {use: "mine.py:polite"}')
    assert [grader.grader for grader in rescore(project).nights[0].graders] == ["polite"], "it is new"
    # Its own source stands in its spec, what it takes from elsewhere does not: there, the version is all that tells.
    write("1", "president")
    assert rescore(project).nights == ()
    write("2", "president")

    [done] = rescore(project).nights

    [changed] = done.graders
    assert (changed.grader, changed.version_before, changed.version) == ("polite", "1", "2")
    assert changed.n_changed == 8, "as many of 12 answers hold '30 days', and none holds 'president'"
    assert store.open(night, SCORES, "polite").grader_spec["version"] == "2"
    assert rescore(project).nights == ()


def test_the_summary_tells_outcomes_before_and_after_with_case_ids(project):
    only(project, 2)
    project.write_suite(graders=SAYS.format("president"))

    done = rescore(project)

    # Every third of 12 cases declines ("I don't know"), so that 8 answers hold "30 days"; none holds "president".
    [total] = done.totals()
    answered = tuple(case["id"] for case in cases_of(12) if case["answerable"])
    assert (total.grader, total.before, total.after, total.n, total.n_nights) == ("says", "pass", "fail", 16, 2)
    assert total.case_ids == answered
    with dg.DagsterInstance.get() as instance:
        [shown] = [
            event.asset_materialization.metadata
            for event in [instance.get_latest_materialization_event(dg.AssetKey(["small", "scores", "says"]))]
        ]
    assert shown["n_outcomes_changed"].value == 8
    [change] = shown["outcomes_changed"].value
    assert change == {"before": "pass", "after": "fail", "n": 8, "case_ids": list(answered)}


def test_a_decision_that_differs_is_a_new_revision_and_the_promotion_stands(project):
    store = only(project, 3)
    promoted = all_promotions(store, "small", "last_good")
    project.write_suite(graders=SAYS.format("president"), gate=", max_unmeasured: 0.5")
    text = (project.suite_folder / "suite.yaml").read_text()
    (project.suite_folder / "suite.yaml").write_text(text.replace("citation_accuracy: 0.9,", "says: 0.5,"))

    done = rescore(project)

    assert [(night.decision_before, night.decision, night.decision_revision) for night in done.other_decisions()] == [
        ("PASS", "FAIL", 2)
    ] * 3
    assert all_promotions(store, "small", "last_good") == promoted
    assert [file.document()["answer"] for file in store.revisions(Night("small", HOLES[0]), GATE)] == ["PASS", "FAIL"]


def test_dagster_calls_what_was_scored_again_up_to_date(project):
    from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
    from dagster._core.loader import LoadingContextForTest

    only(project, 0)
    project.write_target(TARGET)
    for date in HOLES[:2]:
        config = {"captured_run": {"allow_past": True}}
        run_nightly(build(project.environment), project.environment, Night("small", date), config)
    project.write_suite(graders=SAYS.format("written notice"))

    def stale() -> set[str]:
        graph = build(project.environment).resolve_asset_graph()
        with dg.DagsterInstance.get() as instance:
            resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
            return {
                key.path[-1]
                for key in graph.get_all_asset_keys()
                for date in HOLES[:2]
                if resolver.get_status(key, date) == StaleStatus.STALE
            }

    assert stale() == {"says"}
    rescore(project)
    assert stale() == {"baseline"}, "promoting with hindsight is not a rescore's business"


def test_each_night_gets_its_own_check_evaluations(project):
    only(project, 2)
    project.write_suite(graders=SAYS.format("written notice"))

    rescore(project)

    key = dg.AssetCheckKey(dg.AssetKey(["small", "comparison"]), "min_pass_rate_citation_accuracy")
    with dg.DagsterInstance.get() as instance:
        records = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert {record.partition for record in records} == set(HOLES[:2])


def test_the_same_nights_can_be_scored_again_as_often_as_graders_change(project):
    store = only(project, 2)
    for text in ("president", "days", "lease"):
        project.write_suite(graders=SAYS.format(text))
        assert rescore(project).problems == ()
    assert [file.revision for file in store.revisions(Night("small", HOLES[0]), SCORES, "says")] == [1, 2, 3, 4]
    key = dg.AssetCheckKey(dg.AssetKey(["small", "comparison"]), "min_pass_rate_citation_accuracy")
    with dg.DagsterInstance.get() as instance:
        records = instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
    assert Counter(record.partition for record in records) == dict.fromkeys(HOLES[:2], 3)


def test_a_dry_run_says_the_same_and_touches_nothing(project):
    store = only(project, 2)
    project.write_suite(graders=SAYS.format("president"))

    done = rescore(project, dry_run=True)

    assert done.is_dry_run
    assert [(night.date, night.graders[0].grader) for night in done.nights] == [(date, "says") for date in HOLES[:2]]
    assert [file.revision for file in store.revisions(Night("small", HOLES[0]), SCORES, "says")] == [1]


def test_dates_suites_and_graders_narrow_what_is_scored_again(project):
    only(project, 4)
    project.write_suite(graders=SAYS.format("president"))

    assert [night.date for night in rescore(project, since=HOLES[1], until=HOLES[2]).nights] == HOLES[1:3]
    assert rescore(project, graders=["no_pii"]).nights == ()
    assert [night.date for night in rescore(project, suites=["small"], graders=["says"]).nights] == [HOLES[0], HOLES[3]]
    for wrong in ({"suites": ["smal"]}, {"graders": ["say"]}):
        with pytest.raises(StepFailedError, match=r"there is no suite 'smal'|no suite here has a grader 'say'"):
            rescore(project, **wrong)


def test_a_choice_of_graders_that_leaves_another_stale_one_is_refused(project):
    only(project, 2)
    project.write_suite(graders=SAYS.format("president") + ', more: {use: contains, substr: "a"}')

    with pytest.raises(StepFailedError, match=r"more is stale too on 2 of these nights.*--grader more"):
        rescore(project, graders=["says"])
    assert rescore(project, graders=["says", "more"]).n_partitions == 4


def test_a_grader_that_is_new_is_scored_on_the_nights_that_were(project):
    only(project, 2)
    project.write_suite(graders=SAYS.format("30 days") + ', more: {use: contains, substr: "a"}')

    done = rescore(project)

    assert [[grader.grader for grader in night.graders] for night in done.nights] == [["more"], ["more"]]
    assert {total.before for total in done.totals()} == {None}
    assert done.nights[0].graders[0].version_before is None


def test_a_grader_that_is_gone_makes_nothing_stale(project):
    only(project, 2)
    project.write_suite()

    assert rescore(project).nights == ()


def test_a_night_that_cannot_be_read_is_named_and_the_others_are_scored(project):
    store = only(project, 3)
    project.write_suite(graders=SAYS.format("president"))
    damaged = store.path(Night("small", HOLES[1]), CAPTURED_RUN)
    (project.folder / damaged).write_bytes(b"no parquet")

    done = rescore(project)

    [problem] = done.problems
    assert problem.startswith(f"small on {HOLES[1]}: ")
    assert [night.date for night in done.nights if not night.problem] == [HOLES[0], HOLES[2]]
    assert [run.status for run in runs()] == [dg.DagsterRunStatus.FAILURE]


def test_a_night_that_was_scored_and_not_decided_is_finished(project):
    store = only(project, 2)
    project.write_suite(graders=SAYS.format("president"))
    from spancheck_pipeline.api.scoring import score_place

    loaded = load_suite(project.environment.datasets, "small", load_attribute)
    [says] = [grader for grader in loaded.graders if grader.name == "says"]
    score_place(store, Night("small", HOLES[0]), says)  # and then the machine went off

    done = rescore(project)

    assert [(night.date, len(night.graders), night.decision_revision) for night in done.nights] == [
        (HOLES[0], 0, 2),
        (HOLES[1], 1, 2),
    ]
    assert rescore(project).nights == ()


def test_a_rescore_that_is_killed_leaves_whole_nights_and_the_rest_stale(project):
    store = only(project, 8)
    project.write_suite(graders=SAYS.format("president"))
    command = [sys.executable, "-m", "spancheck_pipeline.cli", "rescore", "--stale"]
    process = subprocess.Popen(command, cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 240
    while len(store.revisions(Night("small", HOLES[1]), GATE)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()

    rest = rescore(project)

    assert 0 < len(rest.nights) < len(HOLES)
    assert rest.problems == ()
    assert rescore(project).nights == ()
    for date in HOLES:
        place = Night("small", date)
        assert read_decision(store, place).inputs["scores/says"] == store.open(place, SCORES, "says").content_digest
        assert store.open(place, AUDIT_LOG).metadata["gate"] == store.open(place, GATE).content_digest
        assert [file.revision for file in store.revisions(place, SCORES, "says")] == [1, 2]


def test_the_sensor_asks_for_one_run_and_not_for_the_same_again(project):
    only(project, 3)
    sensor = build(project.environment).get_repository_def().get_sensor_def("rescore_stale_sensor")
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED

    def tick() -> list[dg.RunRequest]:
        found = build(project.environment)
        resources = {"spancheck_store": found.resources["spancheck_store"]}
        with (
            dg.DagsterInstance.get() as instance,
            dg.build_sensor_context(instance=instance, resources=resources) as context,
        ):
            sensor = found.get_repository_def().get_sensor_def("rescore_stale_sensor")
            return list(sensor.evaluate_tick(context).run_requests)

    assert tick() == []
    project.write_suite(graders=SAYS.format("president"))
    [first], [again] = tick(), tick()
    assert first.run_key == again.run_key, "Dagster launches a run key once"
    assert (first.job_name or sensor.job_name) == "rescore_stale"
    project.write_suite(graders=SAYS.format("a"))
    [other] = tick()
    assert other.run_key != first.run_key
    with dg.DagsterInstance.get() as instance:
        job = build(project.environment).resolve_job_def("rescore_stale")
        assert job.execute_in_process(run_config=other.run_config, instance=instance).success
    assert tick() == []


def test_the_launchpad_configuration_is_that_of_the_command(project):
    assert set(RescoreConfig.model_fields) == {"suites", "graders", "since", "until", "dry_run"}
