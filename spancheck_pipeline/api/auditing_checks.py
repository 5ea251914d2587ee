"""Checking audit logs: what a check comes to, and an exported file against its seal. All of it streams.

A stored log is checked in ``auditing_place.py``. Following a chain lives in ``decision/audit_check.py``, writing files
in ``auditing.py``.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spancheck_pipeline.api.auditing import seal_path_of
from spancheck_pipeline.decision.audit_check import ChainCheck, Checked
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.errors import ConfigError, Problem
from spancheck_pipeline.storage.audit_files import BrokenLogError, check_version, log_pieces, read_header
from spancheck_pipeline.storage.seals import read_seal
from spancheck_pipeline.storage.signing import wrong_signature


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
    return verified(str(path), checked, known, head=head, public_key=public_key, created_at=created_at)


def verified(
    name: str,
    checked: Checked,
    seal: Seal | None,
    *,
    head: str | None,
    public_key: bytes | None,
    created_at: object,
    more: list[str] | None = None,
) -> Verified:
    """Return what following a chain and comparing it with a seal came to; ``more`` is what else is wrong.

    Without ``more`` the log is a file that lies by itself.
    """
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
    if seal is not None and not seal.is_whole and more is None:
        faults.append("the seal is not what its checksum is of; it was changed or damaged")
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


__all__ = ["Verified", "verified", "verify_file"]
