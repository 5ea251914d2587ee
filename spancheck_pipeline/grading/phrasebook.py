"""The phrasebook: one language's ways of declining, compiled from its data file.

What the matches mean together lives in ``abstention.py``; which language a text is in, in ``language.py``. The data
files (``abstention_patterns/*.toml``) hold RE2 patterns, so that no answer can make them slow; the first comment of
``en.toml`` explains their tables.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import re2

from spancheck_pipeline.grading.cues import CUES
from spancheck_pipeline.grading.language import LANGUAGES, Reading, data_file, has_digit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Opener = Literal["start", "contrast", "concede", "conclude", "explain", "join"]

_WORD = r"[a-z0-9\x{80}-\x{10FFFF}]"
_EDGE = r"[\x00-/:-`{-\x7f]"
"""Flattened text has no punctuation beyond ASCII, so these small classes do for every script; Unicode's own letter
class would make each pattern a thousand times larger."""
_CLOSE = r"[\x00-/:-`{-\x7f。]*$"
LONGEST_REST: Final = 12
"""Words that may follow "and" and still be no clause of their own."""
_PUNCTUATION = " \t\n,.!;:-()。"
_BLANK = " \t\n,"
_NEVER = r"[^\x00-\x{10FFFF}]"


class Phrase(NamedTuple):
    """One compiled list of phrases; its first group is the cue."""

    pattern: Any
    is_anchored: bool
    """Whether it stands at the start of a clause, so that nothing before it can make it a condition."""


@dataclass(frozen=True)
class Phrasebook:
    """The compiled phrases of one language; every method takes lower-cased, flattened text."""

    language: str
    decline: tuple[Phrase, ...]
    refuse: tuple[Phrase, ...]
    neutral: tuple[Phrase, ...]
    about: tuple[Phrase, ...]
    """What a source is about ("the first passage discusses"), at the start of a clause."""
    telling: Any
    """Words after it that make it tell something all the same ("that", "as")."""
    finite: Any
    """Verbs without which what is joined by "and" goes on with what a source is about."""
    safety: Any
    """Words that make a text that declines and goes on a refusal and no hedge."""
    condition: Any
    """Words before a phrase that make it a condition or a relative clause, so that it declines nothing."""
    relative: Any
    """Pronouns that make the phrase that they open a relative clause ("which did not find")."""
    idiom: Any
    """Phrases that seem to decline and do not ("I cannot stress enough")."""
    inverted: Any
    """A sentence that a verb opens, up to its comma: a condition in some languages ("Enthält er …, gilt")."""
    after: Any
    """Words after a phrase that do so."""
    splitter: Any
    """What divides the clauses of a sentence."""
    any_phrase: tuple[Any, Any]
    """All phrases in two patterns, those that decline and the others: most clauses hold none, and this tells so."""

    cue: Any
    """What a sentence holds that declines or refuses anywhere in it; None where that is not told."""

    def may_decline(self, sentence: str) -> bool:
        """Whether a sentence may hold a phrase that declines or refuses: of most it is told at once that not."""
        return self.cue is None or self.cue.search(sentence.encode("utf-8")) is not None

    def knows(self, clause: str) -> bool:
        """Whether a clause holds any phrase, of whatever sort; where not, the other questions need no search."""
        encoded = clause.encode("utf-8")
        declining, other = self.any_phrase
        return declining.search(encoded) is not None or other.search(encoded) is not None

    def declines(self, clause: str, patterns: Sequence[str] = ()) -> tuple[int, int] | None:
        """Return the span of the words that say "I cannot answer from the sources", or None."""
        own = (Phrase(_wrapped(pattern, _EDGE), is_anchored=False) for pattern in patterns)
        return self._first([*self.decline, *own], clause)

    def refuses(self, clause: str) -> tuple[int, int] | None:
        """Return the span of the words that say "I will not answer", or None."""
        return self._first(self.refuse, clause)

    def is_neutral(self, clause: str, *, has_phrase: bool = True) -> bool:
        """Whether a clause asserts nothing: courtesy, an offer, a question, what a source is about.

        ``has_phrase`` is what ``knows`` said of it.
        """
        if clause.rstrip().endswith("?") or not any(character.isalnum() for character in clause):
            return True
        if clause.strip(_PUNCTUATION) in _affirming():
            return False
        return has_phrase and (any(phrase.pattern.search(clause) for phrase in self.neutral) or self.is_about(clause))

    def is_about(self, clause: str) -> bool:
        """Whether a clause only says what a source is about: no number, nothing that it tells of it."""
        match = next((match for phrase in self.about if (match := phrase.pattern.search(clause))), None)
        if match is None:
            return False
        rest = clause[match.end() :]
        return not has_digit(rest) and not self.telling.search(rest)

    def goes_on(self, clause: str) -> bool:
        """Whether a clause after "and" only goes on with one that says nothing: some words, no verb, no number."""
        if self.finite is None or has_digit(clause) or len(clause.split()) > LONGEST_REST:
            return False
        return not self.finite.search(clause)

    def clauses(self, flat: str, span: tuple[int, int]) -> Iterator[tuple[int, int, Opener]]:
        """Yield the clauses of one sentence with the sort of word that opens each.

        A sentence that opens with "although" concedes up to its first comma.
        """
        start, end = span
        at, opener = start, "start"
        for match in self.splitter.finditer(flat[start:end]):
            kind = match.lastgroup or "contrast"
            cut = start + match.start()
            if match.lastgroup == "contrast" and _is_inserted(flat, cut, start + match.end(), start):
                continue
            if opener == "concede":
                yield from self._conceding(flat, at, cut)
            elif flat[at:cut].strip():
                yield at, cut, opener  # type: ignore[misc]  # group names are the openers
            at = cut if kind == "join" else start + match.end()
            is_first = match.lastgroup == "contrast" and not flat[start:cut].strip(_BLANK)
            opener = "concede" if is_first else kind
        if opener == "concede":
            yield from self._conceding(flat, at, end)
        elif flat[at:end].strip():
            yield at, end, opener  # type: ignore[misc]  # as above

    def _conceding(self, flat: str, start: int, end: int) -> Iterator[tuple[int, int, Opener]]:
        """Divide what "although" opens at its first comma; without any, it is no clause beside another."""
        comma = flat.find(",", start, end)
        if comma >= 0 and flat[comma:end].strip(_BLANK):
            yield start, comma, "concede"
            yield comma, end, "contrast"
        elif flat[start:end].strip():
            yield start, end, "concede" if flat.startswith(",", end) else "contrast"

    def _first(self, patterns: Iterable[Phrase], clause: str) -> tuple[int, int] | None:
        for phrase in patterns:
            match = phrase.pattern.search(clause)
            if match is None:
                continue
            start, end = match.span(1)
            before = clause[clause.rfind(",", 0, start) + 1 : start]
            is_free = phrase.is_anchored or not (self.condition.search(before) or self._is_inverted(clause, end))
            is_relative = self.relative.match(clause[start:end])
            is_idiom = self.idiom is not None and self.idiom.match(clause[start:])
            if is_free and not is_relative and not is_idiom and not self.after.match(clause[end:]):
                return start, end
        return None

    def _is_inverted(self, clause: str, end: int) -> bool:
        """Whether what ends at a place stands in a condition that a verb opens."""
        match = self.inverted.match(clause) if self.inverted else None
        return match is not None and end <= match.end()


@cache
def phrasebook(language: str) -> Phrasebook:
    """Return the phrasebook of one of ``LANGUAGES``."""
    data = data_file(language)
    words = {name: _either(items) for name, items in data.get("words", {}).items()}
    edge = _EDGE if data.get("spaced", True) else ""
    lead = _either(data.get("lead", [])) or "(?:)"
    join = _either(data.get("join", [])) or _NEVER
    leads = rf"(?:{_filled(lead, words)}[\s,:]{'+' if edge else '*'})*"
    start = rf"(?:^|,|(?:^|{_EDGE}){join}\s){_EDGE}*{leads}"
    whole = rf"^{_EDGE}*{leads}"

    def compiled(table: Mapping[str, Sequence[str]]) -> tuple[Phrase, ...]:
        made = []
        if items := table.get("start"):
            made.append(Phrase(_compile(rf"{start}({_filled(_either(items), words)})(?:$|{edge})"), is_anchored=True))
        if items := table.get("whole"):
            made.append(Phrase(_compile(rf"{whole}({_filled(_either(items), words)}){_CLOSE}"), is_anchored=True))
        if items := table.get("anywhere"):
            made.append(Phrase(_wrapped(_filled(_either(items), words), edge), is_anchored=False))
        return tuple(made)

    decline, refuse = compiled(data["decline"]), compiled(data.get("refuse", {}))
    neutral, about = compiled(data.get("neutral", {})), compiled(data.get("about", {}))
    return Phrasebook(
        language=language,
        decline=decline,
        refuse=refuse,
        neutral=neutral,
        about=about,
        finite=_wrapped(_filled(_either(data["finite"]), words), edge) if "finite" in data else None,
        telling=_wrapped(_filled(_either(data.get("telling", [])) or _NEVER, words), edge),
        safety=_wrapped(_filled(_either(data.get("safety", [])) or _NEVER, words), edge),
        condition=_wrapped(_filled(_either(data["condition"]) or _NEVER, words), edge),
        relative=_wrapped(_filled(_either(data.get("relative", data["condition"])) or _NEVER, words), edge),
        idiom=_compile(rf"^{_filled(_either(data['idiom']), words)}(?:$|{edge})") if "idiom" in data else None,
        inverted=_compile(rf"^\s*{_either(data['inverted'])}\s[^,]*,") if "inverted" in data else None,
        after=_compile(rf"^\s*(?:{_filled(_either(data.get('after', [])) or _NEVER, words)})"),
        splitter=_splitter(data, words, edge),
        any_phrase=(_any_of((*decline, *refuse)), _any_of((*neutral, *about))),
        cue=_compile(CUES[language].pattern, captures=False) if language in CUES else None,
    )


def _is_inserted(flat: str, start: int, end: int, beginning: int) -> bool:
    """Whether a connective stands between two commas within a clause ("the year, however, is not given")."""
    before = flat[max(beginning, start - 3) : start + 1].rstrip()
    return start > beginning and before.endswith(",") and flat[end - 1 : end + 1].lstrip().startswith(",")


@cache
def _affirming() -> frozenset[str]:
    return frozenset(data_file("languages")["affirming"])


def _any_of(phrases: Sequence[Phrase]) -> Any:
    """Return one pattern that finds whether any of the phrases is there, and no more: that is what makes it fast."""
    return _compile("|".join(f"(?:{phrase.pattern.pattern})" for phrase in phrases) or _NEVER, captures=False)


def _splitter(data: Mapping[str, Any], words: Mapping[str, str], edge: str) -> Any:
    """Return the pattern of what divides clauses: marks, and connectives named by what they do."""
    tables = {name: _either(data.get(name, [])) for name in ("contrast", "conclude", "explain")}
    groups = "|".join(
        rf"(?:^|{edge or '(?:)'})\s*(?P<{name}>{_filled(items, words)})(?:$|{edge or '(?:)'})"
        for name, items in tables.items()
        if items
    )
    if parts := data.get("join_before"):
        groups += rf"|(?P<join>(?:,|\s)\s*{_filled(_either(parts), words)})(?:$|{edge or '(?:)'})"
    commas = "|," if data.get("comma_clauses") else ""
    colon = r":\s" if edge else ":"
    return _compile(rf"{groups}|;|{colon}|\s-+\s{commas}")


@cache
def data_versions() -> dict[str, str]:
    """Return the digest of every data file, by its name: what the spec of a grader that uses them carries."""
    folder = resources.files("spancheck_pipeline.grading") / "abstention_patterns"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest()[:16] for name in names}


def phrasebooks_for(reading: Reading) -> tuple[Phrasebook, ...]:
    """Return the phrasebooks to read a text with: its language's, or all of its script where nobody can tell."""
    if reading.language is not None:
        return (phrasebook(reading.language),) if reading.language in LANGUAGES else ()
    codes = data_file("languages")["by_script"].get(reading.script or "latin", ())
    return tuple(phrasebook(code) for code in codes if code in LANGUAGES)


def _either(items: Iterable[str]) -> str:
    parts = list(items)
    return "(?:" + "|".join(parts) + ")" if parts else ""


def _filled(pattern: str, words: Mapping[str, str]) -> str:
    """Put the named word lists in place; a blank stands for any run of blanks, and with ``?`` for none as well."""
    for _ in range(6):
        pattern = re.sub(r"\{([a-z_]+)\}", lambda match: words[match.group(1)], pattern)
    return pattern.replace(" ?", r"\s*").replace(" ", r"\s+")


def _wrapped(pattern: str, edge: str) -> Any:
    return _compile(rf"(?:^|{edge})({pattern})(?:$|{edge})" if edge else f"({pattern})")


def pattern_problem(pattern: str) -> str | None:
    """Return why RE2 cannot run a pattern, or None where it can."""
    try:
        _wrapped(pattern, _EDGE)
    except re2.error as error:
        detail = error.args[0] if error.args else "?"
        return detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return None


@lru_cache(maxsize=1024)
def _compile(pattern: str, *, captures: bool = True) -> Any:
    options = re2.Options()
    options.never_capture = not captures
    options.log_errors = False
    options.max_mem = (64 if captures else 192) << 20  # a limit that texts do not reach, and RE2 forgets states at it
    return re2.compile(pattern, options)


MARKS = _compile(
    r"[\[(<{]?\s*(?:" + "|".join(data_file("languages")["marks"]) + r")\s*[\])>}]?\.?",
)
"""A whole text that marks that there is nothing to read: ``[illegible]``, ``N/A``."""
