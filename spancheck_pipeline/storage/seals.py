"""Seals in storage: small JSON files beside no table, written once and never again.

    seals/<folder of the audit log>/<revision>_<head>.json            unsigned
    seals/<folder of the audit log>/<revision>_<head>_<key id>.json   signed

Who may write audit logs need not be allowed to write over these: a bucket can hold this prefix under an object lock.
What a seal says lives in ``decision/audit_seal.py``.
"""

from __future__ import annotations

import re
from pathlib import Path

from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.errors import ConfigError, ContractError, CorruptFileError, Problem
from spancheck_pipeline.storage.contract_documents import parsed, read_document, write_document
from spancheck_pipeline.storage.store import Night, Place, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG

_NAME = re.compile(r"(\d{5,9})_([0-9a-f]{16})(?:_([0-9a-f]{16}))?\.json")


def seals(store: Store, place: Place, revision: int) -> tuple[Seal, ...]:
    """Return every seal of one revision of a place's audit log; more than one head among them is a sign of tampering.

    Raises:
        ContractError, CorruptFileError: for a file that is no seal of this version.
    """
    found = sorted(store.filesystem.glob(f"{_folder(store, place)}/{revision:05d}_*.json"))
    return tuple(read_document(store, path, Seal, "seal") for path in found)


def place_seals(store: Store, place: Place) -> tuple[dict[int, tuple[Seal, ...]], tuple[str, ...]]:
    """Return every seal of a place that can be read, by revision, and what is wrong with the others.

    A seal that its own name or its place belies is a fault, as is a file that is none.
    """
    folder = _folder(store, place)
    found: dict[int, list[Seal]] = {}
    faults: list[str] = []
    for name in store.names(folder):
        if name.startswith("."):  # what a writer that was killed left beside a seal
            continue
        path = f"{folder}/{name}"
        match = _NAME.fullmatch(name)
        if match is None:
            shown = name if re.fullmatch(r"[A-Za-z0-9_.=\-]{1,80}", name) else "a file of another name"
            faults.append(f"{folder}: {shown} is no seal; move it away")
            continue
        try:
            seal = read_document(store, path, Seal, "seal")
        except CorruptFileError as error:
            faults.append(f"{str(error).partition('; ')[0]}: it was changed or damaged")
            continue
        except ContractError as error:
            faults.append(str(error))
            continue
        key_id = seal.signature.key_id if seal.signature else None
        own = (seal.revision or 0, seal.head[:16], key_id) == (int(match[1]), match[2], match[3])
        if not own or (place.date is not None and (seal.suite, seal.date) != (place.suite, place.date)):
            faults.append(f"{path}: is the seal of another log, by what it says itself; it was changed, or put here")
        if not seal.is_whole:
            faults.append(f"{path}: the seal is not what its checksum is of; it was changed or damaged")
        if own:
            found.setdefault(int(match[1]), []).append(seal)
    return {revision: tuple(found[revision]) for revision in sorted(found)}, tuple(faults)


def sealed_dates(store: Store, suite: str) -> tuple[str, ...]:
    """Return the dates of a suite on which a log was sealed, in order."""
    folder = _folder(store, Night(suite, "2000-01-01")).rpartition("/")[0]
    found = (
        re.search(r"/date=(\d{4}-\d\d-\d\d)/", str(path)) for path in store.filesystem.glob(f"{folder}/date=*/*.json")
    )
    return tuple(sorted({match.group(1) for match in found if match}))


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
    write_document(store, path, seal)
    return path


def read_seal(path: Path) -> Seal:
    """Return the seal of a file that a user names.

    Raises:
        ConfigError: for a file that cannot be read, or is no seal.
        ContractError: for one of another contract.
    """
    try:
        return parsed(path.read_bytes(), str(path), Seal, "seal")
    except (OSError, CorruptFileError) as error:
        raise ConfigError(str(path), [Problem(what=f"not a readable seal ({type(error).__name__})")]) from None


def _folder(store: Store, place: Place) -> str:
    return f"{store.root}/seals/{place.folder(AUDIT_LOG.name, None)}"
