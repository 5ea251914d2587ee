"""Sentences with their places: where one ends, in prose, lists, headings, quotations and scripts without spaces.

Words live in ``word.py``; which sentence a citation is for is ``claim.py``'s.
"""

from __future__ import annotations

import re
import tomllib
from collections import deque
from collections.abc import Iterator
from importlib import resources

from spancheck_pipeline.evidence.word import Span, remember

_MARKER = (
    r"(?:[ ]?(?:\[\^?[^\[\]\n]{1,24}\]|［[^［］\n]{1,24}］|【[^【】\n]{1,60}】|"
    r"<sup(?:[ ][^<>]{0,200})?>(?:<a[ ][^<>]{0,200}>)?[^<>\n]{1,12}(?:</a>)?</sup>|[⁰¹²³⁴-⁹]+))"
)
_CLOSING = "\"'”’»)\\]」』*_"
_CLOSING_BEFORE_SPACE = r"(?:[“‘«](?=\s|\Z)|[ \u00a0\u202f]»)?"
"""„…“ and »…« close with what opens elsewhere, and « … » after a space."""
_END = re.compile(
    rf"""
      (?P<wide>[。！？｡︒؟۔।॥]+[{_CLOSING}」』”’]*{_MARKER}{{0,8}})
    | (?P<stop>(?<![.!?…])[.!?…]++[{_CLOSING}]{{0,4}}{_CLOSING_BEFORE_SPACE}{_MARKER}{{0,8}})
      (?=\s|\Z|[\u3400-\u9fff]
      |(?<=[\])¹²³])[A-Z])
    | (?P<line>(?<![ \t])[ \t]*+(?:\r\n|[\n\r\u2028\u2029])[ \t]*)
    """,
    re.VERBOSE,
)
_CANDIDATE = re.compile(r"[。！？｡︒؟۔।॥.!?…\n\r\u2028\u2029 \t](?<![ \t](?![ \t\r\n\u2028\u2029]))")
"""Where ``_END`` can match: one class of characters, which is searched many times faster than its alternatives."""
_LISTS = tomllib.loads(resources.files(__package__).joinpath("abbreviations.toml").read_text("utf-8"))
_ALWAYS_INSIDE = frozenset(_LISTS["inside"].split())
_EITHER = frozenset(_LISTS["either"].split())
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•·‣◦▪●○–—]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|#{1,6})[ \t]+")
_LIST_NUMBER = re.compile(r"(?:\A|[\n\r])[ \t]*\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})\Z")
_INITIALS = re.compile(r"[A-Z](?:\.[A-Z]){1,3}\Z")
_OPENING = "([\"'“‘"
_CONTINUES = re.compile(r"\s*[\"'“‘(\[]*[a-zà-öø-ÿа-яα-ω](?![A-Z])")  # but iPad and eBay begin a sentence
_GOES_ON = re.compile("[ぁ-ん]")
"""A Japanese sentence goes on after what it quotes: 「…。」と."""
_NUMBER = re.compile(r"(?<!\w)(?:\d{1,2})\Z")
_DATE_GOES_ON = re.compile(
    r"\s*(?:Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)(?:uar|ner|ruar|z|il|i|ust|t|tember|ober|ember)?\b"
    r"|\s?\d{1,2}\.\s?(?:\d{2,4}|[A-ZÄ])"
)
_ORDINAL = re.compile(r"(?<!\w)(?:der|die|das|dem|den|des|im|(?<!I )am|vom|zum|zur|beim)\s+\d{1,3}\Z", re.IGNORECASE)
_SPACED = re.compile(r"\s?[A-Za-zÄÖÜäöü]\.")
_NEXT_NUMBER = re.compile(r"\s*\d")
_TAKES_NUMBER = frozenset(_LISTS["before_number"].split())
_TERMINATED = re.compile(rf"[.!?…:;。！？؟۔।]+[{_CLOSING}]{{0,4}}{_MARKER}{{0,8}}\Z")
_SHORT_LINE = 80


@remember(2_000_000)
def sentences(text: str) -> tuple[Span, ...]:
    """Return the sentences of a text as half-open ranges in code points, in order, without white space at their ends.

    A sentence ends at ``. ! ? …`` before white space (not after an abbreviation, an initial or a list's number, not
    before a small letter), at the stops of other scripts, at an empty line, and at the ends of headings and list
    items. Citation markers and closing quotation marks after a stop belong to the sentence before them. Linear.

    >>> text = "Dr. Smith paid $3.50. It was late [1]. 合同生效。有效期三年。"
    >>> [text[s.start:s.end] for s in sentences(text)]
    ['Dr. Smith paid $3.50.', 'It was late [1].', '合同生效。', '有效期三年。']
    """
    spans: list[Span] = []
    start = 0
    items = deque(_items_on_a_line(text))
    numbers = {item.end - 1 for item in items}
    for match in _ends(text):
        while items and items[0].start <= match.start():
            begin = items.popleft().start
            start = _close(text, spans, start, begin, begin)
        if match.end() <= start or match.start() in numbers:
            continue
        if match.lastgroup == "line":
            if _line_ends_sentence(text, start, match):
                start = _close(text, spans, start, match.start(), match.end())
        elif match.lastgroup == "wide":
            if not (text[match.end() - 1] in "」』" and _GOES_ON.match(text, match.end())):
                start = _close(text, spans, start, match.end(), match.end())
        elif _stop_ends_sentence(text, start, match):
            start = _close(text, spans, start, match.end(), match.end())
    _close(text, spans, start, len(text), len(text))
    return tuple(spans)


_ITEM = re.compile(r"(\d{1,2})\.(?=[*_]{0,2}[ ]+[*_\"'“‘(]{0,4}[^\W\d])")
_BEFORE_ITEMS = re.compile(r"(?:\A|[\n\r:：]|[.!?…][)\"'”’]?)[ \t]*\Z")


def _items_on_a_line(text: str) -> list[Span]:
    """Return the numbers, with their stops, of lists that stand in one line.

    Such a list (*Causes: 1. Drugs 2. Infection.*) begins with 1, at the beginning of the text or line or after a
    colon or a sentence, and counts up.
    """
    if "2." not in text or "1." not in text:
        return []
    items: list[Span] = []
    run: list[Span] = []
    for match in _ITEM.finditer(text):
        number = int(match.group(1))
        start = match.start() - (2 if text[max(0, match.start() - 2) : match.start()] in {"**", "__"} else 0)
        if start and not text[start - 1].isspace():
            continue
        is_next = bool(run) and number == len(run) + 1 and "\n" not in text[run[-1].end : start]
        if not is_next:
            items += run if len(run) > 1 else ()
            is_first = number == 1 and _BEFORE_ITEMS.search(text, max(0, start - 12), start)
            run = []
            if not is_first:
                continue
        run.append(Span(start, match.end()))
    return items + (run if len(run) > 1 else [])


def _ends(text: str) -> Iterator[re.Match[str]]:
    """Yield the places where a sentence may end, as ``_END.finditer`` does."""
    at = 0
    for candidate in _CANDIDATE.finditer(text):
        start = candidate.start()
        if start >= at and (match := _END.match(text, start)):
            at = match.end()
            yield match


def _close(text: str, spans: list[Span], start: int, end: int, following: int) -> int:
    """Add the sentence between two places, if it holds more than white space; return where the next one starts."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if end > start:
        spans.append(Span(start, end))
    return following


def _stop_ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:  # noqa: PLR0911 - one return a rule
    stop = match.start()
    after = text[match.end() : match.end() + 8]
    if text[stop] == "." and text[stop : stop + 2] != "..":
        if text[stop - 1 : stop].isdigit() and _number_goes_on(text, start, match):
            return False
        if _LIST_NUMBER.search(text[max(start, stop - 12) - (1 if stop - 12 > start else 0) : stop]):
            return False
        word = _last_word(text[max(start, stop - 20) : stop])
        lower = word.casefold().rstrip(".")
        if lower in _ALWAYS_INSIDE and not (lower in _TAKES_NUMBER and not _NEXT_NUMBER.match(after)):
            return False
        if lower in _TAKES_NUMBER and _NEXT_NUMBER.match(after):
            return False
        if len(word) == 1 and word.isalpha() and ((word.isupper() and word != "I") or _SPACED.match(after)):
            return False  # an initial, or an abbreviation in pieces: z. B.
        if _CONTINUES.match(after):
            return False
        if lower in _EITHER or _INITIALS.match(word):
            return _begins_like_sentence(after)
    elif _CONTINUES.match(after) and (text[stop] in "….") | (text[match.end() - 1] in "\"'”’»)"):
        return False
    return True


def _number_goes_on(text: str, start: int, match: re.Match[str]) -> bool:
    """Say whether a number with a stop is an ordinal or part of a date: der 2. Weltkrieg, am 3. März, 5. 4. 2026."""
    stop = match.start()
    before = text[max(start, stop - 12) : stop]
    if not _NUMBER.search(before) or match.end() != stop + 1:
        return False
    after = text[match.end() : match.end() + 12]
    if _DATE_GOES_ON.match(after) or (_ORDINAL.search(before) and _CAPITAL.match(after)):
        return True
    return bool(re.search(r"\d\.\s?\d{1,2}\Z", before) and re.match(r"\s?\d{4}\b", after))


_CAPITAL = re.compile(r"\s[A-ZÄÖÜ][a-zäöüß]")


def _last_word(text: str) -> str:
    """Return what stands at the end of a text without white space, opening brackets and quotation marks."""
    if not text or text[-1].isspace():
        return ""
    word = text.rsplit(None, 1)[-1]
    for mark in _OPENING:
        if mark in word:
            word = word.rsplit(mark, 1)[1]
    return word


def _begins_like_sentence(after: str) -> bool:
    """After ``etc.`` or ``Inc.`` a sentence often goes on: it ends only before a word that starts sentences."""
    words = after.split()
    return not words or words[0] in {
        "The",
        "A",
        "An",
        "It",
        "This",
        "That",
        "In",
        "He",
        "She",
        "They",
        "We",
        "If",
        "But",
    }


def _line_ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Say whether a line break ends a sentence: before an empty line or a list item, after a heading or item."""
    line = text[max(start, match.start() - 400) : match.start()].rsplit("\n", 1)[-1]
    if not line.strip():
        return True
    if _LIST_ITEM.match(text, match.end()) or text[match.end() : match.end() + 1] in {"\n", "\r", "|", ">"}:
        return True
    if line.lstrip().startswith(("#", "|")) or _TERMINATED.search(line.rstrip()[-80:]):
        return True
    following = text[match.end() : match.end() + 1]
    if line.rstrip()[-1:] in {",", "-", "–", "—"} or following.islower():
        return False
    return (
        len(line.strip()) <= _SHORT_LINE and (following.isupper() or following.isdigit()) and _looks_like_heading(line)
    )


def _looks_like_heading(line: str) -> bool:
    """A short line without a stop is a heading when its longer words are written large, or when it is bold."""
    stripped = line.strip()
    if stripped.startswith("**") and stripped.endswith("**"):
        return True
    heard = stripped.split()
    long_words = [word for word in heard if len(word) > 3]  # noqa: PLR2004 - of, the, and are small in headings too
    return 0 < len(heard) <= 10 and bool(long_words) and all(word[0].isupper() for word in long_words)  # noqa: PLR2004 - a heading is short
