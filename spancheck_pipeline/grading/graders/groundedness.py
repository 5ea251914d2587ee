"""Groundedness: does what the answer asserts stand in its passages?

How one sentence stands in the passages lives in ``grading/grounding.py``; which sentences assert at all in
``evidence/claim.py`` and ``grading/abstention.py``; the hallucination rate over a run in ``decision``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from spancheck_pipeline.evidence.citation import source_name, strip_markers
from spancheck_pipeline.evidence.claim import claim_spans
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.evidence.text import Span
from spancheck_pipeline.grading.abstention import abstention_of, check_patterns, detect_abstention
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.grounding import Grounding, ground
from spancheck_pipeline.grading.phrasebook import data_versions
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.grading.shipped import ShippedGrader
from spancheck_pipeline.grading.support import data_versions as support_versions

_LIST_MARKER = re.compile(r"\A\s*(?:[-*+•·]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+")
"""What numbers a list's item is no number that a passage could tell."""


@dataclass(frozen=True)
class Groundedness(ShippedGrader):
    """Pass when at least ``threshold`` of what the answer asserts stands in its passages."""

    measurement: ClassVar[str] = "groundedness"
    version: ClassVar[str] = "2"

    name: str = "groundedness"
    threshold: float = 0.6
    """Smallest share of what the answer asserts that must stand in the passages, in [0, 1]."""
    support_threshold: float = 0.5
    """A sentence is supported when more than this share of its content stands there, and nothing speaks against it."""
    patterns: tuple[str, ...] = ()
    """Further declining phrases of a suite: RE2 regular expressions over lower-cased text."""

    def __post_init__(self) -> None:
        check_patterns(self.patterns)
        for setting in ("threshold", "support_threshold"):
            if not 0 <= getattr(self, setting) <= 1:
                raise ValueError(f"{setting} must be in [0, 1], not {getattr(self, setting)}")

    @property
    def data_versions(self) -> Mapping[str, str]:
        """Digests of the phrase files and word lists."""
        return {**data_versions(), **support_versions()}

    def grade(self, evidence: Evidence) -> Score:
        """Return the share of the asserted content that stands in the passages, with one finding per sentence."""
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
        grounded = self._grounded(output.answer, spans, [context.text or "" for _, context in passages])
        names = [name for name, _ in passages]
        findings = tuple(self._finding(i, span, grounding, names) for i, (span, grounding) in enumerate(grounded))
        if not findings:
            return Score.not_applicable("nothing_asserted", "The answer asserts nothing that passages could carry.")
        value = sum(item.value * item.weight for _, item in grounded) / sum(item.weight for _, item in grounded)
        supported = sum(finding.outcome is Outcome.PASS for finding in findings)
        passed = value >= self.threshold
        sentences = f"{supported} of {len(findings)} sentences are supported"
        reason = f"{value:.0%} of what the answer asserts stands in its passages; {sentences}."
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

    def _grounded(self, answer: str, spans: Sequence[Span], texts: Sequence[str]) -> tuple[tuple[Span, Grounding], ...]:
        """Return the sentences that have content, each with how it stands in the passages."""
        plain = strip_markers(answer)
        found = ((span, ground(_LIST_MARKER.sub("", plain[span.start : span.end]), texts)) for span in spans)
        return tuple((span, grounding) for span, grounding in found if grounding is not None)

    def _finding(self, i: int, span: Span, grounding: Grounding, names: Sequence[str]) -> Finding:
        supported = grounding.value > self.support_threshold and not grounding.is_objected
        reason = "; ".join(grounding.reasons) or "all of its words stand in the passages"
        return Finding(
            item=f"sentence[{i}]",
            kind="sentence",
            outcome=Outcome.PASS if supported else Outcome.FAIL,
            value=grounding.value,
            grade="contradicted" if grounding.is_contradicted else ("supported" if supported else "unsupported"),
            reason=reason[:1].upper() + reason[1:] + ".",
            source_id=names[grounding.best] if grounding.best is not None else None,
            answer_start=span.start,
            answer_end=span.end,
        )
