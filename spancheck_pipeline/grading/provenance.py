"""Provenance: does a quote really stand in the passages, where exactly, and if not quite, what differs?

This module grades one quote against one passage and looks for the nearest window; which passage counts, and whether
the claim is carried, is said in ``graders/citation_accuracy.py``. Folding lives in ``evidence/folding.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from spancheck_pipeline.evidence.boundary import ends_token, find_tokens, starts_token
from spancheck_pipeline.evidence.folding import CACHE_CHARS
from spancheck_pipeline.evidence.text import (
    Folded,
    Span,
    count_words,
    fold,
    fold_loosely,
    fold_text,
    fold_unnumbered,
    is_no_space,
    remember,
    words,
)
from spancheck_pipeline.grading.cuts import hidden_in
from spancheck_pipeline.grading.loose import Loose
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

_DOTS_IN_A_ROW = r"(?:[…⋯]|&hellip;|&\#8230;|\.[ \u00a0]?\.[ \u00a0]?\.+)"
_ELLIPSIS = re.compile(rf"\s*(?:\[\s*{_DOTS_IN_A_ROW}\s*\]|\(\s*{_DOTS_IN_A_ROW}\s*\)|{_DOTS_IN_A_ROW})\s*")
_DOTS = ("…", "...", ". .", "⋯", "&hellip;", "&#8230;", ".\u00a0.")
_EDGE_STOPS = " \t\n\r.,;:"
_QUOTATION_MARKS = " \"'“”„‘’«»「」『』"


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
    def _parts(self) -> tuple[str, ...]:
        """What stands around its ellipses; empty where it has none."""
        if not any(dots in self.raw for dots in _DOTS) or not _ELLIPSIS.search(self.raw):
            return ()
        parts = (part.lstrip(_EDGE_STOPS) for part in _ELLIPSIS.split(self.raw))
        return tuple(part for part in parts if part)[: _MAX_FRAGMENTS + 1]

    @cached_property
    def fragments(self) -> tuple[str, ...]:
        """Folded fragments around its ellipses; empty where it has none."""
        return tuple(_bare(fold_text(part)) for part in self._parts)

    @cached_property
    def needles(self) -> tuple[str, ...]:
        """What is looked for in a folded passage: the folded quote, and what is bare of quotation marks and stop."""
        return tuple(dict.fromkeys((self.folded, self.bare)))

    @cached_property
    def loosely(self) -> Quote:
        """The same quote for loose readings."""
        return _Loosely(self.raw, fold_loosely(self.raw).text, self.n_words)

    @cached_property
    def has_wraps(self) -> bool:
        """Whether a hyphen of the quote stands, or may have stood, at a line's end."""
        return _may_wrap(self.folded) or ("\n" in self.raw and fold(self.raw).has_wraps)

    @classmethod
    def of(cls, text: str) -> Quote:
        """Return a quote made ready. Kept, because a quote is graded in every epoch and every re-scoring."""
        return _ready(text)

    def is_too_short(self, min_words: int) -> bool:
        """Say whether the quote has fewer words than prove anything."""
        return self.n_words < min_words


class _Loosely(Quote):
    @cached_property
    def fragments(self) -> tuple[str, ...]:
        return tuple(_bare(fold_loosely(part).text) for part in self._parts)


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


def locate(quote: Quote, passage: str) -> Match | None:  # noqa: PLR0911 - one return a rung
    """Return how a quote is found in a passage (exact, typographic, elided), or hidden by its ellipsis; else None."""
    if once := _once(quote.raw, passage):
        return Match(grade=Provenance.EXACT, span=once, similarity=1.0)
    folded = fold(passage)
    span = _folded(quote, folded)
    if exact := _exactly(quote, passage, span):
        return Match(grade=Provenance.EXACT, span=exact, similarity=1.0)
    if span is not None:
        return Match(grade=Provenance.TYPOGRAPHIC, span=span, similarity=1.0)
    hiding = _elided(quote, folded) if quote.fragments else None
    if hiding and hiding.grade is Provenance.ELIDED:
        return hiding
    for reading in _loose_readings(quote, folded, passage):
        if span := _folded(quote.loosely, reading):
            return Match(grade=Provenance.TYPOGRAPHIC, span=span, similarity=1.0)
        match = _elided(quote.loosely, reading) if quote.fragments else None
        if match and match.grade is Provenance.ELIDED:
            return match
        hiding = hiding or match
    return hiding


def match_at(quote: Quote, passage: str, span: Span) -> Match | None:
    """Return how a quote stands as a whole at one place of a passage, or None where it does not."""
    start, end = span
    if not (0 <= start < end <= len(passage) and starts_token(passage, start) and ends_token(passage, end)):
        return None
    there = passage[start:end]
    if there == quote.raw:
        return Match(grade=Provenance.EXACT, span=span, similarity=1.0)
    if len(there) <= 2 * len(quote.raw) + 200 and Quote.of(there).bare == quote.bare:
        return Match(grade=Provenance.TYPOGRAPHIC, span=span, similarity=1.0)
    return None


def _loose_readings(quote: Quote, folded: Folded, passage: str) -> list[Loose]:
    """Return the readings of a passage in which a line's end, or a list's number at its start, is no difference."""
    readings: list[Loose] = []
    if folded.has_wraps or quote.has_wraps or " - " in quote.folded or _may_wrap(folded.text):
        readings.append(_loosely(passage))
    if folded.has_numbers:
        readings.append(_unnumbered(passage))
    return readings


def _may_wrap(folded: str) -> bool:
    """Say whether a hyphen may have stood at a line's end that is a blank by now: *termi- nation*."""
    at = folded.find("- ", 1)
    while at >= 0:
        if folded[at - 1].isalpha() and folded[at + 2 : at + 3].isalpha():
            return True
        at = folded.find("- ", at + 1)
    return False


@remember(CACHE_CHARS // 4)
def _loosely(passage: str) -> Loose:
    return Loose.of(fold_loosely(passage))


@remember(CACHE_CHARS // 4)
def _unnumbered(passage: str) -> Loose:
    return Loose.of(fold_unnumbered(passage))


def _once(needle: str, passage: str) -> Span | None:
    """Return where the same characters stand, if they do once and at token boundaries: then folding tells no more."""
    at = passage.find(needle)
    if at < 0 or passage.find(needle, at + 1) >= 0:
        return None
    end = at + len(needle)
    return Span(at, end) if starts_token(passage, at) and ends_token(passage, end) else None


def _exactly(quote: Quote, passage: str, span: Span | None) -> Span | None:
    """Return where the same characters stand; first where the folded quote was found, which is most often the place."""
    size = len(quote.raw)
    if span is not None and passage[span.start : span.start + size] == quote.raw:
        return Span(span.start, span.start + size)
    at = find_tokens(passage, quote.raw)
    return Span(at, at + size) if at >= 0 else None


def _folded(quote: Quote, reading: Folded | Loose) -> Span | None:
    for needle in quote.needles:
        if span := reading.span_of(needle):
            return reading.original(*span)
    return None


def _elided(quote: Quote, reading: Folded | Loose) -> Match | None:
    """Return the chain of fragments that hides nothing; else the first that hides; None where there is no chain."""
    fragments = quote.fragments
    if len(fragments) > _MAX_FRAGMENTS or any(_too_small(fragment) for fragment in fragments):
        return None
    hiding: Match | None = None
    first = reading.span_of(fragments[0])
    for _ in range(_MAX_STARTS):
        if first is None:
            break
        chain = _chain(fragments, reading, first)
        if chain is not None:
            span = reading.original(chain[0].start, chain[-1].end)
            gaps = (reading.text[left.end : right.start] for left, right in pairwise(chain))
            hidden = next((word for gap in gaps if (word := hidden_in(gap))), "")
            if not hidden:
                return Match(grade=Provenance.ELIDED, span=span)
            hiding = hiding or Match(grade=Provenance.ELLIPSIS_HIDES, span=span, hidden=hidden)
        first = reading.span_of(fragments[0], first.start + 1)
    return hiding


def _too_small(fragment: str) -> bool:
    found = words(fragment)
    return len(found) < 2 and sum(is_no_space(char) for char in fragment[:2]) < 2  # noqa: PLR2004 - two words each


def _chain(fragments: Sequence[str], reading: Folded | Loose, first: Span) -> list[Span] | None:
    """Return where each fragment follows the one before it, near enough; None where one does not."""
    chain = [first]
    for fragment in fragments[1:]:
        end = chain[-1].end
        found = reading.span_of(fragment, end, end + _MAX_GAP + len(fragment))
        if found is None:
            return None
        chain.append(found)
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
