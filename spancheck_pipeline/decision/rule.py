"""One rule of the gate and what it answers.

Which rules there are, and what they make of a run together, lives in ``gate.py`` and ``regression.py``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from spancheck_pipeline.decision.figures import Counts, ScorecardDocument
from spancheck_pipeline.decision.numerals import about_points


class Answer(StrEnum):
    """What a rule, and the gate as a whole, says. ``FAIL`` and ``NOT_MEASURED`` block."""

    PASS = "PASS"  # noqa: S105 - an answer, not a password
    FAIL = "FAIL"
    NOT_MEASURED = "NOT_MEASURED"
    """What was not measured could turn the answer; quality is not what failed."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """No regression was found, and the run could not have seen one; or the rule was not applied. It does not block."""

    @property
    def is_ok(self) -> bool:
        """Whether a run with this answer may go on."""
        return self in {Answer.PASS, Answer.INCONCLUSIVE}


def gravest(answers: set[Answer]) -> Answer:
    """Return the answer that decides: FAIL before NOT_MEASURED before INCONCLUSIVE before PASS.

    >>> gravest({Answer.PASS, Answer.INCONCLUSIVE}).value
    'INCONCLUSIVE'
    """
    order = (Answer.FAIL, Answer.NOT_MEASURED, Answer.INCONCLUSIVE)
    return next((answer for answer in order if answer in answers), Answer.PASS)


class RuleResult(BaseModel):
    """What one rule of the gate says."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    rule: str
    """Name of the rule, fit for a check's name: ``min_pass_rate_citation_accuracy``."""
    kind: Literal["threshold", "regression", "budget", "cap"]
    subject: str
    """The grader or the figure that it is about."""
    threshold: float | None = None
    """What is wanted of ``observed``. Of a regression: −margin; None where no margin is asked for."""
    observed: float | None = None
    """None where nothing was measured. Of a regression: the difference from the baseline."""
    answer: Answer
    reason: str
    """One sentence with the numbers, and what to do."""
    counts: Counts | None = None
    p_value: float | None = None
    """Of a regression: one-sided, Holm-adjusted over all gating tests; the smallest where there are two baselines."""
    detectable_drop: float | None = None
    """Of a regression: the smallest true drop that the run had four chances in five to see."""
    cases_needed: int | None = None
    """Of a regression that is inconclusive: about how many pairs would have seen the drop that the suite asks for.
    None where cases share clusters."""
    clusters_needed: int | None = None
    """The same in clusters (documents), where cases share them: more cases of the same documents show little."""
    is_blocking: bool = True
    """Whether the suite makes a failure of this rule an error, or only a warning."""
    is_ignored: bool = False
    """Whether it was not applied: the grader rests on a judge that may not gate. Then it is INCONCLUSIVE."""

    @property
    def test_facts(self) -> str:
        """What a regression's test came to, in words; empty for a rule without one."""
        facts = []
        if self.p_value is not None:
            facts.append(f"p = {self.p_value:.2g}")
        if self.detectable_drop is not None:
            facts.append(f"would have seen a drop of {about_points(self.detectable_drop)}")
        if self.cases_needed is not None:
            facts.append(f"about {self.cases_needed:,} independent case{'' if self.cases_needed == 1 else 's'} needed")
        if self.clusters_needed is not None:
            facts.append(f"at least {self.clusters_needed:,} document{'' if self.clusters_needed == 1 else 's'} needed")
        return "; ".join(facts)


def ignored(rule: RuleResult, scorecard: ScorecardDocument) -> RuleResult:
    """Return a rule about a grader, not applied where the grader rests on a judge that may not gate; else as it is."""
    stands = scorecard.not_gating(rule.subject)
    if not stands:
        return rule
    why = "; ".join(f"{name} is {found.trust.replace('_', ' ')} ({found.reason})" for name, found in stands.items())
    return RuleResult(
        rule=rule.rule,
        kind=rule.kind,
        subject=rule.subject,
        threshold=rule.threshold,
        observed=rule.observed,
        answer=Answer.INCONCLUSIVE,
        reason=f"{rule.subject}: not applied, since it rests on a judge that may not gate: {why}",
        counts=rule.counts,
        is_blocking=rule.is_blocking,
        is_ignored=True,
    )
