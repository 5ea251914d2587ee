"""The gate: thresholds, regressions and budgets applied to a run, each rule with its answer and its reason.

The rules themselves live in ``threshold.py``, ``regression.py`` and ``budget.py``, their settings in ``suite.py``. Who
decides, when and on which revision is passed in by the caller.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from spancheck_pipeline.decision.budget import budget_names, budget_rules
from spancheck_pipeline.decision.comparison import BASELINES, ComparisonDocument
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.decision.regression import regression_name, regression_rules
from spancheck_pipeline.decision.rule import Answer, RuleResult, gravest
from spancheck_pipeline.decision.threshold import (
    COMPLETION,
    cap_rules,
    required_measured,
    threshold_names,
    threshold_rules,
)
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.canonical import CONTRACT

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
    case_changes: tuple[str, ...] = ()
    """Per baseline whose cases are not those of this run: how many were added, removed, reworded, relabelled, or are no
    longer measured."""

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
        *threshold_rules(scorecard, settings),
        *cap_rules(scorecard, settings),
        *_regressions(scorecard, settings, comparisons),
        *budget_rules(scorecard, settings),
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
        case_changes=tuple(_case_changes(comparisons)),
        decided_by=decided_by,
        note=note,
    )


def _case_changes(comparisons: Sequence[ComparisonDocument]) -> Iterator[str]:
    """Yield what of the cases is another than in each baseline; a run that is two baselines is said once."""
    found: dict[tuple[str, str], list[str]] = {}
    for item in comparisons:
        if item.case_changes:
            where = item.baseline.date or item.baseline.run_id
            found.setdefault((where, item.case_changes), []).append(BASELINES[item.baseline_kind])
    for (where, changes), kinds in found.items():
        yield f"against {' and '.join(kinds)} ({where}): {changes}"


def check_thresholds(settings: GateSettings, grader_names: Iterable[str]) -> None:
    """Raise ``UsageError`` for thresholds on graders that are not there, naming the nearest that is."""
    known = [*dict.fromkeys([*grader_names, COMPLETION])]
    unknown = [name for name in settings.min_pass_rate if name not in known]
    if unknown:
        raise UsageError("; ".join(_unknown_grader(name, known) for name in unknown))


def rule_names(settings: GateSettings, grader_names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the rules that a gate will answer, in order, before there is anything to decide on."""
    regressions = [regression_name(name) for name in gating_graders(settings, grader_names)]
    return (*threshold_names(settings), *regressions, *budget_names(settings))


def _unknown_grader(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    fix = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
    return f"gate.min_pass_rate names the grader {name!r}, and the run was graded with none of that name; {fix}"


def gating_graders(settings: GateSettings, grader_names: Iterable[str]) -> list[str]:
    """Return the graders whose regressions are tested: those with a threshold, or all where none has one."""
    if settings.regression is None:
        return []
    return list(settings.min_pass_rate) or [name for name in grader_names if name != COMPLETION]


def _regressions(
    scorecard: ScorecardDocument, settings: GateSettings, comparisons: Sequence[ComparisonDocument]
) -> Iterator[RuleResult]:
    if settings.regression is not None:
        graders = gating_graders(settings, scorecard.graders)
        yield from regression_rules(
            comparisons, settings.regression, graders, is_blocking=settings.blocking, scorecard=scorecard
        )


__all__ = [
    "COMPLETION", "Answer", "GateDecision", "RuleResult", "check_thresholds", "decide", "required_measured",
    "rule_names",
]  # fmt: skip
