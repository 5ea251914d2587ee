"""The gate: thresholds and budgets applied to a scorecard, each rule with its answer and its reason.

The settings are in ``suite.py``, the counts in ``figures.py``, the formulas in ``stats.py``. Who decides, when and
on which revision is passed in by the caller. Tests against a baseline take a comparison of two runs; where there is
none, the thresholds alone decide.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.decision.figures import Cost, Counts, Latency, ScorecardDocument
from spancheck_pipeline.decision.regression import regression_name, regression_rules
from spancheck_pipeline.decision.rule import Answer, RuleResult, gravest
from spancheck_pipeline.decision.suite import GateSettings
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.canonical import CONTRACT

COMPLETION: Final = "completion"
DEFAULT_MIN_MEASURED: Final = 30
_FEWEST_MEASURED: Final = 10

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class GateDecision(BaseModel):
    """What a gate said about a run, on which scores. It unpacks as ``(ok, reasons)``."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    suite: str
    run_id: str
    date: str | None = None
    config: str | None = None
    revision: int | None = None
    """Number of the decision about this run, from 1; None for one that is not kept."""
    answer: Answer
    rules: tuple[RuleResult, ...]
    settings: GateSettings
    scorecard_digest: str
    inputs: dict[str, str] = Field(default_factory=dict)
    """Digests of what the decision rests on, as the caller names them."""
    comparisons: dict[str, str] = Field(default_factory=dict)
    """Digest of the comparison with each baseline."""
    is_strict: bool = False
    """Whether INCONCLUSIVE blocks too."""
    decided_at: datetime | None = None
    """UTC."""
    decided_by: str = ""
    note: str = ""
    """Why it was decided (again)."""

    @property
    def ok(self) -> bool:
        """Whether the run may go on: PASS, or INCONCLUSIVE where that is not strict."""
        return self.answer is Answer.PASS if self.is_strict else self.answer.is_ok

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reason of every rule that did not pass, in the rules' order."""
        return tuple(rule.reason for rule in self.rules if rule.answer is not Answer.PASS)

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]  # the earlier library's gate returned a pair
        yield self.ok
        yield self.reasons


def decide(
    scorecard: ScorecardDocument,
    settings: GateSettings,
    *,
    comparisons: Sequence[ComparisonDocument] = (),
    is_strict: bool = False,
    decided_at: datetime | None = None,
    decided_by: str = "",
    note: str = "",
    revision: int | None = None,
    inputs: Mapping[str, str] | None = None,
) -> GateDecision:
    """Return what the gate says about a run.

    ``comparisons`` are with its baselines, comparable or not; without a comparable one the thresholds alone decide.
    Any FAIL makes the answer FAIL; else any NOT_MEASURED, NOT_MEASURED; else any INCONCLUSIVE, INCONCLUSIVE; else PASS.

    Raises:
        UsageError: for a threshold on a grader that the scorecard does not have.
    """
    check_thresholds(settings, scorecard.graders)
    rules = (
        *_thresholds(scorecard, settings),
        *_regressions(scorecard, settings, comparisons),
        *_budgets(scorecard, settings),
    )
    return GateDecision(
        suite=scorecard.suite,
        run_id=scorecard.run_id,
        date=scorecard.date,
        config=scorecard.config,
        revision=revision,
        answer=gravest({rule.answer for rule in rules}),
        rules=rules,
        settings=settings,
        scorecard_digest=scorecard.digest,
        inputs=dict(sorted((inputs or {}).items())),
        decided_at=decided_at,
        is_strict=is_strict,
        comparisons={c.baseline_kind: c.digest for c in comparisons},
        decided_by=decided_by,
        note=note,
    )


def check_thresholds(settings: GateSettings, grader_names: Iterable[str]) -> None:
    """Raise ``UsageError`` for thresholds on graders that are not there, naming the nearest that is."""
    known = [*dict.fromkeys([*grader_names, COMPLETION])]
    unknown = [name for name in settings.min_pass_rate if name not in known]
    if unknown:
        raise UsageError("; ".join(_unknown_grader(name, known) for name in unknown))


def rule_names(settings: GateSettings, grader_names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the rules that a gate will answer, in order, before there is anything to decide on."""
    names = [_threshold_name(name) for name in _thresholds_of(settings)]
    names += [regression_name(name) for name in _gating(settings, grader_names)]
    names += [
        f"budget_{name}" for name in ("mean_cost_usd", "p95_latency_ms") if getattr(settings.budget, name) is not None
    ]
    return tuple(names)


def required_measured(counts: Counts, min_measured: int | None) -> int:
    """Return how many cases a threshold must rest on (docs/decisions/0010).

    min(min_measured or 30, max(⌈applicable/2⌉, min(10, ⌈cases/2⌉))): half of the applicable cases are enough in a small
    suite, but one cited answer among 300 cases is not.

    >>> required_measured(Counts(n_cases=300, n_pass=1, n_not_applicable=299), None)
    10
    """
    floor = min(_FEWEST_MEASURED, math.ceil(counts.n_cases / 2))
    return min(min_measured or DEFAULT_MIN_MEASURED, max(math.ceil(counts.n_applicable / 2), floor))


def _unknown_grader(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"gate.min_pass_rate names the grader {name!r}, which is not in the suite; did you mean {near[0]!r}?"


def _threshold_name(grader: str) -> str:
    return f"min_pass_rate_{grader}"


def _thresholds_of(settings: GateSettings) -> dict[str, float]:
    return {COMPLETION: 1.0, **settings.min_pass_rate}


def _gating(settings: GateSettings, grader_names: Iterable[str]) -> list[str]:
    """Return the graders whose regressions are tested: those with a threshold, or all where none has one."""
    if settings.regression is None:
        return []
    return list(settings.min_pass_rate) or [name for name in grader_names if name != COMPLETION]


def _thresholds(scorecard: ScorecardDocument, settings: GateSettings) -> Iterator[RuleResult]:
    for name, threshold in _thresholds_of(settings).items():
        counts = _counts_of(scorecard, name)
        answer, reason = _threshold_answer(name, counts, threshold, settings.min_measured)
        yield RuleResult(
            rule=_threshold_name(name),
            kind="threshold",
            subject=name,
            threshold=threshold,
            observed=counts.n_pass / counts.n_measured if counts.n_measured else None,
            answer=answer,
            reason=reason,
            counts=counts,
            is_blocking=settings.blocking,
        )


def _counts_of(scorecard: ScorecardDocument, name: str) -> Counts:
    """Return a grader's counts; completion is read off the calls where no grader measures it."""
    figures = scorecard.graders.get(name)
    if name == COMPLETION and (figures is None or figures.measurement.lower() != COMPLETION):
        return scorecard.calls
    assert figures is not None
    return figures.counts


def _threshold_answer(name: str, counts: Counts, threshold: float, min_measured: int | None) -> tuple[Answer, str]:
    wanted = Fraction(str(threshold))  # as written: 0.95 of 20 is 19, which no float product promises
    if not counts.n_applicable:
        return Answer.FAIL, (
            f"{name}: nothing was measured ({_cases(counts.n_not_applicable)} not applicable), so {threshold:g} is not "
            "reached; check that the grader fits the suite and that the system answers"
        )
    required = 1 if name == COMPLETION else required_measured(counts, min_measured)
    if counts.n_measured < required:
        return Answer.NOT_MEASURED, (
            f"{name}: {counts.n_measured} of {_cases(counts.n_cases)} measured ({counts.n_unmeasured} unmeasured, "
            f"{counts.n_not_applicable} not applicable), and the threshold must rest on {required}; "
            "quality is not what failed: measure more cases, or lower min_measured"
        )
    if_all_pass = Fraction(counts.n_pass + counts.n_unmeasured, counts.n_applicable) >= wanted
    if_all_fail = Fraction(counts.n_pass, counts.n_applicable) >= wanted
    figures = _passed(counts)
    if if_all_fail:
        return Answer.PASS, f"{name}: {figures}, at least {threshold:g} is wanted"
    if not if_all_pass:
        return Answer.FAIL, f"{name}: {figures}, below {threshold:g}; look at the failing cases"
    return Answer.NOT_MEASURED, (
        f"{name}: {figures}, and the unmeasured decide whether {threshold:g} is reached; "
        "quality is not what failed: retry the failed calls and verdicts"
    )


def _passed(counts: Counts) -> str:
    rate = f"{counts.n_pass} of {counts.n_measured} measured passed"
    more = {"flaky": counts.n_flaky, "unmeasured": counts.n_unmeasured}
    extra = ", ".join(f"{n} {what}" for what, n in more.items() if n)
    return rate + (f" ({extra})" if extra else "")


def _cases(n: int) -> str:
    return f"{n} case" if n == 1 else f"{n} cases"


def _regressions(
    scorecard: ScorecardDocument, settings: GateSettings, comparisons: Sequence[ComparisonDocument]
) -> Iterator[RuleResult]:
    if settings.regression is not None:
        graders = _gating(settings, scorecard.graders)
        yield from regression_rules(comparisons, settings.regression, graders, is_blocking=settings.blocking)


def _budgets(scorecard: ScorecardDocument, settings: GateSettings) -> Iterator[RuleResult]:
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


__all__ = [
    "COMPLETION", "Answer", "GateDecision", "RuleResult", "check_thresholds", "decide", "required_measured",
    "rule_names",
]  # fmt: skip
