"""One citation, verified: is its quote really there, and does the place carry its claim?

Which passage counts and which grade is given lives in ``ladder.py``; which claim a citation is for in
``evidence/claim.py``; whether a text carries a claim in ``support`` or with a judge; what the citations of one answer
add up to in ``graders/citation_accuracy.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from spancheck_pipeline.evidence.citation import Citation
from spancheck_pipeline.evidence.claim import Claim, claim_of
from spancheck_pipeline.evidence.packet import entailment_packet
from spancheck_pipeline.evidence.run import Context, Output
from spancheck_pipeline.grading.asking import Asking
from spancheck_pipeline.grading.judge import Opinion
from spancheck_pipeline.grading.ladder import (
    Passage,
    Place,
    evidence_text,
    named_by,
    passages_of,
    place_of,
    warnings_of,
)
from spancheck_pipeline.grading.provenance import Difference, Provenance
from spancheck_pipeline.grading.support import DEFAULT_THRESHOLD, Support, check_support, says_something

SupportFn = Callable[[str, str], Any]
"""``(claim, evidence) -> (supported, value)``, or a ``Support``, or a bool: a judge in place of the word check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationVerdict:
    """What was found out about one citation."""

    provenance: Provenance
    found: bool | None
    """None where it could not be looked for."""
    supported: bool | None
    """None where it could not be checked."""
    support: float | None
    """In [0, 1]."""
    ok: bool | None
    """Found and supported; None where that could not be measured."""
    reason: str
    warnings: tuple[str, ...] = ()
    source_id: str | None = None
    """Where the quote stands or, where it does not, the source that the citation names."""
    source_start: int | None = None
    source_end: int | None = None
    """Half-open, in code points of the original passage."""
    quote: str | None = None
    claim: Claim | None = None
    similarity: float | None = None
    """Of an altered quote to its window, in [0, 1]."""
    differences: tuple[Difference, ...] = ()
    support_reasons: tuple[str, ...] = ()
    scoped: bool = False
    """Whether the citation names a source that was retrieved, so that only that one could carry it."""
    opinion: Opinion | None = None
    """A judge's, where one was to be asked."""

    @property
    def span(self) -> str:
        """The quote, under the earlier library's name."""
        return self.quote or ""

    @property
    def span_found(self) -> bool:
        """Whether the quote was found, under the earlier library's name."""
        return bool(self.found)

    @property
    def claim_supported(self) -> bool:
        """Whether the claim is supported, under the earlier library's name."""
        return bool(self.supported)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The settings under which a citation is verified."""

    support_threshold: float = DEFAULT_THRESHOLD
    support_fn: SupportFn | None = None
    claim_split: bool = True
    min_words: int = 3
    qualifier_cut: Literal["warn", "fail"] = "warn"
    asking: Asking | None = None
    """A judge in place of the word check."""


def verify_citation(  # noqa: PLR0917 - the earlier library's order of arguments is kept
    citation: Citation | Mapping[str, Any] | str,
    contexts: Sequence[Context | Mapping[str, Any] | str],
    answer: str = "",
    support_threshold: float = DEFAULT_THRESHOLD,
    support_fn: SupportFn | None = None,
    sources: Mapping[str, str | None] | None = None,
    claim_split: bool = True,
    *,
    min_words: int = 3,
    qualifier_cut: Literal["warn", "fail"] = "warn",
) -> CitationVerdict:
    """Return what is known about one citation: how it stands in the passages, and whether it carries its claim.

    Args:
        citation: A quote and/or a source id, with a claim or offsets where the producer gave them.
        contexts: Retrieved passages: texts, or mappings with ``source_id`` and ``text``. A passage without an id is
            called by its 1-based place.
        answer: The answer, from which the claim is taken where the citation does not say it.
        support_threshold: Smallest support that counts, in [0, 1].
        support_fn: Replaces the word check: ``(claim, evidence) -> (supported, value)``.
        sources: More passages by source id.
        claim_split: Take the nearest sentence, not the whole answer, where nothing else tells the claim.
        min_words: A quote of fewer words proves nothing.
        qualifier_cut: Whether a quote that stops before *except*, *unless* … is only warned about, or not ok.

    >>> verdict = verify_citation("Notice is 30 days", ["Notice is 30 days."], "Notice is 30 days.")
    >>> verdict.provenance.value, verdict.ok, verdict.source_start, verdict.source_end
    ('exact', True, 0, 17)
    """
    rules = Rules(
        support_threshold=support_threshold,
        support_fn=support_fn,
        claim_split=claim_split,
        min_words=min_words,
        qualifier_cut=qualifier_cut,
    )
    fields: dict[str, Any] = {"contexts": list(contexts)}
    if sources:
        fields["sources"] = dict(sources)
    read = Output.model_validate(fields).contexts
    return verify(Citation.model_validate(citation), read, passages_of(read), answer, rules=rules)


def verify(
    citation: Citation, contexts: Sequence[Context], passages: Sequence[Passage], answer: str, *, rules: Rules
) -> CitationVerdict:
    """Return the verdict on one of an answer's citations; ``passages`` are the contexts', made once for all of them."""
    named = named_by(citation, passages)
    claim = claim_of(citation, answer, contexts=contexts, split=rules.claim_split)
    place = place_of(citation, passages, named, min_words=rules.min_words)
    return _weighed(citation, claim, place, rules, scoped=bool(named))


def _weighed(citation: Citation, claim: Claim, place: Place, rules: Rules, *, scoped: bool) -> CitationVerdict:
    """Return the verdict: the place, the support that is there, and what they come to."""
    grade, match, passage = place.grade, place.match, place.passage
    found = None if grade is Provenance.NO_EVIDENCE_TEXT else grade.is_found
    opinion = _opinion(claim.text, place, rules.asking) if rules.asking and found else None
    support = _of_opinion(opinion) if opinion else _support(claim.text, evidence_text(place), rules)
    warnings = warnings_of(citation, place)
    ok = _ok(found, support.supported)
    reason = place.reason
    if ok and rules.qualifier_cut == "fail" and "cut_before_qualifier" in warnings:
        ok = False
        reason += " It stops before what qualifies it."
    elif opinion:
        reason += " " + opinion.reason
    elif found and support.supported is not True:
        reason += " " + _support_reason(support)
    span = match.span if match else None
    return CitationVerdict(
        provenance=grade,
        found=found,
        supported=support.supported,
        support=support.value,
        ok=ok,
        reason=reason,
        warnings=warnings,
        source_id=passage.name if passage else citation.source_id,
        source_start=span.start if span else None,
        source_end=span.end if span else None,
        quote=citation.quote,
        claim=claim,
        similarity=match.similarity if match and grade is Provenance.ALTERED else None,
        differences=match.differences if match else (),
        support_reasons=support.reasons,
        scoped=scoped,
        opinion=opinion,
    )


def _ok(found: bool | None, supported: bool | None) -> bool | None:
    """Return found and supported; what is not found is not ok, whatever could not be measured."""
    if found is False or (found and supported is False):
        return False
    return None if found is None or supported is None else True


def _support_reason(support: Support) -> str:
    why = "; ".join(support.reasons[:2])
    if support.supported is None:
        return f"Support could not be measured: {why}."
    return f"It does not carry the claim: {why}."


def _opinion(claim: str, place: Place, asking: Asking) -> Opinion | None:
    """Return a judge's opinion; None where there is no evidence text, or the claim has no content."""
    evidence = evidence_text(place)
    if evidence is None or not says_something(claim):
        return None
    return asking.opinion(entailment_packet(claim, evidence))


def _of_opinion(opinion: Opinion) -> Support:
    return Support(opinion.supported, opinion.value, (opinion.reason,))


def _support(claim: str, evidence: str | None, rules: Rules) -> Support:
    if evidence is None:
        return Support(None, None, ("there is no evidence text",))
    if rules.asking is not None and says_something(claim):
        return Support(None, None, ("a judge is only asked about a quote that was found",))
    if rules.support_fn is None:
        return check_support(claim, evidence, threshold=rules.support_threshold)
    said = rules.support_fn(claim, evidence)
    if isinstance(said, Support):
        return said
    supported, value = said if isinstance(said, tuple) else (said, None)
    value = float(supported) if value is None and supported is not None else value
    denied = "could not say" if supported is None else "says that it does not"
    reasons = () if supported else (f"the support function {denied}",)
    return Support(None if supported is None else bool(supported), value, reasons)
