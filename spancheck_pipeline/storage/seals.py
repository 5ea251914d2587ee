"""Seals in storage: small JSON files beside no table, written once and never again.

    seals/<folder of the audit log>/<revision>_<head>.json            unsigned
    seals/<folder of the audit log>/<revision>_<head>_<key id>.json   signed

Who may write audit logs need not be allowed to write over these: a bucket can hold this prefix under an object lock.
What a seal says lives in ``decision/audit_seal.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.errors import ConfigError, ContractError, CorruptFileError, Problem
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.documents import write_text
from spancheck_pipeline.storage.object_files import reaching
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG


def seals(store: Store, place: Place, revision: int) -> tuple[Seal, ...]:
    """Return every seal of one revision of a place's audit log; more than one head among them is a sign of tampering.

    Raises:
        ContractError, CorruptFileError: for a file that is no seal of this version.
    """
    found = sorted(store.filesystem.glob(f"{_folder(store, place)}/{revision:05d}_*.json"))
    return tuple(_read(store, path) for path in found)


def sealed_revisions(store: Store, place: Place) -> tuple[int, ...]:
    """Return which revisions of a place's audit log have a seal, as the seals' names say; in order."""
    names = (
        path.rpartition("/")[2].partition("_")[0] for path in store.filesystem.glob(f"{_folder(store, place)}/*.json")
    )
    return tuple(sorted({int(name) for name in names if name.isdigit()}))


def keep_seal(store: Store, place: Place, seal: Seal) -> str:
    """Write a seal and return its path; one that is there already is left as it is.

    Raises:
        StorageError: when it cannot be written.
    """
    key = f"_{seal.signature.key_id}" if seal.signature else ""
    path = f"{_folder(store, place)}/{seal.revision or 0:05d}_{seal.head[:16]}{key}.json"
    if store.filesystem.exists(path):
        return path
    text = seal_text(seal)
    if store.is_local:
        write_text(Path(path), text)
        return path
    with reaching(path):
        store.filesystem.pipe_file(path, text.encode())
    return path


def seal_text(seal: Seal) -> str:
    """Return a seal as the text of its file."""
    return json.dumps(seal.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def read_seal(path: Path) -> Seal:
    """Return the seal of a file that a user names.

    Raises:
        ConfigError: for a file that cannot be read, or is no seal.
        ContractError: for one of another contract.
    """
    try:
        return _seal(path.read_bytes(), str(path))
    except (OSError, CorruptFileError) as error:
        raise ConfigError(str(path), [Problem(what=f"not a readable seal ({type(error).__name__})")]) from None


def _read(store: Store, path: str) -> Seal:
    try:
        return _seal(store.filesystem.cat_file(path), path)
    except OSError as error:
        raise CorruptFileError(f"{path}: not a readable seal ({type(error).__name__})") from None


def _seal(content: bytes, path: str) -> Seal:
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: not a readable seal ({type(error).__name__})") from None
    contract = document.get("contract") if isinstance(document, dict) else None
    if contract != CONTRACT:
        raise ContractError(path, found=contract, known=CONTRACT)
    try:
        return Seal.model_validate(document)
    except ValidationError:
        raise CorruptFileError(f"{path}: not a seal of this version") from None


def _folder(store: Store, place: Place) -> str:
    return f"{store.root}/seals/{place.folder(AUDIT_LOG.name, None)}"
