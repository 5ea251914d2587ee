"""Abstention: does an answer decline, refuse, hedge, or answer? One function for every grader that asks.

The wording of each language is data, in ``abstention_patterns/*.toml``, and compiling it lives in ``phrasebook.py``.
Whether declining was right is ``graders/abstention_correct.py``'s question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal
from unicodedata import category

from spancheck_pipeline.evidence.citation import markers
from spancheck_pipeline.evidence.text import Span, remember, sentences
from spancheck_pipeline.grading.envelope import unwrapped
from spancheck_pipeline.grading.language import data_file, flatten, has_digit, language_of
from spancheck_pipeline.grading.phrasebook import MARKS, Opener, Phrasebook, pattern_problem, phrasebooks_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spancheck_pipeline.evidence.run import Output

Kind = Literal["abstained", "refused", "hedged", "partial", "answered", "unknown"]
Signal = Literal["text", "empty", "mark", "flag", "finish_reason"]

REFUSING_FINISH_REASONS = frozenset(
    {
        "refusal", "refused", "content_filter", "content_filtered", "safety", "blocked", "blocklist",
        "prohibited_content", "recitation", "spii", "guardrail_intervened", "error_toxic",
    }
)  # fmt: skip
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

    @property
    def declines(self) -> bool:
        """Whether the answer says that it cannot or will not answer, and asserts nothing besides."""
        return self.kind in {"abstained", "refused"}


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
    text = unwrapped(text)
    if _is_empty(text):
        return Abstention(abstained=True, kind="abstained", signal="mark" if text.strip() else "empty")
    flat = flatten(text)
    if MARKS.fullmatch(flat.strip()):
        return Abstention(abstained=True, kind="abstained", signal="mark")
    written = language_of(flat)
    language = written.language
    books = phrasebooks_for(written)
    if not books:
        return Abstention(abstained=None, kind="unknown", language=language, asserts=True)
    spans = sentences(text)
    readings = [_read(text, flat, spans, book, patterns=patterns, is_alone=len(books) == 1) for book in books]
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
    flagged_wrongly = output.abstained is not None and output.abstained is not told.declines
    is_contradicted = (flagged_wrongly or refusing) and not (refusing and told.declines)
    return told if is_contradicted == told.contradicted else replace(told, contradicted=is_contradicted)


def _is_empty(text: str) -> bool:
    """Whether a text stands for nothing: blanks and punctuation alone ("-", "?", a line of ``~~~``).

    "✓", "👍" and "∞" answer; "!" stands for something, whatever that is.
    """
    if any(character.isalnum() for character in text):
        return False
    return all(category(character)[0] in "PZC" or character in "~|`^=<>" for character in text) and "!" not in text


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
    tells_number: bool = False
    cue: tuple[int, int] | None = None

    def take(self, clause: str, opener: Opener, *, declined_here: bool) -> bool:
        """Note what a clause that neither declines nor says nothing does; True where it may only concede."""
        if opener == "conclude" and declined_here:
            self.concludes = True
        elif opener == "concede" and not has_digit(clause):
            return True
        elif opener == "explain" and declined_here:
            self.tells_number |= self.assertions > 0 and self.refuses > 0 and has_digit(clause)
        else:
            self.assert_something(clause)
        return False

    def assert_something(self, clause: str) -> None:
        """Note a clause that could be right or wrong."""
        self.tells_number |= self.refuses > 0 and has_digit(clause)
        self.asserts_first |= self.declines + self.refuses == 0
        self.assertions += 1

    @property
    def strength(self) -> tuple[int, int]:
        return (self.declines + self.refuses, -self.assertions)

    def abstention(self, language: str | None) -> Abstention:
        """Return what the text does; ``language`` is its own, where it can be told."""
        declined = self.declines + self.refuses > 0
        kind: Kind
        if not declined or self.concludes:
            kind = "answered"
        elif self.refuses and self.tells_number and not self.asserts_first:
            kind = "hedged"  # what goes on about a refusal tells no number
        elif self.refuses and (not self.declines or not self.assertions):
            kind = "refused" if not self.asserts_first else "partial"
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


def _read(
    text: str, flat: str, spans: Sequence[Span], book: Phrasebook, *, patterns: Sequence[str], is_alone: bool
) -> _Reading:
    """Read a text sentence by sentence.

    Where no other language's reading is compared with this one, nobody asks how often a text asserts: once it has, a
    sentence that cannot decline changes nothing.
    """
    reading = _Reading(book.language)
    for start, end in spans:
        sentence = flat[start:end]
        if is_alone and reading.assertions and not patterns and not book.may_decline(sentence):
            continue
        if _MAY_REFER.search(sentence):
            sentence = _without_references(text[start:end], sentence)
        _read_sentence(sentence, start, book, patterns, reading, is_alone=is_alone and not patterns)
    reading.moralizes = reading.declines > 0 and book.safety.search(flat) is not None
    return reading


_MAY_REFER: Final = re.compile(r"[\[(<¹²³⁰⁴-⁹]")
_REFERENCE: Final = re.compile(
    rf"\((?:{'|'.join(data_file('languages')['references'])})(?![^\W\d_])[^()\n]{{0,200}}\)", re.IGNORECASE
)


def _without_references(sentence: str, flat: str) -> str:
    """Return a flattened sentence with its citation markers and "(source: lease.pdf, p. 3)" blanked out."""
    pieces, kept = [], 0
    for marker in markers(sentence):
        pieces += [flat[kept : marker.start], " " * (marker.end - marker.start)]
        kept = marker.end
    return _REFERENCE.sub(lambda match: " " * len(match[0]), "".join([*pieces, flat[kept:]]))


def _read_sentence(
    flat: str, at: int, book: Phrasebook, patterns: Sequence[str], reading: _Reading, *, is_alone: bool
) -> None:
    """Read one sentence, which stands at a place of the text, clause by clause.

    What follows "so" concludes, what follows "because" explains, and what "although" concedes asserts nothing where
    the sentence then declines, but for a number. A label such as "Sources:" is followed by names alone.
    """
    declined_here, conceded, says_nothing = False, False, False
    for start, end, opener in book.clauses(flat, (0, len(flat))):
        clause = flat[start:end]
        is_settled = is_alone and reading.assertions > 0 and not reading.refuses and not declined_here
        if is_settled and not book.may_decline(clause):
            says_nothing = False
            continue
        has_phrase = bool(patterns) or book.knows(clause)
        if has_phrase and (found := _declining(clause, book, patterns, reading)):
            reading.cue = reading.cue or (at + start + found[0], at + start + found[1])
            declined_here, conceded, says_nothing = True, False, False
            continue
        if flat.startswith(":", end) and _SOURCES.fullmatch(clause):
            return
        goes_on = says_nothing and opener == "join" and book.goes_on(clause)
        says_nothing = goes_on or book.is_neutral(clause, has_phrase=has_phrase) or _is_label(flat, start, end)
        if not says_nothing:
            conceded |= reading.take(clause, opener, declined_here=declined_here)
    if conceded:
        reading.assert_something("")


def _declining(clause: str, book: Phrasebook, patterns: Sequence[str], reading: _Reading) -> tuple[int, int] | None:
    """Return the span of the words by which a clause refuses or declines, and count it."""
    if found := book.refuses(clause):
        reading.refuses += 1
    elif found := book.declines(clause, patterns):
        reading.declines += 1
    return found


def _is_label(flat: str, start: int, end: int) -> bool:
    """Whether a clause is what stands before a colon ("2. Rent amount:", "Step 1:"): what follows asserts, or not."""
    if not flat.startswith(":", end):
        return False
    label = _LIST_NUMBER.sub("", flat[start:end])
    return not has_digit(label) and len(label) <= LONGEST_LABEL and len(label.split()) <= MOST_LABEL_WORDS


_SOURCES: Final = re.compile(
    rf"\s*(?:{'|'.join(data_file('languages')['references'])})(?:\s+[^\W\d_]+)?\s*", re.IGNORECASE
)
"""A label after which only sources are named ("Sources reviewed: lease.pdf")."""
LONGEST_LABEL: Final = 60
MOST_LABEL_WORDS: Final = 6
_LIST_NUMBER: Final = re.compile(r"\A\s*(?:-|\(?\d{1,3}[.)])\s+|\A\s*[^\W\d_]+\s+\d{1,2}\Z")


def check_patterns(patterns: Sequence[str]) -> None:
    """Say which of a suite's own phrases RE2 cannot run.

    Raises:
        ValueError: naming the place of the first one in the list.
    """
    for place, pattern in enumerate(patterns):
        if problem := pattern_problem(pattern):
            raise ValueError(f"patterns[{place}] cannot be used: {problem}")
