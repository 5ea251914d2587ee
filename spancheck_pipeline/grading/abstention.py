"""Abstention: does an answer decline, refuse, hedge, or answer? One function for every grader that asks.

The wording of each language is data, in ``abstention_patterns/*.toml``, and compiling it lives in ``phrasebook.py``.
Whether declining was right is ``graders/abstention_correct.py``'s question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from spancheck_pipeline.evidence.text import Span, remember, sentences
from spancheck_pipeline.grading.language import flatten, language_of
from spancheck_pipeline.grading.phrasebook import MARKS, Phrasebook, pattern_problem, phrasebooks_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spancheck_pipeline.evidence.run import Output

Kind = Literal["abstained", "refused", "hedged", "partial", "answered", "unknown"]
Signal = Literal["text", "empty", "mark", "flag", "finish_reason"]

REFUSING_FINISH_REASONS = frozenset(
    {"refusal", "refused", "content_filter", "safety", "blocked", "prohibited_content", "guardrail_intervened"}
)
"""A provider's words for "the model or its filter would not answer", lower-cased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention:
    """What an answer does about its question, and the words that show it."""

    abstained: bool | None
    """True only for kind ``abstained``; None where the language has no patterns, so that nobody can tell."""
    kind: Kind
    """``abstained`` cannot answer; ``refused`` will not; ``hedged`` declines and then asserts; ``partial`` asserts and
    then declines the rest; ``answered``; ``unknown`` where the language has no patterns."""
    language: str | None = None
    """ISO 639-1 code, None where the text is too short or neutral to tell."""
    cue_start: int | None = None
    cue_end: int | None = None
    """Half-open, in code points of the text: the words that decline. None where there are none."""
    asserts: bool = False
    """Whether the text says anything about the question that could be right or wrong."""
    signal: Signal = "text"
    """What decided: the text, or what the system said beside it."""
    contradicted: bool = False
    """Whether the system's own flag or finish reason says otherwise than the text; the text was believed."""


def detect_abstention(text: str, *, patterns: Sequence[str] = ()) -> Abstention:
    """Return what a text does about its question: answer, decline, refuse, hedge, or answer in part.

    ``patterns`` are further declining phrases of a suite, as RE2 regular expressions over lower-cased text. Time is
    linear in the text, of which ``LONGEST`` characters are read.

    >>> detect_abstention("The report does not specify the number of employees.").kind
    'abstained'
    >>> detect_abstention("I don't know the exact date, but revenue was $5 million in 2023.").kind
    'hedged'
    >>> detect_abstention("42").kind
    'answered'
    """
    text = text[:LONGEST]
    return _detect(text, patterns) if patterns else _detected(text)


LONGEST: Final = 200_000
"""Characters of a text that are read (some eighty pages); no answer that people read is longer."""


@remember(2_000_000)
def _detected(text: str) -> Abstention:
    """Return what a text does, kept: several graders ask about each answer, and every epoch and re-scoring again."""
    return _detect(text, ())


def _detect(text: str, patterns: Sequence[str]) -> Abstention:
    flat = flatten(text)
    if not any(character.isalnum() for character in flat) and _is_empty(flat):
        return Abstention(abstained=True, kind="abstained", signal="mark" if flat.strip() else "empty")
    if MARKS.fullmatch(flat.strip()):
        return Abstention(abstained=True, kind="abstained", signal="mark")
    written = language_of(flat)
    language = written.language
    books = phrasebooks_for(written)
    if not books:
        return Abstention(abstained=None, kind="unknown", language=language, asserts=True)
    spans = sentences(text)
    readings = [_read(flat, spans, book, patterns, is_alone=len(books) == 1) for book in books]
    best = max(readings, key=lambda reading: reading.strength)
    return best.abstention(language)


def abstention_of(output: Output, *, patterns: Sequence[str] = ()) -> Abstention:
    """Return what an output does about its question: the system's own signals first, checked against its text.

    A flag or finish reason that the text contradicts is not believed; ``contradicted`` says so.
    """
    told = detect_abstention(output.answer, patterns=patterns)
    refusing = (output.finish_reason or "").strip().lower() in REFUSING_FINISH_REASONS
    if refusing and (told.kind == "unknown" or not told.asserts):
        return replace(told, abstained=False, kind="refused", signal="finish_reason")
    if output.abstained and told.kind in {"answered", "unknown"}:
        if told.kind == "answered" and told.asserts:
            return replace(told, contradicted=True)
        return replace(told, abstained=True, kind="abstained", signal="flag")
    declined = told.kind in {"abstained", "refused"}
    contradicted = bool(output.abstained and not declined) or (output.abstained is False and declined) or refusing
    is_contradicted = contradicted and not (refusing and declined)
    return told if is_contradicted == told.contradicted else replace(told, contradicted=is_contradicted)


def _is_empty(flat: str) -> bool:
    """Whether a text without letters or digits is no answer: nothing, or a line of ``~~~`` or dashes."""
    return not flat.strip() or re.fullmatch(r"[\s~.…_*-]*", flat) is not None


@dataclass(slots=True)
class _Reading:
    """What one language's phrasebook makes of a text, clause by clause."""

    language: str
    declines: int = 0
    refuses: int = 0
    assertions: int = 0
    asserts_first: bool = False
    concludes: bool = False
    moralizes: bool = False
    cue: tuple[int, int] | None = None

    @property
    def strength(self) -> tuple[int, int]:
        return (self.declines + self.refuses, -self.assertions)

    def abstention(self, language: str | None) -> Abstention:
        """Return what the text does; ``language`` is its own, where it can be told."""
        declined = self.declines + self.refuses > 0
        kind: Kind
        if not declined or self.concludes:
            kind = "answered"
        elif self.refuses and (not self.declines or not self.assertions):
            kind = "refused" if self.refuses and not self.asserts_first else "partial"
        elif self.assertions and self.moralizes and not self.asserts_first:
            kind = "refused"
        elif self.assertions:
            kind = "partial" if self.asserts_first else "hedged"
        else:
            kind = "abstained"
        cue = self.cue if declined else None
        return Abstention(
            abstained=kind == "abstained",
            kind=kind,
            language=language or (self.language if declined else None),
            cue_start=cue[0] if cue else None,
            cue_end=cue[1] if cue else None,
            asserts=self.assertions > 0 or self.concludes,
        )


def _read(flat: str, spans: Sequence[Span], book: Phrasebook, patterns: Sequence[str], *, is_alone: bool) -> _Reading:
    """Read a text sentence by sentence.

    Where no other language's reading is compared with this one, nobody asks how often a text asserts: once it has, a
    sentence that cannot decline changes nothing.
    """
    reading = _Reading(book.language)
    for start, end in spans:
        if is_alone and reading.assertions and not patterns and not book.may_decline(flat[start:end]):
            continue
        _read_sentence(flat, Span(start, end), book, patterns, reading)
    reading.moralizes = reading.declines > 0 and book.safety.search(flat) is not None
    return reading


def _read_sentence(flat: str, span: Span, book: Phrasebook, patterns: Sequence[str], reading: _Reading) -> None:
    """Read one sentence clause by clause: what follows "so" concludes, what follows "because" explains."""
    declined_here = False
    for start, end, opener in book.clauses(flat, span):
        clause = flat[start:end]
        has_phrase = bool(patterns) or book.knows(clause)
        if not has_phrase:
            found = None
        elif found := book.refuses(clause):
            reading.refuses += 1
        elif found := book.declines(clause, patterns):
            reading.declines += 1
        if found:
            declined_here = True
            reading.cue = reading.cue or (start + found[0], start + found[1])
        elif opener == "conclude" and declined_here and not book.is_neutral(clause, has_phrase=has_phrase):
            reading.concludes = True
        elif not book.is_neutral(clause, has_phrase=has_phrase) and not (opener == "explain" and declined_here):
            reading.asserts_first |= reading.declines + reading.refuses == 0
            reading.assertions += 1


def check_patterns(patterns: Sequence[str]) -> None:
    """Say which of a suite's own phrases RE2 cannot run.

    Raises:
        ValueError: naming the place of the first one in the list.
    """
    for place, pattern in enumerate(patterns):
        if problem := pattern_problem(pattern):
            raise ValueError(f"patterns[{place}] cannot be used: {problem}")
