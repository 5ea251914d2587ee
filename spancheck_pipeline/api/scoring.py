"""Scoring a captured place with one grader: rows in, scores out, in bounded memory; no target, no judge, no clock.

Recorded verdicts are read (``judging.py``); nobody is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from spancheck_pipeline.api.judge_needs import needed_judges
from spancheck_pipeline.api.judging import verdicts_at, verdicts_digest
from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.errors import CorruptFileError
from spancheck_pipeline.grading.evaluate import grade_rows
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.grading.judge import MISSING
from spancheck_pipeline.storage.rows import Row, captured_from_row, score_to_cells
from spancheck_pipeline.storage.store import Place, Published, Store, StoredFile
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, SCORES


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What scoring a place with one grader gave. Counts only."""

    published: Published
    grader: str
    outcomes: dict[str, int]
    """Rows by outcome, before epochs are reduced."""
    n_missing_verdicts: int = 0
    """Rows that are unmeasured because a judge was never asked about them."""


def score_place(store: Store, place: Place, grader: Grader, *, batch_rows: int = 256) -> Scored:
    """Score every captured row of a place and publish the scores; the file names the grader's whole spec.

    A grader that uses judges reads the recorded verdicts; what was never asked is unmeasured and counted.

    The same evidence and the same spec give the same file, byte for byte.
    """
    captured = store.open(place, CAPTURED_RUN)
    snapshot = store.open(place, CASES)
    spec = spec_of(grader)
    outcomes: Counter[str] = Counter()
    verdicts = verdicts_at(store, place, [grader])
    n_missing = 0
    cases = {case.id: case for case in read_snapshot(store, place)}

    def rows() -> Iterator[Row]:
        calls = (captured_from_row(row) for row in captured.rows(batch_rows=batch_rows))
        nonlocal n_missing
        for case, row, score in grade_rows(grader, cases, calls, verdicts=verdicts):
            if row.question_digest != case.question_digest:
                raise CorruptFileError(
                    f"{snapshot.path}: asks case {case.id!r} another question than {captured.path} answers; repeat the "
                    "`spancheck import … --replace` that was cut off, or restore the snapshot"
                )
            outcomes[score.outcome.value] += 1
            n_missing += score.reason_code == MISSING
            yield {
                "run_id": captured.run_id,
                "case_id": case.id,
                "question_digest": row.question_digest,
                "label_digest": case.label_digest,
                "epoch": row.epoch,
                "category": case.category,
                "cluster": case.cluster,
                **score_to_cells(score, grader_version=grader.version, spec_digest=spec.digest),
            }

    try:
        published = store.publish(
            place,
            SCORES,
            rows(),
            grader=grader.name,
            identity=score_inputs(captured, snapshot)
            | ({"judge_verdicts": verdicts_digest(store, place)} if needed_judges([grader]) else {})
            | {"grader_spec": spec.as_dict()},
            metadata={
                "run_id": captured.run_id,
                "suite": place.suite,
                "grader_spec": spec.readable(),
                "spec_digest": spec.digest,
            },
        )
    except KeyError as error:
        raise CorruptFileError(
            f"{snapshot.path}: has no case {error.args[0]!r} that {captured.path} answers; restore the snapshot"
        ) from None
    return Scored(published=published, grader=grader.name, outcomes=dict(outcomes), n_missing_verdicts=n_missing)


def score_inputs(captured: StoredFile, snapshot: StoredFile) -> dict[str, str]:
    """Return what a score file is made from: the content digests of outputs and labels."""
    return {"captured_run": captured.content_digest, "cases": snapshot.content_digest}
