"""Promotions in storage: small JSON files that are written once and never again.

    baselines/suite=<s>/kind=<release|last_good>/<number>_<date>.json

What a promotion says, and which one counts for a date, lives in ``decision/promotion.py``.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock
from pydantic import ValidationError

from spancheck_pipeline.decision.promotion import Kind, Promotion, PromotionKey
from spancheck_pipeline.decision.suite import check_name
from spancheck_pipeline.errors import ContractError, CorruptFileError, StorageError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.documents import write_text
from spancheck_pipeline.storage.lock import waited_for
from spancheck_pipeline.storage.object_files import reaching
from spancheck_pipeline.storage.store import Store

_WAIT_S: Final = 120.0
_NAME = re.compile(r"(\d{5,9})_(\d{4}-\d\d-\d\d)\.json")


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
    try:
        document = json.loads(store.filesystem.cat_file(path).decode())
    except (OSError, ValueError) as error:
        raise CorruptFileError(f"{path}: not a readable promotion ({type(error).__name__}); restore it") from None
    contract = document.get("contract") if isinstance(document, dict) else None
    if contract != CONTRACT:
        raise ContractError(path, found=contract, known=CONTRACT)
    try:
        return Promotion.model_validate(document)
    except ValidationError:
        raise CorruptFileError(f"{path}: not a promotion of this version; restore it") from None


def record_promotion(store: Store, promotion: Promotion) -> Promotion:
    """Write a promotion under the next number of its kind and suite, and return it with that number.

    Raises:
        StorageError: when it cannot be written.
    """
    with _alone(store, promotion.suite):
        taken = promotions(store, promotion.suite, promotion.kind)
        numbered = promotion.model_copy(update={"number": 1 + max((key.number for key in taken), default=0)})
        path = _path(store, promotion.suite, promotion.kind, PromotionKey(numbered.number, numbered.date))
        text = json.dumps(numbered.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
        if store.is_local:
            write_text(Path(path), text)
        else:
            with reaching(path):
                store.filesystem.pipe_file(path, text.encode())
    return numbered


def _folder(store: Store, suite: str, kind: Kind) -> str:
    return f"{store.root}/baselines/suite={check_name(suite)}/kind={kind}"


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
