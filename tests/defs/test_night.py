"""A suite through the real Dagster and the real storage."""

import json
import sqlite3
from collections import Counter
from pathlib import Path

import dagster as dg
import pyarrow.dataset as pads
import pytest
from scenario import Project, cases_of

from spancheck_pipeline.api.audit_logs import open_audit_log, read_head, read_records
from spancheck_pipeline.api.deciding import read_decision
from spancheck_pipeline.definitions import build
from spancheck_pipeline.defs.home import prepare_home
from spancheck_pipeline.defs.run import run_nightly
from spancheck_pipeline.errors import StepFailedError
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, GATE, SCORES


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster_home"))
    project = Project(tmp_path)
    prepare_home(project.environment.dagster_home)
    return project


def night(project: Project, date: str | None = None, **config) -> Store:
    environment = project.environment
    place = Night(project.name, date or environment.today())
    run_nightly(build(environment, suites=[project.name]), environment, place, config)
    return Store(environment.storage)


def today(project: Project) -> Night:
    return Night(project.name, project.environment.today())


def test_a_night_goes_from_cases_to_audit_log(project):
    store = night(project)

    head = read_head(open_audit_log(store, today(project)))
    records = list(read_records(open_audit_log(store, today(project))))

    assert head.decision.ok
    assert head.summary.headline.citation_accuracy.value == 1.0
    assert len(records) == 12
    assert {score.grader for score in records[0].scores} == {
        "completion", "citation_accuracy", "abstention_correct", "groundedness", "no_pii",
    }  # fmt: skip
    assert records[0].cost_usd == pytest.approx((100 * 1 + 10 * 2) / 1e6)


def test_materializing_everything_twice_calls_the_target_once_per_case(project):
    night(project)
    night(project)

    assert Counter(project.calls()) == Counter(case["input"] for case in cases_of(12))


def test_a_captured_date_keeps_its_snapshot_when_the_cases_file_has_changed(project):
    store = night(project)
    before = store.open(today(project), CAPTURED_RUN).content_digest
    changed = cases_of(14)
    changed[0]["input"] = "Another question?"
    changed[1]["answerable"] = False
    project.write_cases(changed)

    night(project)

    assert len(project.calls()) == 12
    assert store.open(today(project), CAPTURED_RUN).content_digest == before
    kept = {row["case_id"]: row for row in store.open(today(project), CASES).rows()}
    assert len(kept) == 12
    assert (kept["q00"]["input"], kept["q01"]["answerable"]) == ("How long is notice number 0?", True)


def test_relabel_takes_over_labels_of_equal_questions_and_lists_the_others(project):
    store = night(project)
    changed = cases_of(12)[:-1]
    changed[0] |= {"input": "Another question?", "answerable": False}
    changed[1]["answerable"] = False
    project.write_cases(changed)

    night(project, cases={"relabel": True})

    kept = {row["case_id"]: row for row in store.open(today(project), CASES).rows()}
    assert (kept["q00"]["answerable"], kept["q01"]["answerable"]) == (True, False)
    assert len(project.calls()) == 12
    scores = {row["case_id"]: row["outcome"] for row in store.open(today(project), SCORES, "abstention_correct").rows()}
    assert (scores["q00"], scores["q01"]) == ("pass", "fail")
    shown = last_metadata("cases")
    assert shown["relabelled"].value == ["q01"]
    assert shown["questions_kept_as_asked"].value == ["q00"]
    assert shown["cases_removed_since"].value == ["q11"]


def last_metadata(name: str) -> dict:
    with dg.DagsterInstance.get() as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey(["small", name]))
        return dict(event.asset_materialization.metadata)


def test_a_superseded_decision_stays_readable_as_it_was_decided(project):
    store = night(project)
    changed = cases_of(12)
    for case in changed:
        case["answerable"] = not case["answerable"]
    project.write_cases(changed)
    night(project, cases={"relabel": True})

    place = today(project)
    assert [read_decision(store, place).answer, read_decision(store, place).revision] == ["FAIL", 2]
    original = open_audit_log(store, place, as_decided=1)
    assert read_head(original).decision.answer == "PASS"
    assert all(record.scores[2].outcome == "pass" for record in read_records(original))
    assert [file.revision for file in store.revisions(place, GATE)] == [1, 2]
    assert "/_history/audit_log/" in original.path


def test_the_same_night_again_is_no_new_decision(project):
    store = night(project)
    night(project)

    assert [file.revision for file in store.revisions(today(project), GATE)] == [1]


def test_recapture_calls_again_and_supersedes(project):
    store = night(project)
    first = store.open(today(project), CAPTURED_RUN).run_id

    night(project, captured_run={"recapture": True})

    assert len(project.calls()) == 24
    assert [file.run_id == first for file in store.revisions(today(project), CAPTURED_RUN)] == [True, False]


FAILS_ONCE = """
    import pathlib

    VERSION = "1"
    HERE = pathlib.Path(__file__).parent


    def answer(question):
        with (HERE / "calls.log").open("a") as log:
            log.write(question + "\\n")
        if "number 4" in question and not (HERE / "mended").exists():
            raise RuntimeError("secret-of-the-target")
        return {"answer": "I don't know; the documents do not say.", "contexts": ["a passage"]}
"""


def test_retry_errors_calls_for_the_failed_rows_only(project):
    project.write_target(FAILS_ONCE)
    store = night(project)
    assert read_decision(store, today(project)).answer == "FAIL"
    assert Counter(project.calls())["How long is notice number 4?"] == 2, "once more at the end of the night"
    (project.suite_folder / "mended").touch()

    night(project, captured_run={"retry_errors": True})

    calls = Counter(project.calls())
    assert calls.pop("How long is notice number 4?") == 3
    assert set(calls.values()) == {1}
    rows = {row["case_id"]: row for row in store.open(today(project), CAPTURED_RUN).rows()}
    assert (rows["q04"]["answered"], rows["q04"]["attempts"]) == (True, 3)
    assert len({row["run_id"] for row in rows.values()}) == 1


def test_retry_errors_with_another_target_version_is_refused(project):
    project.write_target(FAILS_ONCE)
    night(project)
    project.write_target(FAILS_ONCE.replace('VERSION = "1"', 'VERSION = "2"'))

    with pytest.raises(StepFailedError, match=r"captured by target version '1', and the target is '2' now"):
        night(project, captured_run={"retry_errors": True})


def test_a_past_date_is_not_captured_unless_asked_for(project):
    with pytest.raises(StepFailedError, match="was never captured and is over"):
        night(project, "2026-01-05")
    assert project.calls() == []

    night(project, "2026-01-05", captured_run={"allow_past": True})
    assert len(project.calls()) == 12


def test_a_range_is_scored_in_one_run_and_each_date_gets_its_own_checks(project):
    dates = ["2026-01-05", "2026-01-06"]
    for date in dates:
        night(project, date, captured_run={"allow_past": True})
    project.write_suite(gate=", budget: {p95_latency_ms: 0.000001}")
    definitions = build(project.environment, suites=["small"])
    tags = {"dagster/asset_partition_range_start": dates[0], "dagster/asset_partition_range_end": dates[1]}

    with dg.DagsterInstance.get() as instance:
        result = definitions.resolve_job_def("small_rescore").execute_in_process(
            tags=tags, instance=instance, raise_on_error=False
        )
        # The gate fails on both dates now, so that the promotion is refused; it is the only step that is.
        assert [event.step_key for event in result.all_events if event.is_step_failure] == ["small__baseline"]
        key = dg.AssetCheckKey(dg.AssetKey(["small", "comparison"]), "budget_p95_latency_ms")
        evaluated = {
            record.partition: record.event.asset_check_evaluation.passed
            for record in instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
            if record.event and record.event.asset_check_evaluation
        }

    assert evaluated == {"2026-01-05": False, "2026-01-06": False, None: False}
    assert len(project.calls()) == 24
    store = Store(project.environment.storage)
    assert [read_decision(store, Night("small", date)).answer for date in dates] == ["FAIL", "FAIL"]


def test_a_gate_that_fails_is_seen_as_failed_checks_and_the_record_is_made_all_the_same(project):
    project.write_target(FAILS_ONCE)
    store = night(project)

    assert store.exists(today(project), GATE)
    assert read_head(open_audit_log(store, today(project))).decision.answer == "FAIL"
    with dg.DagsterInstance.get() as instance:
        key = dg.AssetCheckKey(dg.AssetKey(["small", "comparison"]), "min_pass_rate_completion")
        [record] = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    evaluation = record.event.asset_check_evaluation
    assert (evaluation.passed, evaluation.severity, record.partition) == (
        False, dg.AssetCheckSeverity.ERROR, today(project).date,
    )  # fmt: skip


def test_another_asset_reads_a_suites_table_as_one_lazy_dataset(project):
    for date in ("2026-01-05", "2026-01-06"):
        night(project, date, captured_run={"allow_past": True})
    definitions = build(project.environment, suites=["small"])
    [captured] = [a for a in definitions.assets if a.key == dg.AssetKey(["small", "captured_run"])]
    seen = {}

    @dg.asset(
        ins={"run": dg.AssetIn(key=captured.key)},
        partitions_def=captured.partitions_def,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
    def mine(run: pads.Dataset) -> None:
        seen["rows"] = Counter(run.to_table(columns=["date"]).column("date").to_pylist())

    mine_defs = dg.Definitions(
        assets=[captured, mine], jobs=[dg.define_asset_job("j", [mine])], resources=definitions.resources
    )
    tags = {"dagster/asset_partition_range_start": "2026-01-05", "dagster/asset_partition_range_end": "2026-01-06"}
    with dg.DagsterInstance.ephemeral() as instance:
        mine_defs.resolve_job_def("j").execute_in_process(tags=tags, instance=instance)
        assert seen["rows"] == {"2026-01-05": 12, "2026-01-06": 12}
        mine_defs.resolve_job_def("j").execute_in_process(partition_key="2026-01-06", instance=instance)
        assert seen["rows"] == {"2026-01-06": 12}


def test_a_changed_grader_setting_makes_exactly_its_scores_another_code_version(project):
    def versions() -> dict[str, str]:
        return {
            key.to_user_string(): version
            for asset in build(project.environment, suites=["small"]).assets
            for key, version in asset.code_versions_by_key.items()
        }

    before = versions()
    project.write_suite(graders=', notice: {use: contains, substr: "notice"}')
    added = versions()
    project.write_suite(graders=', notice: {use: contains, substr: "days"}')
    after = versions()

    assert {key for key in added if added[key] != after[key]} == {"small/scores/notice"}
    assert {key: added[key] for key in before} == before


NOISY = """
    import logging
    import os
    import subprocess
    import sys
    import warnings

    VERSION = "1"
    print("IMPORT-TOKEN-77")


    def answer(question):
        print("PRINT-TOKEN-77", flush=True)
        print("STDERR-TOKEN-77", file=sys.stderr, flush=True)
        os.write(1, b"FD-TOKEN-77\\n")
        subprocess.run(["echo", "CHILD-TOKEN-77"], check=True)
        logging.getLogger("mine").error("LOG-TOKEN-77")
        logging.getLogger().warning("ROOT-TOKEN-77")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("WARN-TOKEN-77", stacklevel=1)
        if "number 4" in question:
            raise RuntimeError("RAISED-TOKEN-77")
        return {"answer": "ANSWER-TOKEN-77", "contexts": ["PASSAGE-TOKEN-77"], "citations": ["QUOTE-TOKEN-77 a b"]}
"""

NOISY_GRADER = """
    def loud(case, output):
        print("GRADER-TOKEN-77", flush=True)
        raise ValueError("GRADER-RAISED-TOKEN-77 " + output.answer)
"""


def test_nothing_that_target_or_grader_print_log_or_raise_reaches_dagster_or_a_summary(project, capfd):
    import textwrap

    project.write_target(NOISY)
    (project.suite_folder / "mine.py").write_text(textwrap.dedent(NOISY_GRADER))
    project.write_suite(graders=', loud: {use: "mine.py:loud"}')
    project.write_cases([{**case, "input": case["input"] + " INPUT-TOKEN-77"} for case in cases_of(6)])
    store = night(project)
    captured = capfd.readouterr()

    assert "TOKEN-77" not in captured.out + captured.err
    home = project.environment.dagster_home
    for path in home.rglob("*"):
        if path.is_file() and path.suffix != ".db":
            assert b"TOKEN-77" not in path.read_bytes(), path
    for path in home.rglob("*.db"):
        dump = "\n".join(sqlite3.connect(path).iterdump())
        assert "TOKEN-77" not in dump, path
    for table in ("scorecard", "comparison", "gate"):
        for path in Path(store.root).rglob(f"{table}/**/*.parquet"):
            assert b"TOKEN-77" not in path.read_bytes(), path
    manifest = json.dumps(store.open(today(project), CAPTURED_RUN).document())
    assert "TOKEN-77" not in manifest
    rows = list(store.open(today(project), SCORES, "loud").rows())
    assert {row["reason"] for row in rows} == {
        "The grader crashed on this case (ValueError).",
        "The call failed (RuntimeError).",
    }


def test_a_target_that_does_not_import_fails_the_step_without_its_text(project):
    project.write_target('VERSION = "1"\nraise RuntimeError("IMPORT-SECRET-77")\n')

    with pytest.raises(StepFailedError) as caught:
        night(project)

    assert "RuntimeError" in str(caught.value)
    assert "SECRET-77" not in str(caught.value)
    for path in project.environment.dagster_home.rglob("*.db"):
        assert "SECRET-77" not in "\n".join(sqlite3.connect(path).iterdump())


def test_a_second_suite_has_its_own_assets_on_the_same_partitions(project):
    other = Project(project.folder / "other", name="second")
    other.suite_folder.rename(project.folder / "datasets" / "second")

    definitions = build(project.environment)

    keys = {asset.key.to_user_string() for asset in definitions.assets}
    assert {"small/captured_run", "second/captured_run", "second/scores/no_pii"} <= keys
    of_suites = [asset for asset in definitions.assets if asset.key != dg.AssetKey("calibration")]
    assert len({id(asset.partitions_def) for asset in of_suites}) == 1


def test_the_asset_graph_of_a_suite_is_pinned(project):
    definitions = build(project.environment)
    dg.Definitions.validate_loadable(definitions)

    graph = definitions.resolve_asset_graph()
    edges = {
        key.to_user_string(): sorted(parent.to_user_string() for parent in graph.get(key).parent_keys)
        for key in graph.get_all_asset_keys()
    }

    scores = [f"small/scores/{name}" for name in ("abstention_correct", "citation_accuracy", "completion")]
    scores += ["small/scores/groundedness", "small/scores/no_pii"]
    evidence = ["small/captured_run", "small/cases"]
    assert edges == {
        "small/cases": [],
        "small/captured_run": ["small/cases"],
        **dict.fromkeys(scores, evidence),
        "small/scorecard": [*evidence, *scores],
        "small/comparison": [*evidence, "small/scorecard", *scores],
        "small/audit_log": [*evidence, "small/comparison", "small/scorecard", *scores],
        "small/report": ["small/audit_log", "small/comparison", "small/scorecard"],
        "small/baseline": ["small/comparison"],
        "calibration": [],  # of the project: one partition a judge
    }
    stages = {key.to_user_string(): graph.get(key).tags["stage"] for key in graph.get_all_asset_keys()}
    assert set(stages.values()) == {"evidence", "grading", "decision"}
    assert {graph.get(key).group_name for key in graph.get_all_asset_keys()} == {"small", "calibration"}


def test_a_namespace_enters_keys_and_job_names(project):
    import dataclasses

    environment = dataclasses.replace(project.environment, namespace="team_a")
    definitions = build(environment)

    assert all(asset.key.path[0] == "team_a" for asset in definitions.assets)
    run_nightly(definitions, environment, today(project), {})
    assert (Path(environment.storage) / "team_a" / "captured_run").is_dir()


def test_telemetry_is_off_in_the_home_that_is_made(project):
    with dg.DagsterInstance.get() as instance:
        assert instance.telemetry_enabled is False


def test_an_existing_home_is_left_as_it_is(project):
    file = project.environment.dagster_home / "dagster.yaml"
    file.write_text("telemetry: {enabled: false}\n# mine\n")

    prepare_home(project.environment.dagster_home)

    assert "# mine" in file.read_text()
