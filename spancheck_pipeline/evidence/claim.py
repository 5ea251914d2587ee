"""The claim: which words of an answer a citation is for, and which sentences of an answer are claims at all.

Markers are read in ``citation.py``, sentences in ``sentence.py``; whether a claim is carried is a grader's question.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, TypeVar

from spancheck_pipeline.evidence.boundary import ends_token, starts_token
from spancheck_pipeline.evidence.citation import (
    Citation,
    Marker,
    markers,
    names_of,
    resolve_marker,
    source_name,
    strip_markers,
)
from spancheck_pipeline.evidence.folding import fold, fold_text
from spancheck_pipeline.evidence.legend import legend_spans
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
        span = _standing(citation.claim, answer)
        start, end = span or (None, None)
        return Claim(text=_clean(citation.claim, contexts), start=start, end=end, basis="explicit")
    basis: Basis = "answer"
    span = Span(0, len(answer))
    if by_offsets := _by_offsets(citation, answer):
        span, basis = by_offsets, "offsets"
    elif citation.source_id is not None and (marked := _marked_for(answer, citation.source_id, contexts)):
        span, basis = _nearest(answer, marked, citation.quote), "marker"
    elif split and citation.quote and (spans := claim_spans(answer) or sentences(answer)):
        span, basis = _nearest(answer, spans, citation.quote), "nearest"
    return Claim(text=_clean(answer[span.start : span.end], contexts), start=span.start, end=span.end, basis=basis)


def marked_claims(answer: str, known: Sequence[str] = ()) -> tuple[Marked, ...]:
    """Return each run of adjacent markers of an answer with the clause or sentence before it, in order."""
    if "[" in answer and any(f"[{name}" in answer for name in known):
        return _known_claims(answer, tuple(known))
    return _marked_claims(answer)


@lru_cache(maxsize=16)
def _known_claims(answer: str, known: tuple[str, ...]) -> tuple[Marked, ...]:
    return _bind(answer, markers(answer, known), known)


@remember(1_000_000)
def _marked_claims(answer: str) -> tuple[Marked, ...]:
    return _bind(answer, markers(answer))


def _bind(answer: str, found: Sequence[Marker], known: Sequence[str] = ()) -> tuple[Marked, ...]:
    runs: list[list[Marker]] = []
    for marker in _outside(found, legend_spans(answer)):
        if runs and marker.wraps is None and not answer[runs[-1][-1].end : marker.start].strip(" ,;"):
            runs[-1].append(marker)
        else:
            runs.append([marker])
    text = _Marked(answer, known)
    result: list[Marked] = []
    floor = 0
    leads = bool(runs) and _lead(answer, runs, text)
    for run, following in zip_longest(runs, runs[1:]):
        ceiling = following[0].start if following else len(answer)
        result.append(Marked(tuple(run), text.of(run, floor, ceiling, leads=leads)))
        floor = run[-1].end if run[0].wraps is None else run[0].wraps[1]
    return tuple(result)


def _lead(answer: str, runs: Sequence[Sequence[Marker]], text: _Marked) -> bool:
    """Say whether an answer puts its markers before its sentences: it begins with one, and each follows a stop."""
    if text.has_words(0, runs[0][0].start) or not text.has_words(runs[-1][-1].end, len(answer)):
        return False
    return all(_STOPPED.search(answer, max(0, run[0].start - 8), run[0].start) for run in runs[1:])


_STOPPED = re.compile(r"[.!?:…。！？\n][\"'”’»)*_]*\s*\Z")

T = TypeVar("T", Marker, Span)


def _outside(items: Sequence[T], ranges: Sequence[Span]) -> Sequence[T]:
    """Return those of some markers or sentences that begin in none of some ranges."""
    if not ranges:
        return items
    starts = [span.start for span in ranges]

    def is_inside(at: int) -> bool:
        index = bisect_right(starts, at) - 1
        return index >= 0 and at < ranges[index].end

    return [item for item in items if not is_inside(item.start)]


@remember(1_000_000)
def claim_spans(answer: str) -> tuple[Span, ...]:
    """Return the sentences of an answer that say something.

    These are no headings (of a table neither), questions, lead-ins, bare markers, and no entries of a list of sources.
    """
    blank = strip_markers(answer)
    return tuple(
        span
        for span in _outside(sentences(answer), legend_spans(answer))
        if _claims(blank[span.start : span.end]) and not _heads_table(answer, span)
    )


_TABLE_RULE = re.compile(r"[ \t|]*\n[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*(?=[\r\n]|\Z)")


def _heads_table(answer: str, span: Span) -> bool:
    return "|" in answer[span.start : span.end] and _TABLE_RULE.match(answer, span.end) is not None


_LEAD_IN = re.compile(
    r"(?:(?:here|these|the following|below|key|some|several|there are|based on|according to)\b.{0,160}"
    r"|[^.!?]{0,80}):\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_GREETS = re.compile(
    r"(?:sure(?: thing)?|certainly|of course|absolutely|you['’]re welcome|hello|hi(?: there)?|hey|"
    r"thank(?:s| you)(?: so much| very much)?(?: for [^,.!?:;]{1,80})?)\s*(?:[,!.–—-]+\s*|\Z)",
    re.IGNORECASE,
)
"""Words that open an answer. What follows them in their sentence is read on its own: *Sure, the deposit is due.*"""
_OFFERS = re.compile(
    r"(?:i hope (?:this|that|it|these)|(?:please )?let me know|(?:please )?feel free to (?:ask|reach|contact|let)|"
    r"here(?:['’]s| is| are)|i(?:['’]d| would) be (?:happy|glad)|i(?:['’]m| am) (?:happy|glad)|happy to help)\b"
    r"(?:(?!\d|:\s*\S).){0,160}\Z",
    re.IGNORECASE | re.DOTALL,
)
"""A sentence that offers something and says nothing: without a number, and nothing after a colon."""


def _claims(sentence: str) -> bool:
    stripped = sentence.strip()
    if first_word(stripped) is None or stripped.startswith("#") or stripped.endswith(("?", "？")):
        return False
    if re.fullmatch(r"\*\*[^*\n]{1,120}\*\*:?", stripped):
        return False
    is_lead_in = stripped.endswith(":") and _LEAD_IN.match(stripped)
    said = stripped[greeting.end() :] if (greeting := _GREETS.match(stripped)) else stripped
    return not (is_lead_in or first_word(said) is None or _OFFERS.match(said))


class _Marked:
    """An answer with its sentences, and where its words stand without the markers."""

    def __init__(self, answer: str, known: Sequence[str]) -> None:
        self.answer = answer
        self.sentences = sentences(answer)
        self.starts = [span.start for span in self.sentences]
        self.words = [start for _, start in word_starts(strip_markers(answer, known))]

    def has_words(self, start: int, end: int) -> bool:
        at = bisect_left(self.words, start)
        return at < len(self.words) and self.words[at] < end

    def of(self, run: Sequence[Marker], floor: int, ceiling: int, *, leads: bool) -> Span:
        """Return what a run of markers is for: what it encloses, says, leads, or what stands before it.

        ``ceiling`` is where the next run starts; ``leads`` says that the answer puts its markers before its sentences.
        """
        if run[0].wraps is not None:
            return Span(*run[0].wraps)
        after = run[-1].end
        said = _SAYS.match(self.answer, after)
        if said or leads:
            index = bisect_right(self.starts, after - 1) - 1
            if not self.has_words(after, self.sentences[index].end) and index + 1 < len(self.sentences):
                index += 1
            sentence = self.sentences[index]
            start = said.end() if said else max(after, sentence.start)
            if self.has_words(start, min(sentence.end, ceiling)):
                found = _trim(self.answer, start, min(sentence.end, ceiling))
                joined = _JOINED.search(self.answer, max(found.start, found.end - 12), found.end)
                return Span(found.start, joined.start() if joined else found.end)
        return self.before(run, floor)

    def before(self, run: Sequence[Marker], floor: int) -> Span:
        """Return the words before a run in its sentence.

        A run that opens its sentence (also after *according to*) is for that sentence; one in the middle is for the
        words since the last run. ``floor`` is where that run ended.
        """
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
    r"\s*(?:according to|as (?:per|stated in|noted in|shown in)|as|per|see|in|from|by|"
    r"(?:the )?(?:sources?|documents?|passages?):?|laut|gemäß|nach|selon|d'après|según|secondo|segundo|volgens)\s*\Z",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\s+(?:also )?(?:says?|states?|notes?|shows?|reports?|explains?|mentions?|confirms?|indicates?|suggests?|argues?|"
    r"adds?|specifies|stipulates?|provides?)(?: that)?(?![\w'’])"
)
"""After these a marker is the one who speaks: [1] says that …"""
_JOINED = re.compile(r"[,;]?\s+(?:and|but|while|whereas)\s*\Z")


def _trim(answer: str, start: int, end: int) -> Span:
    while start < end and (answer[start].isspace() or answer[start] in ",;:，；、：—–"):
        start += 1
    while end > start and answer[end - 1].isspace():
        end -= 1
    return Span(start, end)


def _standing(claim: str, answer: str) -> Span | None:
    """Return where a claim stands in an answer, whatever typography it has there; None where it is in other words."""
    at = answer.find(claim)
    if at >= 0:
        return Span(at, at + len(claim))
    folded, wanted = fold(answer), fold_text(claim)
    at = folded.find(wanted)
    return folded.original(at, at + len(wanted)) if at >= 0 else None


def _by_offsets(citation: Citation, answer: str) -> Span | None:
    start, end = citation.answer_start, citation.answer_end
    if start is None or start > len(answer):
        return None
    return _at_offsets(answer, start, end)


@lru_cache(maxsize=16)
def _at_offsets(answer: str, start: int, end: int | None) -> Span | None:
    """Return what stands at offsets: kept, because the markers of one claim all ask for the same."""
    if end is not None and start < end <= len(answer) and words(answer[start:end]):
        start, end = _whole_words(answer, start, end)
        if len(words(strip_markers(answer[start:end]))) >= 2:  # noqa: PLR2004 - a word or a bare marker is a place, not a claim
            return Span(start, end)
    for span in reversed(sentences(answer)):
        if span.start <= start:
            return span
    return None


def _whole_words(answer: str, start: int, end: int) -> Span:
    """Return a range that tears no word: some producers' ends are the last character."""
    for _ in range(_LONGEST_WORD):
        if start > 0 and not starts_token(answer, start):
            start -= 1
        elif end < len(answer) and not ends_token(answer, end):
            end += 1
        else:
            break
    return Span(start, end)


_LONGEST_WORD = 60
"""Characters by which a range grows at most."""


def _marked_for(answer: str, source: str, contexts: Sequence[Context]) -> list[Span]:
    spans: list[Span] = []
    names = {source} | {
        source_name(context, index) for index, context in enumerate(contexts) if source in {context.uri, context.title}
    }
    for marked in marked_claims(answer, (source, *names_of(contexts))):
        for marker in marked.markers:
            if any(name in names or resolve_marker(name, contexts) in names for name in marker.ids):
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


def _clean(text: str, contexts: Sequence[Context]) -> str:
    """Return a claim's words without markers, and without the blanks that they leave."""
    known = names_of(contexts) if "[" in text else ()
    if any(f"[{name}" in text for name in known if not name.isdigit()):
        return _closed(strip_markers(text, known))
    return _plainly(text)


@remember(1_000_000)
def _plainly(text: str) -> str:
    return _closed(strip_markers(text))


def _closed(bare: str) -> str:
    if "  " not in bare:
        return bare.strip()
    return re.sub(
        r" {2,}(?=[.,;:!?])| {2,}",
        lambda m: "" if m.end() < len(m.string) and m.string[m.end()] in ".,;:!?" else " ",
        bare,
    ).strip()
