"""What reaches Dagster's event log when a step fails: our own messages, and of foreign errors the class and the place.

Dagster stores an exception with its causes and their texts; a target's or grader's error may quote anything.
"""

import traceback
from collections.abc import Callable, Sequence
from typing import TypeVar

import dagster as dg

from spancheck_pipeline.errors import PromotionRefusedError, SpancheckError

T = TypeVar("T")


def guarded(step: Callable[[], T], *, is_debug: bool = False) -> T:
    """Return what a step returns, or raise a ``Failure`` that holds no foreign text and no cause.

    With ``is_debug`` a foreign error is raised as it is.
    """
    try:
        return step()
    except SpancheckError as error:
        description = str(error)
    except Exception as error:  # its text must not reach the event log
        if is_debug:
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        description = (
            f"{type(error).__name__} in {frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno}); its text is "
            "kept out of this log: run `spancheck nightly … --debug` on the machine to see it"
        )
    # Raised outside the except blocks, so that the foreign error is not stored as its context.
    raise dg.Failure(description=description, allow_retries=False)


_REFUSED = "refused_by_gate"


def refused_by_gate(refused: Sequence[PromotionRefusedError]) -> dg.Failure:
    """Return the failure of a step that the gate holds back, marked so that it is told from one that could not run."""
    metadata = {_REFUSED: len(refused)}
    return dg.Failure(description="\n".join(map(str, refused)), metadata=metadata, allow_retries=False)


def is_refused_by_gate(event: dg.DagsterEvent) -> bool:
    """Return whether a failed step is one that the gate held back."""
    data = event.step_failure_data.user_failure_data
    return data is not None and _REFUSED in data.metadata
