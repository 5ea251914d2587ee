"""Checking audit logs: an exported file against its seal, a stored log also against the files that it was made from.

All of it streams. Following a chain lives in ``decision/audit_check.py``, writing files in ``auditing.py``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spancheck_pipeline.api.auditing import check_version, header_of, key_of, seal_path_of
from spancheck_pipeline.api.auditing_sources import source_faults
from spancheck_pipeline.api.auditing_stored import metadata_faults, stored_entries
from spancheck_pipeline.api.recording import open_audit_log, read_seals
from spancheck_pipeline.decision.audit_chain import Chain
from spancheck_pipeline.decision.audit_check import ChainCheck, Checked, What
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.errors import ConfigError, Problem
from spancheck_pipeline.storage.audit_files import BrokenLogError, log_pieces, read_header
from spancheck_pipeline.storage.digests import content_fault
from spancheck_pipeline.storage.seals import read_seal, sealed_revisions
from spancheck_pipeline.storage.signing import wrong_signature
from spancheck_pipeline.storage.store import Place, Store, StoredFile


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
    if str(header.get("schema_version")).startswith("1."):
        what = "is of the earlier library's schema 1.0, which has no chain: nothing can be verified about it"
        raise ConfigError(str(path), [Problem(what=what, fix="keep an export of schema 2.0 where it must be")])
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
    created_at = header.get("created_at")
    return _verified(str(path), checked, known, head=head, public_key=public_key, created_at=created_at)


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
        CorruptFileError: for a file that is no audit log any more.
    """
    file = open_audit_log(store, place, as_decided=as_decided)
    header = header_of(file)
    key = key_of(header, file.path)
    sealed = read_seals(store, place, file)
    known = read_seal(seal) if seal else sealed.seal if sealed else None
    check = ChainCheck(header["chain"])
    salts = Chain(key)
    seen: set[str] = set()
    for entry, texts, why in stored_entries(file, header, key):
        for name, text in texts.items():
            if name not in seen:
                seen.add(name)
                check.text(name, {"salt": salts.text_salt(text), "text": text})
        check.record(entry, why)
    checked = check.finish(header, seal=known, head=head)
    more = [
        *_seal_faults(
            store, place, file, is_current=as_decided is None, is_known=known is not None or head is not None
        ),
        *_rival_seals(known, sealed.others if sealed else ()),
        *metadata_faults(file, header, place),
        *filter(None, [content_fault(file)]),
        *source_faults(store, place, file, header, is_in_order=_is_in_order(checked)),
    ]
    return _verified(
        str(place), checked, known, head=head, public_key=public_key, created_at=header.get("created_at"), more=more
    )


def _seal_faults(store: Store, place: Place, log: StoredFile, *, is_current: bool, is_known: bool) -> Iterator[str]:
    """Yield what the seals that lie there say against a log: which one is meant is not the log's own to say."""
    there = sealed_revisions(store, place)
    named = f"seals lie there of revision {', '.join(map(str, there))}" if there else "no seal of this place lies there"
    if log.revision not in there and not is_known:
        yield (
            f"the log, by its own metadata revision {log.revision}, has no seal ({named}): it was not written by this "
            "package, or its seal was removed, or never written; compare it with --head or --seal from elsewhere, or "
            "record the place again (spancheck score --regrade)"
        )
    if is_current and there and there[-1] > log.revision:
        yield f"revision {there[-1]} was sealed after this one, {log.revision}: a later log was removed or replaced"
    kept = re.search(r"/revision=(\d+)/", log.path)
    if kept and int(kept.group(1)) != log.revision:
        yield f"{log.path}: its metadata says revision {log.revision}; it was changed, or put in another's place"


def _is_in_order(checked: Checked) -> bool:
    """Return whether the records stand where they were written, so that they can be laid beside other files' rows."""
    return checked.fault is None or checked.fault.what in {What.CHANGED, What.HEADER, What.REWRITTEN}


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
    created_at: object,
    more: list[str] | None = None,
) -> Verified:
    faults = [checked.fault.text()] if checked.fault else []
    notes: list[str] = []
    if seal is None and head is None and more is None:
        notes.append(
            "neither a seal nor a head was given: whoever wrote the whole log anew is not noticed; compare the head "
            "with the one that was printed or stored when the log was made"
        )
    if seal is not None and seal.signature is None:
        notes.append("the seal is not signed: who can write it can also change the time that it gives")
    if seal is not None and _is_before(seal.sealed_at, created_at):
        when = seal.sealed_at.isoformat(timespec="seconds")
        faults.append(
            f"the seal gives {when} as its time, and the log says that it was put together later: {created_at}"
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


def _is_before(sealed_at: dt.datetime, created_at: object) -> bool:
    """Return whether a seal gives an earlier time than its log; a time that cannot be read is the chain's to find."""
    try:
        return sealed_at < dt.datetime.fromisoformat(str(created_at))
    except (ValueError, TypeError):
        return False


__all__ = ["Verified", "verify_file", "verify_place"]
