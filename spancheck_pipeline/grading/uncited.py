"""Which of an answer's claims are cited at all: by inline markers, by recorded citations, or by none.

Reading markers lives in ``evidence/citation.py``, which words they are for in ``evidence/claim.py``; whether a citation
holds in ``verified.py``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from spancheck_pipeline.evidence.citation import Citation, names_of, resolve_marker, source_name
from spancheck_pipeline.evidence.claim import claim_spans, marked_claims
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.evidence.text import Span
from spancheck_pipeline.grading.courtesy import is_courtesy
from spancheck_pipeline.grading.provenance import Provenance
from spancheck_pipeline.grading.support import carries, says_something
from spancheck_pipeline.grading.verified import CitationVerdict


def citations_of_markers(output: Output) -> tuple[Citation, ...]:
    """Return the citations that the inline markers of an answer make: one per claim and id, without a quote.

    A marker such as ``[7]`` counts where it can be told from other brackets: at least one marker of the answer names a
    retrieved passage, or no passage was recorded at all. An id that names none stays as written, and dangles.
    """
    known = names_of(output.contexts)
    resolved: dict[str, str | None] = {}
    pairs: dict[tuple[str, Span], None] = {}
    for marked in marked_claims(output.answer, known):
        for name in (name for marker in marked.markers for name in marker.ids):
            if name not in resolved:
                resolved[name] = resolve_marker(name, output.contexts)
            pairs[resolved[name] or name, marked.claim] = None
    if output.contexts and not any(resolved.values()):
        return ()
    return tuple(Citation(source_id=name, answer_start=claim.start, answer_end=claim.end) for name, claim in pairs)


def markers_of(uncited: Sequence[Span], output: Output) -> list[Citation]:
    """Return what the markers of claims cite that no recorded citation is for, where they name a retrieved passage."""
    known = {source_name(context, index) for index, context in enumerate(output.contexts)}
    claims = Ranges(uncited)
    return [
        citation
        for citation in citations_of_markers(output)
        if citation.source_id in known and claims.touch(Span(citation.answer_start or 0, citation.answer_end or 0))
    ]


def uncited_claims(output: Output, verdicts: Sequence[CitationVerdict], *, threshold: float) -> tuple[Span, ...]:
    """Return the claims of an answer that no citation is for.

    A citation that is tied to a place is for the sentences there; one that is not (the claim was only guessed, or is
    in other words) is for every sentence that its own words or passage carry; where nobody can look, for any.
    """
    if any(v.provenance is Provenance.NO_EVIDENCE_TEXT and v.claim and v.claim.basis == "answer" for v in verdicts):
        return ()
    covered: list[Span] = []
    texts: dict[str, None] = {}
    for verdict in verdicts:
        claim = verdict.claim
        if claim and claim.start is not None and claim.end is not None and claim.basis != "answer":
            covered.append(Span(claim.start, claim.end))
        if claim and (claim.start is None or claim.basis in {"nearest", "answer"}):
            texts.update(dict.fromkeys(_own_texts(verdict, output)))
    held = Ranges(covered)
    loose = [span for span in claim_spans(output.answer) if not held.touch(span)]
    if not loose:
        return ()
    own = tuple(texts)[:_MOST_TEXTS]
    return tuple(
        span
        for span in loose
        if says_something(sentence := output.answer[span.start : span.end])
        and not carries(sentence, own, threshold=threshold)
        and not is_courtesy(sentence)
    )


class Ranges:
    """Ranges of an answer, merged, so that a sentence is looked up among them."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for span in sorted(spans):
            if self._ends and span.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], span.end)
            else:
                self._starts.append(span.start)
                self._ends.append(span.end)

    def touch(self, span: Span) -> bool:
        """Say whether a range shares a character with any of them."""
        at = bisect_left(self._starts, span.end) - 1
        return at >= 0 and self._ends[at] > span.start


_MOST_TEXTS = 100
"""Texts of citations without a place that are read for the sentences that nothing else cites."""


def _own_texts(verdict: CitationVerdict, output: Output) -> list[str]:
    texts = [
        text
        for text in (verdict.quote, verdict.claim.text if verdict.claim and verdict.claim.start is None else None)
        if text
    ]
    if verdict.provenance is Provenance.PASSAGE:
        texts += [c.text for i, c in enumerate(output.contexts) if c.text and source_name(c, i) == verdict.source_id]
    return texts
