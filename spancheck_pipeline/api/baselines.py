"""Baselines of a suite: which runs a place is compared with, and the comparison itself.

A baseline's captured run is graded again in memory with today's graders and labels; nothing of it is rewritten. What
the pairs say lives in ``decision/comparison.py``; the gate that reads it is applied in ``deciding.py``; how a
run becomes a baseline lives in ``promoting.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from spancheck_pipeline.api.facts import Evidence, row_facts, score_facts, score_facts_of, stored_score_facts
from spancheck_pipeline.api.judging import unstable_cases, verdicts_at, verdicts_digest
from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.decision.comparison import (
    ComparedCase,
    ComparedRun,
    ComparisonDocument,
    RunIdentity,
    compare,
    grounded_of,
)
from spancheck_pipeline.decision.facts import ScoreFacts
from spancheck_pipeline.decision.promotion import (
    Kind,
    Promotion,
    first_before,
    last_good_before,
    release_before,
)
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import MissingDataError, StorageError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import Manifest, Prices
from spancheck_pipeline.grading.evaluate import grade_rows
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.grading.judge import MISSING
from spancheck_pipeline.storage.promotions import (
    promotions,
    read_promotion,
)
from spancheck_pipeline.storage.rows import captured_from_row
from spancheck_pipeline.storage.store import Night, Place, Store, StoredFile
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, SCORES


def baselines_before(store: Store, suite: str, date: str | None) -> dict[Kind, Promotion]:
    """Return the baselines that count for a date of a suite (for None: now): the release, and the last good run.

    Until a person pins a release, it is the first run that its gate let pass.
    """
    pinned = promotions(store, suite, "release")
    promoted = promotions(store, suite, "last_good")
    found: dict[Kind, Promotion] = {}
    if release := release_before(pinned, date):
        found["release"] = read_promotion(store, suite, "release", release)
    elif first := first_before(promoted, date):
        found["release"] = read_promotion(store, suite, "last_good", first)
    if last := last_good_before(promoted, date):
        found["last_good"] = read_promotion(store, suite, "last_good", last)
    return found


# -- comparing --------------------------------------------------------------------------------------------------


def compare_place(
    store: Store, place: Place, suite: Suite, graders: Sequence[Grader], evidence: Evidence
) -> tuple[ComparisonDocument, ...]:
    """Return the comparison of a scored place with each of its baselines, or the reasons why there is none.

    Raises:
        MissingDataError: when the place's scores were made by other graders than today's.
    """
    _check_graders(place, graders, evidence)
    found = {
        kind: promotion
        for kind, promotion in baselines_before(store, suite.name, place.date).items()
        if promotion.captured_run != evidence.captured.content_digest
    }
    if not found:
        return ()
    candidate = _Candidate.of(store, place, suite, evidence, unstable_cases(store, place, graders))
    made: dict[str, ComparisonDocument] = {}
    documents = []
    for kind, promotion in found.items():
        if promotion.captured_run not in made:
            made[promotion.captured_run] = _compared(store, suite, graders, candidate, promotion)
        documents.append(made[promotion.captured_run].model_copy(update={"baseline_kind": kind}))
    return tuple(documents)


def _check_graders(place: Place, graders: Sequence[Grader], evidence: Evidence) -> None:
    other = [g.name for g in graders if evidence.scores[g.name].metadata["spec_digest"] != spec_of(g).digest]
    if other:
        raise MissingDataError(
            f"{place}: scores are not up to date: {', '.join(other)} (scored with other settings or another version); "
            "score the place again first"
        )


class _Candidate(NamedTuple):
    cases: Mapping[str, Case]
    run: ComparedRun
    digests: Mapping[str, str]

    @classmethod
    def of(
        cls, store: Store, place: Place, suite: Suite, evidence: Evidence, unstable: Mapping[str, Collection[str]]
    ) -> _Candidate:
        cases = {case.id: case for case in read_snapshot(store, place)}
        run = _side(evidence.cases, evidence.captured, suite.prices, list(score_facts(evidence)))
        return cls(cases, replace(run, unstable_cases=unstable), evidence.digests())


def _compared(
    store: Store, suite: Suite, graders: Sequence[Grader], candidate: _Candidate, promotion: Promotion
) -> ComparisonDocument:
    inputs = {f"candidate/{name}": value for name, value in candidate.digests.items()}
    inputs |= {"baseline/captured_run": promotion.captured_run, "baseline/cases": promotion.cases}
    night = Night(promotion.suite, promotion.date)
    try:
        captured = store.open_by_digest(night, CAPTURED_RUN, promotion.captured_run)
        snapshot = store.open_by_digest(night, CASES, promotion.cases)
        baseline = _side(snapshot, captured, suite.prices, ())
        shared = {
            case_id: candidate.cases[case_id]
            for case_id, case in baseline.cases.items()
            if case_id in candidate.cases and candidate.cases[case_id].question_digest == case.question_digest
        }
        scores, missing = _on_todays_terms(store, night, captured, graders, shared)
    except StorageError as error:
        return _unreadable(suite, candidate.run, promotion, str(error), inputs)
    return compare(
        candidate.run,
        replace(
            baseline,
            scores=scores,
            missing_verdicts=missing,
            unstable_cases=unstable_cases(store, night, graders),
        ),
        suite=suite.name,
        graders=[grader.name for grader in graders],
        grounded=grounded_of({grader.name: spec_of(grader).measurement for grader in graders}),
        inputs=inputs,
    )


def _side(cases: StoredFile, captured: StoredFile, prices: Prices, scores: Sequence[ScoreFacts]) -> ComparedRun:
    manifest = Manifest.model_validate(captured.document())
    columns = ["case_id", "question_digest", "label_digest", "cluster"]
    return ComparedRun(
        run_id=manifest.run_id,
        date=manifest.date,
        config=manifest.config,
        target_version=manifest.target.version,
        epochs=manifest.epochs,
        cases={
            row["case_id"]: ComparedCase(**{name: row[name] for name in columns[1:]}) for row in cases.rows(columns)
        },
        rows=list(row_facts(cases, captured, prices)),
        scores=scores,
        prices_digest=digest({model: price.model_dump(mode="json") for model, price in manifest.prices.items()}),
    )


def _on_todays_terms(
    store: Store, night: Night, captured: StoredFile, graders: Sequence[Grader], shared: Mapping[str, Case]
) -> tuple[list[ScoreFacts], dict[str, int]]:
    """Return the scores of a baseline's shared cases under today's graders and labels, and verdicts that are missing.

    A stored score of the same outputs, grader spec and labels is what grading again would give, so it is read. What was
    never asked of a judge is counted by grader: nobody is asked now.
    """
    labels = {case_id: case.label_digest for case_id, case in shared.items()}
    scores: list[ScoreFacts] = []
    missing: Counter[str] = Counter()
    verdicts = verdicts_at(store, night, graders)
    for grader in graders:
        known = {}
        if file := _same_make(store, night, captured, grader):
            known = {(fact.case_id, fact.epoch): fact for fact in stored_score_facts(grader.name, file, labels)}
        scores += known.values()
        keys = {(row["case_id"], row["epoch"]) for row in captured.rows(["case_id", "epoch"])}
        wanted = {key for key in keys if key[0] in shared} - known.keys()
        if wanted:
            rows = (captured_from_row(r) for r in captured.rows() if (r["case_id"], r["epoch"]) in wanted)
            for graded in grade_rows(grader, shared, rows, verdicts=verdicts):
                missing[grader.name] += graded.score.reason_code == MISSING
                scores.append(score_facts_of(grader.name, *graded))
    return scores, {name: n for name, n in missing.items() if n}


def _same_make(store: Store, night: Night, captured: StoredFile, grader: Grader) -> StoredFile | None:
    if not store.exists(night, SCORES, grader.name):
        return None
    file = store.open(night, SCORES, grader.name)
    is_same = file.metadata["spec_digest"] == spec_of(grader).digest
    inputs, verdicts = file.inputs, verdicts_digest(store, night)
    is_same = is_same and inputs.get("judge_verdicts", verdicts) == verdicts
    return file if is_same and inputs["captured_run"] == captured.content_digest else None


def _unreadable(
    suite: Suite, candidate: ComparedRun, promotion: Promotion, why: str, inputs: Mapping[str, str]
) -> ComparisonDocument:
    return ComparisonDocument(
        suite=suite.name,
        baseline_kind=promotion.kind,
        candidate=RunIdentity(
            run_id=candidate.run_id,
            date=candidate.date,
            config=candidate.config,
            target_version=candidate.target_version,
        ),
        baseline=RunIdentity(run_id=promotion.run_id, date=promotion.date),
        not_comparable=(f"the baseline cannot be read: {why}",),
        n_shared=0,
        inputs=dict(sorted(inputs.items())),
    )
