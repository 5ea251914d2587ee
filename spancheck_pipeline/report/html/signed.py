"""What people signed about findings, as the page shows it beside them.

What a disposition means, and what rates it comes to, lives in ``decision/adjudication.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from spancheck_pipeline.decision.adjudication import WHOLE, Adjudication, finding_digest, standing
from spancheck_pipeline.decision.audit import AuditRecord

_WHOLE: Final = ("outcome", "value", "reason_code", "reason")
"""What a disposition of a score as a whole is of."""


class Dispositions:
    """What people signed about a run's findings before it was decided; the latest of each finding."""

    def __init__(
        self, adjudications: Iterable[Adjudication] = (), *, run_id: str = "", at: datetime | None = None
    ) -> None:
        self._at = at
        self._of: dict[tuple[str, int], list[Adjudication]] = {}
        known = (item for item in adjudications if item.run_id == run_id and (at is None or item.signed_at <= at))
        for item in standing(known).values():
            self._of.setdefault((item.case_id, item.epoch), []).append(item)

    def json(self, record: AuditRecord, graders: Sequence[str]) -> list[dict[str, Any]]:
        """Return what was signed about one answer, each with whether it holds and is still of what stands there."""
        return [
            {
                "grader": graders.index(item.grader),
                "item": item.item,
                "disposition": item.disposition.value,
                "reason": item.reason,
                "author": item.author,
                "at": item.signed_at.date().isoformat(),
                "until": item.last_day,
                "expired": self._at is not None and not item.holds(self._at),
                "stale": item.finding_digest not in _digests(record, item.grader, item.item),
            }
            for item in self._of.get((record.case.id, record.call.epoch), ())
            if item.grader in graders
        ]


def _digests(record: AuditRecord, grader: str, item: str) -> set[str]:
    scores = [score for score in record.scores if score.grader == grader]
    if item == WHOLE:
        return {finding_digest(score.model_dump(include=set(_WHOLE))) for score in scores}
    return {finding_digest(f.model_dump()) for score in scores for f in score.findings if f.item == item}
