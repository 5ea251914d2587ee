"""Deciding about a scored place: its scorecard, and the gate's decision; each a revision that names what it rests on.

The scorecard is made from the scores alone. The decision sees it together with the comparisons (``baselines.py``).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spancheck_pipeline.api.adjudicating import adjudication_inputs, check_not_expired, with_adjudicated
from spancheck_pipeline.api.attributing import stored_attributions
from spancheck_pipeline.api.baselines import compare_place
from spancheck_pipeline.api.facts import grader_facts, open_evidence, row_facts, score_facts
from spancheck_pipeline.api.trusting import judges_at, trust_inputs
from spancheck_pipeline.api.unchanged import check_decision_kept, check_dispositions_kept, check_unchanged
from spancheck_pipeline.decision.comparison import ComparisonDocument, Difference
from spancheck_pipeline.decision.figures import CategoryFigures, GraderFigures, ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision, decide
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.evidence.run import Manifest
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.store import Place, Published, Store, StoredFile
from spancheck_pipeline.storage.tables import COMPARISON, GATE, SCORECARD


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarized:
    """A scorecard, as it is stored."""

    scorecard: ScorecardDocument
    published: Published


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision about a scorecard and the comparisons that it saw, as they are stored."""

    scorecard: ScorecardDocument
    comparisons: tuple[ComparisonDocument, ...]
    decision: GateDecision
    comparison_file: Published
    gate_file: Published


def summarize_place(
    store: Store,
    place: Place,
    suite: Suite,
    graders: Sequence[str],
    *,
    config: str | None = None,
    judging: Sequence[Grader] = (),
) -> Summarized:
    """Make the scorecard of a place from its stored scores, and keep it.

    ``judging`` are the graders among them that may rest on judges: what these said, and where they stand, is in it.

    Raises:
        MissingDataError: when a grader's scores are missing, or were made from other outputs or labels than today's,
            or dispositions that the last scorecard saw are gone.
        CorruptFileError: when outputs, labels or scores are not what their digests are of.
    """
    evidence = open_evidence(store, place, graders)
    check_unchanged(evidence)
    check_dispositions_kept(store, place)
    trusted = judges_at(store, place, judging, evidence.cases, suite.gate.judges)
    inputs = {**evidence.digests(), **trusted.inputs}
    scorecard = build_scorecard(
        suite=place.suite,
        run_id=evidence.captured.run_id,
        date=place.date,
        config=config,
        rows=row_facts(evidence.cases, evidence.captured, suite.prices),
        scores=score_facts(evidence),
        graders=[grader_facts(name, file) for name, file in evidence.scores.items()],
        case_ids=[row["case_id"] for row in evidence.cases.rows(["case_id"])],
        criteria=[
            (row["case_id"], criterion["id"])
            for row in evidence.cases.rows(["case_id", "criteria"])
            for criterion in row["criteria"] or ()
        ],
        epochs=Manifest.model_validate(evidence.captured.document()).epochs,
        attributions=stored_attributions(evidence.cases, evidence.captured, evidence.scores),
        judges=trusted.judges,
        inputs=inputs,
    )
    scorecard = with_adjudicated(store, place, evidence, scorecard, at=dt.datetime.now(dt.UTC))
    published = store.publish(
        place,
        SCORECARD,
        _scorecard_rows(scorecard),
        identity={**scorecard.inputs, "document": scorecard.digest},
        metadata={"run_id": scorecard.run_id, "suite": place.suite},
        document=lambda _revision, _digest: scorecard.model_dump(mode="json"),
    )
    return Summarized(scorecard=scorecard, published=published)


def decide_place(
    store: Store,
    place: Place,
    suite: Suite,
    graders: Sequence[Grader],
    *,
    decided_at: dt.datetime,
    decided_by: str,
    note: str = "",
) -> Decided:
    """Compare a summarized place with its baselines, apply the suite's gate, and keep both.

    A decision that says the same on the same evidence is not written again; one that differs is a new revision.

    Raises:
        MissingDataError: when the scores or the scorecard are missing, or were made from something else than today's
            outputs, labels, graders and calibrations, or an earlier decision is gone.
    """
    check_decision_kept(store, place)
    evidence = open_evidence(store, place, [grader.name for grader in graders])
    scorecard_file = store.open(place, SCORECARD)
    scorecard = ScorecardDocument.model_validate(scorecard_file.document())
    rests_on = {**evidence.digests(), **trust_inputs(store, place, graders)}
    if scorecard.inputs != {**rests_on, **adjudication_inputs(store, place)}:
        what = "other scores, verdicts, calibrations or dispositions"
        raise MissingDataError(f"{place}: the scorecard was made from {what}; make it again first")
    check_not_expired(place, scorecard, decided_at=decided_at)
    comparisons = compare_place(store, place, suite, graders, evidence)
    comparison_file = _keep_comparisons(store, place, scorecard.run_id, comparisons)
    inputs = {
        **rests_on,
        "scorecard": scorecard_file.content_digest,
        "comparison": comparison_file.content_digest,
    }
    decision = decide(
        scorecard,
        suite.gate,
        comparisons=comparisons,
        decided_at=decided_at,
        decided_by=decided_by,
        note=note,
        inputs=inputs,
    )
    gate_file = store.publish(
        place,
        GATE,
        _gate_rows(decision),
        identity={**inputs, "settings": suite.gate.model_dump(mode="json")},
        metadata={"run_id": decision.run_id, "suite": place.suite},
        document=lambda revision, _digest: decision.model_copy(update={"revision": revision}).model_dump(mode="json"),
    )
    stored = read_decision(store, place)
    return Decided(
        scorecard=scorecard,
        comparisons=comparisons,
        decision=stored,
        comparison_file=comparison_file,
        gate_file=gate_file,
    )


def read_decision(store: Store, place: Place) -> GateDecision:
    """Return the latest decision about a place."""
    return GateDecision.model_validate(store.open(place, GATE).document())


def read_scorecard(store: Store, place: Place) -> ScorecardDocument:
    """Return the latest scorecard of a place."""
    return ScorecardDocument.model_validate(store.open(place, SCORECARD).document())


def read_comparisons(file: StoredFile) -> tuple[ComparisonDocument, ...]:
    """Return the comparisons of a stored file, comparable or not."""
    return tuple(ComparisonDocument.model_validate(item) for item in file.document()["comparisons"])


def _keep_comparisons(store: Store, place: Place, run_id: str, comparisons: Sequence[ComparisonDocument]) -> Published:
    return store.publish(
        place,
        COMPARISON,
        _comparison_rows(comparisons),
        identity={"run_id": run_id, "documents": [item.digest for item in comparisons]},
        metadata={"run_id": run_id, "suite": place.suite},
        document=lambda _revision, _digest: {
            "contract": CONTRACT,
            "comparisons": [item.model_dump(mode="json") for item in comparisons],
        },
    )


def _comparison_rows(comparisons: Sequence[ComparisonDocument]) -> Iterator[Row]:
    for comparison in comparisons:
        for figures in comparison.graders.values():
            elsewhere = {"difference", "score_difference", "units", "n_unmeasured"}
            numbers = figures.model_dump(mode="json", exclude=elsewhere)
            yield {
                "run_id": comparison.candidate.run_id,
                "baseline_kind": comparison.baseline_kind,
                "baseline_run_id": comparison.baseline.run_id,
                "baseline_date": comparison.baseline.date,
                **numbers,
                **_difference_cells("difference", figures.difference),
                **_difference_cells("score_difference", figures.score_difference),
                "n_clusters": figures.difference.n_clusters,
            }


def _difference_cells(name: str, difference: Difference) -> Row:
    return {name: difference.value, f"{name}_low": difference.low, f"{name}_high": difference.high}


def _scorecard_rows(scorecard: ScorecardDocument) -> Iterator[Row]:
    for name, figures in scorecard.graders.items():
        yield _figures_row(scorecard.run_id, name, figures, figures, category=None)
        for category, part in figures.by_category.items():
            yield _figures_row(scorecard.run_id, name, figures, part, category=category)


def _figures_row(
    run_id: str, name: str, grader: GraderFigures, part: GraderFigures | CategoryFigures, *, category: str | None
) -> Row:
    return {
        "run_id": run_id,
        "grader": name,
        "grader_version": grader.version,
        "spec_digest": grader.spec_digest,
        "category": category,
        **part.counts.model_dump(),
        "pass_rate": part.pass_rate.value,
        "pass_rate_low": part.pass_rate.low,
        "pass_rate_high": part.pass_rate.high,
        "mean_score": part.mean_score.value,
        "mean_score_low": part.mean_score.low,
        "mean_score_high": part.mean_score.high,
        "n_clusters": part.pass_rate.n_clusters,
    }


def _gate_rows(decision: GateDecision) -> Iterator[Row]:
    for rule in decision.rules:
        fields: dict[str, Any] = rule.model_dump(mode="json", exclude={"counts"})
        yield {"run_id": decision.run_id, **fields}
