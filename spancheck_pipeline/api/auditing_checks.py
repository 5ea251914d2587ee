"""Checking audit logs: an exported file against its seal, a stored log also against the files that it was made from.

All of it streams. Following a chain lives in ``decision/audit_check.py``, writing files in ``auditing.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from spancheck_pipeline.api.auditing import check_version, entries_of, key_of, seal_path_of
from spancheck_pipeline.api.recording import open_audit_log, read_seals
from spancheck_pipeline.decision.audit_chain import Chain
from spancheck_pipeline.decision.audit_check import ChainCheck, Checked
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.errors import ConfigError, MissingDataError, Problem
from spancheck_pipeline.evidence.run import Manifest
from spancheck_pipeline.storage.audit_files import BrokenLogError, log_pieces, read_header
from spancheck_pipeline.storage.digests import content_fault
from spancheck_pipeline.storage.seals import read_seal
from spancheck_pipeline.storage.signing import wrong_signature
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.tables import (
    CAPTURED_RUN,
    CASES,
    COMPARISON,
    GATE,
    JUDGE_VERDICTS,
    SCORECARD,
    SCORES,
    Table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What checking a log came to. Sentences with ids, numbers and digests, no text."""

    name: str
    checked: Checked
    seal: Seal | None
    """What it was compared with."""
    faults: tuple[str, ...]
    """Everything that is wrong, the first record of the chain first; empty where the log is as it was written."""
    notes: tuple[str, ...]
    """What a reader should know: what it was not compared with, who signed, what was left out."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def verify_file(
    path: Path, *, seal: Path | None = None, head: str | None = None, public_key: bytes | None = None
) -> Verified:
    """Check an exported log: its chain, and what it is known by from elsewhere.

    ``seal`` defaults to the file beside it, where there is one.

    Raises:
        ConfigError: for a file that is no audit log, or has no chain.
        ContractError: for another schema version.
    """
    header = read_header(path)
    check_version(header, str(path))
    if not isinstance(header.get("chain"), dict):
        what = "has no chain: it was never chained, or its chain was taken out"
        raise ConfigError(str(path), [Problem(what=what, fix="export the log again")])
    if seal is None and seal_path_of(path).is_file():
        seal = seal_path_of(path)
    known = read_seal(seal) if seal else None
    check = ChainCheck(header["chain"])
    fields: dict[str, Any] = {}
    try:
        for piece in log_pieces(path):
            if piece.kind == "record":
                check.record(piece.value)
            elif piece.kind == "text":
                check.text(piece.name, piece.value)
            else:
                fields[piece.name] = piece.value
    except BrokenLogError as error:
        check.unreadable(str(error))
    checked = check.finish(fields or header, seal=known, head=head)
    return _verified(str(path), checked, known, head=head, public_key=public_key)


def verify_place(
    store: Store,
    place: Place,
    *,
    as_decided: int | None = None,
    seal: Path | None = None,
    head: str | None = None,
    public_key: bytes | None = None,
) -> Verified:
    """Check a stored audit log against its seal, and every file that it was made from against its content digest.

    Raises:
        MissingDataError: when there is no such log, or it has no chain.
    """
    file = open_audit_log(store, place, as_decided=as_decided)
    header = file.document()
    key = key_of(header, file.path)
    sealed = read_seals(store, place, file)
    known = read_seal(seal) if seal else sealed.seal if sealed else None
    check = ChainCheck(header["chain"])
    salts = Chain(key)
    seen: set[str] = set()
    for entry, texts in entries_of(file, key):
        for name, text in texts.items():
            if name not in seen:
                seen.add(name)
                check.text(name, {"salt": salts.text_salt(text), "text": text})
        check.record(entry)
    checked = check.finish(header, seal=known, head=head)
    more = [*_rival_seals(known, sealed.others if sealed else ()), *_stored_faults(store, place, file, header)]
    return _verified(str(place), checked, known, head=head, public_key=public_key, more=more)


def _rival_seals(known: Seal | None, others: tuple[Seal, ...]) -> Iterator[str]:
    for other in others:
        if known is not None and other.head != known.head:
            yield (
                f"there are two seals of revision {other.revision}, one over {known.head[:16]}… and one over "
                f"{other.head[:16]}…: the log was replaced"
            )


def _verified(
    name: str,
    checked: Checked,
    seal: Seal | None,
    *,
    head: str | None,
    public_key: bytes | None,
    more: list[str] | None = None,
) -> Verified:
    faults = [checked.fault.text()] if checked.fault else []
    notes: list[str] = []
    if seal is None and head is None:
        notes.append(
            "neither a seal nor a head was given: whoever wrote the whole log anew is not noticed; compare the head "
            "with the one that was printed or stored when the log was made"
        )
    if public_key is not None and seal is None:
        faults.append("a public key was given, and there is no seal that it could have signed")
    elif seal is not None and (seal.signature or public_key is not None):
        if wrong := wrong_signature(seal, public_key):
            faults.append(wrong)
        elif seal.signature:
            trusted = "the key given" if public_key else "a key that was not compared with one of yours (--public-key)"
            notes.append(f"the seal is signed, key {seal.signature.key_id}: {trusted}")
    if checked.redacted or checked.n_withheld:
        notes.append(
            f"a redacted copy ({', '.join(checked.redacted) or 'not marked as one'}): {checked.n_withheld} fields and "
            "passages are left out"
        )
    return Verified(name=name, checked=checked, seal=seal, faults=(*faults, *(more or ())), notes=tuple(notes))


# -- stored files -----------------------------------------------------------------------------------------------


def _stored_faults(store: Store, place: Place, log: StoredFile, header: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the files that a log was made from, and with the log's own file."""
    if fault := content_fault(log):
        yield fault
    for name, content_digest in header.get("inputs", {}).items():
        table, grader = _table_of(name)
        if table is None:
            continue
        try:
            file = store.open_by_digest(place, table, content_digest, grader)
        except MissingDataError as error:
            yield str(error)
            continue
        if fault := content_fault(file):
            yield fault
        yield from _document_faults(file, name, header)


_BY_NAME: dict[str, Table] = {
    table.name: table for table in (CASES, CAPTURED_RUN, JUDGE_VERDICTS, SCORECARD, COMPARISON, GATE)
}


def _table_of(name: str) -> tuple[Table | None, str | None]:
    kind, _, grader = name.partition("/")
    return (SCORES, grader) if kind == SCORES.name and grader else (_BY_NAME.get(name), None)


def _document_faults(file: StoredFile, name: str, header: Mapping[str, Any]) -> Iterator[str]:
    """Compare the document in a file's metadata, which no content digest covers, with the one in the sealed header."""
    if name in _DOCUMENTS:
        what, field, model = _DOCUMENTS[name]
        there, sealed = file.document(), header.get(field)
    elif name == COMPARISON.name:
        what, model = "comparisons", _Comparisons
        there, sealed = file.document(), {"comparisons": header.get("comparisons")}
        there.pop("contract", None)
    elif name.startswith(f"{SCORES.name}/"):
        what, model = "grader spec", None
        there, sealed = file.grader_spec, header.get("graders", {}).get(name.partition("/")[2])
    else:
        return
    if not _is_same(there, sealed, model):
        yield f"{file.path}: the {what} in its metadata is not the one that the audit log records"


class _Comparisons(BaseModel):
    comparisons: tuple[ComparisonDocument, ...]


_DOCUMENTS: dict[str, tuple[str, str, type[BaseModel]]] = {
    CAPTURED_RUN.name: ("manifest", "manifest", Manifest),
    SCORECARD.name: ("scorecard", "summary", ScorecardDocument),
    GATE.name: ("decision", "decision", GateDecision),
}
"""Table → what its document is called, where the audit log's header has it, and what it is."""


def _is_same(there: Any, sealed: Any, model: type[BaseModel] | None) -> bool:
    """Return whether two documents say the same; a field that only a later version writes stands at its default."""
    if model is None or there == sealed:
        return bool(there == sealed)
    try:
        return model.model_validate(there) == model.model_validate(sealed)
    except ValidationError:
        return False


__all__ = ["Verified", "verify_file", "verify_place"]
