"""Retention: what old nights let go of, what stays, and that every decision can still be read."""

import datetime as dt
import getpass
import shutil
from pathlib import Path

import pytest
from scenario import Project, spancheck

from spancheck_pipeline.api.audit_logs import open_audit_log, read_head, read_records
from spancheck_pipeline.api.capturing import capture_place
from spancheck_pipeline.api.promoting import all_promotions, pin_release, promote_place
from spancheck_pipeline.api.pruning import cutoff, prune
from spancheck_pipeline.api.snapshot import publish_cases
from spancheck_pipeline.api.staleness import stale_nights
from spancheck_pipeline.api.stored import grade_place, run_place
from spancheck_pipeline.api.trending import missed_dates, read_trend
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.defs.captured_run import refuse_past
from spancheck_pipeline.defs.partitions import daily
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.errors import CaptureRefusedError, MissingDataError, UsageError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.pruned import was_pruned
from spancheck_pipeline.storage.store import AdHoc, Night, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, CASES, GATE, SCORES

DATES = ["2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08", "2026-01-09"]
AT = dt.datetime(2026, 1, 10, tzinfo=dt.UTC)


def run(project: Project, place: Night | AdHoc) -> None:
    loaded = load_suite(project.environment.datasets, "small", load_attribute)
    store = Store(project.environment.storage)
    run_place(
        store,
        place,
        loaded.suite,
        load_cases(loaded.folder, loaded.suite.cases),
        graders=loaded.graders,
        load_target=lambda: load_target(loaded.suite.target, suite_folder=loaded.folder),
        decided_by=getpass.getuser(),
    )
    if isinstance(place, Night):
        promote_place(store, place, at=AT, by="me")


@pytest.fixture(scope="module")
def nights(tmp_path_factory) -> Path:
    """Five promoted nights, the first of them decided twice, made once for all tests."""
    folder = tmp_path_factory.mktemp("nights")
    project = Project(folder, n=4)
    project.write_suite(gate=", min_measured: 1")
    for date in DATES:
        run(project, Night("small", date))
    project.write_suite(graders=', says: {use: contains, substr: "days"}', gate=", min_measured: 1")
    loaded = load_suite(project.environment.datasets, "small", load_attribute)
    store = Store(project.environment.storage)
    for date in DATES:
        grade_place(store, Night("small", date), loaded.suite, loaded.graders, decided_by="me")
    return folder


@pytest.fixture
def project(nights, tmp_path, monkeypatch) -> Project:
    project = Project(tmp_path / "project")
    shutil.rmtree(project.folder)
    shutil.copytree(nights, project.folder)
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    return project


@pytest.fixture
def store(project) -> Store:
    return Store(project.environment.storage)


def test_old_nights_let_go_of_outputs_and_scores_and_keep_what_was_decided(store):
    report = prune(store, before=DATES[3], dry_run=False)

    assert [item.date for item in report.pruned] == [DATES[1]]
    gone = Night("small", DATES[1])
    assert not any(store.revisions(gone, table) for table in (CAPTURED_RUN, CASES))
    assert not store.revisions(gone, SCORES, "no_pii")
    assert [file.revision for file in store.revisions(gone, GATE)] == [1, 2]
    assert [read_head(open_audit_log(store, gone, as_decided=n)).decision.revision for n in (1, 2)] == [1, 2]
    assert len(list(read_records(open_audit_log(store, gone)))) == 4
    assert len(all_promotions(store, "small", "last_good")) == len(DATES)


def test_what_a_kept_night_is_compared_with_stays_whole(store):
    report = prune(store, before=DATES[3], dry_run=True)

    # The first promoted night is the release until a person pins one; 01-07 is the last good run before 01-08.
    assert {item.date: item.why for item in report.kept} == {
        DATES[0]: f"it is the release baseline of {DATES[3]}",
        DATES[2]: f"it is the last good baseline of {DATES[3]}",
    }


def test_what_a_person_pinned_stays_whole(store):
    pin_release(store, Night("small", DATES[1]), at=AT, by="me", note="first release")
    pin_release(store, Night("small", DATES[4]), at=AT, by="me", note="second release")

    report = prune(store, before=DATES[3], dry_run=True)

    # 01-08 is compared with the release that was pinned before it, and no more with the first night.
    assert {item.date for item in report.kept} == {DATES[1], DATES[2]}
    assert [item.date for item in report.pruned] == [DATES[0]]


def test_a_dry_run_says_the_same_and_touches_nothing(store):
    before = sorted(str(path) for path in Path(store.root).rglob("*"))
    said = prune(store, before=DATES[3], dry_run=True)
    assert sorted(str(path) for path in Path(store.root).rglob("*")) == before
    done = prune(store, before=DATES[3], dry_run=False)
    assert (said.pruned, said.kept) == (done.pruned, done.kept)
    assert done.n_bytes > 0
    assert prune(store, before=DATES[3], dry_run=False).pruned == ()


def test_a_pruning_that_was_cut_off_goes_on(store):
    night = Night("small", DATES[1])
    store.filesystem.rm(store.path(night, CAPTURED_RUN).rpartition("/")[0], recursive=True)  # and then it was killed

    prune(store, before=DATES[3], dry_run=False)

    assert not any(path for path in Path(store.root).rglob(f"date={DATES[1]}") if "scores" in str(path))


def test_a_night_without_a_record_stays_whole(store):
    shutil.rmtree(Path(store.path(Night("small", DATES[1]), AUDIT_LOG)).parent)
    kept = {item.date: item.why for item in prune(store, before=DATES[3], dry_run=False).kept}
    assert kept[DATES[1]].startswith("it has no record")
    assert store.exists(Night("small", DATES[1]), CAPTURED_RUN)


def test_a_capture_that_was_never_finished_is_let_go_of_when_it_is_old(store):
    journals = Path(store.root) / "_journal" / "captured_run" / "suite=small"
    for date in ("2025-12-01", DATES[4]):
        (journals / f"date={date}").mkdir(parents=True, exist_ok=True)
        (journals / f"date={date}" / "capture.jsonl").write_text("{}\n")

    report = prune(store, before=DATES[3], dry_run=False)

    assert {item.date for item in report.pruned} == {"2025-12-01", DATES[1]}
    # What a target printed during a night stands beside its journal, and goes with it.
    assert {path.name for path in journals.iterdir()} == {f"date={date}" for date in DATES if date != DATES[1]}
    assert (journals / f"date={DATES[4]}" / "capture.jsonl").exists()


def test_an_ad_hoc_run_is_as_old_as_its_capture(project, store):
    run(project, AdHoc("small", "trial-1"))
    assert all(item.run_id is None for item in prune(store, before=DATES[3], dry_run=True).pruned)
    tomorrow = (dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)).isoformat()

    report = prune(store, before=tomorrow, dry_run=False)

    assert "trial-1" in {item.run_id for item in report.pruned}
    assert not store.exists(AdHoc("small", "trial-1"), CAPTURED_RUN)
    assert store.exists(AdHoc("small", "trial-1"), AUDIT_LOG)


def test_a_pruned_night_is_neither_stale_nor_missed_nor_called_for_again(project, store):
    prune(store, before=DATES[3], dry_run=False)
    project.write_suite(graders=', says: {use: contains, substr: "lease"}', gate=", min_measured: 1")
    loaded = load_suite(project.environment.datasets, "small", load_attribute)

    assert DATES[1] not in [item.night.date for item in stale_nights(store, "small", loaded.graders)]
    assert missed_dates(store, "small", "0 2 * * *", until=DATES[4]) == ()
    assert [night.date for night in read_trend(store, "small").nights] == DATES
    n_calls = len(project.calls())
    with pytest.raises(CaptureRefusedError, match="small on 2026-01-06 was pruned: what was decided about it stands"):
        run(project, Night("small", DATES[1]))
    past = Night("small", DATES[1])
    assert was_pruned(store, past)
    with pytest.raises(MissingDataError, match="was pruned: its answers are gone, so no failed call can be retried"):
        retry_failed(project, past)
    with pytest.raises(CaptureRefusedError, match="was pruned: what was decided about it stands, and its answers"):
        refuse_past(suite_defs(project), store, past, allow_past=False)
    with pytest.raises(CaptureRefusedError, match="2026-01-04 was never captured and is over"):
        refuse_past(suite_defs(project), store, Night("small", "2026-01-04"), allow_past=False)
    assert len(project.calls()) == n_calls


def retry_failed(project: Project, night: Night) -> None:
    loaded = load_suite(project.environment.datasets, "small", load_attribute)
    target = load_target(loaded.suite.target, suite_folder=loaded.folder)
    store = Store(project.environment.storage)
    publish_cases(store, night, load_cases(loaded.folder, loaded.suite.cases))
    capture_place(store, night, loaded.suite, lambda: target, mode="retry_errors")


def suite_defs(project: Project) -> SuiteDefs:
    environment = project.environment
    loaded = load_suite(environment.datasets, "small", load_attribute)
    return SuiteDefs(loaded=loaded, environment=environment, partitions=daily(environment))


def test_another_suites_nights_are_left_alone_where_one_is_named(store):
    assert prune(store, before=DATES[3], suites=["other"], dry_run=True).pruned == ()


@pytest.mark.parametrize("keep", ["", "400", "0d", "-3d", "1w", "d", "999999d"])
def test_a_span_that_is_none_is_refused(keep):
    with pytest.raises(UsageError, match="write days, for example --keep 400d"):
        cutoff(keep, today="2026-11-30")


def test_the_command_shows_first_and_removes_when_it_is_meant(project, store, monkeypatch, capsys):
    monkeypatch.chdir(project.folder)
    days = (dt.datetime.now(dt.UTC).date() - dt.date.fromisoformat(DATES[3])).days
    assert spancheck("prune", "--keep", f"{days}d") == 0
    shown = capsys.readouterr()
    assert f"small on {DATES[1]}: " in shown.out
    assert f"small on {DATES[0]}: stays, it is the release baseline of {DATES[3]}" in shown.out
    assert "the same with --yes removes it" in shown.err
    assert store.exists(Night("small", DATES[1]), CAPTURED_RUN)
    assert spancheck("prune", "--keep", f"{days}d", "--yes") == 0
    assert "removed" in capsys.readouterr().out
    assert not store.exists(Night("small", DATES[1]), CAPTURED_RUN)
    assert spancheck("score", "small", "--date", DATES[1]) == 0
