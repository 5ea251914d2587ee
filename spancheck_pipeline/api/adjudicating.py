"""Rates under the dispositions that people signed, beside the raw ones: from stored scores, which stay as they are."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from spancheck_pipeline.api.facts import Evidence, grader_facts, row_facts, score_facts
from spancheck_pipeline.decision.adjudication import Adjudication, Reviewed, reviewed, standing
from spancheck_pipeline.decision.facts import ScoreFacts
from spancheck_pipeline.decision.figures import Adjudicated, AdjudicatedFigures, ScorecardDocument
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.decision.threshold import COMPLETION
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.storage.adjudications import batch_digests, read_adjudications
from spancheck_pipeline.storage.store import Place, Store

WHOLE_FIELDS = ("outcome", "value", "reason_code", "reason")
"""What a disposition of a score as a whole is of."""
INPUT = "adjudications"
"""What the names of batches of dispositions begin with, among what a scorecard was made from."""

_Given = Mapping[tuple[str, int], Mapping[str, Adjudication]]
"""Case id and epoch → item → disposition, of one grader."""


def with_adjudicated(
    store: Store, place: Place, evidence: Evidence, scorecard: ScorecardDocument, *, at: dt.datetime
) -> ScorecardDocument:
    """Return a scorecard with the figures that dispositions which hold at an instant come to; without any, as it is."""
    batches = adjudication_inputs(store, place)
    if not batches:
        return scorecard
    found = adjudicated(store, place, evidence, at=at)
    return scorecard.model_copy(update={"adjudicated": found, "inputs": {**scorecard.inputs, **batches}})


def adjudication_inputs(store: Store, place: Place) -> dict[str, str]:
    """Return what of a scorecard's inputs the dispositions are: each batch by its name."""
    return {f"{INPUT}/{name}": value for name, value in batch_digests(store, place).items()}


def check_not_expired(place: Place, scorecard: ScorecardDocument, *, decided_at: dt.datetime) -> None:
    """Refuse to decide by a disposition that has expired since the scorecard was made.

    Raises:
        MissingDataError: saying so.
    """
    expiry = scorecard.adjudicated.next_expiry if scorecard.adjudicated else None
    if expiry is not None and decided_at >= expiry:
        raise MissingDataError(f"{place}: a disposition has expired since the scorecard was made; make it again first")


def adjudicated(store: Store, place: Place, evidence: Evidence, *, at: dt.datetime) -> Adjudicated:
    """Return counts and rates of every grader that has dispositions, with these applied; ``completion`` never has.

    A call that did not answer is nobody's to wave through.
    """
    given: dict[str, dict[tuple[str, int], dict[str, Adjudication]]] = defaultdict(lambda: defaultdict(dict))
    n_elsewhere = 0
    reviewable = {name for name, file in evidence.scores.items() if is_reviewable(grader_facts(name, file).measurement)}
    for key, item in standing(read_adjudications(store, place)).items():
        if key.grader in reviewable and item.run_id == evidence.captured.run_id:
            given[key.grader][key.case_id, key.epoch][key.item] = item
        else:
            n_elsewhere += 1
    figures: dict[str, AdjudicatedFigures] = {}
    hallucination = None
    expiries: list[dt.datetime] = []
    for name in evidence.scores:
        if name in given:
            made = _Made()
            facts = list(_amended(evidence, name, given[name], at, made))
            card = _scorecard(evidence, name, facts)
            figures[name] = made.figures(card)
            hallucination = hallucination or card.headline.hallucination
            expiries += made.expiries
    return Adjudicated(
        graders=figures,
        hallucination=hallucination,
        n_elsewhere=n_elsewhere,
        next_expiry=min(expiries, default=None),
    )


def is_reviewable(measurement: str) -> bool:
    """Return whether people have a say about what a grader measures: not about whether a call answered."""
    return measurement.lower() != COMPLETION


@dataclasses.dataclass
class _Made:
    """What became of the dispositions of one grader."""

    kinds: Counter[str] = dataclasses.field(default_factory=Counter)
    n_stale: int = 0
    n_expired: int = 0
    expiries: list[dt.datetime] = dataclasses.field(default_factory=list)

    def take(self, found: Reviewed) -> None:
        self.n_stale += found.n_stale
        self.n_expired += found.n_expired
        for item in found.applied:
            self.kinds[item.disposition] += 1
            if item.expires_at is not None:
                self.expiries.append(item.expires_at)

    def figures(self, card: ScorecardDocument) -> AdjudicatedFigures:
        (grader,) = card.graders.values()
        return AdjudicatedFigures(
            counts=grader.counts,
            pass_rate=grader.pass_rate,
            lower_bound=grader.lower_bound,
            n_confirmed=self.kinds["confirmed"],
            n_passes=self.kinds["passes"],
            n_fails=self.kinds["fails"],
            n_waived=self.kinds["waived"],
            n_expired=self.n_expired,
            n_stale=self.n_stale,
        )


def _amended(evidence: Evidence, name: str, given: _Given, at: dt.datetime, made: _Made) -> Iterator[ScoreFacts]:
    """Yield a grader's scores as a scorecard needs them, with what dispositions change."""
    only = dataclasses.replace(evidence, scores={name: evidence.scores[name]})
    columns = ["case_id", "epoch", *WHOLE_FIELDS, "findings"]
    for facts, row in zip(score_facts(only), evidence.scores[name].rows(columns), strict=True):
        dispositions = given.get((facts.case_id, facts.epoch))
        if not dispositions:
            yield facts
            continue
        whole = {field: row[field] for field in WHOLE_FIELDS}
        found = reviewed(facts.outcome, row["findings"] or (), dispositions, at=at, whole=whole)
        made.take(found)
        yield dataclasses.replace(facts, outcome=found.outcome, n_unsupported=found.n_unsupported)


def _scorecard(evidence: Evidence, name: str, facts: list[ScoreFacts]) -> ScorecardDocument:
    return build_scorecard(
        suite="",
        run_id=evidence.captured.run_id,
        rows=row_facts(evidence.cases, evidence.captured, {}),
        scores=facts,
        graders=[grader_facts(name, evidence.scores[name])],
    )


__all__ = ["adjudicated", "adjudication_inputs", "check_not_expired", "is_reviewable", "with_adjudicated"]
