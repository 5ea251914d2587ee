"""The dispositions that a decision saw, as the records of its audit log have them: who signed what, why, until when.

Which they were, the scorecard's inputs say: each batch by its name and the digest of its content. A batch that is
signed after the decision is none of them. What dispositions do to a rate lives in ``adjudicating.py``.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from spancheck_pipeline.api.adjudicating import INPUT, WHOLE_FIELDS, is_reviewable
from spancheck_pipeline.decision.adjudication import Adjudication, reviewed, standing
from spancheck_pipeline.decision.audit import AuditDisposition, AuditHead
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.storage.adjudications import read_batches
from spancheck_pipeline.storage.store import Place, Store

_FROM_THE_BATCH = (
    "grader", "item", "finding_digest", "disposition", "reason", "author", "signed_at", "expires_at",
)  # fmt: skip


def batches_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a decision's or scorecard's inputs are batches of dispositions, by the names they have there."""
    return {name: value for name, value in inputs.items() if name.startswith(f"{INPUT}/")}


class Dispositions:
    """The latest word about each finding of a run, under the graders of a decision."""

    def __init__(
        self, items: Iterable[Adjudication], *, run_id: str, graders: Collection[str], at: dt.datetime
    ) -> None:
        self._at = at
        self._given: dict[tuple[str, int], list[Adjudication]] = defaultdict(list)
        for key, item in sorted(standing(items).items()):
            if item.run_id == run_id and key.grader in graders:
                self._given[key.case_id, key.epoch].append(item)

    def of(self, case_id: str, epoch: int, scores: Iterable[Mapping[str, Any]]) -> tuple[AuditDisposition, ...]:
        """Return what was signed of an answer's findings; ``scores`` are the cells that its record has of them."""
        given = self._given.get((case_id, epoch))
        if not given:
            return ()
        counted: set[tuple[str, str]] = set()
        for score in scores:
            of_grader = {item.item: item for item in given if item.grader == score["grader"]}
            whole = {name: score[name] for name in WHOLE_FIELDS}
            outcome, findings = Outcome(score["outcome"]), score["findings"] or ()
            found = reviewed(outcome, findings, of_grader, at=self._at, whole=whole)
            counted |= {(item.grader, item.item) for item in found.applied}
        return tuple(
            AuditDisposition(
                **{name: getattr(item, name) for name in _FROM_THE_BATCH},
                is_counted=(item.grader, item.item) in counted,
            )
            for item in given
        )


def signed_of(store: Store, place: Place, head: AuditHead) -> Dispositions:
    """Return the dispositions that the decision of an audit log saw, read from the batches that its head names.

    Raises:
        MissingDataError: when a batch is gone, or is another one.
        CorruptFileError: for one that cannot be read.
    """
    named = {name.partition("/")[2]: str(value) for name, value in batches_of(head.inputs).items()}
    reviewable = {name for name, spec in head.graders.items() if is_reviewable(str(spec.get("measurement", name)))}
    at = head.decision.decided_at if head.decision else None
    return Dispositions(
        read_batches(store, place, named) if named else (),
        run_id=head.run_id,
        graders=reviewable,
        at=at or head.created_at or dt.datetime.max.replace(tzinfo=dt.UTC),
    )


def disposition_cells(dispositions: Iterable[AuditDisposition]) -> list[dict[str, Any]]:
    """Return dispositions as the cells that ``audit_log`` has of them."""
    return [item.model_dump(mode="json") for item in dispositions]


__all__ = ["Dispositions", "batches_of", "disposition_cells", "signed_of"]
