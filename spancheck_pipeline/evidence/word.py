"""Words of any script with their places, which scripts write no spaces, and a bounded memory for work on texts.

Folding lives in ``folding.py``, sentences in ``sentence.py``; what a claim's words say lives in ``grading/support``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import wraps
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Span(NamedTuple):
    """A half-open range, in code points of the text that it was made from."""

    start: int
    end: int


class Word(NamedTuple):
    """One word with its place, in code points of the text that it was read from."""

    text: str
    start: int
    end: int


def remember(max_chars: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Keep what a pure function of one text returned, for the most recent texts, up to ``max_chars`` of them together.

    A passage that comes back in many cases is worked on once. The bound counts characters, not entries, so that a
    few huge texts cannot fill the memory; a text over an eighth of the bound is never kept.
    """

    def wrap(function: Callable[[str], T]) -> Callable[[str], T]:
        kept = _Kept(function, max_chars)

        @wraps(function)
        def remembered(text: str) -> T:
            return kept[text]

        return remembered

    return wrap


class _Kept(dict[str, T]):
    """Two generations of results, each up to half of the bound: what comes back is found at the speed of a dict.

    A full generation becomes the older one, and what is asked for again is taken over from there.
    """

    def __init__(self, function: Callable[[str], T], max_chars: int) -> None:
        super().__init__()
        self._function = function
        self._max_chars = max_chars
        self._older: dict[str, T] = {}
        self._held = 0

    def __missing__(self, text: str) -> T:
        value = self._older[text] if text in self._older else self._function(text)
        if len(text) * 8 <= self._max_chars:
            size = len(text) + 64
            if (self._held + size) * 2 > self._max_chars:
                self._older = dict(self)
                self.clear()
                self._held = 0
            self[text] = value
            self._held += size
        return value


class PerWord(dict[str, T]):
    """What a pure function says of a word, kept per word: ``map(table.__getitem__, words)`` asks at the speed of C.

    The same few words make up most texts. Words of more than 40 letters are not kept, and the table starts anew at
    65,536 words, so that no text can fill the memory.
    """

    def __init__(self, function: Callable[[str], T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> T:
        value = self._function(word)
        if len(word) <= 40:  # noqa: PLR2004 - as said above
            if len(self) >= 65536:  # noqa: PLR2004 - as said above
                self.clear()
            self[word] = value
        return value


def _ranges(wanted: Callable[[str], bool], *blocks: range) -> str:
    """Return the inside of a character class that holds the wanted characters of some blocks."""
    parts: list[str] = []
    for block in blocks:
        start: int | None = None
        for code in (*block, None):
            inside = code is not None and wanted(chr(code))
            if inside and start is None:
                start = code
            elif not inside and start is not None:
                end = block[-1] if code is None else code - 1
                parts.append(f"{chr(start)}-{chr(end)}" if end > start else chr(start))
                start = None
    return "".join(parts)


MARKS = _ranges(
    lambda char: unicodedata.category(char)[0] == "M",
    range(0x300, 0x3100),
    range(0xA66F, 0xABF0),
    range(0xFE20, 0xFE30),
    range(0x10A01, 0x11E00),
)
"""Inside of a character class: marks that belong to the letter before them (``\\w`` leaves them out)."""

NO_SPACE = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Myanmar, Khmer
    "\u3005-\u3007\u3041-\u30ff\u3105-\u312f\u31f0-\u31ff"  # kana, bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Inside of a character class: letters of the scripts that write no space between words."""

_NO_SPACE = re.compile(f"[{NO_SPACE}]")
_WORD = re.compile(
    rf"""
    [{NO_SPACE}{MARKS}]*[{NO_SPACE}][{NO_SPACE}{MARKS}]*          # a run of a script without spaces
    | [^\W\d_{NO_SPACE}][^\W\d_{NO_SPACE}{MARKS}]*(?=[{NO_SPACE}])  # letters right before such a run
    | (?:[^\W_{NO_SPACE}]|[{MARKS}])+                              # letters, digits, marks …
      (?:['’.&](?:[^\W_{NO_SPACE}]|[{MARKS}])+)*                   # … and what joins them: isn't, U.S., 3.5, AT&T
    """,
    re.VERBOSE,
)


_GROUP: Callable[[re.Match[str]], str] = re.Match.group
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:['.&][A-Za-z0-9]+)*")
"""The same for a text of ASCII only, where it is several times faster."""


def is_no_space(char: str) -> bool:
    """Say whether a character is of a script that writes no space between words.

    >>> is_no_space("合"), is_no_space("ก"), is_no_space("a"), is_no_space("한")
    (True, True, False, False)
    """
    return char > "\u0dff" and _NO_SPACE.match(char) is not None


def is_word_char(char: str) -> bool:
    """Say whether a character is part of a word: a letter, digit, number sign such as ½, or a mark on one."""
    return char.isalnum() or (char > "\u02ff" and unicodedata.category(char)[0] == "M")


def words(text: str) -> tuple[Word, ...]:
    """Return the words of a text in order: letters, digits and marks of any script, with what joins them inside.

    A run of a script without spaces is one word here; who compares such runs takes their character n-grams.

    >>> [word.text for word in words("AT&T isn't 3.5 years old. 合同生效")]
    ['AT&T', "isn't", '3.5', 'years', 'old', '合同生效']
    """
    return tuple(Word(match.group(), match.start(), match.end()) for match in _pattern(text).finditer(text))


def word_starts(text: str) -> list[tuple[str, int]]:
    """Return the words of a text with where each starts, as plain pairs: what long texts are read with.

    >>> word_starts("thirty days")
    [('thirty', 0), ('days', 7)]
    """
    return [(match.group(), match.start()) for match in _pattern(text).finditer(text)]


def word_texts(text: str) -> list[str]:
    """Return the words of a text without their places, which is several times faster.

    >>> word_texts("thirty days")
    ['thirty', 'days']
    """
    return _pattern(text).findall(text)


def each_word(text: str) -> Iterator[str]:
    """Yield the words of a text, for who stops at the first one that will do."""
    return map(_GROUP, _pattern(text).finditer(text))


def first_word(text: str) -> Word | None:
    """Return the first word of a text, or None where it has none.

    >>> first_word("“Thirty days”")
    Word(text='Thirty', start=1, end=7)
    """
    match = _pattern(text).search(text)
    return Word(match.group(), match.start(), match.end()) if match else None


def _pattern(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _WORD


def count_words(text: str) -> int:
    """Return how many words a text has, each letter of a script without spaces counting as 3/4 of one, rounded down.

    So four characters of such a script are three words' worth: enough to be looked for, as three words are.

    >>> count_words("thirty days written"), count_words("合同生效")
    (3, 3)
    """
    if text.isascii():
        return len(_ASCII_WORD.findall(text))
    spaced, unspaced = 0, 0
    for word in word_texts(text):
        letters = len(_NO_SPACE.findall(word))
        unspaced += letters
        spaced += not letters
    return spaced + unspaced * 3 // 4
