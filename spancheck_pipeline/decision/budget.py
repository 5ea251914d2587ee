"""Budgets: what an answer may cost on average and how long it may take, decided also where something is not known.

How cost and latency are counted lives in ``scorecard.py``; ``gate.py`` joins these answers with the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from spancheck_pipeline.decision.figures import Cost, Latency, ScorecardDocument
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.decision.numerals import beside, exact, stated
from spancheck_pipeline.decision.rule import Answer, RuleResult


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
        n_failed = scorecard.n_rows - scorecard.n_answered
        said = _latency_answer(latency, limits.p95_latency_ms, n_failed)
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
    if exact(cost.priced_total_usd) > exact(limit) * n:
        mean = f"{beside(cost.priced_total_usd / n, limit)} USD an answer over {n} answers"
        more = f", with the {cost.n_unpriced} unpriced taken as free" if cost.n_unpriced else ""
        return Answer.FAIL, (
            f"mean cost: {mean}{more}, above the budget of {stated(limit)}; use fewer tokens or raise the budget"
        )
    if cost.n_unpriced:
        return Answer.NOT_MEASURED, (
            f"mean cost: {cost.n_unpriced} of {n} answers have no known cost, so that the budget of {stated(limit)} "
            f"USD cannot be checked; {_to_price(cost)}"
        )
    return Answer.PASS, f"mean cost: {cost.mean_usd:.6g} USD an answer over {n} answers, within {stated(limit)}"


def _to_price(cost: Cost) -> str:
    """Return what is missing of the unpriced answers: their tokens, which are the target's, or prices of models."""
    n_priceless = cost.n_unpriced - cost.n_without_usage
    models = ", ".join(cost.models_without_price or cost.unpriced_models)
    steps = []
    if cost.n_without_usage:
        report = "reports" if cost.n_without_usage == 1 else "report"
        steps.append(f"{cost.n_without_usage} {report} no tokens: let the target return usage, or the cost itself")
    if n_priceless:
        lack = "lacks" if n_priceless == 1 else "lack"
        steps.append(f"{n_priceless} {lack} only a price: state those of {models} in the suite")
    return "; ".join(steps)


def _latency_answer(latency: Latency, limit: float, n_failed: int) -> tuple[Answer, str]:
    fast, slow, n_unknown = latency.p95_if_unknown_fast_ms, latency.p95_if_unknown_slow_ms, latency.n_unknown
    n = latency.answer.n
    if fast is None:
        return Answer.NOT_MEASURED, (
            f"p95 latency: no answer has a time ({n_unknown} without), so that the budget of {stated(limit)} ms cannot "
            f"be checked; {_to_time(n_failed, n_unknown - n_failed)}"
        )
    assert latency.answer.p95_ms is not None
    seen = f"p95 latency: {beside(latency.answer.p95_ms, limit)} ms over {n} answers"
    unknown = f" ({n_unknown} failed or without a time)" if n_unknown else ""
    if slow is not None and slow <= limit:
        return Answer.PASS, f"{seen}{unknown}, within {stated(limit)} ms"
    if fast > limit:
        return Answer.FAIL, f"{seen}{unknown}, above the budget of {stated(limit)} ms; look at the slowest cases"
    return Answer.NOT_MEASURED, (
        f"{seen}{unknown}, and those without a time decide whether {stated(limit)} ms is kept; "
        f"{_to_time(n_failed, n_unknown - n_failed)}"
    )


def _to_time(n_failed: int, n_untimed: int) -> str:
    """Return what is missing of the rows without a time: an answer, or the time of one."""
    if n_untimed > n_failed:
        return f"{n_untimed} answers came without a time: record the times with the answers, or capture the run"
    return f"{n_failed} calls failed: retry them (--retry-errors)" if n_failed else "capture the run"
