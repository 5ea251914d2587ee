"""Citation accuracy: is each quote really there, exactly where, and does it carry its claim?

Which claim a citation carries is told in ``evidence/claim.py``; how a quote stands in one passage in
``grading/provenance.py``; whether a text carries a claim in ``grading/support``. This module says which passage counts,
in which order the grades are given, and what the citations of one answer add up to.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Literal

from spancheck_pipeline.evidence.citation import Citation, Marker, resolve_marker, source_name
from spancheck_pipeline.evidence.claim import Claim, claim_of, claim_spans, marked_claims
from spancheck_pipeline.evidence.run import Context, Output
from spancheck_pipeline.evidence.text import Span, fold, sentences
from spancheck_pipeline.grading import phrasebook
from spancheck_pipeline.grading.abstention import abstention_of
from spancheck_pipeline.grading.grader import Evidence
from spancheck_pipeline.grading.provenance import Difference, Match, Provenance, Quote, cut_warnings, locate, nearest
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.grading.shipped import ShippedGrader
from spancheck_pipeline.grading.support import DEFAULT_THRESHOLD, Support, check_support, data_versions, says_something

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


@dataclass(frozen=True, slots=True)
class _Passage:
    name: str
    text: str | None
    aliases: frozenset[str]

    @property
    def called(self) -> str:
        """What a reason calls it, so that a number or word is not misread."""
        return f"passage {self.name}" if self.name.isdigit() else f"source {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    support_threshold: float = DEFAULT_THRESHOLD
    support_fn: SupportFn | None = None
    claim_split: bool = True
    min_words: int = 3
    qualifier_cut: Literal["warn", "fail"] = "warn"


@dataclass(frozen=True, slots=True)
class _Place:
    """A grade with the passage that it rests on."""

    grade: Provenance
    reason: str
    passage: _Passage | None = None
    match: Match | None = None


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
    rules = _Rules(
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
    return _verify(Citation.model_validate(citation), read, _passages(read), answer, rules)


def _passages(contexts: Sequence[Context]) -> tuple[_Passage, ...]:
    return tuple(_passage(context, index) for index, context in enumerate(contexts))


def _verify(
    citation: Citation, contexts: Sequence[Context], passages: tuple[_Passage, ...], answer: str, rules: _Rules
) -> CitationVerdict:
    # By its own name first: two passages of one address are told apart by their names.
    source = citation.source_id
    named = [passage for passage in passages if passage.name == source] or [
        passage for passage in passages if source is not None and source in passage.aliases
    ]
    claim = claim_of(citation, answer, contexts=contexts, split=rules.claim_split)
    place = _place(citation, passages, named, rules)
    return _judge(citation, claim, place, rules, scoped=bool(named))


def _passage(context: Context, index: int) -> _Passage:
    name = source_name(context, index)
    aliases = frozenset(alias for alias in (name, context.uri, context.title) if alias)
    return _Passage(name, context.text if context.text and context.text.strip() else None, aliases)


def _place(  # noqa: PLR0911 - one return a rung
    citation: Citation, passages: Sequence[_Passage], named: Sequence[_Passage], rules: _Rules
) -> _Place:
    """Return the citation's grade and the passage that it rests on, in the documented order."""
    text = citation.quote if citation.quote and citation.quote.strip() else None
    source = citation.source_id
    if text is None:
        return _place_of_passage(source, passages, named)
    quote = Quote.of(text)
    if quote.is_too_short(rules.min_words):
        return _Place(Provenance.TOO_SHORT, f"The quote has fewer than {rules.min_words} words, which prove nothing.")
    if not passages:
        return _Place(Provenance.NO_EVIDENCE_TEXT, _NONE_RECORDED)
    if named and not any(passage.text for passage in named):
        return _Place(Provenance.NO_EVIDENCE_TEXT, "The source that it names came without text.", named[0])
    if source is None:
        return _place_anywhere(quote, passages)
    if found := _best_of(quote, named):
        return found
    others = [passage for passage in passages if passage not in named]
    elsewhere = _best_of(quote, others)
    if elsewhere and elsewhere.grade.is_found:
        reason = f"The quote is not in the source it names ({source}); it stands in {_name(elsewhere)}."
        return replace(elsewhere, grade=Provenance.MISATTRIBUTED, reason=reason)
    if altered := _nearest_of(quote, named):
        return altered
    if not named:
        return _Place(Provenance.DANGLING, f"It names a source that was not retrieved ({source}), and stands nowhere.")
    return _nearest_of(quote, others) or _Place(
        Provenance.FABRICATED, "The quote is in no retrieved passage.", named[0]
    )


_NONE_RECORDED = "No retrieved passage was recorded, so nobody can look."


def _place_of_passage(source: str | None, passages: Sequence[_Passage], named: Sequence[_Passage]) -> _Place:
    if source is None:
        return _Place(Provenance.TOO_SHORT, "The citation has neither a quote nor a source.")
    if not passages:
        return _Place(Provenance.NO_EVIDENCE_TEXT, _NONE_RECORDED)
    if not named:
        return _Place(Provenance.DANGLING, f"It names a source that was not retrieved ({source}).")
    with_text = [passage for passage in named if passage.text]
    if not with_text:
        return _Place(Provenance.NO_EVIDENCE_TEXT, "The source that it names came without text.", named[0])
    cited = with_text[0]
    if len(with_text) > 1:
        # Some producers cite a file of which several passages came: any of them may carry the claim.
        cited = replace(cited, text="\n\n".join(passage.text or "" for passage in with_text))
    return _Place(Provenance.PASSAGE, "It cites a retrieved passage without quoting it.", cited)


def _place_anywhere(quote: Quote, passages: Sequence[_Passage]) -> _Place:
    if found := _best_of(quote, passages) or _nearest_of(quote, passages):
        return found
    if any(passage.text is None for passage in passages):
        reason = "It names no source, it is in no passage with text, and at least one passage came without text."
        return _Place(Provenance.NO_EVIDENCE_TEXT, reason)
    return _Place(Provenance.FABRICATED, "The quote is in no retrieved passage.")


_RANK = (Provenance.EXACT, Provenance.TYPOGRAPHIC, Provenance.ELIDED, Provenance.ELLIPSIS_HIDES)


def _best_of(quote: Quote, passages: Sequence[_Passage]) -> _Place | None:
    """Return the best way in which the quote stands in any of the passages; the first passage of equals."""
    best: _Place | None = None
    for passage in passages:
        if passage.text is None or (match := locate(quote, passage.text)) is None:
            continue
        if best is None or _RANK.index(match.grade) < _RANK.index(best.grade):
            best = _Place(match.grade, _found_reason(match, passage), passage, match)
        if best.grade is Provenance.EXACT:
            break
    return best


def _found_reason(match: Match, passage: _Passage) -> str:
    if match.grade is Provenance.ELLIPSIS_HIDES:
        return f"The ellipsis swallows “{match.hidden}” in {passage.called}."
    how = {
        Provenance.EXACT: "word for word",
        Provenance.TYPOGRAPHIC: "with other typography",
        Provenance.ELIDED: "with an honest ellipsis",
    }
    return f"The quote stands in {passage.called} {how[match.grade]}."


def _nearest_of(quote: Quote, passages: Sequence[_Passage]) -> _Place | None:
    best: _Place | None = None
    for passage in passages:
        if passage.text is None or (match := nearest(quote, passage.text)) is None:
            continue
        if best is None or best.match is None or (match.similarity or 0) > (best.match.similarity or 0):
            best = _Place(Provenance.ALTERED, f"Nearly in {passage.called}: {_changes(match)}.", passage, match)
    return best


def _changes(match: Match) -> str:
    """Return what differs, as a reviewer reads it."""
    said = [
        f"“{d.quoted}” stands for “{d.source}”" if d.quoted and d.source
        else f"“{d.quoted}” is added" if d.quoted
        else f"“{d.source}” is left out"
        for d in match.differences[:3]
    ]  # fmt: skip
    more = len(match.differences) - len(said)
    return "; ".join(said) + (f"; {more} more" if more > 0 else "") if said else "it starts or ends inside a word"


def _name(place: _Place) -> str:
    return place.passage.called if place.passage else "no passage"


def _judge(citation: Citation, claim: Claim, place: _Place, rules: _Rules, *, scoped: bool) -> CitationVerdict:
    """Return the verdict: the place, the support that is there, and what they come to."""
    grade, match, passage = place.grade, place.match, place.passage
    found = None if grade is Provenance.NO_EVIDENCE_TEXT else grade.is_found
    support = _support(claim.text, _evidence_text(place), rules)
    warnings = _warnings(citation, place)
    ok = _ok(found, support.supported)
    reason = place.reason
    if ok and rules.qualifier_cut == "fail" and "cut_before_qualifier" in warnings:
        ok = False
        reason += " It stops before what qualifies it."
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


def _evidence_text(place: _Place) -> str | None:
    """Return what is read for support: the sentences around the match, or the whole passage that is cited."""
    passage, match = place.passage, place.match
    if passage is None or passage.text is None:
        return None
    if match is None or match.span is None:
        return passage.text if place.grade is Provenance.PASSAGE else None
    return _widened(passage.text, match.span)


def _widened(text: str, span: Span) -> str:
    """Return the sentences that a range touches, so that a not before the quote, or a name in it, is seen."""
    spans = sentences(text)
    first, after = bisect_right(spans, span.start, key=attrgetter("end")), bisect_left(spans, (span.end,))
    if first >= after:
        return text[span.start : span.end]
    return text[min(spans[first].start, span.start) : max(spans[after - 1].end, span.end)]


def _support(claim: str, evidence: str | None, rules: _Rules) -> Support:
    if evidence is None:
        return Support(None, None, ("there is no evidence text",))
    if rules.support_fn is None:
        return check_support(claim, evidence, threshold=rules.support_threshold)
    said = rules.support_fn(claim, evidence)
    if isinstance(said, Support):
        return said
    supported, value = said if isinstance(said, tuple) else (said, None)
    value = float(supported) if value is None and supported is not None else value
    reasons = () if supported else ("the support function says that it does not",)
    return Support(None if supported is None else bool(supported), value, reasons)


def _warnings(citation: Citation, place: _Place) -> tuple[str, ...]:
    match, passage = place.match, place.passage
    warnings = list(citation.flags)
    if match is None or match.span is None or passage is None or passage.text is None:
        return tuple(warnings)
    if place.grade in {Provenance.EXACT, Provenance.TYPOGRAPHIC, Provenance.ELIDED}:
        warnings += cut_warnings(passage.text, match.span)
    if "offset_mismatch" not in warnings and _offsets_disagree(citation, passage.text):
        warnings.append("offset_mismatch")
    return tuple(warnings)


def _offsets_disagree(citation: Citation, text: str) -> bool:
    if citation.source_start is None or citation.source_end is None or not citation.quote:
        return False
    return fold(text[citation.source_start : citation.source_end]).text != fold(citation.quote).text


@dataclass(frozen=True)
class CitationAccuracy(ShippedGrader):
    """Share of an answer's citations that are really there and carry their claims; passes at ``pass_threshold``."""

    measurement: ClassVar[str] = "citation_accuracy"
    version: ClassVar[str] = "2"

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
    support: Literal["lexical"] = "lexical"
    """How support is checked."""
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

    @property
    def data_versions(self) -> Mapping[str, str]:
        """Digests of the word lists that support and abstention are read with."""
        return {**data_versions(), **phrasebook.data_versions()}

    def grade(self, evidence: Evidence) -> Score:
        """Return the share of citations that hold, with one finding per citation and per uncited claim."""
        output = evidence.output
        if not output.answer.strip():
            return Score.not_applicable("no_answer", "The answer is empty, so it cites nothing.")
        if abstention_of(output).abstained:
            return Score.not_applicable("abstained", "The answer declines, so it has nothing to cite.")
        citations = output.citations or (citations_of_markers(output) if self.read_markers else ())
        rules = _Rules(
            support_threshold=self.support_threshold,
            support_fn=self.support_fn,
            claim_split=self.claim_split,
            min_words=self.min_words,
            qualifier_cut=self.qualifier_cut,
        )
        passages = _passages(output.contexts)
        verdicts = tuple(_verify(citation, output.contexts, passages, output.answer, rules) for citation in citations)
        uncited = _uncited(output, verdicts, rules) if self.require_citation else ()
        if uncited and output.citations and self.read_markers:
            more = _markers_of(uncited, output)
            verdicts += tuple(_verify(citation, output.contexts, passages, output.answer, rules) for citation in more)
            cited = _Ranges([Span(c.answer_start or 0, c.answer_end or 0) for c in more])
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
            return Score.unmeasured("not_measured", f"{counts}, which could change the outcome.", findings=findings)
        code = "ok" if passes_at_worst else _code(verdicts, n_uncited)
        return Score.judged(
            passes_at_worst, n_ok / n_measured, reason=f"{counts}.", reason_code=code, findings=findings
        )


def _code(verdicts: Sequence[CitationVerdict], n_uncited: int) -> str:
    """Return the word for what failed first: a citation that is not there, one that does not carry, or none at all."""
    if any(verdict.found is False for verdict in verdicts):
        return "citation_not_found"
    if any(verdict.ok is False for verdict in verdicts):
        return "claim_not_supported" if any(verdict.supported is False for verdict in verdicts) else "qualifier_cut"
    return "uncited_claim" if n_uncited else "failed"


def citations_of_markers(output: Output) -> tuple[Citation, ...]:
    """Return the citations that the inline markers of an answer make: one per marker and id, without a quote.

    A marker such as ``[7]`` counts where it can be told from other brackets: at least one marker of the answer names a
    retrieved passage, or no passage was recorded at all. An id that names none stays as written, and dangles.
    """
    known = [source_name(context, index) for index, context in enumerate(output.contexts)]
    pairs: list[tuple[str | None, str, Span, Marker]] = [
        (resolve_marker(name, output.contexts), name, marked.claim, marker)
        for marked in marked_claims(output.answer, known)
        for marker in marked.markers
        for name in marker.ids
    ]
    if output.contexts and not any(resolved for resolved, *_ in pairs):
        return ()
    return tuple(
        Citation(source_id=resolved or name, answer_start=claim.start, answer_end=claim.end)
        for resolved, name, claim, _ in pairs
    )


def _markers_of(uncited: Sequence[Span], output: Output) -> list[Citation]:
    """Return what the markers of claims cite that no recorded citation is for, where they name a retrieved passage."""
    known = {source_name(context, index) for index, context in enumerate(output.contexts)}
    claims = _Ranges(uncited)
    return [
        citation
        for citation in citations_of_markers(output)
        if citation.source_id in known and claims.touch(Span(citation.answer_start or 0, citation.answer_end or 0))
    ]


def _uncited(output: Output, verdicts: Sequence[CitationVerdict], rules: _Rules) -> tuple[Span, ...]:
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
    held = _Ranges(covered)
    own = list(texts)[:_MOST_TEXTS]
    return tuple(
        span
        for span in claim_spans(output.answer)
        if not held.touch(span)
        and says_something(sentence := output.answer[span.start : span.end])
        and not (own and check_support(sentence, own, threshold=rules.support_threshold).supported)
    )


_MOST_TEXTS = 100
"""Texts of citations without a place that are read for the sentences that nothing else cites."""


class _Ranges:
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


def _own_texts(verdict: CitationVerdict, output: Output) -> list[str]:
    texts = [
        text
        for text in (verdict.quote, verdict.claim.text if verdict.claim and verdict.claim.start is None else None)
        if text
    ]
    if verdict.provenance is Provenance.PASSAGE:
        texts += [c.text for i, c in enumerate(output.contexts) if c.text and source_name(c, i) == verdict.source_id]
    return texts


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
