"""Capturing a place: the one step that reaches a target, once, durably; everything else reads what it left.

Calling and journaling live in ``capture`` and ``storage/journal.py``; what a call returned in ``evidence/run.py``;
counting it for the manifest in ``manifest.py``; the budget in ``spending.py``.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from spancheck_pipeline.api.environment import Durability, durability
from spancheck_pipeline.api.manifest import Tally
from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.api.spending import spending_of
from spancheck_pipeline.capture.engine import CaptureSummary, Progress, run_capture
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import BudgetError, CaptureRefusedError, MissingDataError, StorageError
from spancheck_pipeline.evidence.case import Case, dataset_digest
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, TargetFacts
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.storage.journal import JournalHeader, KeptJournal, questions_digest
from spancheck_pipeline.storage.lock import CaptureLock
from spancheck_pipeline.storage.object_journal import Flush
from spancheck_pipeline.storage.pruned import was_pruned
from spancheck_pipeline.storage.store import Night, Place, Published, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, GATE, captured_from_row, captured_to_row

Contain = Callable[[Path | None], AbstractContextManager[object]]
"""Keeps what a target prints and logs away: in a file, or nowhere."""


def kept_away(contain: Contain | None, log_file: Path | None = None) -> AbstractContextManager[object]:
    """Return what keeps a target's or grader's prints away, or nothing at all where the caller wants to see them."""
    return contain(log_file) if contain else nullcontext()


Mode = Literal["capture", "recapture", "retry_errors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What became of a capture. Counts, ids, versions."""

    published: Published
    manifest: Manifest
    is_reused: bool
    """True when the place was captured already and nothing was called."""
    n_calls: int
    """Calls made now."""
    warnings: tuple[str, ...] = ()


def read_manifest(store: Store, place: Place) -> Manifest:
    """Return the manifest of a captured place."""
    return Manifest.model_validate(store.open(place, CAPTURED_RUN).document())


def new_run_id(suite: str, date: str | None) -> str:
    """Return a fresh run id that tells suite and date, for people, and is unique."""
    return "-".join(part for part in (suite, date, uuid.uuid4().hex[:8]) if part)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A capture that may go on: what it asks, under which header, and what it starts from."""

    mode: Mode
    cases: tuple[Case, ...]
    header: JournalHeader
    base: Base | None


class Part(NamedTuple):
    """What one process captures: the whole of it, or one shard."""

    kind: str
    """Its journal's."""
    cases: tuple[Case, ...]
    suite: Suite
    """With its share of what is limited for the whole."""


def begin(
    store: Store,
    place: Place,
    suite: Suite,
    facts: TargetFacts,
    *,
    mode: Mode,
    config: str | None,
    now: dt.datetime,
) -> Begun | None:
    """Return what is to be captured, or None when there is nothing to call for. The caller holds the place's lock.

    Raises:
        CaptureRefusedError: when what is stored was made by another target version, or is gone.
        MissingDataError: for ``retry_errors`` on a place that was never captured.
    """
    if mode == "capture" and store.exists(place, CAPTURED_RUN):
        return None
    _refuse_lost(store, place, mode)
    base = _base(store, place, mode)
    if base and not base.failed and mode == "retry_errors":
        return None
    cases = read_snapshot(store, place)
    header = _header(place, suite, cases, facts, mode=mode, base=base, config=config, now=now)
    return Begun(mode=mode, cases=cases, header=header, base=base)


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


def _refuse_lost(store: Store, place: Place, mode: Mode) -> None:
    """Refuse to call again for a place whose captured run was there once and is gone.

    Raises:
        CaptureRefusedError: unless everything is captured again on purpose.
    """
    if mode != "capture" or store.unfinished(place):
        return
    if isinstance(place, Night) and was_pruned(store, place):
        raise CaptureRefusedError(
            f"{place} was pruned: what was decided about it stands, its answers are gone, and nothing is called again; "
            "capture everything anew on purpose (--recapture)"
        )
    if store.exists(place, GATE) or store.revisions(place, CAPTURED_RUN):
        raise CaptureRefusedError(
            f"{store.path(place, CAPTURED_RUN)}: is missing, although {place} was captured and decided about; "
            "restore it, or capture everything again on purpose (--recapture)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The captured run that a new pass starts from."""

    manifest: Manifest
    revision: int
    failed: set[tuple[str, int]]


def _base(store: Store, place: Place, mode: Mode) -> Base | None:
    if mode == "capture":
        return None
    if not store.exists(place, CAPTURED_RUN):
        if mode == "retry_errors" and isinstance(place, Night) and was_pruned(store, place):
            raise MissingDataError(f"{place} was pruned: its answers are gone, so no failed call can be retried")
        if mode == "retry_errors":
            raise MissingDataError(f"{place}: never captured, so no failed call can be retried; capture it first")
        return None
    file = store.open(place, CAPTURED_RUN)
    rows = file.rows(["case_id", "epoch", "answered"])
    failed = {(row["case_id"], row["epoch"]) for row in rows if not row["answered"]}
    return Base(manifest=Manifest.model_validate(file.document()), revision=file.revision, failed=failed)


def _header(
    place: Place,
    suite: Suite,
    cases: tuple[Case, ...],
    facts: TargetFacts,
    *,
    mode: Mode,
    base: Base | None,
    config: str | None,
    now: dt.datetime,
) -> JournalHeader:
    retried = base if mode == "retry_errors" else None
    if retried and retried.manifest.target.version != facts.version:
        raise CaptureRefusedError(
            f"{place} (run {retried.manifest.run_id}) was captured by target version "
            f"{retried.manifest.target.version!r}, and the target is {facts.version!r} now; one run has one "
            "version: capture all of it again (--recapture)"
        )
    if isinstance(place, Night):
        run_id = retried.manifest.run_id if retried else new_run_id(place.suite, place.date)
    else:
        run_id = place.run_id
    return JournalHeader(
        run_id=run_id,
        suite=place.suite,
        date=place.date,
        config=config,
        mode=mode,
        dataset_digest=dataset_digest(cases),
        questions_digest=questions_digest(cases),
        target=facts,
        epochs=suite.epochs,
        started_at=retried.manifest.started_at if retried else now,
        base_revision=base.revision if base else None,
    )


def publish_capture(
    store: Store,
    place: Place,
    suite: Suite,
    begun: Begun,
    journals: Sequence[KeptJournal],
    *,
    lock: CaptureLock,
    config: str | None,
    graders: Sequence[Grader],
    now: dt.datetime,
) -> Captured:
    """Write the captured run from its journals, then let the journals go. The first of them has the run's header."""
    cases, base = begun.cases, begun.base
    header = journals[0].header
    keys = [(case.id, epoch) for case in cases for epoch in range(header.epochs)]
    tally = Tally(suite.prices)
    rows = tally.counting(_merged(store, place, keys, journals, base if header.mode == "retry_errors" else None))
    snapshot = store.open(place, CASES)

    def manifest(_revision: int, _digest: str) -> dict[str, object]:
        finished_at = max(now, header.started_at)
        manifest = tally.manifest(header, suite, cases, config=config, graders=graders, finished_at=finished_at)
        return manifest.model_dump(mode="json")

    published = store.publish(
        place,
        CAPTURED_RUN,
        (captured_to_row(row, header.run_id) for row in rows),
        identity={"run_id": header.run_id, "questions": questions_digest(cases)},
        metadata={"run_id": header.run_id, "suite": place.suite, "cases": snapshot.content_digest},
        document=manifest,
        check=lock.check,
    )
    # The one with the header last: as long as it stands, whatever is left of the others is known to be of this run.
    for journal in reversed(journals):
        journal.discard()
    if header.mode == "recapture":
        # What an unfinished capture of the superseded run left holds texts, and nobody will resume it.
        for overtaken in store.unfinished(place):
            if overtaken.startswith(("capture", "retry_errors")):
                store.discard_journal(overtaken, place)
    return Captured(published=published, manifest=read_manifest(store, place), is_reused=False, n_calls=0)


def _rows(journals: Sequence[KeptJournal], keys: Iterable[tuple[str, int]]) -> Iterator[CapturedRow]:
    """Yield the row of each key, from whichever journal has it; a key that none has is the first one's to refuse."""
    for key in keys:
        holder = next((journal for journal in journals if journal.state(key) is not None), journals[0])
        yield from holder.rows([key])


def _merged(
    store: Store, place: Place, keys: list[tuple[str, int]], journals: Sequence[KeptJournal], base: Base | None
) -> Iterator[CapturedRow]:
    """Yield one row a key, in order: the journals' where they have one, else what was captured before."""
    if base is None:
        yield from _rows(journals, keys)
        return
    earlier = (captured_from_row(row) for row in store.open(place, CAPTURED_RUN).rows())
    retried = base.failed
    now = _rows(journals, [key for key in keys if key in retried])
    for row in earlier:
        if row.key in retried:
            again = next(now)
            yield again.model_copy(update={"attempts": row.attempts + again.attempts})
        else:
            yield row


def refuse_other_run(store: Store, place: Place, suite: Suite, config: str | None) -> None:
    """Refuse to go on with an ad-hoc run under what it was not captured with. A night is re-used as it is.

    Raises:
        CaptureRefusedError: naming the run, and every difference with both sides.
    """
    if isinstance(place, Night) or not store.exists(place, CAPTURED_RUN):
        return
    manifest = read_manifest(store, place)
    stated = suite.target.version
    facts: list[tuple[str, object, object]] = [
        ("suite", manifest.suite, suite.name),
        ("config", manifest.config, config),
        ("epochs", manifest.epochs, suite.epochs),
        ("target version", manifest.target.version, manifest.target.version if stated is None else stated),
    ]
    different = [f"{name} {old!r} there, {new!r} now" for name, old, new in facts if old != new]
    if different:
        raise CaptureRefusedError(
            f"the run {manifest.run_id} is captured already, and is another one: {'; '.join(different)}; "
            "two runs are never merged: give this one a run id of its own"
        )


def warnings_of(summary: CaptureSummary) -> tuple[str, ...]:
    """Return what a person should know of a capture."""
    if not summary.abandoned:
        return tuple(summary.warnings)
    return (
        *summary.warnings,
        f"{summary.abandoned} calls that timed out were still running when the capture ended; they cannot be stopped",
    )


def reused(store: Store, place: Place) -> Captured:
    """Return the captured run that a place has, as one that was used again."""
    file = store.open(place, CAPTURED_RUN)
    published = Published(
        path=file.path,
        table=CAPTURED_RUN.name,
        revision=file.revision,
        content_digest=file.content_digest,
        n_rows=file.n_rows,
        is_new=False,
    )
    manifest = Manifest.model_validate(file.document())
    return Captured(published=published, manifest=manifest, is_reused=True, n_calls=0)
