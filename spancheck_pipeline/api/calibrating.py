"""Calibrating: a gold set put to a judge, or to a deterministic grader, and what came of it kept.

Verdicts are asked for and kept as for any night (``judging.py``), so that a gold set is never judged twice. The figures
are computed in ``decision/calibration.py``; whether they suffice is decided when a scorecard is made (``trusting.py``).
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spancheck_pipeline.api.judge_session import LoadJudge
from spancheck_pipeline.api.judging import Judged, judge_packets
from spancheck_pipeline.api.trusting import served_models
from spancheck_pipeline.capture.containment import Contain
from spancheck_pipeline.capture.engine import Progress
from spancheck_pipeline.decision.calibration import GoldAnswer, calibrate
from spancheck_pipeline.decision.judged_figures import CalibrationDocument, Subject
from spancheck_pipeline.decision.trust import subject_of
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.gold import GoldItem, GoldSet
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.evidence.verdict import VerdictBook
from spancheck_pipeline.grading.grader import Evidence, Grader, spec_of
from spancheck_pipeline.grading.graders import citation_accuracy, groundedness
from spancheck_pipeline.grading.judge import DEFAULT_THRESHOLD, Judge
from spancheck_pipeline.grading.judge_provider import Provider, answered, judge_of_provider
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.grading.support import check_support
from spancheck_pipeline.storage.calibrations import calibrated_on, keep_calibration
from spancheck_pipeline.storage.gold_files import gold_of_rows, read_gold
from spancheck_pipeline.storage.judges_file import DeclaredJudges
from spancheck_pipeline.storage.store import Published, Store
from spancheck_pipeline.storage.wording import nearest

_CITATIONS: Final = citation_accuracy()
_GROUNDEDNESS: Final = groundedness()
GRADERS: Final[Mapping[str, Grader]] = {"citation_accuracy": _CITATIONS, "groundedness": _GROUNDEDNESS}
"""Deterministic graders that are measured as judges are: the word check of citations, and of whole answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedSubject:
    """What calibrating gave. Numbers and digests only."""

    document: CalibrationDocument
    published: Published
    judged: Judged | None = None
    """What asking took; None for a deterministic grader."""


def calibrated_names(declared: DeclaredJudges) -> tuple[str, ...]:
    """Return everything that can be calibrated: the declared judges, then the deterministic graders."""
    return (*declared.judges, *GRADERS)


def calibrate_subject(
    store: Store,
    declared: DeclaredJudges,
    name: str,
    gold: GoldSet,
    *,
    by: str,
    load_judge: LoadJudge | None = None,
    contain: Contain | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    replace: bool = False,
    now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
) -> CalibratedSubject:
    """Measure a judge, a panel or a deterministic grader against a gold set, and keep the calibration.

    Only verdicts that nobody has asked for are asked for. A failed one is counted, and asked for again next time. A
    calibration takes the place of one on the same gold set; with ``replace`` also of one on another of its domain.

    Raises:
        UsageError: for a name that nothing has, a gold set whose items lack what the judge is asked about, or one whose
            domain has a calibration on another gold set.
        TargetError: when a judge cannot be loaded.
    """
    judged = None
    if not replace and name in calibrated_names(declared):
        _check_place(store, name, gold)
    if name in declared.judges:
        judge = declared.judges[name]
        _check_items(judge, gold)
        judged = judge_packets(
            store,
            declared,
            ((judge, packet) for item in gold.items if not (packet := item.packet(judge.kind)).is_too_long),
            load_judge=load_judge,
            contain=contain,
            on_progress=on_progress,
            now=now,
        )
        answers = answers_of_judge(judge, gold, judged.book)
        served = served_models(judge, judged.book)
        document = calibrate(gold, answers, subject_of(judge), served_models=served)
    elif name in GRADERS:
        answers = answers_of_grader(name, gold)
        document = calibrate(gold, answers, _grader_subject(name))
    else:
        raise UsageError(f"there is no judge {name[:80]!r} to calibrate; {nearest(name, calibrated_names(declared))}")
    published = keep_calibration(store, gold, answers, document, made_at=now().isoformat(), made_by=by)
    return CalibratedSubject(document=document, published=published, judged=judged)


def _check_place(store: Store, name: str, gold: GoldSet) -> None:
    other = calibrated_on(store, name, gold.domain)
    if other is not None and other != gold.name:
        raise UsageError(
            f"{name} has a calibration for the domain {gold.domain} on the gold set {other[:80]!r}, and this one is "
            f"{gold.name[:80]!r}: give it a domain of its own, join the two files, or replace it (--replace; in "
            "Dagster the run config replace: true)"
        )


def _check_items(judge: Judge, gold: GoldSet) -> None:
    lacking = [item.id for item in gold.items if item.answer is None]
    if judge.kind == "faithful" and lacking:
        raise UsageError(
            f"the judge {judge.name} is asked about whole answers, and {len(lacking)} of {len(gold.items)} items of "
            f"{gold.name} have no 'answer' (the first is {lacking[0][:80]!r})"
        )


def answers_of_judge(judge: Judge, gold: GoldSet, book: VerdictBook) -> dict[str, GoldAnswer]:
    """Return what a judge's recorded verdicts come to for each gold item."""
    return {item.id: _of_judge(judge, item, book) for item in gold.items}


def _of_judge(judge: Judge, item: GoldItem, book: VerdictBook) -> GoldAnswer:
    packet = item.packet(judge.kind)
    if packet.is_too_long:
        return GoldAnswer(supported=None, code="too_long_to_judge")
    opinion = judge.opinion(packet, book)
    repeats: tuple[bool, ...] = ()
    if not judge.members and judge.runs > 1:
        found = (book.get(key) for key in judge.keys(packet))
        repeats = tuple(v.score >= judge.threshold for v in found if v is not None and v.score is not None)
    return GoldAnswer(supported=opinion.supported, score=opinion.value, code=opinion.code, repeats=repeats)


def answers_of_grader(name: str, gold: GoldSet) -> dict[str, GoldAnswer]:
    """Return what a deterministic grader says of each gold item."""
    answer = _word_check if name == _CITATIONS.name else _whole_answer
    return {item.id: answer(item) for item in gold.items}


def _word_check(item: GoldItem) -> GoldAnswer:
    """Return whether the evidence carries the claim, as for a citation whose quote is the evidence."""
    found = check_support(item.claim, item.evidence, threshold=_CITATIONS.support_threshold)
    code = "ok" if found.supported is not None else "nothing_to_check"
    return GoldAnswer(supported=found.supported, score=found.value, code=code)


def _whole_answer(item: GoldItem) -> GoldAnswer:
    """Return whether the claim, as a whole answer, stands in the evidence as its passages."""
    case = Case(id="gold", input="gold")
    output = Output.model_validate({"answer": item.claim, "contexts": list(item.evidence)})
    row = CapturedRow(case_id=case.id, question_digest=case.question_digest, output=output)
    score = _GROUNDEDNESS.grade(Evidence(case=case, output=output, row=row))
    if not score.outcome.is_measured:
        return GoldAnswer(supported=None, code=score.reason_code)
    return GoldAnswer(supported=score.outcome is Outcome.PASS, score=score.value)


def _grader_subject(name: str) -> Subject:
    grader: Any = GRADERS[name]
    threshold = grader.support_threshold if grader is _CITATIONS else grader.threshold
    return Subject(name=name, kind="grader", identity=spec_of(grader).digest, threshold=threshold)


def calibrate_judge(
    gold: GoldSet | str | os.PathLike[str] | Iterable[Mapping[str, Any]],
    provider: Provider | None = None,
    prompt_version: str = "entailment_v1",
    threshold: float = DEFAULT_THRESHOLD,
    model: str | None = None,
) -> dict[str, Any]:
    """Return how far a judge agrees with people on labelled claims: agreement, confusion, every figure, every item.

    ``gold`` is a gold set, its file, or mappings with ``claim``, ``span`` and ``label``. ``provider`` takes the whole
    question and returns the reply's text; without one the stub answers, which is not a judge. An item that gets no
    verdict is counted under ``failures``, with the score None, and is in no rate. Nothing is kept: a project's judge is
    calibrated with ``spancheck calibrate``.

    Raises:
        ConfigError: for a file with mistakes.
        UsageError: for mappings that are no items.
    """
    items = _gold_of(gold)
    judge = judge_of_provider("calibrate_judge", provider, prompt_version, model, threshold)
    _check_items(judge, items)
    packets = {item.id: item.packet(judge.kind) for item in items.items}
    book = answered([(judge, packet) for packet in packets.values() if not packet.is_too_long], provider)
    answers = answers_of_judge(judge, items, book)
    document = calibrate(items, answers, subject_of(judge), served_models=served_models(judge, book))
    table = document.figures.table
    return {
        "n": len(items.items),
        "agreement": document.figures.agreement.value,
        "threshold": threshold,
        "confusion": {
            "tp": table.n_true_pass, "fp": table.n_false_pass, "tn": table.n_true_fail, "fn": table.n_false_fail,
        },
        "failures": document.failures,
        "model": judge.model,
        "prompt_version": prompt_version,
        "rows": [_row(judge, item, answers[item.id], book) for item in items.items],
        "calibration": document.model_dump(mode="json"),
    }  # fmt: skip


def _gold_of(gold: GoldSet | str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> GoldSet:
    if isinstance(gold, GoldSet):
        return gold
    if isinstance(gold, str | os.PathLike):
        return read_gold(os.fspath(gold))
    return gold_of_rows(gold)


def _row(judge: Judge, item: GoldItem, answer: GoldAnswer, book: VerdictBook) -> dict[str, Any]:
    opinion = judge.opinion(item.packet(judge.kind), book)
    return {
        "id": item.id,
        "claim": item.claim,
        "span": "\n\n".join(item.evidence),
        "label": item.label,
        "score": answer.score,
        "pred": answer.supported,
        "correct": None if answer.supported is None else answer.supported is item.label,
        "reason": opinion.reason,
    }


__all__ = [
    "GRADERS", "CalibratedSubject", "answers_of_grader", "answers_of_judge", "calibrate_judge", "calibrate_subject",
    "calibrated_names",
]  # fmt: skip
