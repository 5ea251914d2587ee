"""Capturing a place: the one step that reaches a target, once, durably; everything else reads what it left.

Calling and journaling live in ``capture`` and ``storage/journal.py``; what a call returned in ``evidence/run.py``;
counting it for the manifest in ``manifest.py``; the budget in ``spending.py``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from spancheck_pipeline.api.capture_begin import Begun, Mode, begin
from spancheck_pipeline.api.captured import Captured, publish_capture, reused
from spancheck_pipeline.api.environment import Durability, durability
from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.api.spending import spending_of
from spancheck_pipeline.capture.containment import Contain, kept_away
from spancheck_pipeline.capture.engine import CaptureSummary, Progress, run_capture
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import BudgetError, CaptureRefusedError, StorageError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.storage.journal import KeptJournal
from spancheck_pipeline.storage.lock import CaptureLock
from spancheck_pipeline.storage.object_journal import Flush
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


def capture_place(
    store: Store,
    place: Place,
    suite: Suite,
    load_target: Callable[[], LoadedTarget],
    *,
    mode: Mode = "capture",
    config: str | None = None,
    graders: Sequence[Grader] = (),
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    on_progress: Callable[[Progress], None] | None = None,
    contain: Contain | None = None,
) -> Captured:
    """Call the target for every case × epoch of a place that is not captured yet, and publish the captured run.

    A captured place is re-used as it is: ``load_target`` is not even called. ``recapture`` calls for every case and
    supersedes; ``retry_errors`` calls for the rows that failed. A capture that was killed resumes from its journal. The
    specs of ``graders`` are noted in the manifest; nothing is graded here.

    Raises:
        LockedError: when another process captures this place.
        CaptureRefusedError: when what is stored was made by another target version.
        MissingDataError: for ``retry_errors`` on a place that was never captured.
        BudgetError: before the first call when the run is expected to cost more than the suite's budget, and after the
            answer that went beyond it; what was captured is kept, and a higher budget resumes it.
    """
    if mode == "capture" and store.exists(place, CAPTURED_RUN):
        _tidy(store, place)
        return reused(store, place)
    # Before anything is written: a target that cannot be loaded leaves the storage as it was.
    with kept_away(contain):
        target = load_target()
    kept = durability()
    with store.lock(place, lease_s=kept.lease_s) as lock:
        begun = begin(store, place, suite, target.facts, mode=mode, config=config, now=now())
        if begun is None:
            return reused(store, place)
        if shards_of(store, place, mode):
            raise CaptureRefusedError(
                f"{place}: an unfinished capture was begun in shards; go on with it in shards (target.shards in "
                "suite.yaml), or start over with --recapture"
            )
        journal, summary = capture_part(
            store,
            place,
            begun,
            target,
            lock=lock,
            part=Part(mode, begun.cases, suite),
            flush=flush_of(suite, kept),
            on_progress=on_progress,
            contain=contain,
        )
        captured = publish_capture(
            store, place, suite, begun, [journal], lock=lock, config=config, graders=graders, now=now()
        )
    return replace(captured, n_calls=summary.attempts, warnings=warnings_of(summary))


class Part(NamedTuple):
    """What one process captures: the whole of it, or one shard."""

    kind: str
    """Its journal's."""
    cases: tuple[Case, ...]
    suite: Suite
    """With its share of what is limited for the whole."""


def capture_part(
    store: Store,
    place: Place,
    begun: Begun,
    target: LoadedTarget,
    *,
    lock: CaptureLock,
    part: Part,
    flush: Flush,
    on_progress: Callable[[Progress], None] | None,
    contain: Contain | None,
) -> tuple[KeptJournal, CaptureSummary]:
    """Call for every row of a part that its journal has no answer for; return the journal, open, and what came of it.

    Raises:
        BudgetError: as ``capture_place``.
    """
    wanted = begun.base.failed if begun.base and begun.mode == "retry_errors" else None
    if wanted is not None:
        ids = {case.id for case in part.cases}
        wanted = {key for key in wanted if key[0] in ids}
    log_name = f"target_output{part.kind.removeprefix(begun.mode)}"
    with store.output_log(place, log_name) as log, kept_away(contain, log):
        journal = store.journal(
            part.kind, place, begun.header, lock=lock, set_aside_other=begun.mode == "recapture", flush=flush
        )
        try:
            spending = spending_of(store, place, part.suite, part.cases, journal, retried=wanted)
            summary = run_capture(
                part.cases,
                target,
                settings=part.suite.target,
                epochs=part.suite.epochs,
                journal=journal,
                keys=wanted,
                on_progress=on_progress,
                stop=spending.add if spending else None,
            )
        except BudgetError:
            # Where nothing was called nothing is begun: fewer epochs or cases are then no other capture.
            journal.close() if journal.recorded_keys() else journal.discard()
            raise
        except BaseException:
            journal.close()
            raise
    return journal, summary


def flush_of(suite: Suite, kept: Durability) -> Flush:
    """Return how often a suite's journal is stored: as it says, or as the environment does."""
    own = suite.target.journal
    return Flush(calls=own.calls, seconds=own.seconds) if own else kept.flush


def shard_kind(mode: str, shard: int, n_shards: int) -> str:
    """Return the kind of a shard's journal; the one part of an undivided capture has the mode's name."""
    return f"{mode}-shard-{shard}-of-{n_shards}"


def shards_of(store: Store, place: Place, mode: str) -> int:
    """Return in how many shards an unfinished capture was begun; 0 for none."""
    found = (re.fullmatch(rf"{mode}-shard-\d+-of-(\d+)", kind) for kind in store.unfinished(place))
    return next((int(match.group(1)) for match in found if match), 0)


def _tidy(store: Store, place: Place) -> None:
    """Remove the journals of a captured run that was killed after it was published: they hold texts."""
    with suppress(StorageError):
        left = [kind for kind in store.unfinished(place) if kind.startswith("capture")]
        if not left:
            return
        run_id = read_manifest(store, place).run_id
        with store.lock(place):
            for kind in left:
                header = store.journal_header(kind, place)
                if header is not None and header.run_id == run_id:
                    store.discard_journal(kind, place)


def warnings_of(summary: CaptureSummary) -> tuple[str, ...]:
    """Return what a person should know of a capture."""
    if not summary.abandoned:
        return tuple(summary.warnings)
    return (
        *summary.warnings,
        f"{summary.abandoned} calls that timed out were still running when the capture ended; they cannot be stopped",
    )
