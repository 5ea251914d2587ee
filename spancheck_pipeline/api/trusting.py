"""What a scorecard says of judges: their recorded verdicts about a place, and the calibrations that stand for them.

Asking judges lives in ``judging.py``, measuring them in ``calibrating.py``; what follows from both is decided in
``decision/trust.py`` and ``decision/judged_rates.py``. Graders never come here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spancheck_pipeline.api.judge_needs import needed_judges
from spancheck_pipeline.decision.figures import JudgeFigures, ScorecardDocument
from spancheck_pipeline.decision.judged_figures import CalibrationDocument
from spancheck_pipeline.decision.judged_rates import Calibrated, JudgedPacket, JudgeFacts, judge_figures
from spancheck_pipeline.decision.standing import CalibrationPolicy
from spancheck_pipeline.decision.trust import model_name, subject_of
from spancheck_pipeline.evidence.verdict import VerdictBook
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.grading.judge import Judge
from spancheck_pipeline.storage.calibrations import StoredCalibration, calibration_by_digest, calibrations_of
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.tables import JUDGE_VERDICTS
from spancheck_pipeline.storage.verdicts import verdict_from_row

Cluster = tuple[bool, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """The judges of a place's graders as a scorecard has them, and the digests of the files that this rests on."""

    judges: tuple[JudgeFigures, ...] = ()
    inputs: dict[str, str] = field(default_factory=dict)
    """``judge_verdicts``, and ``calibration/<judge>/<domain>`` for each calibration that was at hand."""


def trust_inputs(store: Store, place: Place, graders: Sequence[Grader]) -> dict[str, str]:
    """Return the digests of what a scorecard of these graders says about judges by."""
    return _inputs(store, place, _calibrations(store, graders))


def judges_at(
    store: Store,
    place: Place,
    graders: Sequence[Grader],
    cases: StoredFile,
    policy: CalibrationPolicy,
) -> Trusted:
    """Return what the recorded verdicts of a place and the standing calibrations say of its graders' judges."""
    calibrations = _calibrations(store, graders)
    if not calibrations:
        return Trusted()
    readings = _readings(store, place, {grader.name for grader in graders}, cases)
    figures = tuple(
        judge_figures(
            JudgeFacts(
                subject=subject_of(judge),
                graders=names,
                packets=tuple(_packets(judge, names, readings)),
                served_models=served_models(judge, readings.book),
                calibrations=tuple(stored.calibrated for stored in calibrations[judge.name]),
            ),
            policy,
            domain=place.suite,
        )
        for judge, names in _readers(graders)
    )
    return Trusted(judges=figures, inputs=_inputs(store, place, calibrations))


def served_models(judge: Judge, book: VerdictBook) -> dict[str, tuple[str, ...]]:
    """Return which models answered for a judge (of a panel, for each member), by the answers in a book."""
    return {
        asked.name: tuple(
            sorted({model_name(v.served_model) for v in book if v.is_answer and v.identity == asked.identity})
        )
        for asked in judge.asked
    }


def relied_on(store: Store, scorecard: ScorecardDocument, inputs: Mapping[str, str]) -> dict[str, Any]:
    """Return, by judge, the calibration that a decision relied on, of those that it names among its inputs.

    Raises:
        MissingDataError: when one is kept no longer.
    """
    wanted = {figures.standing.calibration: name for name, figures in scorecard.judges.items()}
    found: dict[str, Any] = {}
    for name, content_digest in sorted(inputs.items()):
        _, judge, domain = name.split("/")
        document = calibration_by_digest(store, judge, domain, content_digest).document()
        if wanted.get(CalibrationDocument.model_validate(document).digest) == judge:
            found[judge] = document
    return found


class _Readings(NamedTuple):
    """The verdicts of a place, and what they are about."""

    book: VerdictBook
    uses: Mapping[str, list[tuple[str, Cluster]]]
    """Packet digest → graders and the clusters of the cases that it is of, in the order of the rows."""


def _readers(graders: Sequence[Grader]) -> Iterator[tuple[Judge, tuple[str, ...]]]:
    """Yield each judge with the names of the graders that read its verdicts."""
    for judge in needed_judges(graders):
        names = (g.name for g in graders if any(judge.name == read.name for read in getattr(g, "judges", ())))
        yield judge, tuple(names)


def _calibrations(store: Store, graders: Sequence[Grader]) -> dict[str, tuple[StoredCalibration, ...]]:
    return {judge.name: calibrations_of(store, judge.name) for judge in needed_judges(graders)}


def _inputs(store: Store, place: Place, calibrations: Mapping[str, Sequence[StoredCalibration]]) -> dict[str, str]:
    found = {
        f"calibration/{name}/{stored.calibrated.document.gold.domain}": stored.content_digest
        for name, items in calibrations.items()
        for stored in items
    }
    if calibrations and store.exists(place, JUDGE_VERDICTS):
        found["judge_verdicts"] = store.open(place, JUDGE_VERDICTS).content_digest
    return found


def _readings(store: Store, place: Place, graders: set[str], cases: StoredFile) -> _Readings:
    book, uses = VerdictBook(), dict[str, list[tuple[str, Cluster]]]()
    if not store.exists(place, JUDGE_VERDICTS):
        return _Readings(book, uses)
    clusters = {row["case_id"]: row["cluster"] for row in cases.rows(["case_id", "cluster"])}
    for row in store.open(place, JUDGE_VERDICTS).rows():
        book.add(verdict_from_row(row))
        for use in row["uses"]:
            if use["grader"] in graders:
                case_id = use["case_id"]
                named = clusters.get(case_id)
                cluster = (named is not None, case_id if named is None else named)
                uses.setdefault(row["packet_digest"], []).append((use["grader"], cluster))
    return _Readings(book, uses)


def _packets(judge: Judge, graders: tuple[str, ...], readings: _Readings) -> Iterator[JudgedPacket]:
    """Yield what a judge came to say about each distinct packet that one of its graders asked about."""
    about = {verdict.packet_digest for verdict in readings.book if verdict.identity in _identities(judge)}
    for digest, uses in readings.uses.items():
        of_graders = [cluster for grader, cluster in uses if grader in graders]
        if digest not in about or not of_graders:
            continue
        opinion = judge.opinion_on(digest, readings.book)
        yield JudgedPacket(
            cluster=of_graders[0], supported=opinion.supported, code=opinion.code, is_stable=opinion.is_stable
        )


def _identities(judge: Judge) -> set[str]:
    return {asked.identity for asked in judge.asked}


__all__ = ["Calibrated", "Trusted", "judges_at", "relied_on", "served_models", "trust_inputs"]
