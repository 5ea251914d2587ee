"""Builders of gold sets, answers about them, and calibrations, that tests share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spancheck_pipeline.decision.calibration import GoldAnswer, calibrate
from spancheck_pipeline.decision.judged_figures import CalibrationDocument, Subject
from spancheck_pipeline.decision.trust import subject_of
from spancheck_pipeline.evidence.gold import GoldItem, GoldSet
from spancheck_pipeline.grading.judge import Judge

JUDGE = Judge(name="j", client="openai", model="m1")
SUBJECT = subject_of(JUDGE)
SERVED = {"j": ["m1-2026"]}


def item(item_id: str, label: bool, **fields: Any) -> GoldItem:
    return GoldItem(id=item_id, claim=f"claim {item_id}", evidence=(f"evidence {item_id}",), label=label, **fields)


def gold(items: Sequence[GoldItem], **fields: Any) -> GoldSet:
    return GoldSet(items=tuple(items), **{"name": "gold", "domain": "small", **fields})


def answer(supported: bool | None, score: float, repeats: tuple[bool, ...] = ()) -> GoldAnswer:
    """Return an answer; without a word of its own it is that of the threshold 0.5."""
    return GoldAnswer(supported=score >= 0.5 if supported is None else supported, score=score, repeats=repeats)


def calibrated(
    table: tuple[int, int, int, int] = (95, 2, 5, 98),
    *,
    subject: Subject = SUBJECT,
    served: dict[str, list[str]] | None = None,
    n_failed: int = 0,
    **fields: Any,
) -> CalibrationDocument:
    """Return a calibration with a confusion table (true pass, false pass, false fail, true fail)."""
    said = [(True, True), (True, False), (False, True), (False, False)]
    pairs = [pair for pair, n in zip(said, table, strict=True) for _ in range(n)]
    items = [item(f"i{n}", label) for n, (_, label) in enumerate(pairs)]
    answers = {f"i{n}": answer(judged, 0.9 if judged else 0.1) for n, (judged, _) in enumerate(pairs)}
    items += [item(f"f{n}", True) for n in range(n_failed)]
    models = SERVED if served is None else served
    return calibrate(gold(items, **fields), answers, subject, served_models=models)
