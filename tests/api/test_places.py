"""The steps on a stored place, without Dagster: what is written, what is refused, and that it is always the same."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scenario import AT, Project

from spancheck_pipeline.api.audit_logs import open_audit_log, read_records
from spancheck_pipeline.api.capturing import capture_place
from spancheck_pipeline.api.deciding import decide_place, read_decision, summarize_place
from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.api.recording import record_place
from spancheck_pipeline.api.scoring import score_place
from spancheck_pipeline.api.snapshot import snapshot_cases
from spancheck_pipeline.api.stored import run_place, stored_run
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.errors import CorruptFileError, MissingDataError
from spancheck_pipeline.grading.graders import contains
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import AdHoc, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, SCORES

PLACE = AdHoc("small", "run-1")


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path)


def loaded(project: Project):
    return load_suite(project.folder / "datasets", project.name, load_attribute)


def capture(project: Project, **options) -> Store:
    suite = loaded(project)
    store = Store(project.storage)
    snapshot_cases(store, PLACE, load_cases(suite.folder, suite.suite.cases))
    capture_place(
        store, PLACE, suite.suite, lambda: load_target(suite.suite.target, suite_folder=suite.folder), **options
    )
    return store


def decide(store: Store, suite, who: str = "x"):
    summarize_place(store, PLACE, suite.suite, [grader.name for grader in suite.graders])
    return decide_place(store, PLACE, suite.suite, suite.graders, decided_at=AT, decided_by=who)


def score_all(store: Store, suite) -> None:
    for grader in suite.graders:
        score_place(store, PLACE, grader)


def test_a_place_goes_from_cases_to_audit_log(project):
    suite = loaded(project)
    store = Store(project.storage)

    decided = run_place(
        store,
        PLACE,
        suite.suite,
        load_cases(suite.folder, suite.suite.cases),
        graders=suite.graders,
        load_target=lambda: load_target(suite.suite.target, suite_folder=suite.folder),
        decided_by="reviewer",
    )

    assert decided.decision.answer == "PASS"
    assert decided.decision.decided_by == "reviewer"
    assert stored_run(store, PLACE).scorecard().document.graders == decided.scorecard.graders


def test_the_manifest_tells_what_was_called_and_how(project):
    store = capture(project, now=lambda: AT)

    manifest = read_manifest(store, PLACE)

    assert (manifest.n_cases, manifest.n_rows, manifest.n_answered, manifest.attempts) == (12, 12, 12, 12)
    assert (manifest.target.kind, manifest.target.reference, manifest.target.version) == (
        "callable", "target.py:answer", "1",
    )  # fmt: skip
    assert manifest.tokens == {"input_tokens": 800, "output_tokens": 80}
    assert manifest.served_models == {"m1": 8}
    assert manifest.started_at == AT == manifest.finished_at


def test_a_captured_place_does_not_even_load_its_target(project):
    store = capture(project)
    suite = loaded(project)

    def refuses():
        raise AssertionError("loaded")

    assert capture_place(store, PLACE, suite.suite, refuses).is_reused


def test_deciding_on_scores_of_another_capture_is_refused(project):
    store = capture(project)
    suite = loaded(project)
    score_all(store, suite)
    capture(project, mode="recapture")

    with pytest.raises(MissingDataError, match=r"citation_accuracy \(scored another capture or other labels\)"):
        summarize_place(store, PLACE, suite.suite, ["citation_accuracy"])
    with pytest.raises(MissingDataError, match=r"citation_accuracy \(scored another capture or other labels\)"):
        decide_place(store, PLACE, suite.suite, suite.graders, decided_at=AT, decided_by="x")
    with pytest.raises(MissingDataError, match=r"nothing \(no scores\)"):
        decide_place(store, PLACE, suite.suite, [contains("x", "nothing")], decided_at=AT, decided_by="x")


def test_deciding_on_a_scorecard_of_other_scores_or_with_another_grader_is_refused(project):
    store = capture(project)
    suite = loaded(project)
    score_all(store, suite)
    decide(store, suite)
    project.write_suite(graders=', notice: {use: contains, substr: "notice"}')
    with_notice = loaded(project)
    score_place(store, PLACE, with_notice.graders[-1])

    with pytest.raises(MissingDataError, match="the scorecard was made from other scores"):
        decide_place(store, PLACE, with_notice.suite, with_notice.graders, decided_at=AT, decided_by="x")
    project.write_suite(graders=', notice: {use: contains, substr: "days"}')
    with pytest.raises(MissingDataError, match=r"notice \(scored with other settings or another version\)"):
        decide(store, loaded(project))


def test_recording_a_decision_about_other_scores_is_refused(project):
    store = capture(project)
    suite = loaded(project)
    names = [grader.name for grader in suite.graders]
    score_all(store, suite)
    decide(store, suite)
    capture(project, mode="recapture")
    score_all(store, suite)

    with pytest.raises(MissingDataError, match="the decision rests on other scores"):
        record_place(store, PLACE, suite.suite, names, created_at=AT)


def test_a_score_file_that_does_not_follow_the_capture_is_never_recorded(project):
    import pyarrow.parquet as pq

    store = capture(project)
    suite = loaded(project)
    names = [grader.name for grader in suite.graders]
    score_all(store, suite)
    decide(store, suite)
    path = store.path(PLACE, SCORES, "no_pii")
    table, metadata = pq.read_table(path, partitioning=None), pq.read_metadata(path).metadata
    pq.write_table(table.take(list(range(11, -1, -1))).replace_schema_metadata(metadata), path)

    with pytest.raises(CorruptFileError, match="does not follow the captured run row by row"):
        record_place(store, PLACE, suite.suite, names, created_at=AT)
    assert not store.exists(PLACE, AUDIT_LOG)


def test_the_record_shows_the_findings_of_the_actual_grading(project):
    store = capture(project)
    suite = loaded(project)
    names = [grader.name for grader in suite.graders]
    score_all(store, suite)
    decide(store, suite)
    record_place(store, PLACE, suite.suite, names, created_at=AT)

    stored = list(store.open(PLACE, SCORES, "citation_accuracy").rows())
    recorded = list(read_records(open_audit_log(store, PLACE)))

    assert [item["findings"] for item in stored] == [
        [finding.model_dump(mode="json") for score in record.scores if score.grader == "citation_accuracy"
         for finding in score.findings]
        for record in recorded
    ]  # fmt: skip
    finding = recorded[0].scores[1].findings[0]
    passage = recorded[0].call.output.contexts[0].text
    assert passage[finding.source_start : finding.source_end] == "end the lease with 30 days written notice"


def test_a_decision_of_the_same_on_the_same_is_no_new_revision(project):
    store = capture(project)
    suite = loaded(project)
    score_all(store, suite)

    for who in ("first", "second"):
        decide(store, suite, who)

    assert (read_decision(store, PLACE).revision, read_decision(store, PLACE).decided_by) == (1, "first")


SCORE = """
import pathlib, sys
from spancheck_pipeline.api.scoring import score_place
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.storage.datasets import load_suite
from spancheck_pipeline.storage.store import AdHoc, Store
suite = load_suite(pathlib.Path(sys.argv[2]), "small", load_attribute)
for grader in reversed(suite.graders) if sys.argv[3] == "reversed" else suite.graders:
    score_place(Store(sys.argv[1]), AdHoc("small", "run-1"), grader, batch_rows=int(sys.argv[4]))
"""


def test_scores_are_the_same_bytes_over_order_batch_size_hash_seed_and_locale(project, tmp_path):
    capture(project)
    found = set()
    for i, (order, batch, seed, locale) in enumerate(
        [("as listed", 1, "0", "C"), ("reversed", 5, "1", "C.UTF-8"), ("as listed", 1000, "4242", "tr_TR.UTF-8")]
    ):
        storage = tmp_path / f"copy{i}"
        shutil.copytree(project.storage, storage)
        environ = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "LANG": locale}
        command = [sys.executable, "-c", SCORE, str(storage), str(project.folder / "datasets"), order, str(batch)]
        subprocess.run(command, env=environ, check=True)
        files = sorted(Path(storage).rglob("scores/**/*.parquet"))
        found.add(tuple((str(file.relative_to(storage)), file.read_bytes()) for file in files))

    assert len(found) == 1
    assert len(found.pop()) == 5


def test_a_corrupt_captured_run_is_said_and_left_as_it_is(project):
    store = capture(project)
    path = Path(store.path(PLACE, CAPTURED_RUN))
    path.write_bytes(path.read_bytes()[:-100])

    with pytest.raises(CorruptFileError, match="not a readable Parquet file"):
        score_place(store, PLACE, loaded(project).graders[0])
    assert not store.exists(PLACE, SCORES, "completion")


def test_damage_in_the_middle_of_a_captured_run_is_said(project):
    store = capture(project)
    path = Path(store.path(PLACE, CAPTURED_RUN))
    whole = bytearray(path.read_bytes())
    whole[200:400] = bytes(200)
    path.write_bytes(whole)

    with pytest.raises(CorruptFileError, match="not a readable Parquet file"):
        score_place(store, PLACE, loaded(project).graders[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_loses_nothing_and_the_same_command_goes_on(project, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], check=False).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        project.write_target(
            'VERSION = "1"\nimport pathlib\n'
            "def answer(q):\n"
            f"    with open({str(tmp_path / 'calls')!r}, 'a') as log: log.write(q + chr(10))\n"
            "    return 'z' * 60_000\n"
        )
        project.storage = disk / "storage"
        environ = {**os.environ, **project.environ}
        command = [sys.executable, "-m", "spancheck_pipeline.cli", "run", "small", "--run-id", "run-1"]
        first = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert first.returncode == 2
        assert "make room" in first.stderr
        called = (tmp_path / "calls").read_text().splitlines()
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        second = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert second.returncode in {0, 1}, second.stderr
        again = (tmp_path / "calls").read_text().splitlines()
        repeated = [question for question in set(again) if again.count(question) > 1]
        assert len(repeated) <= 8, "only what was in flight when the disk was full"
        assert len(called) <= len(again) <= 12 + 8
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a read-only disk needs root")
def test_a_read_only_storage_is_said_and_what_stands_there_is_still_read(project, tmp_path, monkeypatch):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=False).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    project.storage = disk / "storage"
    environ = {**os.environ, **project.environ}
    command = [sys.executable, "-m", "spancheck_pipeline.cli", "run", "small", "--run-id"]
    try:
        subprocess.run([*command, "run-1"], env=environ, check=True, capture_output=True)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        done = subprocess.run([*command, "run-2"], env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "read-only" in done.stderr.lower()
        assert "Traceback" not in done.stderr
        assert len(list(read_records(open_audit_log(Store(project.storage), PLACE)))) == 12
    finally:
        subprocess.run(["umount", disk], check=True)
