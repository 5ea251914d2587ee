"""Groundedness: does what the answer asserts stand in its passages?

Whether one sentence is supported by a passage lives in ``grading/support``; which sentences assert at all in
``evidence/claim.py`` and ``grading/abstention.py``; the hallucination rate over a run in ``decision``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spancheck_pipeline.evidence.citation import source_name, strip_markers
from spancheck_pipeline.evidence.claim import claim_spans
from spancheck_pipeline.evidence.run import Context, Output
from spancheck_pipeline.evidence.text import Span
from spancheck_pipeline.grading.abstention import abstention_of, check_patterns, detect_abstention
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.phrasebook import data_versions
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.grading.shipped import ShippedGrader
from spancheck_pipeline.grading.support import DEFAULT_THRESHOLD, Support, check_support


@dataclass(frozen=True)
class Groundedness(ShippedGrader):
    """Pass when at least ``threshold`` of the answer's asserting sentences are supported by its passages."""

    measurement: ClassVar[str] = "groundedness"
    version: ClassVar[str] = "1"

    name: str = "groundedness"
    threshold: float = 0.6
    """Smallest share of supported sentences that passes, in [0, 1]."""
    support_threshold: float = DEFAULT_THRESHOLD
    """Smallest share of a sentence's content that one passage must carry, in [0, 1]."""
    patterns: tuple[str, ...] = ()
    """Further declining phrases of a suite: RE2 regular expressions over lower-cased text."""

    def __post_init__(self) -> None:
        check_patterns(self.patterns)
        for setting in ("threshold", "support_threshold"):
            if not 0 <= getattr(self, setting) <= 1:
                raise ValueError(f"{setting} must be in [0, 1], not {getattr(self, setting)}")

    @property
    def data_versions(self) -> Mapping[str, str]:
        """Digests of the phrase files."""
        return data_versions()

    def grade(self, evidence: Evidence) -> Score:
        """Return the share of supported sentences, with one finding per sentence."""
        output = evidence.output
        told = abstention_of(output, patterns=self.patterns)
        if told.kind in {"abstained", "refused"}:
            return Score.not_applicable(told.kind, f"The answer is {told.kind}, so it asserts nothing.")
        passages = [(source_name(context, i), context) for i, context in enumerate(output.contexts)]
        passages = [(name, context) for name, context in passages if (context.text or "").strip()]
        spans = self._asserting(output, hedges=told.kind in {"hedged", "partial"})
        if not spans:
            return Score.not_applicable("nothing_asserted", "The answer asserts nothing that passages could carry.")
        if not passages:
            return Score.unmeasured("no_contexts", "The output has no passages with text.")
        findings = self._findings(output.answer, spans, passages)
        if not findings:
            return Score.not_applicable("nothing_asserted", "The answer asserts nothing that passages could carry.")
        supported = sum(finding.outcome is Outcome.PASS for finding in findings)
        value = supported / len(findings)
        passed = value >= self.threshold
        reason = f"{supported} of {len(findings)} asserting sentences are supported by a passage."
        code = "ok" if passed else "below_threshold"
        return Score.judged(passed, value, reason=reason, reason_code=code, findings=findings)

    def _asserting(self, output: Output, *, hedges: bool) -> tuple[Span, ...]:
        """Return the sentences that assert; the declining part of a hedge is none."""
        spans = claim_spans(output.answer)
        if not hedges:
            return spans
        declines = {"abstained", "refused"}
        answer = output.answer
        return tuple(
            span
            for span in spans
            if detect_abstention(answer[span.start : span.end], patterns=self.patterns).kind not in declines
        )

    def _findings(
        self, answer: str, spans: Sequence[Span], passages: Sequence[tuple[str, Context]]
    ) -> tuple[Finding, ...]:
        """Return one finding per sentence that has content; the others (a bare "Yes.") cannot be checked."""
        names = [name for name, _ in passages]
        texts = tuple(context.text or "" for _, context in passages)
        plain = strip_markers(answer)
        found: list[Finding] = []
        for i, span in enumerate(spans):
            support = check_support(plain[span.start : span.end], texts, threshold=self.support_threshold)
            if support.supported is not None:
                found.append(_finding(i, span, support, names))
        return tuple(found)


def _finding(i: int, span: Span, support: Support, names: Sequence[str]) -> Finding:
    reason = "; ".join(support.reasons) or f"{support.value or 0:.0%} of what it says stands in the nearest passage"
    return Finding(
        item=f"sentence[{i}]",
        kind="sentence",
        outcome=Outcome.PASS if support.supported else Outcome.FAIL,
        value=support.value,
        grade="supported" if support.supported else "unsupported",
        reason=reason[:1].upper() + reason[1:] + ".",
        source_id=names[support.best] if support.best is not None else None,
        answer_start=span.start,
        answer_end=span.end,
    )
