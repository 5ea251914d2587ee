"""What is kept of a run's rows and scores while a scorecard is built: some numbers a call, two a score.

The facts come from ``facts.py``; what is made of the tally lives in ``scorecard.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from spancheck_pipeline.decision.facts import (
    CaseOutcome,
    GraderFacts,
    RowFacts,
    ScoreFacts,
    error_name,
    reduce_epochs,
    safe_name,
)
from spancheck_pipeline.grading.score import Outcome

NO_SCORE: Final = "no_score"
"""Reason code of a case × epoch that a grader has no score for; it counts as unmeasured."""
NOT_REPORTED: Final = "(not reported)"
"""Stands for the served model of an answer that names none."""
TOKEN_KINDS: Final = ("input", "output", "cached_input", "reasoning")


class Stored(NamedTuple):
    """What is kept of one score."""

    outcome: Outcome
    value: float | None
    is_unsupported: bool


MISSING: Final = Stored(Outcome.UNMEASURED, None, False)  # noqa: FBT003 - the field's name says it


class Place(NamedTuple):
    """Where a case belongs."""

    category: str | None
    cluster: str | None


@dataclass(slots=True)
class CallTally:
    """What the calls of a run took and cost."""

    errors: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    unpriced: Counter[str] = field(default_factory=Counter)
    priceless: Counter[str] = field(default_factory=Counter)
    """Those of them that report their tokens: only a price is missing."""
    costs: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)
    n_answered: int = 0
    n_untimed: int = 0
    attempts: int = 0
    retries: int = 0
    tokens: dict[str, list[int]] = field(default_factory=dict)

    def add(self, row: RowFacts) -> None:
        """Count one row."""
        self.attempts += row.attempts
        self.retries += max(0, row.attempts - 1)
        if not row.answered:
            self.errors[error_name(row.error_class)] += 1
            self.n_untimed += 1
            return
        self.n_answered += 1
        model = safe_name(row.served_model, other="(unreadable name)") if row.served_model else NOT_REPORTED
        self.models[model] += 1
        if row.cost_usd is None:
            self.unpriced[model] += 1
            if row.input_tokens is not None and row.output_tokens is not None:
                self.priceless[model] += 1
        else:
            self.costs.append(row.cost_usd)
        if row.latency_ms is None:
            self.n_untimed += 1
        else:
            self.latencies.append(row.latency_ms)
        if row.latency_total_ms is not None:
            self.totals.append(row.latency_total_ms)
        for kind in TOKEN_KINDS:
            n = getattr(row, f"{kind}_tokens")
            if n is not None:
                self.tokens.setdefault(kind, []).append(n)


class RunTally:
    """Everything that is kept of a run's rows and scores while a scorecard is built."""

    def __init__(self, graders: Sequence[GraderFacts]) -> None:
        self.cases: dict[str, Place] = {}
        self.rows: dict[tuple[str, int], Outcome] = {}
        self.scores: dict[str, dict[tuple[str, int], Stored]] = {facts.name: {} for facts in graders}
        self.measurements = {facts.name: facts.measurement.lower() for facts in graders}
        if len(self.scores) != len(graders):
            raise ValueError("two graders of one scorecard have the same name")
        self.reasons: dict[str, Counter[str]] = {facts.name: Counter() for facts in graders}
        self.unmeasured: dict[str, Counter[str]] = {facts.name: Counter() for facts in graders}
        """Grader → the reason codes of its unmeasured scores."""
        self.criteria: dict[str, dict[tuple[str, str], dict[int, Outcome]]] = {facts.name: {} for facts in graders}
        self.calls_made = CallTally()
        self.epochs = 1

    def add_row(self, row: RowFacts) -> None:
        """Take in a row, or raise ``ValueError`` for a second one of its case × epoch."""
        key = (row.case_id, row.epoch)
        if key in self.rows:
            raise ValueError(f"case {row.case_id!r} has two rows for epoch {row.epoch}")
        self.rows[key] = _completion(row)
        self._see(row)
        self.calls_made.add(row)

    def add_score(self, score: ScoreFacts) -> None:
        """Take in a score, or raise ``ValueError`` for a second one or a grader that is not of this scorecard."""
        known = self.scores.get(score.grader)
        if known is None:
            raise ValueError(f"a score is of the grader {score.grader!r}, which is not among the scorecard's graders")
        key = (score.case_id, score.epoch)
        if key in known:
            raise ValueError(f"case {score.case_id!r} has two scores of {score.grader!r} for epoch {score.epoch}")
        known[key] = Stored(score.outcome, score.value, score.n_unsupported > 0)
        code = safe_name(score.reason_code, other="other", most=64)
        self.reasons[score.grader][code] += 1
        if score.outcome is Outcome.UNMEASURED:
            self.unmeasured[score.grader][code] += 1
        for criterion, outcome in score.criteria:
            self.criteria[score.grader].setdefault((score.case_id, criterion), {})[score.epoch] = outcome
        self._see(score)

    def expect_criteria(self, criteria: Iterable[tuple[str, str]]) -> None:
        """Take in case and criterion ids that graders of criteria should have an outcome for."""
        asked = list(criteria)
        for name, measurement in self.measurements.items():
            if measurement == "criteria":
                for key in asked:
                    self.criteria[name].setdefault(key, {})

    def _see(self, facts: RowFacts | ScoreFacts) -> None:
        self.cases.setdefault(facts.case_id, Place(facts.category, facts.cluster))
        self.epochs = max(self.epochs, facts.epoch + 1)

    def complete(self, case_ids: Iterable[str], epochs: int | None) -> None:
        """Take in the cases and epochs that should be there, and count the scores that are missing."""
        for case_id in case_ids:
            self.cases.setdefault(case_id, Place(None, None))
        self.cases = dict(sorted(self.cases.items()))
        self.epochs = max(self.epochs, epochs or 1)
        for name, known in self.scores.items():
            missing = len(self.cases) * self.epochs - len(known)
            if missing:
                self.reasons[name][NO_SCORE] += missing
                self.unmeasured[name][NO_SCORE] += missing

    @property
    def has_clusters(self) -> bool:
        """Whether any case has a cluster."""
        return any(place.cluster is not None for place in self.cases.values())

    @property
    def has_categories(self) -> bool:
        """Whether any case has a category."""
        return any(place.category is not None for place in self.cases.values())

    def cluster(self, case_id: str) -> tuple[bool, str]:
        """Return the case's cluster, or the case itself where it has none; the flag keeps the two apart."""
        named = self.cases[case_id].cluster
        return (named is not None, case_id if named is None else named)

    def of_case(self, grader: str, case_id: str) -> list[Stored]:
        """Return a grader's scores of one case, epoch by epoch, with an unmeasured one where there is none."""
        known = self.scores[grader]
        return [known.get((case_id, epoch), MISSING) for epoch in range(self.epochs)]

    def calls(self) -> dict[str, CaseOutcome]:
        """Return each case by whether it was answered; unmeasured where a row is missing."""
        return {
            case_id: reduce_epochs(self.rows.get((case_id, epoch), Outcome.UNMEASURED) for epoch in range(self.epochs))
            for case_id in self.cases
        }


def _completion(row: RowFacts) -> Outcome:
    """Return what the grader ``completion`` says of a row."""
    if not row.answered:
        return Outcome.FAIL
    if row.is_empty is None:
        return Outcome.UNMEASURED
    return Outcome.FAIL if row.is_empty else Outcome.PASS
