"""The audit log of a decided place: put together from the stored files, row by row, in bounded memory."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any

from spancheck_pipeline import __version__
from spancheck_pipeline.api.deciding import read_comparisons
from spancheck_pipeline.api.facts import Evidence, open_evidence
from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.decision.audit import AuditHead, AuditRecord, AuditScore
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import CorruptFileError, MissingDataError
from spancheck_pipeline.evidence.run import Manifest, cost_usd
from spancheck_pipeline.storage.store import Place, Published, Store, StoredFile
from spancheck_pipeline.storage.tables import (
    AUDIT_LOG,
    CAPTURED_RUN,
    CASES,
    COMPARISON,
    GATE,
    SCORECARD,
    Row,
    audit_row,
    captured_from_row,
    case_from_audit_row,
    score_from_row,
)


def record_place(
    store: Store, place: Place, suite: Suite, graders: Sequence[str], *, created_at: dt.datetime
) -> Published:
    """Write the audit log of a place: its head in the file's metadata, one row per case × epoch.

    It repeats what was captured, graded and decided; it never measures again.
    """
    evidence = open_evidence(store, place, graders)
    gate = store.open(place, GATE)
    head = _head(store, place, evidence, gate, created_at=created_at)
    return store.publish(
        place,
        AUDIT_LOG,
        _rows(store, place, suite, evidence),
        identity={**head.inputs, "graders": head.graders},
        metadata={"run_id": head.run_id, "suite": place.suite, "gate": gate.content_digest},
        document=lambda _revision, _digest: head.model_dump(mode="json"),
    )


def _head(store: Store, place: Place, evidence: Evidence, gate: StoredFile, *, created_at: dt.datetime) -> AuditHead:
    scorecard, comparison = store.open(place, SCORECARD), store.open(place, COMPARISON)
    decision = GateDecision.model_validate(gate.document())
    rests_on = {
        **evidence.digests(),
        "scorecard": scorecard.content_digest,
        "comparison": comparison.content_digest,
    }
    if decision.inputs != rests_on:
        raise MissingDataError(f"{place}: the decision rests on other scores than those stored; decide again first")
    manifest = Manifest.model_validate(evidence.captured.document())
    return AuditHead(
        package_version=__version__,
        run_id=manifest.run_id,
        suite=place.suite,
        date=place.date,
        config=decision.config,
        created_at=created_at,
        manifest=manifest,
        decision=decision,
        summary=ScorecardDocument.model_validate(scorecard.document()),
        comparisons=read_comparisons(comparison),
        graders={name: file.grader_spec for name, file in evidence.scores.items()},
        inputs={**rests_on, "gate": gate.content_digest},
    )


def _rows(store: Store, place: Place, suite: Suite, evidence: Evidence) -> Iterator[Row]:
    """Walk the captured rows and every grader's scores side by side: they stand in the same order."""
    cases = {case.id: case for case in read_snapshot(store, place)}
    streams = {name: file.rows() for name, file in evidence.scores.items()}
    for captured in evidence.captured.rows():
        row = captured_from_row(captured)
        cells = []
        for name, stream in streams.items():
            score = next(stream, None)
            if score is None or (score["case_id"], score["epoch"]) != row.key:
                raise CorruptFileError(
                    f"{evidence.scores[name].path}: does not follow the captured run row by row; score the place again"
                )
            cells.append({"grader": name, **{key: score[key] for key in _SCORE_CELLS}})
        cost = cost_usd(row.output, suite.prices) if row.output else None
        yield audit_row(cases[row.case_id], row, run_id=evidence.captured.run_id, cost_usd=cost, scores=cells)


_SCORE_CELLS = ("grader_version", "spec_digest", "outcome", "value", "reason_code", "reason", "findings")


def open_audit_log(store: Store, place: Place, *, as_decided: int | None = None) -> StoredFile:
    """Open the audit log of a place: the latest, or that of the decision with a number (1 is the first).

    Raises:
        MissingDataError: when there is none, no decision has that number, or the latest is about another capture or
            other labels than those that stand there now.
    """
    if as_decided is None:
        return _not_overtaken(store, place, store.open(place, AUDIT_LOG))
    decisions = {file.revision: file for file in store.revisions(place, GATE)}
    if as_decided not in decisions:
        known = ", ".join(map(str, decisions)) or "none"
        raise MissingDataError(f"{place}: there is no decision number {as_decided}; kept are: {known}")
    gate = decisions[as_decided].content_digest
    for file in store.revisions(place, AUDIT_LOG):
        if file.metadata.get("gate") == gate:
            return file
    raise MissingDataError(f"{place}: decision {as_decided} is kept, but its audit log was never written")


def _not_overtaken(store: Store, place: Place, log: StoredFile) -> StoredFile:
    """Return the latest record, unless the capture or the labels that it is about have been superseded since."""
    rests_on = log.inputs
    for table in (CAPTURED_RUN, CASES):
        if store.exists(place, table) and store.open(place, table).content_digest != rests_on[table.name]:
            what = "capture" if table is CAPTURED_RUN else "cases snapshot"
            raise MissingDataError(
                f"{place}: the latest decision is about another {what} than the one that stands there now; decide "
                "again first (`spancheck nightly`, or `spancheck score --regrade`), or read it with --as-decided N"
            )
    return log


def read_head(file: StoredFile) -> AuditHead:
    """Return the head of a stored audit log."""
    return AuditHead.model_validate(file.document())


def read_records(file: StoredFile) -> Iterator[AuditRecord]:
    """Yield the records of a stored audit log, in order."""
    for row in file.rows():
        case = case_from_audit_row(row)
        yield AuditRecord(
            case=case,
            question_digest=case.question_digest,
            label_digest=case.label_digest,
            call=captured_from_row(row),
            cost_usd=row["cost_usd"],
            scores=tuple(_audit_score(cells) for cells in row["scores"]),
        )


def _audit_score(cells: dict[str, Any]) -> AuditScore:
    return AuditScore.of(
        score_from_row(cells),
        grader=cells["grader"],
        grader_version=cells["grader_version"],
        spec_digest=cells["spec_digest"],
    )
