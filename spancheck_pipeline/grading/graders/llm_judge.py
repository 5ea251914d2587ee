"""The judge's view of a whole answer: do the passages carry it?

``groundedness`` asks sentence by sentence, and only about those that words leave open. Calling a judge lives elsewhere:
this reads what was recorded of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.packet import answer_packet
from spancheck_pipeline.evidence.run import CapturedRow, normalize
from spancheck_pipeline.grading import phrasebook
from spancheck_pipeline.grading.abstention import abstention_of
from spancheck_pipeline.grading.asking import Asking, JudgedGrader, needs
from spancheck_pipeline.grading.grader import Evidence, spec_of
from spancheck_pipeline.grading.judge import Judge
from spancheck_pipeline.grading.judge_provider import Provider, answered
from spancheck_pipeline.grading.score import Finding, GradeResult, Outcome, Score
from spancheck_pipeline.grading.shipped import result_of


@dataclass(frozen=True)
class LlmJudge(JudgedGrader):
    """Pass when a judge says that the passages carry the answer; the value is the judge's score."""

    measurement: ClassVar[str] = "llm_judge"
    version: ClassVar[str] = "2"

    judge: Judge
    """Asked once an answer, with all passages."""
    name: str = "llm_judge"

    def __post_init__(self) -> None:
        needs(self.judge, "judge", "entailment")

    @property
    def data_versions(self) -> Mapping[str, str]:
        """Digests of the phrase files that tell an answer that declines."""
        return phrasebook.data_versions()

    def judge_asked(self) -> Judge | None:
        """Return the judge."""
        return self.judge

    def score(self, evidence: Evidence, asking: Asking | None) -> Score:
        """Return what the judge says of an answer that asserts something and has passages."""
        output = evidence.output
        if not output.answer.strip():
            return Score.not_applicable("no_answer", "The answer is empty, so there is nothing to judge.")
        if (told := abstention_of(output)).declines:
            return Score.not_applicable(told.kind, f"The answer is {told.kind}, so there is nothing to judge.")
        packet = answer_packet(output.answer, [context.text or "" for context in output.contexts])
        if not packet.evidence:
            return Score.unmeasured("no_contexts", "The output has no passages with text.")
        assert asking is not None, "its settings name a judge"
        opinion = asking.opinion(packet)
        if opinion.supported is None or opinion.value is None:
            return Score.unmeasured(opinion.reason_code, opinion.reason)
        finding = Finding(
            item="answer",
            kind="answer",
            outcome=Outcome.PASS if opinion.supported else Outcome.FAIL,
            value=opinion.value,
            grade=opinion.label,
            reason=opinion.reason,
            answer_start=0,
            answer_end=len(output.answer),
        )
        code = None if opinion.supported else "not_supported"
        return Score.judged(
            opinion.supported, opinion.value, reason=opinion.reason, reason_code=code, findings=(finding,)
        )


@dataclass(frozen=True)
class ProvidedJudge(LlmJudge):
    """The same with a function as its judge, which needs no ``judges.yaml``. It cannot be named in a suite."""

    provider: Provider | None = None
    """Asked where the grader is called by hand, and by ``evaluate`` before it grades; None: the stub."""

    def __call__(self, case: Case, output: Any) -> GradeResult:
        """Ask the provider about what a system returned for a case, then grade it."""
        out = normalize(output)
        row = CapturedRow(
            case_id=case.id, question_digest=case.question_digest, output=out, latency_ms=out.latency_ms, attempts=0
        )
        wanted = self.packets(Evidence(case=case, output=out, row=row))
        verdicts = answered(wanted, self.provider)
        score = self.grade(Evidence(case=case, output=out, row=row, verdicts=verdicts))
        return result_of(self, score, spec_of(self).digest)
