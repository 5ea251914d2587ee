"""What the captured runs of a suite's target tell about its next one: usage by row, without texts.

What follows from it for a plan lives in ``planning.py``, for a budget in ``spending.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.clients.target import reference_of
from spancheck_pipeline.decision.plan import AnswerFacts, History
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.run import Usage
from spancheck_pipeline.storage.store import Night, Store, StoredFile
from spancheck_pipeline.storage.tables import CAPTURED_RUN

USAGE_COLUMNS = [
    "answered", "attempts", "served_model", "input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens",
    "reported_cost_usd",
]  # fmt: skip


def latest_night(store: Store, suite: Suite) -> Night | None:
    """Return the latest captured night whose target is the suite's, None where there is none."""
    for date in reversed(store.dates(suite.name, CAPTURED_RUN)):
        night = Night(suite.name, date)
        manifest = read_manifest(store, night)
        if (manifest.target.kind, manifest.target.reference) == (suite.target.kind, reference_of(suite.target)):
            return night
    return None


def latest_history(store: Store, suite: Suite) -> History | None:
    """Return what the rows of the latest captured night of the same target used, None where there is none."""
    night = latest_night(store, suite)
    if night is None:
        return None
    file = store.open(night, CAPTURED_RUN)
    return History(file.run_id, list(answer_facts(file)))


def answer_facts(file: StoredFile) -> Iterator[AnswerFacts]:
    """Yield what each row of a captured run used, without its texts."""
    for row in file.rows(USAGE_COLUMNS):
        usage = None
        if row["answered"]:
            tokens = {name: row[name] for name in Usage.model_fields if name in row}
            usage = Usage(**tokens, cost_usd=row["reported_cost_usd"])
        yield AnswerFacts(usage, row["served_model"], row["attempts"])
