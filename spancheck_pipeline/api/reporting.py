"""The report of a decided place: its audit log, its trend, and the baselines' answers, as one HTML page.

What is shown is what the record says; nothing is graded here. The page itself lives in ``report/html``, where it is
kept in ``storage/pages.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spancheck_pipeline.api.audit_logs import open_audit_log, read_head, read_records, read_seals
from spancheck_pipeline.api.trending import read_trend
from spancheck_pipeline.decision.audit import AuditHead, AuditScore
from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.trend import TrendDocument
from spancheck_pipeline.errors import MissingDataError, SpancheckError, StorageError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.report.html.beside import beside
from spancheck_pipeline.report.html.overview import ReportFacts
from spancheck_pipeline.report.html.page import page_digest, write_page
from spancheck_pipeline.report.html.provenance import Sealing
from spancheck_pipeline.report.html.records import Earlier
from spancheck_pipeline.storage.adjudications import read_adjudications
from spancheck_pipeline.storage.pages import Parts, PublishedPage, page_path, publish_page, write_page_file
from spancheck_pipeline.storage.rows import captured_from_row, score_from_row
from spancheck_pipeline.storage.store import Night, Place, Store, StoredFile
from spancheck_pipeline.storage.tables import CAPTURED_RUN, GATE, SCORECARD, SCORES


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A report, as it is kept, and the head of the record that it shows."""

    page: PublishedPage
    head: AuditHead


def report_place(store: Store, place: Place, *, as_decided: int | None = None, to: Path | None = None) -> Reported:
    """Write the report of a recorded place: into the storage, or to a file.

    ``as_decided`` is the number of an earlier decision; its report goes to a file only.

    Raises:
        MissingDataError: when there is no record, or no decision of that number.
        StorageError: when the page cannot be written.
    """
    log = open_audit_log(store, place, as_decided=as_decided)
    head = read_head(log)
    trend = _trend(store, place)
    decisions = tuple(GateDecision.model_validate(gate.document()) for gate in store.revisions(place, GATE))
    sealing = _sealing(store, place, log)
    identity = {
        "audit_log": log.content_digest,
        "decision": head.decision.model_dump(mode="json") if head.decision else None,
        "decisions": [[item.revision, item.scorecard_digest, item.answer.value] for item in decisions],
        "chain": sealing.head,
        "trend": digest(trend.model_dump(mode="json")) if trend else None,
        "page": page_digest(),
    }
    signed = read_adjudications(store, place)
    facts = ReportFacts(head=head, trend=trend, adjudications=signed, decisions=decisions, sealing=sealing)
    parts = _parts(store, log, facts)
    if to is not None:
        return Reported(page=write_page_file(to, parts, identity=identity), head=head)
    return Reported(page=publish_page(store, place, parts, identity=identity), head=head)


def refresh_report(store: Store, place: Place) -> Reported | None:
    """Write the report of a place again where it has one, after something about the place was decided; else None."""
    return report_place(store, place) if store.filesystem.exists(page_path(store, place)) else None


def _sealing(store: Store, place: Place, log: StoredFile) -> Sealing:
    sealed = read_seals(store, place, log)
    if sealed is None:
        return Sealing(content_digest=log.content_digest)
    return Sealing(content_digest=log.content_digest, head=sealed.seal.head, n_records=sealed.seal.n_records)


def _parts(store: Store, log: StoredFile, facts: ReportFacts) -> Parts:
    head = facts.head

    def parts(stamps: Mapping[str, str]) -> Iterator[str]:
        known = {"run-id": head.run_id, "suite": head.suite, "audit-log": log.content_digest, **stamps}
        earlier = [(item.kind, _earlier(store, item.comparison, head)) for item in beside(head.comparisons)]
        yield from write_page(facts, read_records(log), earlier, known)

    return parts


_NIGHTS: Final = 30
"""Dates that the trend shows: each costs some requests where the storage is far away."""


def _trend(store: Store, place: Place) -> TrendDocument | None:
    """Return the suite's trend up to a night; None for an ad-hoc run, or where one of the dates cannot be read."""
    if not isinstance(place, Night):
        return None
    dates = [date for date in store.dates(place.suite, SCORECARD) if date <= place.date]
    try:
        return read_trend(store, place.suite, since=dates[-_NIGHTS:][0], until=place.date) if dates else None
    except SpancheckError:  # one unreadable night must not keep another from its report, which says so
        return None


# -- what a baseline answered -----------------------------------------------------------------------------------


def _earlier(store: Store, comparison: ComparisonDocument, head: AuditHead) -> Iterator[Earlier]:
    """Yield a baseline's answers to the cases that came out otherwise; none where its capture is not kept."""
    wanted = {
        case_id
        for figures in comparison.graders.values()
        for ids in (
            figures.newly_failing_case_ids,
            figures.newly_passing_case_ids,
            figures.newly_unmeasured_case_ids,
        )
        for case_id in ids
    }
    date = comparison.baseline.date
    if not wanted or date is None:
        return
    night = Night(head.suite, date)
    try:
        captured = store.open_by_digest(night, CAPTURED_RUN, comparison.inputs["baseline/captured_run"])
        scores = _same_make(store, night, captured, head)
        for group in _by_case(_answers(captured, scores, wanted)):
            reasons = {key: score for _, found in group for key, score in found.items()}
            yield Earlier(case_id=group[0][0].case_id, rows=tuple(row for row, _ in group), reasons=reasons)
    except (MissingDataError, StorageError):  # it was pruned: the outcomes are still in the comparison
        return


def _same_make(store: Store, night: Night, captured: StoredFile, head: AuditHead) -> dict[str, StoredFile]:
    """Return the baseline's score files that today's grader specs made of the very same capture."""
    found = {}
    for name, figures in head.summary.graders.items():
        if store.exists(night, SCORES, name):
            file = store.open(night, SCORES, name)
            is_same = file.metadata["spec_digest"] == figures.spec_digest
            if is_same and file.inputs.get("captured_run") == captured.content_digest:
                found[name] = file
    return found


_Answer = tuple[CapturedRow, dict[tuple[str, int], AuditScore]]
"""A captured row with its scores, by grader and epoch."""


def _answers(captured: StoredFile, scores: Mapping[str, StoredFile], wanted: set[str]) -> Iterator[_Answer]:
    """Walk captured rows and scores side by side (they stand in the same order); yield those of the wanted cases."""
    streams = {name: file.rows() for name, file in scores.items()}
    for row in captured.rows():
        key = (row["case_id"], row["epoch"])
        found = {name: next(stream, None) for name, stream in streams.items()}
        for name, score in found.items():
            if score is None or (score["case_id"], score["epoch"]) != key:
                del streams[name]  # not row by row any more: its reasons cannot be told
        if row["case_id"] in wanted:
            of_row = {(name, row["epoch"]): _score(name, found[name]) for name in streams}
            yield captured_from_row(row), of_row


def _score(name: str, row: Any) -> AuditScore:
    return AuditScore.of(
        score_from_row(row), grader=name, grader_version=row["grader_version"], spec_digest=row["spec_digest"]
    )


def _by_case(answers: Iterable[_Answer]) -> Iterator[list[_Answer]]:
    for _, group in itertools.groupby(answers, key=lambda answer: answer[0].case_id):
        yield list(group)
