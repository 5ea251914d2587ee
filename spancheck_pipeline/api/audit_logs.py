"""Stored audit logs, read back: the head, the records and the seals of a place's log, current or as it was decided.

Putting one together lives in ``recording.py``; exporting and checking what is stored in ``auditing.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spancheck_pipeline.api.erased import traces_of
from spancheck_pipeline.decision.audit import AuditDisposition, AuditHead, AuditRecord, AuditScore, AuditVerdict
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.errors import CorruptFileError, MissingDataError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.storage.rows import Row, captured_from_row, case_from_audit_row
from spancheck_pipeline.storage.seals import seals
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, CASES, GATE


def open_audit_log(store: Store, place: Place, *, as_decided: int | None = None) -> StoredFile:
    """Open the audit log of a place: the latest, or that of the decision with a number (1 is the first).

    Raises:
        MissingDataError: when there is none, no decision has that number, or the latest is about another capture or
            other labels than those that stand there now.
    """
    if as_decided is None:
        try:
            log = store.open(place, AUDIT_LOG)
        except MissingDataError:
            if traces := traces_of(store, place):
                raise MissingDataError(
                    f"{place}: {traces.text()}; spancheck audit verify says what is left, restore it from a backup"
                ) from None
            raise
        refuse_overtaken(store, place, read_head(log).inputs)
        return log
    decisions = {file.revision: file for file in store.revisions(place, GATE)}
    if as_decided not in decisions:
        known = ", ".join(map(str, decisions)) or "none"
        raise MissingDataError(f"{place}: there is no decision number {as_decided}; kept are: {known}")
    gate = decisions[as_decided].content_digest
    for file in store.revisions(place, AUDIT_LOG):
        if file.metadata.get("gate") == gate:
            return file
    raise MissingDataError(f"{place}: decision {as_decided} is kept, but its audit log was never written")


def refuse_overtaken(store: Store, place: Place, rests_on: Mapping[str, Any]) -> None:
    """Refuse a record that rests on another capture or other labels than those that stand at its place now.

    ``rests_on`` are the digests in its head, which the chain covers.

    Raises:
        MissingDataError: saying so.
    """
    for table in (CAPTURED_RUN, CASES):
        if not store.exists(place, table):
            continue
        if store.open(place, table).content_digest == rests_on.get(table.name):
            continue
        what = "capture" if table is CAPTURED_RUN else "cases snapshot"
        raise MissingDataError(
            f"{place}: the latest decision is about another {what} than the one that stands there now; decide "
            "again first (`spancheck nightly`, or `spancheck score --regrade`), or read it with --as-decided N"
        )


def read_head(file: StoredFile) -> AuditHead:
    """Return the head of a stored audit log.

    Raises:
        CorruptFileError: for one that is none.
    """
    with _intact(file):
        return AuditHead.model_validate(file.document())


class Sealed(NamedTuple):
    """A stored audit log's seals."""

    seal: Seal
    """The signed one, where there is one."""
    others: tuple[Seal, ...]
    """Further seals of the same revision."""


def read_seals(store: Store, place: Place, file: StoredFile) -> Sealed | None:
    """Return the seals of a stored audit log; None where it was never sealed."""
    found = sorted(seals(store, place, file.revision), key=lambda seal: seal.signature is None)
    return Sealed(found[0], tuple(found[1:])) if found else None


def chain_head(store: Store, place: Place) -> str:
    """Return the head of the chain of a place's current audit log, as its seal says; empty where it has none."""
    sealed = read_seals(store, place, store.open(place, AUDIT_LOG))
    return sealed.seal.head if sealed else ""


def read_records(file: StoredFile) -> Iterator[AuditRecord]:
    """Yield the records of a stored audit log, in order.

    Raises:
        CorruptFileError: for a row that is no record.
    """
    return (record for _, record in rows_and_records(file))


def rows_and_records(file: StoredFile) -> Iterator[tuple[Row, AuditRecord]]:
    """Yield the rows of a stored audit log with their records, as ``read_records`` does."""
    for number, row in enumerate(file.rows(), start=1):
        with _intact(file, number):
            record = record_of_row(row)
        yield row, record


@contextlib.contextmanager
def _intact(file: StoredFile, number: int | None = None) -> Iterator[None]:
    """Say of a stored log that it was changed, where what stands in it is no head or record; nothing is quoted."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = "its head" if number is None else f"its record {number}"
        raise CorruptFileError(
            f"{file.path}: {what} is none ({type(error).__name__}); the file was changed or damaged: "
            "`spancheck audit verify` says where, restore it or record the place again"
        ) from None


def record_of_row(row: Mapping[str, Any]) -> AuditRecord:
    """Return the record of a row of ``audit_log``.

    Raises:
        ValueError, KeyError, TypeError: for a row that is no record.
    """
    verdicts = tuple(AuditVerdict(**item) for item in row["verdicts"] or ())
    signed = tuple(AuditDisposition(**item) for item in row["dispositions"] or ())
    asked, answered = case_from_audit_row(row), captured_from_row(row)
    return record_of(asked, answered, cost=row["cost_usd"], cells=row["scores"], verdicts=verdicts, dispositions=signed)


def record_of(
    case: Case,
    row: CapturedRow,
    *,
    cost: float | None,
    cells: Sequence[Mapping[str, Any]],
    verdicts: Sequence[AuditVerdict],
    dispositions: Sequence[AuditDisposition],
) -> AuditRecord:
    """Return the record of a case × epoch; ``cells`` are its scores, as ``audit_log`` holds them."""
    return AuditRecord(
        case=case,
        question_digest=case.question_digest,
        label_digest=case.label_digest,
        call=row,
        cost_usd=cost,
        scores=tuple(AuditScore(**{**item, "findings": item["findings"] or ()}) for item in cells),
        verdicts=tuple(verdicts),
        dispositions=tuple(dispositions),
    )
