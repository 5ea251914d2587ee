"""The audit log of a decided place: put together from the stored files, row by row, in bounded memory, and sealed.

Exporting and checking what is stored lives in ``auditing.py``.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from spancheck_pipeline import __version__
from spancheck_pipeline.api.deciding import read_comparisons
from spancheck_pipeline.api.environment import signing_key
from spancheck_pipeline.api.facts import Evidence, open_evidence
from spancheck_pipeline.api.trusting import relied_on
from spancheck_pipeline.decision.audit import (
    AuditHead,
    AuditRecord,
    AuditScore,
    AuditVerdict,
    chained,
    entry_of,
)
from spancheck_pipeline.decision.audit_chain import KEY_BYTES, Chain
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import CorruptFileError, MissingDataError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, cost_usd
from spancheck_pipeline.storage.seals import keep_seal, seals
from spancheck_pipeline.storage.signing import Signer, load_signer
from spancheck_pipeline.storage.store import Place, Published, Store, StoredFile
from spancheck_pipeline.storage.tables import (
    AUDIT_LOG,
    CAPTURED_RUN,
    CASES,
    COMPARISON,
    GATE,
    JUDGE_VERDICTS,
    SCORECARD,
    Row,
    audit_row,
    captured_from_row,
    case_from_audit_row,
    case_from_row,
)


def record_place(
    store: Store, place: Place, suite: Suite, graders: Sequence[str], *, created_at: dt.datetime
) -> Published:
    """Write the audit log of a place and its seal: its head in the file's metadata, one row per case × epoch.

    It repeats what was captured, graded and decided; it never measures again. What is recorded already in the same
    words is not written again, and keeps its chain.

    Raises:
        MissingDataError: when the decision is missing, or rests on something else than what is stored.
        UsageError: when the environment names a key to sign with that cannot be used.
    """
    signer = _signer()
    evidence = open_evidence(store, place, graders)
    gate = store.open(place, GATE)
    head = _as_recorded(store, place, _head(store, place, evidence, gate, created_at=created_at))
    assert head.chain is not None
    assert head.chain.key is not None
    chain = Chain(bytes.fromhex(head.chain.key))
    chain.start(head.model_dump(mode="json"))
    published = store.publish(
        place,
        AUDIT_LOG,
        _rows(store, place, suite, evidence, chain),
        identity={**head.inputs, "graders": head.graders},
        metadata={"run_id": head.run_id, "suite": place.suite, "gate": gate.content_digest},
        document=lambda _revision, _digest: head.model_dump(mode="json"),
    )
    seal = _seal(head, chain, published.revision)
    keep_seal(store, place, signer.sign(seal) if signer else seal)
    return published


def _signer() -> Signer | None:
    """Return who signs, before anything is written: a key that cannot be used stops here."""
    key = signing_key()
    return load_signer(key.path, key.passphrase) if key else None


def _seal(head: AuditHead, chain: Chain, revision: int) -> Seal:
    assert head.chain is not None
    return Seal(
        schema_version=head.schema_version,
        suite=head.suite,
        date=head.date,
        run_id=head.run_id,
        revision=revision,
        header=head.chain.digest,
        head=chain.head,
        n_records=chain.n_records,
        sealed_at=dt.datetime.now(dt.UTC),
        package_version=__version__,
    )


def _as_recorded(store: Store, place: Place, head: AuditHead) -> AuditHead:
    """Return a head with the start of its chain: that of the log which stands there, where it says the same.

    When it was put together and by which version of this package are no news; with them the log keeps its key, so that
    the same record has the same digests. A new record gets a key of its own.
    """
    if store.exists(place, AUDIT_LOG):
        there = read_head(store.open(place, AUDIT_LOG))
        same = head.model_copy(
            update={"created_at": there.created_at, "package_version": there.package_version, "chain": there.chain}
        )
        if there == same and _is_chained_as_today(there):
            return there
    return chained(head, Chain(secrets.token_bytes(KEY_BYTES)))


def _is_chained_as_today(head: AuditHead) -> bool:
    """Return whether a head's digest is what it would be now; one of an earlier version may lack a field."""
    if head.chain is None or head.chain.key is None:
        return False
    start = Chain(bytes.fromhex(head.chain.key)).start(head.model_dump(mode="json"))
    return start.digest == head.chain.digest


def _head(store: Store, place: Place, evidence: Evidence, gate: StoredFile, *, created_at: dt.datetime) -> AuditHead:
    scorecard, comparison = store.open(place, SCORECARD), store.open(place, COMPARISON)
    decision = GateDecision.model_validate(gate.document())
    rests_on = {
        **evidence.digests(),
        "scorecard": scorecard.content_digest,
        "comparison": comparison.content_digest,
    }
    if "judge_verdicts" in decision.inputs and store.exists(place, JUDGE_VERDICTS):
        rests_on["judge_verdicts"] = store.open(place, JUDGE_VERDICTS).content_digest
    # It also names the calibrations that it saw; a newer one does not undo what was decided.
    calibrations = {name: value for name, value in decision.inputs.items() if name.startswith("calibration/")}
    if decision.inputs != {**rests_on, **calibrations}:
        raise MissingDataError(f"{place}: the decision rests on other scores than those stored; decide again first")
    manifest = Manifest.model_validate(evidence.captured.document())
    summary = ScorecardDocument.model_validate(scorecard.document())
    return AuditHead(
        package_version=__version__,
        run_id=manifest.run_id,
        suite=place.suite,
        date=place.date,
        config=decision.config,
        created_at=created_at,
        manifest=manifest,
        decision=decision,
        summary=summary,
        comparisons=read_comparisons(comparison),
        graders={name: file.grader_spec for name, file in evidence.scores.items()},
        calibration=relied_on(store, summary, calibrations),
        inputs={**rests_on, **calibrations, "gate": gate.content_digest},
    )


def _rows(store: Store, place: Place, suite: Suite, evidence: Evidence, chain: Chain) -> Iterator[Row]:
    """Walk cases, captured rows and every grader's scores side by side: they stand in the same order."""
    streams = {name: file.rows() for name, file in evidence.scores.items()}
    asked = _asked(evidence)
    verdicts = _verdicts(store, place)
    for captured in evidence.captured.rows():
        row = captured_from_row(captured)
        case = asked(row)
        cells = []
        for name, stream in streams.items():
            score = next(stream, None)
            if score is None or (score["case_id"], score["epoch"]) != row.key:
                raise CorruptFileError(
                    f"{evidence.scores[name].path}: does not follow the captured run row by row; score the place again"
                )
            cells.append({"grader": name, **{key: score[key] for key in _SCORE_CELLS}})
        cost = cost_usd(row.output, suite.prices) if row.output else None
        given = verdicts.get(row.key, ())
        record = _record(case, row, cost, cells, given)
        entry, _ = entry_of(record, chain)
        yield audit_row(
            case,
            row,
            run_id=evidence.captured.run_id,
            cost_usd=cost,
            scores=cells,
            verdicts=[{**verdict.model_dump(), "graders": list(verdict.graders)} for verdict in given],
            previous_digest=entry["chain"]["previous"],
            record_digest=entry["chain"]["digest"],
        )


_SCORE_CELLS = ("grader_version", "spec_digest", "outcome", "value", "reason_code", "reason", "findings")


def _asked(evidence: Evidence) -> Any:
    """Return the look-up of a row's case: the snapshot is walked along with the rows, one case in memory at a time."""
    stream = (case_from_row(row) for row in evidence.cases.rows())
    current: list[Case] = []

    def case_of(row: CapturedRow) -> Case:
        while not current or current[0].id != row.case_id:
            following = next(stream, None)
            if following is None:
                raise CorruptFileError(
                    f"{evidence.captured.path}: its rows do not follow the cases of {evidence.cases.path}; restore both"
                )
            current[:] = [following]
        return current[0]

    return case_of


def _verdicts(store: Store, place: Place) -> Mapping[tuple[str, int], tuple[AuditVerdict, ...]]:
    """Return what judges replied about each case × epoch, where the place has verdicts; without the raw replies."""
    if not store.exists(place, JUDGE_VERDICTS):
        return {}
    found: dict[tuple[str, int], list[AuditVerdict]] = defaultdict(list)
    names = [name for name in AuditVerdict.model_fields if name != "graders"]
    for row in store.open(place, JUDGE_VERDICTS).rows([*names, "uses"]):
        by_answer: dict[tuple[str, int], list[str]] = defaultdict(list)
        for use in row["uses"] or ():
            by_answer[use["case_id"], use["epoch"]].append(use["grader"])
        for key, graders in by_answer.items():
            fields = {name: row[name] for name in names}
            found[key].append(AuditVerdict(graders=tuple(sorted(set(graders))), **fields))
    return {key: tuple(verdicts) for key, verdicts in found.items()}


def _record(
    case: Case,
    row: CapturedRow,
    cost: float | None,
    cells: Sequence[Mapping[str, Any]],
    verdicts: Sequence[AuditVerdict],
) -> AuditRecord:
    return AuditRecord(
        case=case,
        question_digest=case.question_digest,
        label_digest=case.label_digest,
        call=row,
        cost_usd=cost,
        scores=tuple(AuditScore(**{**item, "findings": item["findings"] or ()}) for item in cells),
        verdicts=tuple(verdicts),
    )


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
    # As the head says, which the chain covers; the file's own metadata is compared with it by ``audit verify``.
    rests_on = read_head(log).inputs
    for table in (CAPTURED_RUN, CASES):
        if store.exists(place, table) and store.open(place, table).content_digest != rests_on.get(table.name):
            what = "capture" if table is CAPTURED_RUN else "cases snapshot"
            raise MissingDataError(
                f"{place}: the latest decision is about another {what} than the one that stands there now; decide "
                "again first (`spancheck nightly`, or `spancheck score --regrade`), or read it with --as-decided N"
            )
    return log


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
    return _record(case_from_audit_row(row), captured_from_row(row), row["cost_usd"], row["scores"], verdicts)
