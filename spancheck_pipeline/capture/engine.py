"""The capture: every wanted case and epoch called once, durably, also over kills, failures and interrupts.

How one row comes about lives in ``attempts.py``, the durable record in ``storage/journal.py``, keeping away what a
target prints in ``containment.py``. The partition's lock and its Parquet are the caller's.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from spancheck_pipeline.capture.attempts import Caller, CallSettings, Clock, Job, SystemClock
from spancheck_pipeline.capture.interruption import run_in_own_thread, sigterm_interrupts
from spancheck_pipeline.errors import CaptureRefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from spancheck_pipeline.clients.target import LoadedTarget
    from spancheck_pipeline.errors import SpancheckError
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.evidence.run import CapturedRow
    from spancheck_pipeline.storage.journal import Journal, Key

_PASSES: Final = 2
"""A row that failed for good is tried once more at the end."""


class Progress(NamedTuple):
    """How far a capture is. Counts of rows."""

    done: int
    """Rows that are recorded, failed ones included."""
    total: int
    failed: int
    """Recorded rows whose latest record is a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSummary:
    """What came of a capture, over all of its rows, also those of an earlier session. It holds no text."""

    n_rows: int
    n_answered: int
    n_kept: int
    """Rows that an earlier session had recorded and that were not called again."""
    errors: dict[str, int] = field(default_factory=dict)
    """Rows that failed for good, by error class."""
    attempts: int
    """Calls made in all."""
    retries: int
    """Calls beyond the first of each row."""
    warnings: tuple[str, ...] = ()
    abandoned: int = 0
    """Timed-out calls that were still running at the end."""

    @property
    def n_errors(self) -> int:
        """Rows that failed for good."""
        return self.n_rows - self.n_answered


def run_capture(
    cases: Sequence[Case],
    target: LoadedTarget,
    *,
    settings: CallSettings,
    epochs: int,
    journal: Journal,
    keys: AbstractSet[Key] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: Callable[[CapturedRow], SpancheckError | None] | None = None,
    clock: Clock | None = None,
) -> CaptureSummary:
    """Call the target for every case × epoch that the journal has no answer for, and journal each row before it counts.

    Rows that failed are tried once more when all others are recorded; after that a failure is final, unless ``keys``
    asks for it. ``keys`` restricts the capture to some rows; a row that is answered is never called again. The event
    loop runs in a thread of its own, so this may be called where another loop runs. ``on_progress`` is called there,
    and ``stop``, with every row that is recorded: once it returns an error no further call is begun, those that run
    are finished and recorded, and the error is raised.

    Raises:
        CaptureRefusedError: when the journal holds answers to other questions.
        UsageError: when ``keys`` names a row that the cases do not have.
        StorageError: when the journal cannot be written; everything recorded before is kept.
        SpancheckError: what ``stop`` returned; everything recorded is kept.
        BaseException: what interrupted it (``KeyboardInterrupt``, ``SystemExit`` on SIGTERM), after a flush.
    """
    capture = _Capture(
        cases,
        target,
        settings=settings,
        journal=journal,
        clock=clock or SystemClock(),
        on_progress=on_progress,
        stop=stop,
    )
    capture.plan(epochs, keys)
    with sigterm_interrupts():
        run_in_own_thread(capture.run, flush=journal.flush)
    return capture.summary()


class _Capture:
    def __init__(
        self,
        cases: Sequence[Case],
        target: LoadedTarget,
        *,
        settings: CallSettings,
        journal: Journal,
        clock: Clock,
        on_progress: Callable[[Progress], None] | None,
        stop: Callable[[CapturedRow], SpancheckError | None] | None,
    ) -> None:
        self._cases = {case.id: case for case in cases}
        self._target = target
        self._settings = settings
        self._journal = journal
        self._clock = clock
        self._on_progress = on_progress
        self._stop = stop
        self._stopped_by: SpancheckError | None = None
        self._keys: list[Key] = []
        self._kept: set[Key] = set()
        self._retries_final = False
        self._done = self._failed = 0
        self._unstored: set[asyncio.Task[None]] = set()

    def plan(self, epochs: int, keys: AbstractSet[Key] | None) -> None:
        """Decide which rows are wanted, and refuse a journal of other questions."""
        every = [(case_id, epoch) for epoch in range(epochs) for case_id in self._cases]
        if keys is not None and (unknown := sorted(keys - set(every))):
            raise UsageError(f"{len(unknown)} rows are not of these cases, the first: case {unknown[0][0]!r}")
        self._check_questions()
        self._keys = [key for key in every if keys is None or key in keys]
        self._retries_final = keys is not None
        states = [state for key in self._keys if (state := self._journal.state(key)) is not None]
        self._done, self._failed = len(states), sum(not state.answered for state in states)

    async def run(self) -> None:
        """Make the calls: first those without a final record, then the failed ones once more."""
        caller = Caller(self._target, self._settings, clock=self._clock)
        first = [job for key in self._keys if (job := self._first_try(key)) is not None]
        try:
            await self._round(caller, first)
            # A file of recorded answers says the same thing twice.
            if self._target.facts.kind != "recorded":
                await self._round(caller, [job for key in self._keys if (job := self._second_try(key)) is not None])
        finally:
            await self._target.close()

    def summary(self) -> CaptureSummary:
        """Count what the journal holds of the wanted rows."""
        errors: Counter[str] = Counter()
        attempts = retries = 0
        for key in self._keys:
            state = self._journal.state(key)
            assert state is not None, "every wanted row is recorded"
            attempts += state.attempts
            retries += max(0, state.attempts - 1)
            if state.error_class is not None:
                errors[state.error_class] += 1
        return CaptureSummary(
            n_rows=len(self._keys),
            n_answered=len(self._keys) - errors.total(),
            n_kept=len(self._kept),
            errors=dict(sorted(errors.items())),
            attempts=attempts,
            retries=retries,
            warnings=self._journal.warnings,
            abandoned=self._target.abandoned,
        )

    def _check_questions(self) -> None:
        for case_id, epoch in self._journal.recorded_keys():
            case, state = self._cases.get(case_id), self._journal.state((case_id, epoch))
            if case is None or (state is not None and state.question_digest != case.question_digest):
                what = "is not among the cases any more" if case is None else "asks something else now"
                raise CaptureRefusedError(
                    f"the journal has an answer for case {case_id!r}, which {what}; "
                    "go back to the cases that the capture was begun with, or start over with --recapture"
                )

    def _first_try(self, key: Key) -> Job | None:
        state = self._journal.state(key)
        if state is None:
            return Job(self._cases[key[0]], key[1], 1)
        is_final = state.pass_number % _PASSES == 0 or self._target.facts.kind == "recorded"
        if not state.answered and is_final and self._retries_final:
            return Job(self._cases[key[0]], key[1], state.pass_number + 1)
        if state.answered or is_final:
            self._kept.add(key)
        return None

    def _second_try(self, key: Key) -> Job | None:
        state = self._journal.state(key)
        if state is None or state.answered or state.pass_number % _PASSES == 0:
            return None
        return Job(self._cases[key[0]], key[1], state.pass_number + 1)

    async def _round(self, caller: Caller, jobs: list[Job]) -> None:
        """Work a list of jobs off with as many tasks as calls may run at once."""
        queue = iter(jobs)
        tasks = [
            asyncio.create_task(self._work(caller, queue)) for _ in range(min(self._settings.concurrency, len(jobs)))
        ]
        if not tasks:
            return
        try:
            finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in finished:
                task.result()
            await self._wait_for_stored(at_most=0)
        finally:
            for task in (*tasks, *self._unstored):
                task.cancel()
            await asyncio.gather(*tasks, *self._unstored, return_exceptions=True)
        if self._stopped_by is not None:
            raise self._stopped_by

    async def _work(self, caller: Caller, queue: Iterator[Job]) -> None:
        for job in queue:
            if self._stopped_by is not None:
                return
            before = self._journal.state((job.case.id, job.epoch))
            earlier = None if before is None else next(iter(self._journal.rows([(job.case.id, job.epoch)])))
            row = await caller.row(job, earlier)
            stored = self._stored(row, job, is_new=before is None)
            if self._journal.window == 0:
                await stored
            else:
                self._unstored.add(asyncio.create_task(stored))
                await self._wait_for_stored(at_most=self._journal.window)

    async def _stored(self, row: CapturedRow, job: Job, *, is_new: bool) -> None:
        """Journal a row, and count it once it is durable. What it cost counts at once: it is spent."""
        durable = asyncio.wrap_future(self._journal.append(row, pass_number=job.pass_number))
        if self._stop is not None and self._stopped_by is None:
            self._stopped_by = self._stop(row)
        await durable
        self._done += is_new
        self._failed += (not row.answered) - (not is_new)
        if self._on_progress is not None:
            self._on_progress(Progress(self._done, len(self._keys), self._failed))

    async def _wait_for_stored(self, *, at_most: int) -> None:
        """Return when at most so many rows wait to be durable; raise what went wrong with one."""
        while True:
            for task in [task for task in self._unstored if task.done()]:
                self._unstored.discard(task)
                task.result()
            if len(self._unstored) <= at_most:
                return
            await asyncio.wait(self._unstored, return_when=asyncio.FIRST_COMPLETED)
