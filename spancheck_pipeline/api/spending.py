"""The budget of a run: not begun when it is expected to cost more, and stopped once it has.

What a run is expected to cost is ``decision/plan.py``'s; a judge's calls are held while they are made (``judging.py``).
Thresholds on mean cost are the gate's (``decision/budget.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from spancheck_pipeline.api.usage import answer_facts, latest_history
from spancheck_pipeline.decision.facts import safe_name
from spancheck_pipeline.decision.plan import plan
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import BudgetError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output, Prices, cost_usd
from spancheck_pipeline.storage.journal import Journal
from spancheck_pipeline.storage.store import Place, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN

_ROUNDING: Final = 1 + 1e-9
"""Sums of USD as binary numbers: twelve times 0.00012 is a little more than 0.00144."""


class Spending:
    """What the answers of one run have cost so far, against what they may. Failed calls report no cost and count 0.

    A judge's begins with what the target has cost (``spent_usd``).
    """

    def __init__(self, prices: Prices, limit_usd: float, *, spent_usd: float = 0.0) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = spent_usd
        self.n_answers = 0
        self._before_usd = spent_usd
        self._prices = prices

    def add(self, row: CapturedRow) -> BudgetError | None:
        """Count an answer; return why the run must stop now, or None."""
        return self.add_output(row.output) if row.output is not None else None

    def add_output(self, output: Output) -> BudgetError | None:
        """Count what an answer reports."""
        cost = cost_usd(output, self._prices)
        if cost is None:
            model = safe_name(output.served_model, other="its model") if output.served_model else None
            why = f"there is no price for {model}" if model else "it names no model"
            return BudgetError(
                f"budget.max_run_cost_usd is {self.limit_usd:g}, and what an answer cost is not known: {why}, or it "
                "reports no usage; "
                "add the price, have the target report `usage` and `model`, or take the budget out. "
                "What was captured is kept"
            )
        self.spent_usd = math.fsum((self.spent_usd, cost))
        self.n_answers += 1
        if self.spent_usd > self.limit_usd * _ROUNDING:
            return BudgetError(
                f"{self._told()}, and budget.max_run_cost_usd is {self.limit_usd:g}: the run is stopped. What was "
                "captured is kept; raise the budget and run the same command to go on"
            )
        return None

    def _told(self) -> str:
        if not self._before_usd:
            return f"{self.n_answers} answers have cost {self.spent_usd:.6g} USD"
        here = f"{self.n_answers} verdicts have cost {self.spent_usd - self._before_usd:.6g} USD"
        return f"{here} after {self._before_usd:.6g} USD for the answers and earlier verdicts"


def spending_of(
    store: Store,
    place: Place,
    suite: Suite,
    cases: Sequence[Case],
    journal: Journal,
    *,
    retried: Iterable[tuple[str, int]] | None = None,
) -> Spending | None:
    """Return what a run has spent so far, None where the suite has no budget or nothing is called.

    ``retried`` are the rows that a captured run is asked for again: the others' cost counts.

    Raises:
        BudgetError: when it is spent, or what is left to ask is expected to go beyond it. Nothing is called then.
    """
    limit = suite.budget.max_run_cost_usd
    if limit is None or suite.target.kind == "recorded":
        return None
    spending = Spending(suite.prices, limit)
    again = None if retried is None else set(retried)
    if again is not None:
        for facts in answer_facts(store.open(place, CAPTURED_RUN)):
            if facts.usage is not None:
                _refuse(spending.add_output(Output(usage=facts.usage, served_model=facts.served_model)))
    n_wanted = len(cases) * suite.epochs if again is None else len(again)
    recorded = journal.recorded_keys()
    for row in journal.rows(recorded):
        _refuse(spending.add(row))
    _refuse_by_plan(store, place, suite, cases, spending, n_left=max(0, n_wanted - len(recorded)))
    return spending


def _refuse_by_plan(
    store: Store, place: Place, suite: Suite, cases: Sequence[Case], spending: Spending, *, n_left: int
) -> None:
    """Raise when the rows that are left are expected to cost more than is left."""
    if spending.n_answers:
        each, basis = spending.spent_usd / spending.n_answers, "by what this run has spent so far"
    else:
        planned = plan(suite, cases, history=latest_history(store, suite))
        if planned.cost_usd is None:
            return  # the first answer tells
        each = planned.cost_usd.expected / max(1, len(cases) * suite.epochs)
        run_id = planned.calls[0].run_id
        basis = f"by the captured run {run_id}" if run_id else "by assumptions, since no run is captured yet"
    expected = spending.spent_usd + each * n_left
    if n_left and expected > spending.limit_usd * _ROUNDING:
        already = f"{spending.spent_usd:.6g} USD are spent, and " if spending.n_answers else ""
        raise BudgetError(
            f"{place}: {already}{n_left} answers are left to ask for; the run is expected to cost {expected:.6g} USD "
            f"({basis}), and budget.max_run_cost_usd is {spending.limit_usd:g}. Nothing was called: raise the budget, "
            "or ask for fewer cases or epochs (`spancheck plan` shows the figures)"
        )


def _refuse(error: BudgetError | None) -> None:
    if error is not None:
        raise error


__all__ = ["Spending", "spending_of"]
