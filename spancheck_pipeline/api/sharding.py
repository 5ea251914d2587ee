"""A capture in parts that may run on different machines: plan it, capture each shard, collect what they recorded.

A shard is every n-th case with all of its epochs. Each has a lock and a journal of its own, so that it resumes by
itself; the run's own journal holds the header that all of them share, and no rows. An undivided capture is
``capturing.py``'s.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple, Self

from spancheck_pipeline.api.capture_begin import Begun, Mode, begin
from spancheck_pipeline.api.captured import Captured, publish_capture, reused
from spancheck_pipeline.api.capturing import Part, capture_part, flush_of, shard_kind, shards_of, warnings_of
from spancheck_pipeline.api.environment import durability
from spancheck_pipeline.capture.containment import Contain, kept_away
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import CaptureRefusedError
from spancheck_pipeline.evidence.run import TargetFacts
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.storage.journal import KeptJournal, check_same_run
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


class Shard(NamedTuple):
    """One part of a capture."""

    number: int
    """From 0."""
    of: int
    """Parts in all; 1 is the whole."""

    @property
    def key(self) -> str:
        """A name of letters, digits and underscores, for a dynamic step."""
        return f"shard_{self.number}_of_{self.of}"

    @classmethod
    def from_key(cls, key: str) -> Self:
        """Return the shard that a key names."""
        found = re.fullmatch(r"shard_(\d+)_of_(\d+)", key)
        assert found is not None, "a key that was made by us"
        return cls(int(found.group(1)), int(found.group(2)))

    def kind(self, mode: Mode) -> str:
        """Return the kind of its journal."""
        return mode if self.of == 1 else shard_kind(mode, self.number, self.of)


class ShardDone(NamedTuple):
    """What came of one shard. Counts."""

    n_rows: int
    n_kept: int
    """Rows that an earlier session had recorded."""
    warnings: tuple[str, ...]


def plan_shards(
    store: Store,
    place: Place,
    suite: Suite,
    load_target: Callable[[], LoadedTarget],
    *,
    mode: Mode = "capture",
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    contain: Contain | None = None,
) -> tuple[Shard, ...]:
    """Begin a capture, or find the one that was begun, and return its shards; none where nothing is to be called.

    A capture that was begun goes on in as many shards as it was begun in, whatever the suite says now.

    Raises:
        LockedError, CaptureRefusedError, MissingDataError: as ``capture_place``.
    """
    if mode == "capture" and store.exists(place, CAPTURED_RUN):
        return ()
    with kept_away(contain):
        target = load_target()
    kept = durability()
    with store.lock(place, lease_s=kept.lease_s) as lock:
        begun = begin(store, place, suite, target.facts, mode=mode, config=None, now=now())
        if begun is None:
            return ()
        journal = store.journal(
            mode, place, begun.header, lock=lock, set_aside_other=mode == "recapture", flush=flush_of(suite, kept)
        )
        is_undivided = bool(journal.recorded_keys())
        journal.close()
    n_shards = shards_of(store, place, mode) or min(suite.target.shards, len(begun.cases))
    if is_undivided or n_shards <= 1:
        return (Shard(0, 1),)
    return tuple(Shard(number, n_shards) for number in range(n_shards))


def capture_shard(
    store: Store,
    place: Place,
    suite: Suite,
    load_target: Callable[[], LoadedTarget],
    shard: Shard,
    *,
    mode: Mode = "capture",
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    on_progress: Callable[[Progress], None] | None = None,
    contain: Contain | None = None,
) -> ShardDone:
    """Call for every row of a shard that its journal has no answer for.

    Raises:
        LockedError: when another process captures this shard.
        CaptureRefusedError: when the capture was not begun, or was begun with something else.
        BudgetError: as ``capture_place``; a shard may spend its cases' share of the budget.
    """
    if _is_collected(store, place, mode):
        return ShardDone(0, 0, ())  # by another run, meanwhile
    with kept_away(contain):
        target = load_target()
    kept = durability()
    with store.lock(place, _lock_kind(shard), lease_s=kept.lease_s) as lock:
        begun = _begun(store, place, suite, target.facts, mode=mode, now=now())
        journal, summary = capture_part(
            store,
            place,
            begun,
            target,
            lock=lock,
            part=_part(begun, suite, shard),
            flush=flush_of(suite, kept),
            on_progress=on_progress,
            contain=contain,
        )
        journal.close()
        _refuse_another_run(journal, begun)
    return ShardDone(summary.n_rows, summary.n_kept, warnings_of(summary))


def collect_shards(
    store: Store,
    place: Place,
    suite: Suite,
    *,
    mode: Mode = "capture",
    graders: Sequence[Grader] = (),
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
) -> Captured:
    """Publish the captured run that all shards of a place have recorded. Nothing is called.

    Raises:
        LockedError: when a shard is being captured still.
        CaptureRefusedError: when a row is not recorded.
    """
    if _is_collected(store, place, mode):
        return reused(store, place)
    header = store.journal_header(mode, place)
    kept = durability()
    with ExitStack() as stack:
        lock = stack.enter_context(store.lock(place, lease_s=kept.lease_s))
        begun = _begun(store, place, suite, header.target if header else None, mode=mode, now=now())
        journals = [store.journal(mode, place, begun.header, lock=lock)]
        stack.callback(journals[0].close)
        n_shards = shards_of(store, place, mode)
        for shard in (Shard(number, n_shards) for number in range(n_shards)):
            held = stack.enter_context(store.lock(place, _lock_kind(shard), lease_s=kept.lease_s))
            journal = store.journal(shard.kind(mode), place, begun.header, lock=held)
            stack.callback(journal.close)
            _refuse_another_run(journal, begun)
            journals.append(journal)
        n_calls = _count_calls(place, begun, journals)
        captured = publish_capture(
            store, place, suite, begun, journals, lock=lock, config=None, graders=graders, now=now()
        )
    return replace(captured, n_calls=n_calls)


def _lock_kind(shard: Shard) -> str:
    return "capture" if shard.of == 1 else shard.kind("capture")


def _is_collected(store: Store, place: Place, mode: Mode) -> bool:
    is_captured = store.exists(place, CAPTURED_RUN)
    return is_captured and (mode == "capture" or store.journal_header(mode, place) is None)


def _begun(
    store: Store, place: Place, suite: Suite, facts: TargetFacts | None, *, mode: Mode, now: dt.datetime
) -> Begun:
    """Return a capture under the header that it was begun with, after making sure that it is the same one."""
    header = store.journal_header(mode, place)
    found = begin(store, place, suite, facts, mode=mode, config=None, now=now) if header and facts else None
    if header is None or found is None:
        raise CaptureRefusedError(f"{place}: no capture is begun here; run it from its first step")
    check_same_run(header, found.header, str(place))
    return replace(found, header=header)


def _part(begun: Begun, suite: Suite, shard: Shard) -> Part:
    """Return what a shard captures, with its share of the budget and of the rate that the target allows."""
    cases = begun.cases[shard.number :: shard.of]
    rate, limit = suite.target.rate_limit_per_minute, suite.budget.max_run_cost_usd
    # A retry counts what the rows that stand have cost, all of them, so that its limit is the whole one.
    share = 1.0 if begun.mode == "retry_errors" else len(cases) / len(begun.cases)
    target = suite.target.model_copy(update={"rate_limit_per_minute": rate and rate / shard.of})
    budget = suite.budget.model_copy(update={"max_run_cost_usd": limit and limit * share})
    return Part(shard.kind(begun.mode), cases, suite.model_copy(update={"target": target, "budget": budget}))


def _refuse_another_run(journal: KeptJournal, begun: Begun) -> None:
    if journal.header.run_id != begun.header.run_id:
        raise CaptureRefusedError(
            f"a shard's journal is of the run {journal.header.run_id}, and the capture is of {begun.header.run_id}: "
            "two runs are never merged; start over with --recapture"
        )


def _count_calls(place: Place, begun: Begun, journals: Sequence[KeptJournal]) -> int:
    """Return how many calls the shards made, or refuse when one has not recorded all of its rows."""
    wanted = {(case.id, epoch) for case in begun.cases for epoch in range(begun.header.epochs)}
    if begun.base and begun.mode == "retry_errors":
        wanted = begun.base.failed
    states = [state for key in wanted for journal in journals if (state := journal.state(key)) is not None]
    if len(states) < len(wanted):
        raise CaptureRefusedError(
            f"{place}: {len(wanted) - len(states)} of {len(wanted)} rows are not recorded, since a shard did not come "
            "to its end; run the capture again to go on from there"
        )
    return sum(state.attempts for state in states)
