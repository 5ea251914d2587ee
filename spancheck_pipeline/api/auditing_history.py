"""Every decision that was made about a place: who, when, why, on which grader specs, and where its record is."""

from __future__ import annotations

from dataclasses import dataclass

from spancheck_pipeline.api.recording import read_seals
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.tables import AUDIT_LOG, GATE, SCORES


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderThen:
    """A grader as it was when a decision was made."""

    version: str
    spec_digest: str
    spec: dict[str, object] | None
    """The whole readable spec; None where its scores are not kept any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDecision:
    """One decision about a place."""

    decision: GateDecision
    graders: dict[str, GraderThen]
    """Grader → what made the scores that the decision rests on."""
    head: str | None
    """Head of its audit log's chain; None where the log was never written or sealed."""
    is_recorded: bool
    """Whether its audit log is kept, so that it can be exported as it was decided."""


def decision_history(store: Store, place: Place) -> tuple[PastDecision, ...]:
    """Return every kept decision about a place, the first one first.

    Raises:
        MissingDataError: when there is none.
    """
    gates = store.revisions(place, GATE)
    if not gates:
        raise MissingDataError(f"{place}: no decision is stored")
    logs = {file.metadata.get("gate"): file for file in store.revisions(place, AUDIT_LOG)}
    return tuple(_past(store, place, gate, logs.get(gate.content_digest)) for gate in gates)


def _past(store: Store, place: Place, gate: StoredFile, log: StoredFile | None) -> PastDecision:
    decision = GateDecision.model_validate(gate.document())
    sealed = read_seals(store, place, log) if log else None
    graders = {
        name.partition("/")[2]: _then(store, place, name.partition("/")[2], digest)
        for name, digest in decision.inputs.items()
        if name.startswith(f"{SCORES.name}/")
    }
    return PastDecision(
        decision=decision, graders=graders, head=sealed.seal.head if sealed else None, is_recorded=log is not None
    )


def _then(store: Store, place: Place, grader: str, content_digest: str) -> GraderThen:
    try:
        file = store.open_by_digest(place, SCORES, content_digest, grader)
    except MissingDataError:
        return GraderThen(version="not kept", spec_digest="", spec=None)
    spec = file.grader_spec
    return GraderThen(version=str(spec["version"]), spec_digest=file.metadata["spec_digest"], spec=spec)
