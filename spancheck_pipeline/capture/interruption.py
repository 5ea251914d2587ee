"""Work in a thread with an event loop of its own, which an interrupt or SIGTERM ends in order.

What is worked off there lives in ``engine.py``.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

STOP_S: Final = 15.0
"""Seconds that an interrupted capture may take to let go of its calls."""


def run_in_own_thread(main: Callable[[], Coroutine[None, None, None]], *, flush: Callable[[], None]) -> None:
    """Run a coroutine in a thread with its own event loop; an interrupt here cancels it there, then is raised."""
    outcome: Future[None] = Future()
    stop = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = []

    async def stoppable() -> None:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        if not stop.is_set():
            await main()

    def serve() -> None:
        try:
            asyncio.run(stoppable())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            outcome.set_exception(error)
        else:
            outcome.set_result(None)

    threading.Thread(target=serve, name="spancheck-capture", daemon=True).start()
    try:
        outcome.result()
    except BaseException:
        stop.set()
        if not outcome.done():
            for loop, task in running:
                with suppress(RuntimeError):  # it ended meanwhile
                    loop.call_soon_threadsafe(task.cancel)
            with suppress(BaseException):  # what it ends with is the interrupt's consequence
                outcome.result(timeout=STOP_S)
        flush()
        raise


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """Make SIGTERM an exception while this is open, so that the journal is flushed; a handler that is there stays."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _terminate(number: int, frame: object) -> NoReturn:
    del frame
    raise SystemExit(128 + number)
