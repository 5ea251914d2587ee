"""One row of a capture: attempts with a time limit, waits between them, and the times that are frozen in the row.

Which rows are wanted, how many at once and where they are kept lives in ``engine.py``; which failures are worth another
attempt is said by ``clients/call_errors.py``.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from spancheck_pipeline.clients.call_errors import Failure, failure_of
from spancheck_pipeline.evidence.run import CapturedRow, Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiolimiter import AsyncLimiter

    from spancheck_pipeline.clients.target import LoadedTarget
    from spancheck_pipeline.evidence.case import Case

MAX_BACKOFF_S: Final = 60.0
"""Longest wait that we choose ourselves; a server may ask for a longer one."""


class CallSettings(Protocol):
    """How a target is called; ``decision.suite.Target`` and ``CaptureSettings`` both say it."""

    @property
    def concurrency(self) -> int:
        """Calls at once."""

    @property
    def timeout_s(self) -> float:
        """Seconds that one attempt may take."""

    @property
    def retries(self) -> int:
        """Attempts after the first, per pass."""

    @property
    def backoff_s(self) -> float:
        """First wait before a retry, in seconds; it doubles each time."""

    @property
    def rate_limit_per_minute(self) -> float | None:
        """Attempts started per minute; None is no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """How a target is called, where no suite says it."""

    concurrency: int = 8
    timeout_s: float = 60.0
    retries: int = 2
    backoff_s: float = 1.0
    rate_limit_per_minute: float | None = None


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> datetime:
        """Return the time of day, UTC. It may be set back."""

    def monotonic(self) -> float:
        """Return seconds since some moment, which never go back."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """Return the time of day, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()


class Timeline:
    """Instants of one capture: the time of day at its start plus monotonic seconds, so that none goes back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start, self._zero = clock.now(), clock.monotonic()

    def seconds(self) -> float:
        """Return monotonic seconds since the capture's start."""
        return self._clock.monotonic() - self._zero

    def instant(self, seconds: float) -> datetime:
        """Return the UTC instant at so many seconds after the start."""
        return self._start + timedelta(seconds=seconds)


class Job(NamedTuple):
    """One row that is wanted."""

    case: Case
    epoch: int
    pass_number: int


class Caller:
    """Makes the attempts of one row after the other, in one event loop."""

    def __init__(
        self,
        target: LoadedTarget,
        settings: CallSettings,
        *,
        clock: Clock,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._target = target
        self._settings = settings
        self._timeline = Timeline(clock)
        self._jitter = jitter
        self._is_recorded = target.facts.kind == "recorded"
        self._limiter = _limiter(None if self._is_recorded else settings.rate_limit_per_minute)

    async def row(self, job: Job, earlier: CapturedRow | None) -> CapturedRow:
        """Call the target for one case and epoch until it answers or fails for good.

        ``earlier`` is the row of the pass before: its attempts and times are added to.
        """
        attempts, first = 0, 0.0
        while True:
            if self._limiter is not None:
                await self._limiter.acquire()
            begun = self._timeline.seconds()
            first = begun if attempts == 0 else first
            attempts += 1
            outcome = await self._attempt(job)
            ended = self._timeline.seconds()
            if not isinstance(outcome, Failure) or not outcome.retryable or attempts > self._settings.retries:
                break
            await asyncio.sleep(wait_s(attempts, outcome, backoff_s=self._settings.backoff_s, jitter=self._jitter()))
        times = _Times(first=first, begun=begun, ended=ended)
        if isinstance(outcome, Failure):
            return self._finished(job, earlier, times, attempts=attempts, failure=outcome)
        return self._finished(job, earlier, times, attempts=attempts, output=outcome)

    async def _attempt(self, job: Job) -> Output | Failure:
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                return await self._target.call(job.case, job.epoch)
        except TimeoutError:
            message = f"no answer within {self._settings.timeout_s:g} s"
            return Failure(error_class="TimeoutError", message=message, retryable=True, retry_after_s=None)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - a failed call is a row
            return failure_of(error)

    def _finished(
        self,
        job: Job,
        earlier: CapturedRow | None,
        times: _Times,
        *,
        attempts: int,
        output: Output | None = None,
        failure: Failure | None = None,
    ) -> CapturedRow:
        started, finished = self._timeline.instant(times.first), self._timeline.instant(times.ended)
        if earlier is not None and earlier.started_at is not None:
            started = earlier.started_at
        latency_ms: float | None = (times.ended - times.begun) * 1000
        total_ms: float | None = (times.ended - times.first) * 1000 + ((earlier and earlier.latency_total_ms) or 0.0)
        if self._is_recorded:  # no call was made; what the other tool measured is all that is known
            latency_ms, total_ms, attempts = (output.latency_ms if output else None), None, 0
        return CapturedRow(
            case_id=job.case.id,
            question_digest=job.case.question_digest,
            epoch=job.epoch,
            output=output,
            error_class=failure.error_class if failure else None,
            error_message=failure.message if failure else None,
            latency_ms=latency_ms,
            latency_total_ms=total_ms,
            attempts=attempts + (earlier.attempts if earlier else 0),
            started_at=started,
            finished_at=max(started, finished),
        )


class _Times(NamedTuple):
    first: float
    """Seconds at which the first attempt of this pass began."""
    begun: float
    """Seconds at which the last attempt began."""
    ended: float


def wait_s(attempt: int, failure: Failure, *, backoff_s: float, jitter: float) -> float:
    """Return the seconds to wait after a failed attempt: half of the doubled backoff, plus a random share of the rest.

    A server that asks for more (``Retry-After``) gets it.

    >>> no_wish = Failure(error_class="X", message="", retryable=True, retry_after_s=None)
    >>> [wait_s(n, no_wish, backoff_s=1.0, jitter=1.0) for n in (1, 2, 3, 9)]
    [1.0, 2.0, 4.0, 60.0]
    """
    longest = min(backoff_s * 2.0 ** (attempt - 1), MAX_BACKOFF_S)
    return max(longest * (0.5 + 0.5 * jitter), failure.retry_after_s or 0.0)


def _limiter(per_minute: float | None) -> AsyncLimiter | None:
    """Return a limiter that starts attempts evenly: one token, so that no burst exceeds the rate of any minute."""
    if per_minute is None:
        return None
    from aiolimiter import AsyncLimiter

    return AsyncLimiter(1, 60.0 / per_minute)
