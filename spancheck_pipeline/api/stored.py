"""All steps on one place without Dagster, and a stored place as a ``Run`` in memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from spancheck_pipeline.api.audit_logs import open_audit_log, read_head, read_records
from spancheck_pipeline.api.capture_begin import Mode, refuse_other_run
from spancheck_pipeline.api.capturing import capture_place
from spancheck_pipeline.api.deciding import Decided, decide_place, summarize_place
from spancheck_pipeline.api.judge_needs import needed_judges
from spancheck_pipeline.api.judging import judge_place
from spancheck_pipeline.api.recording import record_place
from spancheck_pipeline.api.run import Run, run_of_records
from spancheck_pipeline.api.scoring import score_place
from spancheck_pipeline.api.snapshot import snapshot_cases
from spancheck_pipeline.capture.containment import Contain, kept_away
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.storage.judges_file import DeclaredJudges
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


def run_place(
    store: Store,
    place: Place,
    suite: Suite,
    cases: Sequence[Case],
    *,
    graders: Sequence[Grader],
    load_target: Callable[[], LoadedTarget],
    decided_by: str,
    judges: DeclaredJudges | None = None,
    mode: Mode = "capture",
    config: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    contain: Contain | None = None,
) -> Decided:
    """Take a place from cases to audit log: snapshot, capture (once), verdicts, scores, decision, record."""
    refuse_other_run(store, place, suite, config)
    load = load_target
    if mode != "capture" or not store.exists(place, CAPTURED_RUN):
        # Before the snapshot is written: a target that cannot be loaded leaves the storage as it was.
        with kept_away(contain):
            target = load_target()
        load = lambda: target  # noqa: E731 - the loader of one target
    snapshot_cases(store, place, cases)
    capture_place(
        store,
        place,
        suite,
        load,
        mode=mode,
        config=config,
        graders=graders,
        on_progress=on_progress,
        contain=contain,
    )
    if judges is not None and needed_judges(graders):
        limit_usd = suite.budget.max_run_cost_usd
        judge_place(store, place, graders, judges, on_progress=on_progress, contain=contain, limit_usd=limit_usd)
    return grade_place(store, place, suite, graders, decided_by=decided_by, config=config, contain=contain)


def grade_place(
    store: Store,
    place: Place,
    suite: Suite,
    graders: Sequence[Grader],
    *,
    decided_by: str,
    note: str = "",
    config: str | None = None,
    contain: Contain | None = None,
) -> Decided:
    """Score a captured place with every grader, decide, and record. Nothing is called."""
    for grader in graders:
        with kept_away(contain):
            score_place(store, place, grader)
    names = [grader.name for grader in graders]
    now = dt.datetime.now(dt.UTC)
    summarize_place(store, place, suite, names, config=config, judging=graders)
    with kept_away(contain):
        # Graders run here too: over the baselines' captured runs.
        decided = decide_place(store, place, suite, graders, decided_at=now, decided_by=decided_by, note=note)
    record_place(store, place, suite, names, created_at=now)
    return decided


def stored_run(store: Store, place: Place, *, as_decided: int | None = None) -> Run:
    """Return a recorded place as a run in memory, as it is now or as a decision of it saw it."""
    file = open_audit_log(store, place, as_decided=as_decided)
    return run_of_records(read_head(file), read_records(file))
