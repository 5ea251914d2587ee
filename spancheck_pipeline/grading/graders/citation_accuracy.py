"""Citation accuracy: is each quote really there, exactly where, and does it carry its claim?

One citation is verified in ``grading/verified.py``, up the ladder of ``grading/ladder.py``; which claims are cited at
all is told in ``grading/uncited.py``. This module says what the citations of one answer add up to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

from spancheck_pipeline.evidence.citation import Citation
from spancheck_pipeline.evidence.run import Context, Output
from spancheck_pipeline.evidence.text import Span
from spancheck_pipeline.grading import phrasebook
from spancheck_pipeline.grading.abstention import abstention_of
from spancheck_pipeline.grading.asking import Asking, JudgedGrader, needs
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.judge import Judge, open_code
from spancheck_pipeline.grading.ladder import passages_of
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.grading.support import DEFAULT_THRESHOLD, data_versions
from spancheck_pipeline.grading.uncited import Ranges, citations_of_markers, markers_of, uncited_claims
from spancheck_pipeline.grading.verified import CitationVerdict, Rules, SupportFn, verify, verify_citation


@dataclass(frozen=True)
class CitationAccuracy(JudgedGrader):
    """Share of an answer's citations that are really there and carry their claims; passes at ``pass_threshold``."""

    measurement: ClassVar[str] = "citation_accuracy"
    version: ClassVar[str] = "3"

    name: str = "citation_accuracy"
    support_threshold: float = DEFAULT_THRESHOLD
    """Smallest support that counts, in [0, 1]."""
    pass_threshold: float = 1.0
    """Smallest share of citations that passes, in [0, 1]."""
    require_citation: bool = True
    """Whether a claim without any citation counts as one that is not ok."""
    support_fn: SupportFn | None = None
    """Replaces the word check: ``(claim, evidence) -> (supported, value)``."""
    claim_split: bool = True
    """Whether the nearest sentence, not the whole answer, is the claim where nothing else tells it."""
    support: Literal["lexical"] | Judge = "lexical"
    """How support is checked: by the word check, or by a judge (``judge:NAME`` in a suite)."""
    min_words: int = 3
    """A quote of fewer words proves nothing."""
    qualifier_cut: Literal["warn", "fail"] = "warn"
    """Whether a quote that stops before *except*, *unless* … is only warned about, or not ok."""
    read_markers: bool = True
    """Whether inline markers are read as citations: all where an answer came without citations, else those of claims
    that would be uncited."""

    def __post_init__(self) -> None:
        for label, share in (("support_threshold", self.support_threshold), ("pass_threshold", self.pass_threshold)):
            if not 0.0 <= share <= 1.0:
                raise ValueError(f"{label} must be in [0, 1], not {share}")
        if self.min_words < 1:
            raise ValueError(f"min_words must be at least 1, not {self.min_words}")
        needs(self.judge_asked(), "support", "entailment")
        if self.support_fn is not None and self.judge_asked() is not None:
            raise ValueError("support is checked by a judge or by support_fn, not by both")

    @property
    def data_versions(self) -> Mapping[str, str]:
        """Digests of the word lists that support and abstention are read with."""
        return {**data_versions(), **phrasebook.data_versions()}

    def judge_asked(self) -> Judge | None:
        """Return the judge that support is left to."""
        return self.support if isinstance(self.support, Judge) else None

    def score(self, evidence: Evidence, asking: Asking | None) -> Score:
        """Return the share of citations that hold, with one finding per citation and per uncited claim.

        A judge is asked about the citations that are found: what is not there fails whatever it would say.
        """
        output = evidence.output
        if asking is not None or self.support_fn is not None or _chars(output) > _MOST_KEPT:
            return self._score(output, asking)
        return _kept(self, output.answer, output.contexts, output.citations, output.abstained, output.finish_reason)

    def _score(self, output: Output, asking: Asking | None) -> Score:
        if not output.answer.strip():
            return Score.not_applicable("no_answer", "The answer is empty, so it cites nothing.")
        if (told := abstention_of(output)).declines:
            return Score.not_applicable(told.kind, "The answer declines, so it has nothing to cite.")
        citations = output.citations or (citations_of_markers(output) if self.read_markers else ())
        rules = Rules(
            support_threshold=self.support_threshold,
            support_fn=self.support_fn,
            claim_split=self.claim_split,
            min_words=self.min_words,
            qualifier_cut=self.qualifier_cut,
            asking=asking,
        )
        passages = passages_of(output.contexts)
        verdicts = tuple(verify(item, output.contexts, passages, output.answer, rules=rules) for item in citations)
        uncited = uncited_claims(output, verdicts, threshold=self.support_threshold) if self.require_citation else ()
        if uncited and output.citations and self.read_markers:
            more = markers_of(uncited, output)
            verdicts += tuple(verify(item, output.contexts, passages, output.answer, rules=rules) for item in more)
            cited = Ranges([Span(c.answer_start or 0, c.answer_end or 0) for c in more])
            uncited = tuple(span for span in uncited if not cited.touch(span))
        if not verdicts and not uncited:
            return Score.not_applicable("no_citations", "The answer has no citation, and none is required.")
        findings = (
            *(_finding(f"citation[{index}]", verdict) for index, verdict in enumerate(verdicts[: len(citations)])),
            *(_finding(f"marker[{index}]", verdict) for index, verdict in enumerate(verdicts[len(citations) :])),
            *(_uncited_finding(index, span) for index, span in enumerate(uncited)),
        )
        return self._sum_up(verdicts, len(uncited), findings)

    def _sum_up(self, verdicts: Sequence[CitationVerdict], n_uncited: int, findings: tuple[Finding, ...]) -> Score:
        n_ok = sum(verdict.ok is True for verdict in verdicts)
        n_open = sum(verdict.ok is None for verdict in verdicts)
        n_all = len(verdicts) + n_uncited
        n_measured = n_all - n_open
        passes_at_worst = n_ok / n_all >= self.pass_threshold
        passes_at_best = (n_ok + n_open) / n_all >= self.pass_threshold
        counts = f"{n_ok} of {n_measured} measured citations and claims hold"
        if n_uncited:
            counts += f"; {n_uncited} claims have no citation"
        if n_open:
            counts += f"; {n_open} could not be measured"
        if n_measured == 0 or passes_at_worst != passes_at_best:
            codes = (v.opinion.reason_code for v in verdicts if v.ok is None and v.opinion is not None)
            code = open_code(codes, "not_measured")
            return Score.unmeasured(code, f"{counts}, which could change the outcome.", findings=findings)
        code = "ok" if passes_at_worst else _code(verdicts, n_uncited)
        return Score.judged(
            passes_at_worst, n_ok / n_measured, reason=f"{counts}.", reason_code=code, findings=findings
        )


_MOST_KEPT = 40_000
"""Characters of an answer and its passages up to which the score is kept."""


def _chars(output: Output) -> int:
    return len(output.answer) + sum(len(context.text or "") for context in output.contexts)


@lru_cache(maxsize=1024)
def _kept(  # noqa: PLR0917 - all that a score without a judge depends on, and nothing else
    grader: CitationAccuracy,
    answer: str,
    contexts: tuple[Context, ...],
    citations: tuple[Citation, ...],
    abstained: bool | None,
    finish_reason: str | None,
) -> Score:
    """Return the score of an output, kept because the same one comes back in other epochs and re-scorings."""
    output = Output(
        answer=answer, contexts=contexts, citations=citations, abstained=abstained, finish_reason=finish_reason
    )
    return grader._score(output, None)  # noqa: SLF001 - its own grader


def _code(verdicts: Sequence[CitationVerdict], n_uncited: int) -> str:
    """Return the word for what failed first: a citation that is not there, one that does not carry, or none at all."""
    if any(verdict.found is False for verdict in verdicts):
        return "citation_not_found"
    if any(verdict.ok is False for verdict in verdicts):
        return "claim_not_supported" if any(verdict.supported is False for verdict in verdicts) else "qualifier_cut"
    return "uncited_claim" if n_uncited else "failed"


def _finding(item: str, verdict: CitationVerdict) -> Finding:
    claim = verdict.claim
    outcome = Outcome.UNMEASURED if verdict.ok is None else Outcome.PASS if verdict.ok else Outcome.FAIL
    warned = f" ({', '.join(verdict.warnings)})" if verdict.warnings else ""
    return Finding(
        item=item,
        kind="citation",
        outcome=outcome,
        value=verdict.support,
        grade=verdict.provenance.value,
        reason=verdict.reason + warned,
        source_id=verdict.source_id,
        source_start=verdict.source_start,
        source_end=verdict.source_end,
        answer_start=claim.start if claim else None,
        answer_end=claim.end if claim else None,
    )


def _uncited_finding(index: int, span: Span) -> Finding:
    return Finding(
        item=f"claim[{index}]",
        kind="uncited_claim",
        outcome=Outcome.FAIL,
        grade="uncited",
        reason="This claim has no citation.",
        answer_start=span.start,
        answer_end=span.end,
    )


__all__ = ["CitationAccuracy", "CitationVerdict", "SupportFn", "citations_of_markers", "verify_citation"]
