"""Groundedness: does what the answer asserts stand in its passages?

How one sentence stands in the passages lives in ``grading/grounding.py``; which sentences assert at all in
``evidence/claim.py`` and ``grading/abstention.py``; the hallucination rate over a run in ``decision``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from spancheck_pipeline.evidence.citation import source_name, strip_markers
from spancheck_pipeline.evidence.claim import claim_spans
from spancheck_pipeline.evidence.packet import sentence_packet, without_list_marker
from spancheck_pipeline.evidence.text import Span
from spancheck_pipeline.grading.abstention import abstention_of, check_patterns, detect_abstention
from spancheck_pipeline.grading.asking import Asking, JudgedGrader, needs
from spancheck_pipeline.grading.courtesy import is_courtesy
from spancheck_pipeline.grading.envelope import unwrapped
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.grounding import Grounding, ground
from spancheck_pipeline.grading.judge import Judge, Opinion, open_code
from spancheck_pipeline.grading.phrasebook import data_versions
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.grading.support import data_versions as support_versions

MOST_SENTENCES: Final = 2_000
"""Sentences of an answer that are read, the first ones. No system writes more to one question; a hostile one that does
must not cost its sentences times its passages."""


class _Sentence(NamedTuple):
    """An asserting sentence, how it stands in the passages, and what a judge says where one was to be asked."""

    span: Span
    grounding: Grounding
    opinion: Opinion | None

    @property
    def value(self) -> float | None:
        """Share of it that the passages carry, in [0, 1]; None where a judge's word is wanting."""
        return self.grounding.value if self.opinion is None else self.opinion.value


@dataclass(frozen=True)
class Groundedness(JudgedGrader):
    """Pass when at least ``threshold`` of what the answer asserts stands in its passages."""

    measurement: ClassVar[str] = "groundedness"
    version: ClassVar[str] = "4"

    name: str = "groundedness"
    threshold: float = 0.6
    """Smallest share of what the answer asserts that must stand in the passages, in [0, 1]."""
    support_threshold: float = 0.5
    """A sentence is supported when more than this share of its content stands there, and nothing speaks against it."""
    patterns: tuple[str, ...] = ()
    """Further declining phrases of a suite: RE2 regular expressions over lower-cased text."""
    judge: Judge | None = None
    """Asked about every sentence that the word check does not find whole; None: the word check decides alone."""

    def __post_init__(self) -> None:
        check_patterns(self.patterns)
        for setting in ("threshold", "support_threshold"):
            if not 0 <= getattr(self, setting) <= 1:
                raise ValueError(f"{setting} must be in [0, 1], not {getattr(self, setting)}")
        needs(self.judge, "judge", "groundedness")

    @property
    def data_versions(self) -> Mapping[str, str]:
        """Digests of the phrase files and word lists."""
        return {**data_versions(), **support_versions()}

    def judge_asked(self) -> Judge | None:
        """Return the judge that uncertain sentences are left to."""
        return self.judge

    def score(self, evidence: Evidence, asking: Asking | None) -> Score:
        """Return the share of the asserted content that stands in the passages, with one finding per sentence."""
        output = evidence.output
        told = abstention_of(output, patterns=self.patterns)
        if told.declines:
            return Score.not_applicable(told.kind, f"The answer is {told.kind}, so it asserts nothing.")
        passages = [(source_name(context, i), context) for i, context in enumerate(output.contexts)]
        passages = [(name, context) for name, context in passages if (context.text or "").strip()]
        answer = unwrapped(output.answer)
        claims = claim_spans(answer)
        spans = self._asserting(answer, claims[:MOST_SENTENCES], hedges=told.kind in {"hedged", "partial"})
        if not spans:
            return Score.not_applicable("nothing_asserted", "The answer asserts nothing that passages could carry.")
        if not passages:
            reason = "The output has no passages with text; let the target return them, or the export hold them."
            return Score.unmeasured("no_contexts", reason)
        texts = [context.text or "" for _, context in passages]
        found = tuple(self._sentences(answer, spans, texts, asking))
        if not found:
            return Score.not_applicable("nothing_asserted", "The answer asserts nothing that passages could carry.")
        names = [name for name, _ in passages]
        findings = tuple(self._finding(i, sentence, names) for i, sentence in enumerate(found))
        return self._sum_up(found, findings, n_unread=max(0, len(claims) - MOST_SENTENCES))

    def _sum_up(self, found: Sequence[_Sentence], findings: tuple[Finding, ...], *, n_unread: int) -> Score:
        """Return the weighted mean of what the sentences have, decided under both extremes for those left open."""
        weight = sum(item.grounding.weight for item in found)
        told = sum(item.value * item.grounding.weight for item in found if item.value is not None)
        open_weight = sum(item.grounding.weight for item in found if item.value is None)
        n_supported = sum(finding.outcome is Outcome.PASS for finding in findings)
        n_open = sum(finding.outcome is Outcome.UNMEASURED for finding in findings)
        sentences = f"{n_supported} of {len(findings) - n_open} sentences are supported"
        if n_open:
            sentences += f"; {n_open} could not be measured"
        if n_unread:
            sentences += f"; {n_unread} after the first {MOST_SENTENCES:,} were not read"
        passed = told / weight >= self.threshold
        could_pass = (told + open_weight) / weight >= self.threshold
        # An answer without an unsupported sentence is no hallucination; nobody knows that while one is open.
        n_unsupported = len(findings) - n_open - n_supported
        if n_open and (passed != could_pass or not n_unsupported):
            code = open_code((item.opinion.reason_code for item in found if item.opinion), "not_measured")
            return Score.unmeasured(code, f"{sentences}.", findings=findings)
        value = told / (weight - open_weight)
        reason = f"{value:.0%} of what the answer asserts stands in its passages; {sentences}."
        code = "ok" if passed else "below_threshold"
        return Score.judged(passed, value, reason=reason, reason_code=code, findings=findings)

    def _asserting(self, answer: str, spans: tuple[Span, ...], *, hedges: bool) -> tuple[Span, ...]:
        """Return the sentences that assert; a courtesy is none, nor is the declining part of a hedge."""
        spans = tuple(span for span in spans if not is_courtesy(answer[span.start : span.end]))
        if not hedges:
            return spans
        return tuple(
            span
            for span in spans
            if not detect_abstention(answer[span.start : span.end], patterns=self.patterns).declines
        )

    def _sentences(
        self, answer: str, spans: Sequence[Span], texts: Sequence[str], asking: Asking | None
    ) -> Iterator[_Sentence]:
        """Yield the sentences that have content.

        The word check is only sure of a sentence all of whose words, numbers and dates stand in the passages and that
        nothing speaks against. Every other one is left to the judge, where there is one.
        """
        plain = strip_markers(answer)
        for span in spans:
            text = plain[span.start : span.end]
            grounding = ground(without_list_marker(text), texts)
            if grounding is not None:
                is_sure = grounding.value >= 1  # an objection halves it
                opinion = None if asking is None or is_sure else asking.opinion(sentence_packet(text, texts))
                yield _Sentence(span, grounding, opinion)

    def _finding(self, i: int, sentence: _Sentence, names: Sequence[str]) -> Finding:
        span, grounding, opinion = sentence
        if opinion is None:
            supported: bool | None = grounding.value > self.support_threshold and not grounding.is_objected
            reason = "; ".join(grounding.reasons) or "all of its words stand in the passages"
            reason = reason[:1].upper() + reason[1:] + "."
            is_contradicted = grounding.is_contradicted
        else:
            supported, reason = opinion.supported, opinion.reason
            is_contradicted = opinion.label == "contradicted" and supported is False
        return Finding(
            item=f"sentence[{i}]",
            kind="sentence",
            outcome=Outcome.UNMEASURED if supported is None else Outcome.PASS if supported else Outcome.FAIL,
            value=sentence.value,
            grade=_grade(supported, is_contradicted=is_contradicted),
            reason=reason,
            source_id=names[grounding.best] if grounding.best is not None else None,
            answer_start=span.start,
            answer_end=span.end,
        )


def _grade(supported: bool | None, *, is_contradicted: bool) -> str:
    if is_contradicted:
        return "contradicted"
    return "unmeasured" if supported is None else "supported" if supported else "unsupported"
