"""The claim: which words of an answer a citation is for, and which sentences of an answer are claims at all.

Markers are read in ``citation.py``, sentences in ``sentence.py``; whether a claim is carried is a grader's question.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spancheck_pipeline.evidence.citation import Citation, Marker, markers, resolve_marker, strip_markers
from spancheck_pipeline.evidence.folding import fold_text
from spancheck_pipeline.evidence.sentence import sentences
from spancheck_pipeline.evidence.word import Span, first_word, remember, word_starts, word_texts, words

if TYPE_CHECKING:
    from spancheck_pipeline.evidence.run import Context

Basis = Literal["explicit", "offsets", "marker", "nearest", "answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The words that a citation is for, where they stand, and how that was told."""

    text: str
    """Without inline markers."""
    start: int | None
    """Half-open with ``end``, in code points of the answer; None where an explicit claim is not in the answer."""
    end: int | None
    basis: Basis


@dataclass(frozen=True, slots=True)
class Marked:
    """A run of adjacent markers with the words of the answer that it is for."""

    markers: tuple[Marker, ...]
    claim: Span


def claim_of(citation: Citation, answer: str, *, contexts: Sequence[Context] = (), split: bool = True) -> Claim:
    """Return the claim that a citation carries.

    In this order: what the producer says; the answer at its offsets; the words before the inline markers that name
    its source (of several, those nearest in words to the quote); with ``split``, the sentence that the quote is
    nearest to; else the whole answer.
    """
    if citation.claim is not None and citation.claim.strip():
        at = answer.find(citation.claim)
        end = at + len(citation.claim)
        return Claim(
            text=_clean(citation.claim), start=at if at >= 0 else None, end=end if at >= 0 else None, basis="explicit"
        )
    if by_offsets := _by_offsets(citation, answer):
        return by_offsets
    if citation.source_id is not None and (marked := _marked_for(answer, citation.source_id, contexts)):
        return _at(answer, _nearest(answer, marked, citation.quote), "marker")
    if split and citation.quote and (spans := claim_spans(answer) or sentences(answer)):
        return _at(answer, _nearest(answer, spans, citation.quote), "nearest")
    return Claim(text=_clean(answer), start=0, end=len(answer), basis="answer")


def marked_claims(answer: str, known: Sequence[str] = ()) -> tuple[Marked, ...]:
    """Return each run of adjacent markers of an answer with the clause or sentence before it, in order."""
    if any(f"[{name}]" in answer for name in known):
        return _bind(answer, markers(answer, known))
    return _marked_claims(answer)


@remember(1_000_000)
def _marked_claims(answer: str) -> tuple[Marked, ...]:
    return _bind(answer, markers(answer))


def _bind(answer: str, found: Sequence[Marker]) -> tuple[Marked, ...]:
    runs: list[list[Marker]] = []
    for marker in found:
        if runs and marker.wraps is None and not answer[runs[-1][-1].end : marker.start].strip(" ,;"):
            runs[-1].append(marker)
        else:
            runs.append([marker])
    text = _Marked(answer)
    result: list[Marked] = []
    floor = 0
    for run in runs:
        result.append(Marked(tuple(run), text.before(run, floor)))
        floor = run[-1].end if run[0].wraps is None else run[0].wraps[1]
    return tuple(result)


@remember(1_000_000)
def claim_spans(answer: str) -> tuple[Span, ...]:
    """Return the sentences of an answer that say something: no headings, questions, lead-ins or bare markers."""
    blank = strip_markers(answer)
    return tuple(span for span in sentences(answer) if _claims(blank[span.start : span.end]))


_LEAD_IN = re.compile(
    r"(?:(?:here|these|the following|below|key|some|several|there are|based on|according to)\b.{0,160}"
    r"|[^.!?]{0,80}):\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_PLEASANTRY = re.compile(
    r"(?:i hope|let me know|feel free|please let|thank you|thanks|sure|certainly|of course|you're welcome)\b.{0,120}\Z",
    re.IGNORECASE | re.DOTALL,
)


def _claims(sentence: str) -> bool:
    stripped = sentence.strip()
    if first_word(stripped) is None or stripped.startswith("#") or stripped.endswith(("?", "？")):
        return False
    if re.fullmatch(r"\*\*[^*\n]{1,120}\*\*:?", stripped):
        return False
    is_lead_in = stripped.endswith(":") and _LEAD_IN.match(stripped)
    return not (is_lead_in or _PLEASANTRY.match(stripped))


class _Marked:
    """An answer with its sentences, and where its words stand without the markers."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.sentences = sentences(answer)
        self.starts = [span.start for span in self.sentences]
        self.words = [start for _, start in word_starts(strip_markers(answer))]

    def has_words(self, start: int, end: int) -> bool:
        at = bisect_left(self.words, start)
        return at < len(self.words) and self.words[at] < end

    def before(self, run: Sequence[Marker], floor: int) -> Span:
        """Return what a run of markers is for: what it encloses, or the words before it in its sentence.

        A run that opens its sentence (also after *according to*) is for that sentence; one in the middle is for the
        words since the last run. ``floor`` is where that run ended.
        """
        if run[0].wraps is not None:
            return Span(*run[0].wraps)
        at, after = run[0].start, run[-1].end
        index = bisect_right(self.starts, at) - 1
        if index < 0:
            return Span(0, at)
        sentence = self.sentences[index]
        start = max(sentence.start, floor)
        opens = not self.has_words(start, at) or _OPENS.match(self.answer, start, at) is not None
        if not opens:
            ends_it = not self.has_words(after, sentence.end)
            return _trim(self.answer, start, sentence.end if ends_it and floor <= sentence.start else at)
        if self.has_words(after, sentence.end):
            return _trim(self.answer, start if self.has_words(start, at) else after, sentence.end)
        return self.sentences[index - 1] if index and not self.has_words(*sentence) else sentence


_OPENS = re.compile(
    r"\s*(?:according to|as (?:per|stated in|noted in|shown in)|per|see|in|from|by|sources?:?)\s*\Z", re.IGNORECASE
)


def _trim(answer: str, start: int, end: int) -> Span:
    while start < end and (answer[start].isspace() or answer[start] in ",;"):
        start += 1
    while end > start and answer[end - 1].isspace():
        end -= 1
    return Span(start, end)


def _by_offsets(citation: Citation, answer: str) -> Claim | None:
    start, end = citation.answer_start, citation.answer_end
    if start is None or start > len(answer):
        return None
    if end is not None and start < end <= len(answer) and words(answer[start:end]):
        inside = answer[start:end]
        if len(words(strip_markers(inside))) >= 2:  # noqa: PLR2004 - a word or a bare marker is a place, not a claim
            return _at(answer, Span(start, end), "offsets")
    for span in reversed(sentences(answer)):
        if span.start <= start:
            return _at(answer, span, "offsets")
    return None


def _marked_for(answer: str, source: str, contexts: Sequence[Context]) -> list[Span]:
    spans: list[Span] = []
    for marked in marked_claims(answer, (source,)):
        for marker in marked.markers:
            if any(source in {name, resolve_marker(name, contexts)} for name in marker.ids):
                spans.append(marked.claim)
                break
    return spans


def _nearest(answer: str, spans: Sequence[Span], quote: str | None) -> Span:
    """Return the span that shares the largest part of its words with a quote; the first of equals."""
    if not quote or len(spans) == 1:
        return spans[0]
    wanted = _bag(quote)
    best, best_share = spans[0], -1.0
    for span in spans:
        bag = _bag(answer[span.start : span.end])
        shared = len(wanted & bag)
        share = shared / (len(bag) + len(wanted) - shared) if bag else 0.0
        if share > best_share:
            best, best_share = span, share
    return best


@remember(1_000_000)
def _bag(text: str) -> frozenset[str]:
    """Return a text's folded words; of scripts without spaces, the pairs of letters."""
    bag: set[str] = set()
    for word in word_texts(fold_text(text)):
        if word[0] > "\u0dff" and len(word) > 1:
            bag.update(word[i : i + 2] for i in range(len(word) - 1))
        else:
            bag.add(word)
    return frozenset(bag)


def _at(answer: str, span: Span, basis: Basis) -> Claim:
    return Claim(text=_clean(answer[span.start : span.end]), start=span.start, end=span.end, basis=basis)


@remember(1_000_000)
def _clean(text: str) -> str:
    """Return a claim's words without markers, and without the blanks that they leave."""
    bare = strip_markers(text)
    if "  " not in bare:
        return bare.strip()
    return re.sub(
        r" {2,}(?=[.,;:!?])| {2,}",
        lambda m: "" if m.end() < len(m.string) and m.string[m.end()] in ".,;:!?" else " ",
        bare,
    ).strip()
