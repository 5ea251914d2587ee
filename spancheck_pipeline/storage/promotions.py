"""Promotions in storage: small JSON files that are written once and never again.

    baselines/suite=<s>/kind=<release|last_good>/<number>_<date>.json
    seals/baselines/suite=<s>/kind=<…>/<number>_<digest>[_<key id>].json       the seal of each, kept apart from it

What a promotion says, and which one counts for a date, lives in ``decision/promotion.py``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock

from spancheck_pipeline.decision.names import check_name
from spancheck_pipeline.decision.promotion import Kind, Promotion, PromotionKey, PromotionSeal
from spancheck_pipeline.errors import CorruptFileError, StorageError
from spancheck_pipeline.storage.contract_documents import read_document, write_document
from spancheck_pipeline.storage.lock import waited_for
from spancheck_pipeline.storage.store import Store

_WAIT_S: Final = 120.0
_NAME = re.compile(r"(\d{5,9})_(\d{4}-\d\d-\d\d)\.json")
_PLAIN = re.compile(r"[A-Za-z0-9_.=\-]+")
_SEAL_NAME = re.compile(r"(\d{5,9})_[0-9a-f]{16}(?:_[0-9a-f]{16})?\.json")


def promotions(store: Store, suite: str, kind: Kind) -> tuple[PromotionKey, ...]:
    """Return what was promoted of a suite, in the order of recording; only names are read."""
    names = (path.rpartition("/")[2] for path in store.filesystem.glob(f"{_folder(store, suite, kind)}/*.json"))
    found = (_NAME.fullmatch(name) for name in names)
    return tuple(sorted(PromotionKey(int(match.group(1)), match.group(2)) for match in found if match))


def read_promotion(store: Store, suite: str, kind: Kind, key: PromotionKey) -> Promotion:
    """Return one promotion.

    Raises:
        ContractError: for a file of another contract.
        CorruptFileError: for one that is not a promotion.
    """
    path = _path(store, suite, kind, key)
    found = read_document(store, path, Promotion, "promotion")
    if (found.suite, found.kind, found.number, found.date) != (suite, kind, *key):
        raise CorruptFileError(f"{path}: is another promotion, by what it says itself; restore the one of this place")
    return found


def promotion_seals(store: Store, suite: str, kind: Kind) -> dict[int, list[str]]:
    """Return the paths of the seals of a suite's promotions, by the number that their names say."""
    found: dict[int, list[str]] = {}
    for path in sorted(store.filesystem.glob(f"{_seals(store, suite, kind)}/*.json")):
        if match := _SEAL_NAME.fullmatch(path.rpartition("/")[2]):
            found.setdefault(int(match.group(1)), []).append(str(path))
    return found


def stray_names(store: Store, suite: str, kind: Kind) -> list[str]:
    """Return a sentence for every file beside a suite's promotions, or beside their seals, that is none of them."""
    return [
        f"{folder}: {name[:80] if _PLAIN.fullmatch(name) else 'a file'} is none of ours; move it away"
        for folder, pattern in ((_folder(store, suite, kind), _NAME), (_seals(store, suite, kind), _SEAL_NAME))
        for name in store.names(folder)
        if not pattern.fullmatch(name) and not name.startswith(".")  # what a writer that was killed left
    ]


def read_promotion_seal(store: Store, path: str) -> PromotionSeal:
    """Return the seal of a promotion.

    Raises:
        ContractError, CorruptFileError: for a file that is none.
    """
    return read_document(store, path, PromotionSeal, "seal of a promotion")


def keep_promotion_seal(store: Store, seal: PromotionSeal) -> None:
    """Write the seal of a promotion; one that is there already is left as it is.

    Raises:
        StorageError: when it cannot be written.
    """
    key = f"_{seal.signature.key_id}" if seal.signature else ""
    name = f"{seal.number:05d}_{seal.digest[:16]}{key}.json"
    path = f"{_seals(store, seal.suite, seal.promotion_kind)}/{name}"
    if not store.filesystem.exists(path):
        write_document(store, path, seal)


def record_promotion(store: Store, promotion: Promotion) -> Promotion:
    """Write a promotion under the next number of its kind and suite, and return it with that number.

    Raises:
        StorageError: when it cannot be written.
    """
    with _alone(store, promotion.suite):
        taken = promotions(store, promotion.suite, promotion.kind)
        numbered = promotion.model_copy(update={"number": 1 + max((key.number for key in taken), default=0)})
        path = _path(store, promotion.suite, promotion.kind, PromotionKey(numbered.number, numbered.date))
        write_document(store, path, numbered)
    return numbered


def _folder(store: Store, suite: str, kind: Kind) -> str:
    return f"{store.root}/baselines/suite={check_name(suite)}/kind={kind}"


def _seals(store: Store, suite: str, kind: Kind) -> str:
    return f"{store.root}/seals/baselines/suite={check_name(suite)}/kind={kind}"


def _path(store: Store, suite: str, kind: Kind, key: PromotionKey) -> str:
    return f"{_folder(store, suite, kind)}/{key.number:05d}_{key.date}.json"


def _alone(store: Store, suite: str) -> contextlib.AbstractContextManager[object]:
    """Let one process at a time number promotions, after waiting for whoever does."""
    if not store.is_local:
        return waited_for(store.lock(f"baselines/suite={check_name(suite)}", "promote"), at_most_s=_WAIT_S)
    return _local_lock(Path(store.root) / "_locks" / "baselines.lock")


@contextlib.contextmanager
def _local_lock(lock: Path) -> Iterator[None]:
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=_WAIT_S):
            yield
    except OSError as error:
        raise StorageError(f"{lock}: cannot be locked ({type(error).__name__}); check the storage") from None
