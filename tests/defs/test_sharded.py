"""A capture in shards: the same asset, the same rows, each shard on its own."""

import re
import warnings
from pathlib import Path

import dagster as dg
import pytest
from scenario import Project, cases_of, spancheck

from spancheck_pipeline import definitions
from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.api.sharding import Shard, capture_shard, collect_shards, plan_shards
from spancheck_pipeline.api.snapshot import snapshot_cases
from spancheck_pipeline.api.targets import load_target
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.errors import CaptureRefusedError, LockedError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN

NIGHT = Night("small", "2026-03-14")


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Project:
    project = Project(tmp_path, n=10)
    project.write_suite(target=", shards: 3")
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    return project


def suite_of(project):
    return load_suite(project.folder / "datasets", "small", load_attribute)


class Capture:
    """The steps of one capture, as Dagster calls them."""

    def __init__(self, project):
        self.loaded = suite_of(project)
        self.store = Store(project.storage)
        if not self.store.unfinished(NIGHT):
            snapshot_cases(self.store, NIGHT, load_cases(self.loaded.folder, self.loaded.suite.cases))

    def load(self):
        return load_target(self.loaded.suite.target, suite_folder=self.loaded.folder)

    def plan(self, **mode):
        return plan_shards(self.store, NIGHT, self.loaded.suite, self.load, **mode)

    def shard(self, shard, **mode):
        return capture_shard(self.store, NIGHT, self.loaded.suite, self.load, shard, **mode)

    def collect(self, **mode):
        return collect_shards(self.store, NIGHT, self.loaded.suite, **mode)


def test_a_night_in_shards_asks_every_case_once_and_ends_as_an_undivided_one(project, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error", dg.BetaWarning)  # whoever watches a terminal has no use for it
        assert spancheck("nightly", "small") == 0
    assert len(project.calls()) == len(set(project.calls())) == 10
    assert "10 cases" in capsys.readouterr().out

    assert spancheck("nightly", "small") == 0
    assert len(project.calls()) == 10
    assert not list(project.storage.glob("_journal/**/*.jsonl"))


def test_the_rows_of_a_divided_capture_are_in_the_order_of_the_cases(project):
    capture = Capture(project)
    for shard in reversed(capture.plan()):
        capture.shard(shard)
    captured = capture.collect()

    assert [row["case_id"] for row in capture.store.open(NIGHT, CAPTURED_RUN).rows(["case_id"])] == [
        item["id"] for item in cases_of(10)
    ]
    assert captured.n_calls == 10
    assert captured.manifest.run_id == read_manifest(capture.store, NIGHT).run_id


def test_shards_differ_in_nothing_from_an_undivided_target(project):
    divided = suite_of(project)
    facts = load_target(divided.suite.target, suite_folder=divided.folder).facts
    project.write_suite()
    whole = suite_of(project)

    assert facts == load_target(whole.suite.target, suite_folder=whole.folder).facts


def test_a_shard_that_was_captured_is_not_called_for_again_and_the_count_stays_as_begun(project):
    capture = Capture(project)
    shards = capture.plan()
    assert shards == (Shard(0, 3), Shard(1, 3), Shard(2, 3))
    capture.shard(shards[1])
    assert len(project.calls()) == 3  # cases 1, 4 and 7

    project.write_suite(target=", shards: 5")
    again = Capture(project)
    assert again.plan() == shards
    done = [again.shard(shard) for shard in again.plan()]

    assert [part.n_kept for part in done] == [0, 3, 0]
    again.collect()
    assert len(project.calls()) == len(set(project.calls())) == 10


def test_nothing_is_published_while_a_shard_is_missing_or_running(project):
    capture = Capture(project)
    shards = capture.plan()
    capture.shard(shards[0])

    with pytest.raises(CaptureRefusedError, match="6 of 10 rows are not recorded"):
        capture.collect()
    with capture.store.lock(NIGHT, "capture-shard-0-of-3"), pytest.raises(LockedError):
        capture.collect()
    assert not capture.store.exists(NIGHT, CAPTURED_RUN)


def test_an_undivided_capture_that_was_begun_is_not_divided(project):
    capture = Capture(project)
    whole = Shard(0, 1)
    with capture.store.lock(NIGHT):
        pass
    project.write_suite(target=", shards: 1")
    single = Capture(project)
    assert single.plan() == (whole,)
    single.shard(whole)

    project.write_suite(target=", shards: 3")
    again = Capture(project)
    assert again.plan() == (whole,)
    assert again.shard(whole).n_kept == 10
    assert again.collect().n_calls == 10
    assert len(project.calls()) == 10


def test_one_step_does_not_go_on_with_a_capture_in_shards(project, capsys):
    capture = Capture(project)
    capture.shard(capture.plan()[0])
    project.write_suite()

    assert spancheck("nightly", "small", "--date", "2026-03-14", "--allow-past") == 2
    assert "begun in shards" in capsys.readouterr().err


def test_a_recapture_in_shards_supersedes_and_leaves_no_journal(project):
    capture = Capture(project)
    for shard in capture.plan():
        capture.shard(shard)
    first = capture.collect()

    for shard in capture.plan(mode="recapture"):
        capture.shard(shard, mode="recapture")
    second = capture.collect(mode="recapture")

    assert second.published.revision == 2
    assert second.manifest.run_id != first.manifest.run_id
    assert capture.store.unfinished(NIGHT) == ()
    assert capture.plan() == ()


def test_failed_rows_are_asked_again_in_shards(project):
    project.write_target("""
        import pathlib

        VERSION = "1"
        LOG = pathlib.Path(__file__).with_name("calls.log")
        DOWN = pathlib.Path(__file__).with_name("down")


        def answer(question):
            with LOG.open("a") as log:
                log.write(question + "\\n")
            if DOWN.exists() and "number 4" in question:
                raise ValueError
            return "30 days"
    """)
    (project.suite_folder / "down").touch()
    capture = Capture(project)
    for shard in capture.plan():
        capture.shard(shard)
    assert capture.collect().manifest.n_errors == 1
    before = len(project.calls())
    (project.suite_folder / "down").unlink()

    shards = capture.plan(mode="retry_errors")
    done = [capture.shard(shard, mode="retry_errors") for shard in shards]
    captured = capture.collect(mode="retry_errors")

    assert [part.n_rows for part in done] == [0, 1, 0]  # case 4 is in the second shard of three
    assert (captured.n_calls, captured.manifest.n_errors, captured.published.revision) == (1, 0, 2)
    assert len(project.calls()) == before + 1


def test_each_shard_may_spend_its_share_of_the_budget(project, capsys):
    # A call costs (100 x 1 + 10 x 2) / 1e6 = 0.00012 USD; every third case reports no usage, so price it with all.
    project.write_cases([item for item in cases_of(9) if item["answerable"]])
    project.write_suite(target=", shards: 3", more="budget: {max_run_cost_usd: 0.0003}\n")

    assert spancheck("nightly", "small") == 2
    error = capsys.readouterr().err
    assert re.search(r"0\.0001\b", error), error  # 0.0003 x 2 cases of 6
    assert len(project.calls()) < 6


def test_two_suites_in_shards_stand_in_one_repository(project, tmp_path):
    other = Project(tmp_path / "b", name="other", n=2)
    other.write_suite(target=", shards: 2")
    other.suite_folder.rename(project.folder / "datasets" / "other")

    dg.Definitions.validate_loadable(definitions.build(project.environment))
