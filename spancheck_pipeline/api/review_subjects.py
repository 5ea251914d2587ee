"""What can be reviewed in a recorded place: each finding, or score as a whole, with what a person is shown of it.

Handing them out and reading what was signed back in lives in ``reviewing.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spancheck_pipeline.api.adjudicating import WHOLE_FIELDS, is_reviewable
from spancheck_pipeline.api.audit_logs import open_audit_log, read_head, rows_and_records
from spancheck_pipeline.decision.adjudication import WHOLE, FindingKey, finding_digest
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.citation import source_name
from spancheck_pipeline.evidence.run import Context
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.store import Place, Store, StoredFile

REVIEWED: Final = frozenset({Outcome.FAIL, Outcome.UNMEASURED})
"""Outcomes that are exported unless others are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a disposition can be of: one finding of a score, or a score as a whole that has none."""

    key: FindingKey
    outcome: Outcome
    finding_digest: str
    run_id: str
    shown: Mapping[str, Any]
    """What a person is shown of it: cells by column."""

    @property
    def row(self) -> str:
        """The name of its row: it begins with a letter, and no spreadsheet calculates with it."""
        key = self.key
        return f"f-{digest([self.run_id, key.grader, key.case_id, key.epoch, key.item, self.finding_digest])[:20]}"


def subjects(
    store: Store, place: Place, *, outcomes: Collection[Outcome] = REVIEWED, graders: Collection[str] = ()
) -> Iterator[Subject]:
    """Yield what can be reviewed of a recorded place, in the order of its record; ``graders``: all where empty.

    A score without such a finding (one below its threshold, or that could not be measured at all) is yielded as a
    whole.

    Raises:
        MissingDataError: when the place has no record.
    """
    log = open_audit_log(store, place)
    reviewable = _reviewable(log)
    for row, _ in rows_and_records(log):
        for score in row["scores"]:
            if score["grader"] not in reviewable or (graders and score["grader"] not in graders):
                continue
            found = [item for item in score["findings"] or () if Outcome(item["outcome"]) in outcomes]
            for finding in found:
                yield _subject(row, score, finding)
            if not found and Outcome(score["outcome"]) in outcomes:
                yield _subject(row, score, None)


def _reviewable(log: StoredFile) -> set[str]:
    specs = read_head(log).graders
    return {name for name, spec in specs.items() if is_reviewable(str(spec.get("measurement", name)))}


def _subject(row: Row, score: Row, finding: Row | None) -> Subject:
    key = FindingKey(score["grader"], row["case_id"], row["epoch"], finding["item"] if finding else WHOLE)
    said: Mapping[str, Any] = finding or {name: score[name] for name in WHOLE_FIELDS}
    return Subject(
        key=key,
        outcome=Outcome(said["outcome"]),
        finding_digest=finding_digest(said),
        run_id=row["run_id"],
        shown={
            "case_id": key.case_id,
            "epoch": key.epoch,
            "category": row["category"],
            "grader": key.grader,
            "item": key.item or "the whole score",
            "outcome": said["outcome"],
            "grade": finding["grade"] if finding else score["reason_code"],
            "reason": said["reason"],
            "question": row["input"],
            "answer": row["answer"] if row["answered"] else f"(the call failed: {row['error_class']})",
            "expected": row["expected"],
            **(_places(row, finding) if finding else {}),
        },
    )


def _places(row: Row, finding: Row) -> dict[str, Any]:
    """Return the words that a finding is about, in the answer and in its source."""
    cells: dict[str, Any] = {"source_id": finding["source_id"]}
    if finding["answer_start"] is not None and row["answer"] is not None:
        cells["part_of_answer"] = row["answer"][finding["answer_start"] : finding["answer_end"]]
    if finding["source_start"] is not None:
        for index, context in enumerate(row["contexts"] or ()):
            if context["text"] and source_name(Context(**context), index) == finding["source_id"]:
                cells["part_of_source"] = context["text"][finding["source_start"] : finding["source_end"]]
                break
    return cells


def whole_subjects(store: Store, place: Place, rows: Collection[str]) -> dict[str, Subject]:
    """Return the scores as wholes that rows are of, where the score has findings of another outcome too."""
    if not rows:
        return {}
    found: dict[str, Subject] = {}
    log = open_audit_log(store, place)
    reviewable = _reviewable(log)
    for row, _ in rows_and_records(log):
        for score in row["scores"]:
            if score["grader"] not in reviewable:
                continue
            subject = _subject(row, score, None)
            if subject.row in rows:
                found[subject.row] = subject
    return found
