"""Budgets: what an answer may cost on average and how long it may take, decided also where something is not known.

How cost and latency are counted lives in ``scorecard.py``; ``gate.py`` joins these answers with the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from spancheck_pipeline.decision.figures import Cost, Latency, ScorecardDocument
from spancheck_pipeline.decision.rule import Answer, RuleResult
from spancheck_pipeline.decision.suite import GateSettings


def budget_names(settings: GateSettings) -> list[str]:
    """Return the names of the budget rules that a suite's settings ask for."""
    return [
        f"budget_{name}" for name in ("mean_cost_usd", "p95_latency_ms") if getattr(settings.budget, name) is not None
    ]


def budget_rules(scorecard: ScorecardDocument, settings: GateSettings) -> Iterator[RuleResult]:
    """Yield what the cost and latency budgets say, at both extremes of what is not known."""
    cost, latency = scorecard.headline.cost, scorecard.headline.latency
    limits = settings.budget
    if limits.mean_cost_usd is not None:
        said = _cost_answer(cost, limits.mean_cost_usd)
        yield _budget_rule("mean_cost_usd", said, limit=limits.mean_cost_usd, observed=cost.mean_usd, settings=settings)
    if limits.p95_latency_ms is not None:
        said = _latency_answer(latency, limits.p95_latency_ms)
        p95_ms = latency.answer.p95_ms
        yield _budget_rule("p95_latency_ms", said, limit=limits.p95_latency_ms, observed=p95_ms, settings=settings)


def _budget_rule(
    name: str, said: tuple[Answer, str], *, limit: float, observed: float | None, settings: GateSettings
) -> RuleResult:
    return RuleResult(
        rule=f"budget_{name}",
        kind="budget",
        subject=name,
        threshold=limit,
        observed=observed,
        answer=said[0],
        reason=said[1],
        is_blocking=settings.blocking,
    )


def _cost_answer(cost: Cost, limit: float) -> tuple[Answer, str]:
    n = cost.n_priced + cost.n_unpriced
    if not n:
        return Answer.NOT_MEASURED, "mean cost: no call was answered, so that there is nothing to price"
    unpriced = f"{cost.n_unpriced} of {n} answers have no known cost (models: {', '.join(cost.unpriced_models)})"
    if cost.priced_total_usd / n > limit:
        mean = f"{cost.priced_total_usd / n:.6g} USD an answer over {n} answers"
        more = f", with the {cost.n_unpriced} unpriced taken as free" if cost.n_unpriced else ""
        return (
            Answer.FAIL,
            f"mean cost: {mean}{more}, above the budget of {limit:g}; use fewer tokens or raise the budget",
        )
    if cost.n_unpriced:
        return Answer.NOT_MEASURED, (
            f"mean cost: {unpriced}, so that the budget of {limit:g} USD cannot be checked; "
            "add their prices to the suite"
        )
    return Answer.PASS, f"mean cost: {cost.mean_usd:.6g} USD an answer over {n} answers, within {limit:g}"


def _latency_answer(latency: Latency, limit: float) -> tuple[Answer, str]:
    fast, slow, n_unknown = latency.p95_if_unknown_fast_ms, latency.p95_if_unknown_slow_ms, latency.n_unknown
    n = latency.answer.n
    if fast is None:
        return Answer.NOT_MEASURED, (
            f"p95 latency: no answer has a time ({n_unknown} without), so that the budget of {limit:g} ms cannot be "
            "checked; capture the run, or record the times"
        )
    seen = f"p95 latency: {latency.answer.p95_ms:.6g} ms over {n} answers"
    unknown = f" ({n_unknown} failed or without a time)" if n_unknown else ""
    if slow is not None and slow <= limit:
        return Answer.PASS, f"{seen}{unknown}, within {limit:g} ms"
    if fast > limit:
        return Answer.FAIL, f"{seen}{unknown}, above the budget of {limit:g} ms; look at the slowest cases"
    return Answer.NOT_MEASURED, (
        f"{seen}{unknown}, and those without a time decide whether {limit:g} ms is kept; retry the failed calls"
    )
