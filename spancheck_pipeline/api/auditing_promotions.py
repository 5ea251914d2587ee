"""Checking the promotions of a suite against their seals: who made which run a baseline, when and why."""

from __future__ import annotations

from collections.abc import Iterator

from spancheck_pipeline.api.auditing_sources import fault_of
from spancheck_pipeline.decision.promotion import KINDS, Promotion
from spancheck_pipeline.errors import StorageError
from spancheck_pipeline.storage.promotions import (
    promotion_seals,
    promotions,
    read_promotion,
    read_promotion_seal,
    stray_names,
)
from spancheck_pipeline.storage.signing import wrong_signature
from spancheck_pipeline.storage.store import Store


def promotion_faults(store: Store, suite: str) -> Iterator[str]:
    """Yield what is wrong with a suite's promotions: rewritten, gone, without a seal, of another suite or number.

    A signature is checked with the key that it carries: people pin releases elsewhere than the nights are signed.
    """
    for kind in KINDS:
        yield from stray_names(store, suite, kind)
        seals = promotion_seals(store, suite, kind)
        there = {key.number: key for key in promotions(store, suite, kind)}
        for number in sorted({*seals, *there, *range(1, max([0, *seals, *there]))}):
            name = f"promotion {number} ({kind.replace('_', ' ')}) of {suite}"
            promotion: Promotion | None = None
            if number in there:
                try:
                    promotion = read_promotion(store, suite, kind, there[number])
                except StorageError as error:
                    yield f"{name}: {fault_of(error)}"
            else:
                yield f"{name}: is gone; {'its seal lies there' if number in seals else 'later ones were recorded'}"
            if number in there and number not in seals:
                yield f"{name}: has no seal: it was not written by this package, or its seal was removed"
            for path in seals.get(number, ()):
                yield from (f"{name}: {fault}" for fault in _seal_faults(store, path, promotion))


def _seal_faults(store: Store, path: str, promotion: Promotion | None) -> Iterator[str]:
    try:
        seal = read_promotion_seal(store, path)
    except StorageError as error:
        yield fault_of(error)
        return
    if not seal.is_whole:
        yield f"{path}: the seal is not what its checksum is of; it was changed or damaged"
    if promotion is not None and seal.digest != promotion.digest:
        yield f"is not what was sealed at {seal.sealed_at.isoformat(timespec='seconds')}; it was rewritten"
    if seal.signature is not None and (wrong := wrong_signature(seal)):
        yield f"{path}: {wrong}"


__all__ = ["promotion_faults"]
