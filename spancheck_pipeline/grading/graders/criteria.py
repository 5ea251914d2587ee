"""Criteria: which of a case's boolean statements about a good answer hold?

What each type means is decided by ``grading/criteria``; which shapes a target may have by ``evidence/criterion.py``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from spancheck_pipeline.evidence.case import Criterion
from spancheck_pipeline.evidence.dates import DateOrder
from spancheck_pipeline.evidence.packet import faithful_packet
from spancheck_pipeline.grading.asking import Asking, JudgedGrader, needs
from spancheck_pipeline.grading.criteria import Held, check
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.judge import Judge, open_code
from spancheck_pipeline.grading.score import Finding, Outcome, Score


@dataclass(frozen=True)
class Criteria(JudgedGrader):
    """Pass when every criterion of the case holds. A criterion holds or it does not: there is no threshold."""

    measurement: ClassVar[str] = "criteria"
    version: ClassVar[str] = "1"

    name: str = "criteria"
    date_order: DateOrder = "month_first"
    """How ``04/02/2019`` is read, in answers and in targets."""
    other_order: bool = False
    """Whether a date that names no day in this order may be read in the other one; the finding says so."""

    judge: Judge | None = None
    """Decides the criteria of type ``faithful``; None: they are unmeasured."""

    def __post_init__(self) -> None:
        needs(self.judge, "judge", "faithful")

    def judge_asked(self) -> Judge | None:
        """Return the judge that ``faithful`` criteria are left to."""
        return self.judge

    def score(self, evidence: Evidence, asking: Asking | None) -> Score:
        """Return one finding a criterion; the value is the share that held of those that could be checked."""
        criteria = evidence.case.criteria
        if not criteria:
            return Score.not_applicable("no_criteria", "The case has no criteria.")
        findings = []
        for criterion in criteria:
            held = self._held(criterion, evidence, asking)
            start, end = held.span or (None, None)
            findings.append(
                Finding(
                    item=criterion.id,
                    kind="criterion",
                    outcome=held.outcome,
                    value=float(held.outcome is Outcome.PASS) if held.outcome.is_measured else None,
                    grade=held.code,
                    reason=held.reason,
                    answer_start=start,
                    answer_end=end,
                )
            )
        return _score(tuple(findings))

    def _held(self, criterion: Criterion, evidence: Evidence, asking: Asking | None) -> Held:
        answer = evidence.output.answer
        if criterion.type == "faithful" and asking is not None:
            return (
                _judged(criterion, evidence, asking) if answer.strip() else Held.no("no_answer", "There is no answer.")
            )
        return check(criterion, answer, date_order=self.date_order, other_order=self.other_order)


def _judged(criterion: Criterion, evidence: Evidence, asking: Asking) -> Held:
    """Return what a judge says of a criterion. It sees the known passages and the retrieved ones."""
    passages = [context.text or "" for context in (*evidence.case.contexts, *evidence.output.contexts)]
    opinion = asking.opinion(faithful_packet(criterion, evidence.output.answer, passages))
    if opinion.supported is None:
        return Held.unmeasured(opinion.reason_code, opinion.reason)
    return Held.yes(opinion.reason) if opinion.supported else Held.no("does_not_hold", opinion.reason)


def _score(findings: tuple[Finding, ...]) -> Score:
    n = Counter(finding.outcome for finding in findings)
    n_held, n_failed, n_open = n[Outcome.PASS], n[Outcome.FAIL], n[Outcome.UNMEASURED]
    left = f"; {n_open} could not be checked" if n_open else ""
    reason = f"{n_held} of {n_held + n_failed} criteria held{left}."
    if n_open and not n_failed:
        codes = (finding.grade or "" for finding in findings if finding.outcome is Outcome.UNMEASURED)
        return Score.unmeasured(open_code(codes, "criteria_unmeasured"), reason, findings=findings)
    value = n_held / (n_held + n_failed)
    code = "criteria_failed" if n_failed else "ok"
    return Score.judged(not n_failed, value, reason=reason, reason_code=code, findings=findings)
