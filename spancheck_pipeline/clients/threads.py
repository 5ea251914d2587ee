"""Threads in which a user's code runs, so that a call that hangs does not hold up the capture or the process's end.

Python cannot stop a thread: a timed-out call goes on, its thread is *abandoned*, and it is daemonic so that the process
can still end. What such threads print later is kept away in ``capture/containment.py``.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from spancheck_pipeline.clients.call_errors import TooManyHungCallsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MAX_ABANDONED: Final = 256
"""Timed-out calls that may still be running before no other is started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a piece of the user's code ended: with a value, or with anything that Python can raise.

    A value and no exception, because a ``SystemExit`` or ``CancelledError`` of the user's must not act on our loop.
    """

    value: Any = None
    raised: BaseException | None = None


class DaemonWorkers:
    """Daemon threads that run blocking calls, one at a time each, and are used again while they answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._abandoned: set[_Worker] = set()

    @property
    def abandoned(self) -> int:
        """Timed-out calls that are still running."""
        with self._lock:
            return len(self._abandoned)

    async def run(self, fn: Callable[[], Any]) -> Outcome:
        """Run a function in a worker and return how it ended; when the wait is cancelled, the worker is abandoned.

        Raises:
            TooManyHungCallsError: when too many abandoned calls are still running.
        """
        worker = self._take()
        future: Future[Outcome] = Future()
        future.set_running_or_notify_cancel()  # from here on a cancelled wait does not cancel it
        worker.tasks.put((fn, future))
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            with self._lock:
                if not future.done():
                    self._abandoned.add(worker)
            raise

    def close(self) -> None:
        """End the workers that are idle; the others end with their call."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.tasks.put(None)
        for worker in idle:
            worker.thread.join(timeout=1.0)

    def _take(self) -> _Worker:
        with self._lock:
            if len(self._abandoned) >= MAX_ABANDONED:
                raise TooManyHungCallsError(len(self._abandoned))
            if self._idle:
                return self._idle.pop()
        return _Worker(self._finish)

    def _finish(self, worker: _Worker, future: Future[Outcome], outcome: Outcome) -> bool:
        """Hand an outcome over; return whether the worker goes on."""
        with self._lock:
            future.set_result(outcome)
            if worker in self._abandoned:
                self._abandoned.discard(worker)
                return False
            self._idle.append(worker)
            return True


class _Worker:
    """One daemon thread with a queue of one."""

    def __init__(self, finish: Callable[[_Worker, Future[Outcome], Outcome], bool]) -> None:
        self.tasks: SimpleQueue[tuple[Callable[[], Any], Future[Outcome]] | None] = SimpleQueue()
        self._finish = finish
        self.thread = threading.Thread(target=self._work, name="spancheck-call", daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (task := self.tasks.get()) is not None:
            fn, future = task
            if not self._finish(self, future, _run(fn)):
                return


def _run(fn: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(value=fn())
    except BaseException as error:  # noqa: BLE001 - a target's SystemExit is an error row, not our exit
        return Outcome(raised=error)


class DaemonLoop:
    """One event loop in a daemon thread for a user's coroutines: one that blocks does not stop the capture's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.abandoned = 0
        """Loops that did not end when they were closed: a coroutine was blocking them."""

    async def run(self, start: Callable[[], Awaitable[Any]]) -> Outcome:
        """Run the coroutine that a function makes, and return how it ended; cancelling the wait cancels it."""
        return await asyncio.wrap_future(self._submit(start))

    def run_blocking(self, start: Callable[[], Awaitable[Any]]) -> Outcome:
        """Run the coroutine that a function makes, and block this thread until it ended."""
        return self._submit(start).result()

    def close(self) -> None:
        """Cancel what still runs and end the loop; a blocked one is left behind after a second."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=1.0)
        self.abandoned += thread.is_alive()

    def _submit(self, start: Callable[[], Awaitable[Any]]) -> Future[Outcome]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="spancheck-loop", daemon=True)
                self._thread.start()
            loop = self._loop
        return asyncio.run_coroutine_threadsafe(_await(start), loop)


async def _await(start: Callable[[], Awaitable[Any]]) -> Outcome:
    try:
        return Outcome(value=await start())
    except BaseException as error:  # noqa: BLE001 - as in _run; a task that raised SystemExit would end the loop
        return Outcome(raised=error)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
    if pending:
        loop.run_until_complete(asyncio.wait(pending, timeout=0.5))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
