"""The progress bar of a capture: on stderr, where that is a terminal, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spancheck_pipeline.capture.engine import Progress


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar while a capture runs; yield what the capture reports to, or None without a terminal.

    The bar keeps a copy of the terminal's descriptor: while a target is called, the process's own stderr is redirected.
    """
    import os
    import sys

    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich
    from rich.console import Console

    with os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8") as terminal:
        columns = (
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TimeRemainingColumn(),
        )
        with rich.Progress(*columns, console=Console(file=terminal), transient=True) as bar:
            task = bar.add_task(label, total=None)

            def report(so_far: Progress) -> None:
                failed = f" ({so_far.failed} failed)" if so_far.failed else ""
                bar.update(task, completed=so_far.done, total=so_far.total, description=label + failed)

            yield report
