"""Making a stored run a baseline: the last good run by its gate, a release by a person; each promotion is sealed.

Which baseline counts for a date, and comparing with it, lives in ``baselines.py``, files in ``storage/promotions.py``.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from spancheck_pipeline import __version__
from spancheck_pipeline.api.signers import own_signer
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.promotion import Kind, Promotion, PromotionSeal
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.errors import MissingDataError, PromotionRefusedError, UsageError
from spancheck_pipeline.storage.promotions import (
    keep_promotion_seal,
    promotion_seals,
    promotions,
    read_promotion,
    record_promotion,
)
from spancheck_pipeline.storage.signing import Signer
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, GATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """What became of a promotion."""

    promotion: Promotion | None
    """None where the gate does not let the run pass and the suite does not block."""
    is_new: bool
    answer: Answer


def promote_place(store: Store, place: Night, *, at: dt.datetime, by: str, note: str = "") -> Promoted:
    """Make a decided night the last good run, where its gate lets it pass.

    A capture that was promoted already keeps its record, whatever is decided about it later.

    Raises:
        PromotionRefusedError: when the gate does not let it pass and the suite says that it blocks.
        MissingDataError: when there is no decision, or it is about another capture.
    """
    decision, promotion = _proposed(store, place, "last_good", at=at, by=by, note=note)
    if not decision.answer.is_ok:
        if decision.settings.blocking:
            rules = [rule.rule for rule in decision.rules if not rule.answer.is_ok]
            raise PromotionRefusedError(place, answer=decision.answer.value, rules=rules)
        return Promoted(promotion=None, is_new=False, answer=decision.answer)
    return _recorded(store, promotion, decision)


def pin_release(store: Store, place: Night, *, at: dt.datetime, by: str, note: str = "") -> Promoted:
    """Pin a decided night as the release baseline.

    Raises:
        UsageError: when its gate did not let it pass and no note says why it is pinned all the same.
        MissingDataError: when there is no decision, or it is about another capture.
    """
    decision, promotion = _proposed(store, place, "release", at=at, by=by, note=note)
    if not decision.answer.is_ok and not note.strip():
        raise UsageError(
            f"{place}: the gate says {decision.answer.value}; say with --note why it becomes the release baseline"
        )
    return _recorded(store, promotion, decision)


def all_promotions(store: Store, suite: str, kind: Kind) -> tuple[Promotion, ...]:
    """Return every promotion of a suite, in the order of recording."""
    return tuple(read_promotion(store, suite, kind, key) for key in promotions(store, suite, kind))


def _proposed(
    store: Store, place: Night, kind: Kind, *, at: dt.datetime, by: str, note: str
) -> tuple[GateDecision, Promotion]:
    gate = store.open(place, GATE)
    decision = GateDecision.model_validate(gate.document())
    captured, cases = store.open(place, CAPTURED_RUN), store.open(place, CASES)
    if decision.inputs.get("captured_run") != captured.content_digest:
        raise MissingDataError(f"{place}: the decision is about another capture; decide again first")
    promotion = Promotion(
        kind=kind,
        number=1,
        suite=place.suite,
        date=place.date,
        run_id=captured.run_id,
        captured_run=captured.content_digest,
        cases=cases.content_digest,
        gate=gate.content_digest,
        decision_revision=gate.revision,
        answer=decision.answer,
        promoted_at=at,
        promoted_by=by,
        note=note,
    )
    return decision, promotion


def _recorded(store: Store, promotion: Promotion, decision: GateDecision) -> Promoted:
    signer = own_signer()
    keys = promotions(store, promotion.suite, promotion.kind)
    # A release is what was pinned last; a last good run is looked for among those of its own date.
    same = keys[-1:] if promotion.kind == "release" else [key for key in keys if key.date == promotion.date][-1:]
    for key in same:
        kept = read_promotion(store, promotion.suite, promotion.kind, key)
        if kept.captured_run == promotion.captured_run:
            if not promotion_seals(store, promotion.suite, promotion.kind).get(kept.number):
                _seal(store, kept, signer)  # killed before it was sealed
            return Promoted(promotion=kept, is_new=False, answer=decision.answer)
    recorded = record_promotion(store, promotion)
    _seal(store, recorded, signer)
    return Promoted(promotion=recorded, is_new=True, answer=decision.answer)


def _seal(store: Store, promotion: Promotion, signer: Signer | None) -> None:
    seal = PromotionSeal(
        suite=promotion.suite,
        promotion_kind=promotion.kind,
        number=promotion.number,
        date=promotion.date,
        digest=promotion.digest,
        sealed_at=dt.datetime.now(dt.UTC),
        package_version=__version__,
    ).checked()
    keep_promotion_seal(store, signer.sign(seal) if signer else seal)


__all__ = ["Promoted", "all_promotions", "pin_release", "promote_place"]
