"""The packet: what a judge is shown, which claim or criterion with which evidence. The case's input has no way in.

It has a version of its own, so that a new version of a grader finds the verdicts that are there.
How it is worded for a judge lives in ``grading/judge_prompt.py``; which packets a grader needs is the grader's to say.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal

from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.citation import strip_markers
from spancheck_pipeline.evidence.sentence import sentences
from spancheck_pipeline.evidence.word import Span

if TYPE_CHECKING:
    from spancheck_pipeline.evidence.case import Criterion

PACKET_VERSION: Final = 1
"""Bumped when the same citation, sentence or criterion gives another packet: the old verdicts are then not found."""

MOST_CHARS: Final = 200_000
"""Characters that a judge is shown at most (some 50,000 tokens): a hostile output must not cost more."""

PacketKind = Literal["entailment", "groundedness", "faithful"]


@dataclass(frozen=True)
class Packet:
    """What one judge call is about. There is no place in it for what the system was asked."""

    kind: PacketKind
    claim: str
    """The claim, the answer's sentence, or the criterion."""
    evidence: tuple[str, ...]
    """Passages or the part of one that is to carry it."""
    answer: str | None = None
    """The whole answer, where the question is about it (``faithful``)."""
    version: int = PACKET_VERSION

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything in it."""
        return digest(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "kind": self.kind,
            "claim": self.claim,
            "evidence": list(self.evidence),
            "answer": self.answer,
            "version": self.version,
        }

    @property
    def n_chars(self) -> int:
        """Characters of all its texts."""
        return len(self.claim) + sum(map(len, self.evidence)) + len(self.answer or "")

    @property
    def is_too_long(self) -> bool:
        """Whether no judge is shown it."""
        return self.n_chars > MOST_CHARS


def entailment_packet(claim: str, evidence: Iterable[str] | str) -> Packet:
    """Return what a judge is shown of a citation: its claim, and the text that is to carry it.

    Of a citation that was found, the claim is ``claim_of``'s and the text ``evidence_around``'s.
    """
    texts = (evidence,) if isinstance(evidence, str) else evidence
    return Packet("entailment", claim.strip(), _passages(texts))


def evidence_around(passage: str, span: Span | None) -> str:
    """Return the part of a passage that is to carry a claim: the sentences that a quote's range touches, or all of it.

    So a *not* before the quote, or a name in its sentence, is seen.

    >>> evidence_around("No. It is not due in May. Yes.", Span(14, 24))
    'It is not due in May.'
    """
    if span is None:
        return passage
    spans = sentences(passage)
    first, after = bisect_right(spans, span.start, key=attrgetter("end")), bisect_left(spans, (span.end,))
    if first >= after:
        return passage[span.start : span.end]
    return passage[min(spans[first].start, span.start) : max(spans[after - 1].end, span.end)]


def answer_packet(answer: str, passages: Iterable[str]) -> Packet:
    """Return what a judge is shown of a whole answer: it, without inline markers, and every passage with text."""
    return Packet("entailment", _bare(strip_markers(answer)), _passages(passages))


def sentence_packet(sentence: str, passages: Iterable[str]) -> Packet:
    """Return what a judge is shown of an answer's sentence: it, without markers, and every passage with text."""
    return Packet("groundedness", _bare(without_list_marker(strip_markers(sentence))), _passages(passages))


def without_list_marker(sentence: str) -> str:
    """Return a sentence without what numbers or marks it in a list: that is no number that a passage could tell.

    >>> without_list_marker(" 2. Notice is 30 days.")
    'Notice is 30 days.'
    """
    return _LIST_MARKER.sub("", sentence)


def faithful_packet(criterion: Criterion, answer: str, passages: Iterable[str]) -> Packet:
    """Return what a judge is shown of a criterion: what it says, the whole answer, and every passage with text.

    A target of one text says that text, any other what its JSON says; without a target the answer as a whole is meant.
    """
    return Packet("faithful", _statement(criterion), _passages(passages), answer.strip())


_LIST_MARKER = re.compile(r"\A\s*(?:[-*+•·]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+")
_WHOLE = "Everything that the answer asserts stands in the passages."


def _statement(criterion: Criterion) -> str:
    target = criterion.target
    if not target:
        return _WHOLE
    texts = list(target.values())
    if len(texts) == 1 and isinstance(texts[0], str) and texts[0].strip():
        return texts[0].strip()
    return json.dumps(target, ensure_ascii=False, sort_keys=True, indent=1)


def _passages(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the passages with text, in their order, each once."""
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))


def _bare(text: str) -> str:
    """Return a text without the blanks that markers leave."""
    return re.sub(r" {2,}(?=[.,;:!?])", "", re.sub(r" {2,}", "  ", text)).replace("  ", " ").strip()
