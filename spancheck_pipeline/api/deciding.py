"""Deciding about a scored place: scorecard and gate decision, each a revision that names what it rests on."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spancheck_pipeline.api.scoring import score_inputs
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts
from spancheck_pipeline.decision.figures import CategoryFigures, GraderFigures, ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision, decide
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, Output, Prices, Usage, cost_usd
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.storage.store import Place, Published, Store, StoredFile
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, GATE, SCORECARD, SCORES, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A scorecard and the decision about it, as they are stored."""

    scorecard: ScorecardDocument
    decision: GateDecision
    scorecard_file: Published
    gate_file: Published


def decide_place(
    store: Store,
    place: Place,
    suite: Suite,
    graders: Sequence[str],
    *,
    decided_at: dt.datetime,
    decided_by: str,
    note: str = "",
    config: str | None = None,
) -> Decided:
    """Make the scorecard of a place from its stored scores, apply the suite's gate, and keep both.

    A decision that says the same on the same evidence is not written again; one that differs is a new revision.

    Raises:
        MissingDataError: when a grader's scores are missing, or were made from other outputs or labels than today's.
    """
    evidence = open_evidence(store, place, graders)
    inputs = evidence.digests()
    scorecard = build_scorecard(
        suite=place.suite,
        run_id=evidence.captured.run_id,
        date=place.date,
        config=config,
        rows=_row_facts(evidence, suite.prices),
        scores=_score_facts(evidence),
        graders=[_grader_facts(name, file) for name, file in evidence.scores.items()],
        case_ids=[row["case_id"] for row in evidence.cases.rows(["case_id"])],
        epochs=Manifest.model_validate(evidence.captured.document()).epochs,
        inputs=inputs,
    )
    scorecard_file = store.publish(
        place,
        SCORECARD,
        _scorecard_rows(scorecard),
        identity={**inputs, "document": scorecard.digest},
        metadata={"run_id": scorecard.run_id, "suite": place.suite},
        document=lambda _revision, _digest: scorecard.model_dump(mode="json"),
    )
    decision = decide(scorecard, suite.gate, decided_at=decided_at, decided_by=decided_by, note=note, inputs=inputs)
    gate_file = store.publish(
        place,
        GATE,
        _gate_rows(decision),
        identity={
            **inputs,
            "scorecard": scorecard_file.content_digest,
            "settings": suite.gate.model_dump(mode="json"),
        },
        metadata={"run_id": decision.run_id, "suite": place.suite},
        document=lambda revision, _digest: decision.model_copy(update={"revision": revision}).model_dump(mode="json"),
    )
    stored = GateDecision.model_validate(store.open(place, GATE).document())
    return Decided(scorecard=scorecard, decision=stored, scorecard_file=scorecard_file, gate_file=gate_file)


def read_decision(store: Store, place: Place) -> GateDecision:
    """Return the latest decision about a place."""
    return GateDecision.model_validate(store.open(place, GATE).document())


def read_scorecard(store: Store, place: Place) -> ScorecardDocument:
    """Return the latest scorecard of a place."""
    return ScorecardDocument.model_validate(store.open(place, SCORECARD).document())


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The files that a decision rests on, opened; one run, one snapshot, one score file a grader."""

    cases: StoredFile
    captured: StoredFile
    scores: dict[str, StoredFile]

    def digests(self) -> dict[str, str]:
        """Return the content digest of each, by the name that decisions use."""
        return {
            "cases": self.cases.content_digest,
            "captured_run": self.captured.content_digest,
            **{f"scores/{name}": file.content_digest for name, file in self.scores.items()},
        }


def open_evidence(store: Store, place: Place, graders: Sequence[str]) -> Evidence:
    """Open the current files of a place, and see that the scores are of exactly this capture and these labels.

    Raises:
        MissingDataError: naming every grader whose scores are missing or were made from something else.
    """
    captured = store.open(place, CAPTURED_RUN)
    cases = store.open(place, CASES)
    expected = score_inputs(captured, cases)
    files: dict[str, StoredFile] = {}
    stale: list[str] = []
    for name in graders:
        if not store.exists(place, SCORES, name):
            stale.append(f"{name} (no scores)")
            continue
        file = files[name] = store.open(place, SCORES, name)
        made_from = json.loads(file.metadata["inputs"])
        if any(made_from.get(key) != value for key, value in expected.items()):
            stale.append(f"{name} (scored another capture or other labels)")
    if stale:
        raise MissingDataError(f"{place}: scores are not up to date: {', '.join(stale)}; score the place again first")
    return Evidence(cases=cases, captured=captured, scores=files)


_ROW_COLUMNS = [
    "case_id", "epoch", "answered", "error_class", "latency_ms", "latency_total_ms", "served_model", "attempts",
    "input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "reported_cost_usd",
]  # fmt: skip


def _row_facts(evidence: Evidence, prices: Prices) -> Iterator[RowFacts]:
    labels = {
        row["case_id"]: (row["category"], row["cluster"])
        for row in evidence.cases.rows(["case_id", "category", "cluster"])
    }
    for row in evidence.captured.rows(_ROW_COLUMNS):
        category, cluster = labels[row["case_id"]]
        usage = Usage(
            **{name: row[name] for name in Usage.model_fields if name in row}, cost_usd=row["reported_cost_usd"]
        )
        output = Output(usage=usage, served_model=row["served_model"])
        facts = {name: row[name] for name in _ROW_COLUMNS if name != "reported_cost_usd"}
        cost = cost_usd(output, prices) if row["answered"] else None
        yield RowFacts(category=category, cluster=cluster, cost_usd=cost, **facts)


def row_facts_of(row: CapturedRow, *, category: str | None, cluster: str | None, prices: Prices) -> RowFacts:
    """Return what a scorecard needs of a captured row that is at hand."""
    output = row.output
    usage = output.usage if output else Usage()
    return RowFacts(
        case_id=row.case_id,
        epoch=row.epoch,
        category=category,
        cluster=cluster,
        answered=row.answered,
        error_class=row.error_class,
        latency_ms=row.latency_ms,
        latency_total_ms=row.latency_total_ms,
        cost_usd=cost_usd(output, prices) if output else None,
        served_model=output.served_model if output else None,
        attempts=row.attempts,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


_SCORE_COLUMNS = ["case_id", "epoch", "category", "cluster", "outcome", "value", "reason_code", "findings"]


def _score_facts(evidence: Evidence) -> Iterator[ScoreFacts]:
    for name, file in evidence.scores.items():
        for row in file.rows(_SCORE_COLUMNS):
            failed = sum(finding["outcome"] == Outcome.FAIL for finding in row["findings"] or ())
            yield ScoreFacts(
                grader=name,
                case_id=row["case_id"],
                epoch=row["epoch"],
                category=row["category"],
                cluster=row["cluster"],
                outcome=Outcome(row["outcome"]),
                value=row["value"],
                reason_code=row["reason_code"],
                n_unsupported=failed,
            )


def _grader_facts(name: str, file: StoredFile) -> GraderFacts:
    spec = json.loads(file.metadata["grader_spec"])
    return GraderFacts(
        name=name,
        measurement=spec["measurement"],
        version=spec["version"],
        spec_digest=file.metadata["spec_digest"],
    )


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
