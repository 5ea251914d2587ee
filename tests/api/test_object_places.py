"""A place on object storage goes through capture, scores and decision as one on a disk does."""

import uuid

import pytest
from scenario import Project, spancheck

from spancheck_pipeline.api.capturing import capture_place
from spancheck_pipeline.api.environment import durability
from spancheck_pipeline.api.snapshot import is_begun, snapshot_cases
from spancheck_pipeline.api.targets import load_target
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.errors import LockedError, UsageError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.object_journal import Flush, ObjectJournal
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN

NIGHT = Night("small", "2026-03-14")


class Dies(BaseException):
    """A kill."""


class Captures:
    """One project, captured into a bucket in memory."""

    def __init__(self, folder):
        self.project = Project(folder)
        self.store = Store(f"memory://bucket-{uuid.uuid4().hex}")

    def __call__(self, **more):
        loaded = load_suite(self.project.folder / "datasets", "small", load_attribute)
        if not is_begun(self.store, NIGHT):
            snapshot_cases(self.store, NIGHT, load_cases(loaded.folder, loaded.suite.cases))
        return capture_place(
            self.store,
            NIGHT,
            loaded.suite,
            lambda: load_target(loaded.suite.target, suite_folder=loaded.folder),
            **more,
        )


@pytest.fixture
def capture(tmp_path):
    return Captures(tmp_path)


def test_a_place_is_captured_once_and_leaves_no_journal(capture):
    captured = capture()

    assert (captured.manifest.n_cases, captured.is_reused) == (12, False)
    assert capture().is_reused
    assert len(capture.project.calls()) == 12
    assert capture.store.unfinished(NIGHT) == ()


def test_a_capture_that_is_stopped_goes_on_and_asks_nothing_again(capture):
    capture.project.write_suite(target=", concurrency: 1, journal: {calls: 1, seconds: 0}")

    def dies(progress):
        if progress.done == 5:
            raise Dies

    with pytest.raises(Dies):
        capture(on_progress=dies)
    asked = len(capture.project.calls())
    assert 5 <= asked <= 7  # one in flight, and one that may wait to be stored
    assert is_begun(capture.store, NIGHT)

    again = capture()
    assert (again.manifest.n_cases, again.is_reused) == (12, False)
    assert len(capture.project.calls()) == len(set(capture.project.calls())) == 12


def test_a_recapture_supersedes_and_keeps_what_was(capture):
    capture()
    again = capture(mode="recapture")

    assert again.published.revision == 2
    assert [file.revision for file in capture.store.revisions(NIGHT, CAPTURED_RUN)] == [1, 2]
    assert capture.store.unfinished(NIGHT) == ()


def test_a_place_that_somebody_holds_is_refused_and_nothing_is_called(capture, monkeypatch):
    monkeypatch.setenv("SPANCHECK_LEASE_SECONDS", "2")
    with capture.store.lock(NIGHT, lease_s=0.4), pytest.raises(LockedError, match="is being captured by process"):
        capture()
    assert capture.project.calls() == []


def test_a_capture_that_died_between_publishing_and_letting_its_journal_go_is_tidied_up(capture, monkeypatch):
    def dies(_self):
        raise Dies

    monkeypatch.setattr(ObjectJournal, "discard", dies)
    with pytest.raises(Dies):
        capture()
    monkeypatch.undo()
    assert capture.store.unfinished(NIGHT) == ("capture",)

    assert capture().is_reused
    assert len(capture.project.calls()) == 12
    assert capture.store.unfinished(NIGHT) == ()


def test_what_a_target_prints_is_kept_beside_the_journal(capture):
    from spancheck_pipeline.capture.containment import contained

    capture.project.write_target(
        'def answer(question):\n    print("said aloud")\n    return "30 days"\nVERSION = "1"\n'
    )
    capture(contain=contained)
    log = capture.store.filesystem.cat_file(
        f"{capture.store.root}/_journal/captured_run/suite=small/date=2026-03-14/target_output.log"
    )
    assert log.count(b"said aloud") == 12


def test_a_night_goes_from_cases_to_report_in_a_bucket(tmp_path, monkeypatch, capsys):
    project = Project(tmp_path)
    for name, value in {**project.environ, "SPANCHECK_STORAGE": f"memory://bucket-{uuid.uuid4().hex}"}.items():
        monkeypatch.setenv(name, value)

    assert spancheck("nightly", "small") == 0
    assert len(project.calls()) == 12
    assert "gate: PASS (decision 1)" in capsys.readouterr().out


def test_how_often_a_journal_is_stored_is_read_from_the_environment_and_checked():
    assert durability({}).flush == Flush(calls=20, seconds=1.0)
    read = durability(
        {"SPANCHECK_JOURNAL_CALLS": "1", "SPANCHECK_JOURNAL_SECONDS": "0", "SPANCHECK_LEASE_SECONDS": "5"}
    )
    assert (read.flush, read.lease_s) == (Flush(calls=1, seconds=0.0), 5.0)
    for wrong in ("0", "x", "nan", "1e9"):
        with pytest.raises(UsageError, match="SPANCHECK_JOURNAL_CALLS"):
            durability({"SPANCHECK_JOURNAL_CALLS": wrong})
