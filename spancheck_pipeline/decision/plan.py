"""What a run will ask and cost before it is begun: calls, tokens and USD, each low, expected and high.

It is arithmetic on counts. Where a captured run is looked up for what answers used to need, and what stops a run that
spends too much, is ``api/planning.py`` and ``api/spending.py``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline import stats
from spancheck_pipeline.decision.facts import safe_name
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import ModelPrice, Output, Usage, cost_usd

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

PASSES: Final = 2
"""A row that fails is tried once more at the end of a night, with as many retries."""
CHARACTERS_A_TOKEN: Final = 4
NOT_REPORTED: Final = "(not reported)"


class Range(BaseModel):
    """A figure as it may come out."""

    model_config = _FROZEN

    low: float = Field(ge=0)
    expected: float = Field(ge=0)
    high: float = Field(ge=0)

    def times(self, other: Range) -> Range:
        """Return the product, bound by bound."""
        return Range(low=self.low * other.low, expected=self.expected * other.expected, high=self.high * other.high)


ASSUMED_PROMPT: Final = Range(low=0, expected=2_000, high=8_000)
"""Tokens that a system adds to a question (instructions, passages), where no captured run says it."""
ASSUMED_OUTPUT: Final = Range(low=50, expected=300, high=1_000)
ASSUMED_PACKETS: Final = Range(low=0, expected=2, high=5)
"""Packets that one answer gives a judge, where no captured run says it."""
ASSUMED_REPLY: Final = Range(low=20, expected=80, high=300)
"""Tokens of a verdict with its sentence."""
ASSUMED_ATTEMPTS: Final = 1.02
"""Calls a row, where no captured run says it: one row in fifty is asked twice."""


class PlannedCalls(BaseModel):
    """The calls of one kind that a run will make."""

    model_config = _FROZEN

    what: str
    """``target``, or the judge's name."""
    n_calls: Range
    """Low: every call answers at once. High: every attempt of every pass is used up."""
    input_tokens: Range | None = None
    """A call; None where nobody reports tokens."""
    output_tokens: Range | None = None
    cost_usd: Range | None = None
    """Of all these calls; None where a price or the usage is not known. Never 0 for a model without a price."""
    models: tuple[str, ...] = ()
    """Models that the price is of."""
    unpriced_models: tuple[str, ...] = ()
    """Models that no price is known of: why there is no cost."""
    basis: Literal["captured_run", "assumptions", "no_calls"]
    run_id: str | None = None
    """The captured run that the figures are from."""


class PlanDocument(BaseModel):
    """What one configuration of a suite will ask and cost. It holds counts, names and digests, no text of a case."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    suite: str
    config: str | None = None
    n_cases: int
    epochs: int
    calls: tuple[PlannedCalls, ...]
    cost_usd: Range | None = None
    """Of everything; None where a part is not known."""
    max_run_cost_usd: float | None = None
    """The suite's budget."""
    n_unjudged: int = 0
    """Criteria × epochs that only a judge can decide, and that no grader asks one about."""

    @property
    def is_over_budget(self) -> bool | None:
        """Whether the expected cost is above the budget; None where either is not known."""
        if self.cost_usd is None or self.max_run_cost_usd is None:
            return None
        return self.cost_usd.expected > self.max_run_cost_usd


class AnswerFacts(NamedTuple):
    """What one captured row tells about the next ones."""

    usage: Usage | None
    """None for a call that failed."""
    served_model: str | None
    attempts: int


class JudgeLoad(NamedTuple):
    """What one judge will be asked, as far as a captured run tells it."""

    name: str
    runs: int
    retries: int
    n_packets: int
    """Distinct packets that the captured run's answers give; 0 without one."""
    n_rows: int
    """Rows that they come from; 0 where no run is captured."""
    prompt_tokens: float
    """Instructions and, with a captured run, the mean packet, by characters."""
    answers: Sequence[AnswerFacts]
    """What earlier calls of this judge used."""
    prices: Mapping[str, ModelPrice]
    is_free: bool = False
    """Whether no call leaves the process."""
    run_id: str | None = None


class History(NamedTuple):
    """A captured run of the same target."""

    run_id: str
    rows: Sequence[AnswerFacts]


def plan(
    suite: Suite,
    cases: Sequence[Case],
    *,
    config: str | None = None,
    history: History | None = None,
    judges: Sequence[JudgeLoad] = (),
    asks_faithful: bool = False,
) -> PlanDocument:
    """Return what a run of a suite will ask and cost, of its target and of its judges. Nothing is called.

    ``asks_faithful`` says whether a grader asks a judge about criteria that only one can decide.
    """
    faithful = sum(criterion.type == "faithful" for case in cases for criterion in case.criteria)
    calls = (_target_calls(suite, cases, history), *(_judge_calls(suite, cases, load) for load in judges))
    return PlanDocument(
        suite=suite.name,
        config=config,
        n_cases=len(cases),
        epochs=suite.epochs,
        calls=calls,
        cost_usd=_total([item.cost_usd for item in calls]),
        max_run_cost_usd=suite.budget.max_run_cost_usd,
        n_unjudged=0 if asks_faithful else faithful * suite.epochs,
    )


def _target_calls(suite: Suite, cases: Sequence[Case], history: History | None) -> PlannedCalls:
    n_rows = len(cases) * suite.epochs
    if suite.target.kind == "recorded":
        nothing = Range(low=0, expected=0, high=0)
        return PlannedCalls(what="target", n_calls=nothing, cost_usd=nothing, basis="no_calls")
    answered = [row for row in history.rows if row.usage is not None] if history else []
    attempts = ASSUMED_ATTEMPTS
    if history and answered:
        attempts = sum(row.attempts for row in history.rows) / len(history.rows)
    most = (1 + suite.target.retries) * PASSES
    n_calls = Range(low=n_rows, expected=n_rows * min(max(attempts, 1.0), most), high=n_rows * most)
    if history and answered:
        return _from_history(suite, n_calls, history.run_id, answered)
    return _from_assumptions(suite, n_calls, cases)


def _total(costs: Sequence[Range | None]) -> Range | None:
    """Return the sum, bound by bound; None where a part is not known."""
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return None
    sums = (math.fsum(getattr(cost, bound) for cost in known) for bound in ("low", "expected", "high"))
    low, expected, high = sums
    return Range(low=low, expected=expected, high=high)


def _judge_calls(suite: Suite, cases: Sequence[Case], load: JudgeLoad) -> PlannedCalls:
    """Return the calls of one judge. Low: none, when every answer is one that was judged before."""
    n_rows = len(cases) * suite.epochs
    each = ASSUMED_PACKETS
    if load.n_rows:
        mean = load.n_packets / load.n_rows
        each = Range(low=0, expected=mean, high=mean)
    most = (1 + load.retries) * PASSES
    n_calls = Range(low=0, expected=n_rows * each.expected * load.runs, high=n_rows * each.high * load.runs * most)
    basis: Literal["captured_run", "assumptions"] = "captured_run" if load.n_rows else "assumptions"
    if load.is_free:
        nothing = Range(low=0, expected=0, high=0)
        return PlannedCalls(what=load.name, n_calls=n_calls, cost_usd=nothing, basis=basis, run_id=load.run_id)
    usages = [row.usage for row in load.answers if row.usage is not None]
    read = _spread([u.input_tokens for u in usages if u.input_tokens is not None])
    written = _spread([u.output_tokens for u in usages if u.output_tokens is not None])
    prompt = read or Range(low=load.prompt_tokens, expected=load.prompt_tokens, high=2 * load.prompt_tokens)
    reply = written or ASSUMED_REPLY
    cost = n_calls.times(_price(load.prices.values(), prompt, reply)) if load.prices else None
    return PlannedCalls(
        what=load.name,
        n_calls=n_calls,
        input_tokens=prompt,
        output_tokens=reply,
        cost_usd=cost,
        models=tuple(sorted(load.prices)),
        unpriced_models=() if load.prices else (NOT_REPORTED,),
        basis=basis,
        run_id=load.run_id,
    )


def _from_history(suite: Suite, n_calls: Range, run_id: str, answered: Sequence[AnswerFacts]) -> PlannedCalls:
    costs: list[float] = []
    models: Counter[str] = Counter()
    unpriced: Counter[str] = Counter()
    for row in answered:
        model = safe_name(row.served_model, other="(unreadable name)") if row.served_model else NOT_REPORTED
        cost = cost_usd(Output(usage=row.usage or Usage(), served_model=row.served_model), suite.prices)
        models[model] += 1
        if cost is None:
            unpriced[model] += 1
        else:
            costs.append(cost)
    each = _spread(costs) if not unpriced else None
    usages = [row.usage for row in answered if row.usage is not None]
    return PlannedCalls(
        what="target",
        n_calls=n_calls,
        input_tokens=_spread([u.input_tokens for u in usages if u.input_tokens is not None]),
        output_tokens=_spread([u.output_tokens for u in usages if u.output_tokens is not None]),
        cost_usd=n_calls.times(each) if each else None,
        models=tuple(sorted(models)),
        unpriced_models=tuple(sorted(unpriced)),
        basis="captured_run",
        run_id=run_id,
    )


def _spread(values: Sequence[float]) -> Range | None:
    """Return what most answers need: the cheapest tenth's bound, the mean, and the dearest twentieth's."""
    if not values:
        return None
    mean = math.fsum(values) / len(values)
    low, high = stats.quantile(values, 0.1), stats.quantile(values, 0.95)
    assert low is not None, "there are values"
    assert high is not None, "there are values"
    return Range(low=min(low, mean), expected=mean, high=max(high, mean))


def _from_assumptions(suite: Suite, n_calls: Range, cases: Sequence[Case]) -> PlannedCalls:
    asked = _mean_question_tokens(cases)
    prompt = Range(
        low=asked + ASSUMED_PROMPT.low, expected=asked + ASSUMED_PROMPT.expected, high=asked + ASSUMED_PROMPT.high
    )
    return PlannedCalls(
        what="target",
        n_calls=n_calls,
        input_tokens=prompt,
        output_tokens=ASSUMED_OUTPUT,
        cost_usd=n_calls.times(_price(suite.prices.values(), prompt, ASSUMED_OUTPUT)) if suite.prices else None,
        models=tuple(sorted(suite.prices)),
        unpriced_models=() if suite.prices else (NOT_REPORTED,),
        basis="assumptions",
    )


def _mean_question_tokens(cases: Sequence[Case]) -> float:
    lengths = []
    for case in cases:
        asked = case.input if isinstance(case.input, str) else json.dumps(case.input, ensure_ascii=False)
        lengths.append(len(asked) + sum(len(turn.text) for turn in case.history))
    return sum(lengths) / len(lengths) / CHARACTERS_A_TOKEN if lengths else 0.0


def _price(prices: Iterable[ModelPrice], prompt: Range, output: Range) -> Range:
    """Return what a call costs: low by the cheapest model of a price list, expected and high by the dearest."""

    def at(bound: Literal["low", "expected", "high"]) -> list[float]:
        return [
            (getattr(prompt, bound) * price.input_usd_per_mtok + getattr(output, bound) * price.output_usd_per_mtok)
            / 1e6
            for price in prices
        ]

    prices = list(prices)
    return Range(low=min(at("low")), expected=max(at("expected")), high=max(at("high")))
