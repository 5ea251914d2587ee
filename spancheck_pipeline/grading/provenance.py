"""Provenance: does a quote really stand in the passages, where exactly, and if not quite, what differs?

This module grades one quote against one passage and looks for the nearest window; which passage counts, and whether
the claim is carried, is said in ``graders/citation_accuracy.py``. Folding lives in ``evidence/folding.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

import re2

from spancheck_pipeline.evidence.folding import ends_token, find_tokens, starts_token
from spancheck_pipeline.evidence.text import (
    Folded,
    Span,
    count_words,
    fold,
    fold_keeping_wraps,
    fold_text,
    is_no_space,
    remember,
    sentences,
    words,
)
from spancheck_pipeline.grading.nearness import nearest_window


class Provenance(StrEnum):
    """The ladder, from the best grade down."""

    EXACT = "exact"
    """The same characters."""
    TYPOGRAPHIC = "typographic"
    """Equal after folding."""
    ELIDED = "elided"
    """Fragments around an ellipsis, in order and near each other."""
    PASSAGE = "passage"
    """A retrieved passage, cited without a quote."""
    MISATTRIBUTED = "misattributed"
    """It stands in another passage than the source that it names."""
    ALTERED = "altered"
    """Nearly there: words, numbers, signs or letters differ."""
    ELLIPSIS_HIDES = "ellipsis_hides"
    """The ellipsis swallows a negation or a qualifier."""
    TOO_SHORT = "too_short"
    """Too few words to prove anything."""
    FABRICATED = "fabricated"
    """Nowhere in any passage."""
    DANGLING = "dangling"
    """Names a source that was not retrieved, and stands nowhere else."""
    NO_EVIDENCE_TEXT = "no_evidence_text"
    """The source came without text, so nobody can look."""

    @property
    def is_found(self) -> bool:
        """Whether the grade counts as found."""
        return self in _FOUND


_FOUND = frozenset({Provenance.EXACT, Provenance.TYPOGRAPHIC, Provenance.ELIDED, Provenance.PASSAGE})

ALTERED_SIMILARITY = 0.8
"""Smallest similarity (1 − Levenshtein / longer length, folded characters) of a quote that is there, but altered."""
_MAX_GAP = 300
"""Characters that may lie between two fragments of an elided quote."""
_MAX_STARTS = 64
"""Places of a first fragment that are tried."""
_MAX_FRAGMENTS = 200

_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:…|\.{3}|\. \. \.)\s*\]|\(\s*(?:…|\.{3})\s*\)|…|\.{3,}|\. \. \.)\s*")
_DOTS = ("…", "...", ". .")
_EDGE_STOPS = " \t\n\r.,;:"
_QUOTATION_MARKS = " \"'“”„‘’«»「」『』"

HIDES = re.compile(
    r"(?<!\w)(?:not|never|no|nor|neither|none|nobody|nothing|nowhere|without|cannot|unless|except|excepting|excluding|"
    r"excludes?|only|provided|barring|hardly|scarcely|rarely|seldom|fails?|failed|refuses?|refused|lacks?|unlikely|"
    r"impossible|prohibited|forbidden|subject to|other than|save for|as long as|if|denie[sd]|deny|false|untrue|\w+n't|"
    r"nicht|kein\w*|nie|niemals|ohne|außer|sofern|nur|weder|ne|n'\w+|pas|jamais|sans|sauf|aucune?|ni|nunca|jamás|sin|"
    r"salvo|excepto|"
    r"ningun\w*|ningún|não|nem|sem|exceto|mai|senza|tranne|nessun\w*|niet|geen|nooit|zonder|behalve|tenzij|"
    r"не|нет|ни|никогда|без|кроме|если)(?!\w)"
    r"|[不没無无非未]|ない|ません|除非|除了|ไม่"
)
"""Words that an ellipsis must not swallow."""

_QUALIFIES = re.compile(
    r"(?<!\w)(?:except|excepting|excluding|unless|only if|only when|only where|only after|provided|"
    r"providing that|but not|but only|but never|but no|other than|save for|save that|subject to|as long as|so long as|"
    r"on condition|"
    r"on the condition|with the exception|in no event|not including|barring|apart from|"
    r"notwithstanding|however,? not|though not|although not|if|"
    r"es sei denn|außer|sofern|ausgenommen|mit ausnahme|nur wenn|vorbehaltlich|sauf|excepté|à moins|à condition|hormis|"
    r"a menos|salvo|excepto|siempre que|a condición|exceto|desde que|a meno che|tranne|purché|tenzij|behalve|mits|"
    r"кроме|за исключением|если|при условии)(?!\w)"
    r"|除非|除了|但不|但是不|ただし|を除"
)
"""What may follow a quote in its sentence and change what it says."""
_MAY_QUALIFY = re2.compile(_QUALIFIES.pattern.replace(r"(?<!\w)", "").replace(r"(?!\w)", ""))
"""The same without its edges, which RE2 looks for many times faster: after most quotes there is no such word."""

_NEGATED_BEFORE = re.compile(
    r"(?<!\w)(?:not|never|no|nor|neither|without|cannot|unless|except|hardly|\w+n't|not the case that|not true that|"
    r"false that|untrue that|denie[sd] that|nicht|kein\w*|ne|pas|no|nunca|не)(?:,)?\s+\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place where a quote and its nearest window differ."""

    quoted: str
    """Words of the quote, folded; empty where it leaves something out."""
    source: str
    """Words of the passage; empty where the quote adds something."""
    start: int
    end: int
    """Half-open, in code points of the passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How one quote stands in one passage."""

    grade: Provenance
    span: Span | None = None
    """In code points of the original passage."""
    similarity: float | None = None
    differences: tuple[Difference, ...] = ()
    hidden: str = ""
    """The word that an ellipsis swallows."""


@dataclass(frozen=True)
class Quote:
    """A quote made ready once, to be looked for in many passages."""

    raw: str
    folded: str
    n_words: int

    @cached_property
    def bare(self) -> str:
        """Folded, without the quotation marks around it and the stop at its end."""
        return _bare(self.folded)

    @cached_property
    def fragments(self) -> tuple[str, ...]:
        """Folded fragments around its ellipses; empty where it has none."""
        if not any(dots in self.raw for dots in _DOTS) or not _ELLIPSIS.search(self.raw):
            return ()
        parts = [part for part in _ELLIPSIS.split(self.raw) if part.strip()]
        return tuple(_bare(fold_text(part)) for part in parts[: _MAX_FRAGMENTS + 1])

    @classmethod
    def of(cls, text: str) -> Quote:
        """Return a quote made ready. Kept, because a quote is graded in every epoch and every re-scoring."""
        return _ready(text)

    def is_too_short(self, min_words: int) -> bool:
        """Say whether the quote has fewer words than prove anything."""
        return self.n_words < min_words


@remember(1_000_000)
def _ready(text: str) -> Quote:
    raw = text.strip()
    folded = fold_text(raw)
    return Quote(raw, folded, count_words(folded))


def _bare(folded: str) -> str:
    text = folded.lstrip(_QUOTATION_MARKS).rstrip(_QUOTATION_MARKS + _EDGE_STOPS)
    opened, closed = folded.count("("), folded.count(")")
    if closed > opened and text.endswith(")"):
        text = text[:-1]
    return text or folded


def locate(quote: Quote, passage: str) -> Match | None:
    """Return how a quote is found in a passage (exact, typographic, elided), or hidden by its ellipsis; else None."""
    if once := _once(quote.raw, passage):
        return Match(grade=Provenance.EXACT, span=once, similarity=1.0)
    folded = fold(passage)
    span = _folded(quote, folded)
    if exact := _exactly(quote, passage, span):
        return Match(grade=Provenance.EXACT, span=exact, similarity=1.0)
    if span is None and folded.has_wraps:
        span = _folded(quote, fold_keeping_wraps(passage))
    if span is not None:
        return Match(grade=Provenance.TYPOGRAPHIC, span=span, similarity=1.0)
    return _elided(quote, folded) if quote.fragments else None


def _once(needle: str, passage: str) -> Span | None:
    """Return where the same characters stand, if they do once and at token boundaries: then folding tells no more."""
    at = passage.find(needle)
    if at < 0 or passage.find(needle, at + 1) >= 0:
        return None
    end = at + len(needle)
    return Span(at, end) if starts_token(passage, at) and ends_token(passage, end) else None


def _exactly(quote: Quote, passage: str, span: Span | None) -> Span | None:
    """Return where the same characters stand; first where the folded quote was found, which is most often the place."""
    for needle in dict.fromkeys((quote.raw, quote.raw.rstrip(_EDGE_STOPS))):
        if span is not None and passage[span.start : span.start + len(needle)] == needle:
            return Span(span.start, span.start + len(needle))
        at = find_tokens(passage, needle)
        if at >= 0:
            return Span(at, at + len(needle))
    return None


def _folded(quote: Quote, folded: Folded) -> Span | None:
    for needle in dict.fromkeys((quote.folded, quote.bare)):
        at = folded.find(needle)
        if at >= 0:
            return folded.original(at, at + len(needle))
    return None


def _elided(quote: Quote, folded: Folded) -> Match | None:
    """Return the chain of fragments that hides nothing; else the first that hides; None where there is no chain."""
    fragments = quote.fragments
    if len(fragments) > _MAX_FRAGMENTS or any(_too_small(fragment) for fragment in fragments):
        return None
    hiding: Match | None = None
    at = folded.find(fragments[0])
    for _ in range(_MAX_STARTS):
        if at < 0:
            break
        chain = _chain(fragments, folded, at)
        if chain is not None:
            span = folded.original(chain[0].start, chain[-1].end)
            gaps = (folded.text[left.end : right.start] for left, right in pairwise(chain))
            hidden = next((found.group() for gap in gaps if (found := HIDES.search(gap))), "")
            if not hidden:
                return Match(grade=Provenance.ELIDED, span=span)
            hiding = hiding or Match(grade=Provenance.ELLIPSIS_HIDES, span=span, hidden=hidden)
        at = folded.find(fragments[0], at + 1)
    return hiding


def _too_small(fragment: str) -> bool:
    found = words(fragment)
    return len(found) < 2 and sum(is_no_space(char) for char in fragment[:2]) < 2  # noqa: PLR2004 - two words each


def _chain(fragments: Sequence[str], folded: Folded, at: int) -> list[Span] | None:
    chain = [Span(at, at + len(fragments[0]))]
    for fragment in fragments[1:]:
        end = chain[-1].end
        window = folded.text[end : end + _MAX_GAP + len(fragment)]
        start = window.find(fragment)
        while start >= 0 and not (
            starts_token(folded.text, end + start) and ends_token(folded.text, end + start + len(fragment))
        ):
            start = window.find(fragment, start + 1)
        if start < 0:
            return None
        chain.append(Span(end + start, end + start + len(fragment)))
    return chain


def nearest(quote: Quote, passage: str) -> Match | None:
    """Return the altered quote's window in a passage with what differs, or None where nothing is near enough."""
    folded = fold(passage)
    window = nearest_window(quote.bare, folded.text, cutoff=ALTERED_SIMILARITY)
    if window is None:
        return None
    return Match(
        grade=Provenance.ALTERED,
        span=folded.original(window.start, window.end),
        similarity=window.similarity,
        differences=_differences(quote.bare, folded, window.start, window.end),
    )


def _differences(quote: str, folded: Folded, start: int, end: int) -> tuple[Difference, ...]:
    """Return the words that differ between a quote and a window, which is widened to whole words."""
    from rapidfuzz.distance import Levenshtein

    text = folded.text
    while start > 0 and not text[start - 1].isspace() and not starts_token(text, start):
        start -= 1
    while end < len(text) and not text[end].isspace() and not ends_token(text, end):
        end += 1
    quoted = [(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", quote[:_MAX_DIFFED])]
    there = [
        (m.group(), start + m.start(), start + m.end()) for m in re.finditer(r"\S+", text[start:end][:_MAX_DIFFED])
    ]
    found: list[Difference] = []
    for op in Levenshtein.opcodes([item[0] for item in quoted], [item[0] for item in there]):
        if op.tag == "equal":
            continue
        left, right = quoted[op.src_start : op.src_end], there[op.dest_start : op.dest_end]
        place = folded.original(right[0][1], right[-1][2]) if right else _empty_at(folded, there, op.dest_start)
        found.append(
            Difference(
                quoted=" ".join(item[0] for item in left),
                source=" ".join(item[0] for item in right),
                start=place.start,
                end=place.end,
            )
        )
    return tuple(found[:20])


_MAX_DIFFED = 4000
"""Characters that are compared word by word to say what differs."""


def _empty_at(folded: Folded, there: list[tuple[str, int, int]], index: int) -> Span:
    """Return the empty place in the original before the word with an index."""
    if not there:
        return Span(0, 0)
    if index < len(there):
        at = folded.original(there[index][1], there[index][2]).start
    else:
        at = folded.original(there[-1][1], there[-1][2]).end
    return Span(at, at)


def cut_warnings(passage: str, span: Span) -> tuple[str, ...]:
    """Return what the source sentence says around a quote that the quote leaves out.

    ``cut_before_qualifier``: the rest of the sentence holds except, unless, only if … ``cut_after_negation``: the word
    right before the quote is a negation.
    """
    spans = sentences(passage)
    sentence_end, sentence_start = len(passage), 0
    first, last = bisect_left(spans, (span.start + 1,)) - 1, bisect_left(spans, (span.end,)) - 1
    if first >= 0 and span.start < spans[first].end:
        sentence_start = spans[first].start
    if last >= 0 and span.end <= spans[last].end:
        sentence_end = spans[last].end
    warnings: list[str] = []
    after = passage[span.end : sentence_end].casefold().replace("’", "'")
    if after and _MAY_QUALIFY.search(after.encode("utf-8", "replace")) and _QUALIFIES.search(after):
        warnings.append("cut_before_qualifier")
    before = passage[max(sentence_start, span.start - 40) : span.start]
    if before and _NEGATED_BEFORE.search(before.casefold().replace("’", "'")):
        warnings.append("cut_after_negation")
    return tuple(warnings)
