"""The audit log of a decided place: put together from the stored files, row by row, in bounded memory, and sealed.

Exporting and checking what is stored lives in ``auditing.py``.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spancheck_pipeline import __version__
from spancheck_pipeline.api.audit_logs import read_head, record_of
from spancheck_pipeline.api.deciding import read_comparisons
from spancheck_pipeline.api.dispositions import batches_of, disposition_cells, signed_of
from spancheck_pipeline.api.facts import Evidence, open_evidence
from spancheck_pipeline.api.named_files import named_files
from spancheck_pipeline.api.signers import own_signer
from spancheck_pipeline.api.trusting import relied_on
from spancheck_pipeline.decision.audit import AuditHead, AuditVerdict, chained, entry_of
from spancheck_pipeline.decision.audit_chain import KEY_BYTES, Chain, file_commitment, sealed_name
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import CorruptFileError, MissingDataError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, cost_usd
from spancheck_pipeline.storage.digests import file_digest
from spancheck_pipeline.storage.rows import Row, audit_row, captured_from_row, case_from_row
from spancheck_pipeline.storage.seals import keep_seal
from spancheck_pipeline.storage.store import Place, Published, Store, StoredFile
from spancheck_pipeline.storage.tables import AUDIT_LOG, COMPARISON, GATE, JUDGE_VERDICTS, SCORECARD


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
    signer = own_signer()
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
        _rows(store, place, suite, evidence, head=head, chain=chain),
        identity={**head.inputs, "graders": head.graders},
        metadata={"run_id": head.run_id, "suite": place.suite, "gate": gate.content_digest},
        document=lambda _revision, _digest: head.model_dump(mode="json"),
    )
    seal = _seal(store, place, head, chain, published)
    keep_seal(store, place, signer.sign(seal) if signer else seal)
    return published


def _seal(store: Store, place: Place, head: AuditHead, chain: Chain, published: Published) -> Seal:
    assert head.chain is not None
    return Seal(
        schema_version=head.schema_version,
        suite=head.suite,
        date=head.date,
        run_id=head.run_id,
        revision=published.revision,
        header=head.chain.digest,
        head=chain.head,
        n_records=chain.n_records,
        files={
            sealed_name(chain.key, name): file_commitment(chain.key, name, file_digest(file))
            for name, file in named_files(store, place, {**head.inputs, AUDIT_LOG.name: published.content_digest})
        },
        sealed_at=dt.datetime.now(dt.UTC),
        package_version=__version__,
    ).checked()


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
        inputs={**rests_on, **calibrations, **batches_of(summary.inputs), "gate": gate.content_digest},
    )


def _rows(
    store: Store, place: Place, suite: Suite, evidence: Evidence, *, head: AuditHead, chain: Chain
) -> Iterator[Row]:
    """Walk cases, captured rows and every grader's scores side by side: they stand in the same order."""
    streams = {name: file.rows() for name, file in evidence.scores.items()}
    asked = _asked(evidence)
    verdicts = _verdicts(store, place)
    signed = signed_of(store, place, head)
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
        dispositions = signed.of(row.case_id, row.epoch, cells)
        record = record_of(case, row, cost=cost, cells=cells, verdicts=given, dispositions=dispositions)
        entry, _ = entry_of(record, chain)
        yield audit_row(
            case,
            row,
            run_id=evidence.captured.run_id,
            cost_usd=cost,
            scores=cells,
            verdicts=[{**verdict.model_dump(), "graders": list(verdict.graders)} for verdict in given],
            dispositions=disposition_cells(dispositions),
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
