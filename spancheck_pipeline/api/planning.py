"""Planning a run on stored history: which captured run tells what the next one will need. Nothing is called.

The arithmetic lives in ``decision/plan.py``; stopping a run that spends too much in ``spending.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spancheck_pipeline.clients.target import reference_of
from spancheck_pipeline.decision.plan import AnswerFacts, History, PlanDocument, plan
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import Manifest, Usage
from spancheck_pipeline.storage.store import Night, Store, StoredFile
from spancheck_pipeline.storage.tables import CAPTURED_RUN

USAGE_COLUMNS = [
    "answered", "attempts", "served_model", "input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens",
    "reported_cost_usd",
]  # fmt: skip


def plan_suite(store: Store, suite: Suite, cases: Sequence[Case], *, config: str | None = None) -> PlanDocument:
    """Return what a run of a suite (in one of its configurations) will ask and cost.

    What answers need is taken from the latest captured night of the same target, else from the cases and assumptions.
    """
    return plan(suite, cases, config=config, history=latest_history(store, suite))


def latest_history(store: Store, suite: Suite) -> History | None:
    """Return the usage of the latest captured night whose target is the suite's, None where there is none."""
    for date in reversed(store.dates(suite.name, CAPTURED_RUN)):
        file = store.open(Night(suite.name, date), CAPTURED_RUN)
        manifest = Manifest.model_validate(file.document())
        if (manifest.target.kind, manifest.target.reference) == (suite.target.kind, reference_of(suite.target)):
            return History(manifest.run_id, list(answer_facts(file)))
    return None


def answer_facts(file: StoredFile) -> Iterator[AnswerFacts]:
    """Yield what each row of a captured run used, without its texts."""
    for row in file.rows(USAGE_COLUMNS):
        usage = None
        if row["answered"]:
            tokens = {name: row[name] for name in Usage.model_fields if name in row}
            usage = Usage(**tokens, cost_usd=row["reported_cost_usd"])
        yield AnswerFacts(usage, row["served_model"], row["attempts"])
