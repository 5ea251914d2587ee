"""Content: the words of a text that say something, as stems, sentence by sentence.

Numbers, dates, names and polarity are read in the modules beside this one, from the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from spancheck_pipeline.evidence.text import PerWord, is_no_space
from spancheck_pipeline.grading.support.lexicon import LEXICON, by_word, word_set

STOP_WORDS = word_set("stop_words")
"""Words that only hold a sentence together. Negations stand in a list of their own."""

NEGATIONS = word_set("negations")
"""Words that turn what follows them, beside contractions in n't; how far they reach is said in ``polarity.py``."""


def is_negation(token: str) -> bool:
    """Say whether a folded word turns what follows it.

    >>> is_negation("isn't"), is_negation("never"), is_negation("knot")
    (True, True, False)
    """
    return token in NEGATIONS or token.endswith("n't")


_IRREGULAR = by_word("irregular")
_ORDINAL_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_ORDINALS = {
    f"{index}{_ORDINAL_ENDINGS.get(index % 10 if index % 100 // 10 != 1 else 0, 'th')}": word
    for index, word in enumerate(LEXICON["ordinals"].split(), start=1)
}
"""Ordinals in digits → in words: 3rd is third."""


def in_words(ordinal: str) -> str | None:
    """Return an ordinal in digits as a word, or None where it has none here: 19th is nineteenth."""
    return _ORDINALS.get(ordinal)


_GRAM = 2
"""Letters of a piece of a script without spaces."""


def stems_of(tokens: Iterable[str]) -> Iterator[str]:
    """Return the stems of the content words among folded words; of scripts without spaces, the pairs of letters."""
    return chain.from_iterable(map(_STEMS.__getitem__, tokens))


def word_stems(token: str) -> tuple[str, ...]:
    """Return the stem of a folded word, or the letter pairs of a run without spaces; none of a word without content."""
    return _STEMS[token]


def _read_word(token: str) -> tuple[str, ...]:
    if is_no_space(token[0]):
        return tuple(_grams(token))
    bare = undotted(_JOINED.sub("", token))
    return (stem(bare),) if bare and bare not in STOP_WORDS and not is_negation(bare) else ()


def undotted(word: str) -> str:
    """Return initials without their stops, unless a word that only holds a sentence together would be left.

    >>> undotted("a.d"), undotted("u.s"), undotted("3.5"), undotted("example.org")
    ('ad', 'u.s', '3.5', 'example.org')
    """
    if "." not in word or not word.replace(".", "").isalpha() or any(len(part) > 1 for part in word.split(".")):
        return word
    joined = word.replace(".", "")
    return word if joined in STOP_WORDS else joined


_STEMS = PerWord(_read_word)

_JOINED = re.compile(
    r"[’']s\Z|[’']\Z|\A(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|un|dell|all|nell|sull|dall|quell)['’](?=\w{2})(?!tt?\Z)"
)
"""What is joined to a word by an apostrophe: the owner's, l'auto, dell'inquilino."""


def _grams(run: str) -> Iterator[str]:
    if len(run) < _GRAM:
        yield run
    for at in range(len(run) - _GRAM + 1):
        yield run[at : at + _GRAM]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return what a word's forms have in common: of English its light stem, of other alphabets its first letters.

    >>> stem("renewed"), stem("renews"), stem("policies"), stem("running"), stem("договора")
    ('renew', 'renew', 'polici', 'run', 'догов')
    """
    if word in _ORDINALS:
        word = _ORDINALS[word]
    if not word.isascii():
        is_whole = len(word) <= 5 or any(char.isdigit() for char in word)  # noqa: PLR2004 - short words are their own stems
        return word if is_whole else _other(word)
    if word.startswith("un") and word[2:] in _IRREGULAR:
        return f"un{stem(word[2:])}"  # unpaid
    word = _IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isalpha():  # noqa: PLR2004 - as above
        return word
    return _english(word)


def _other(word: str) -> str:
    if word[0] < "\u0250":
        return _english(word)
    return word[:5]


_ENDINGS = tuple(tuple(pair.split(":")) for pair in LEXICON["suffixes"].split())
_SUFFIXES = {
    letter: tuple(pair for pair in _ENDINGS if pair[0][-1] == letter) for letter in {pair[0][-1] for pair in _ENDINGS}
}
"""Last letter → endings and what stands in their place, the longer ones first."""


def _english(word: str) -> str:
    for suffix, left in _SUFFIXES.get(word[-1], ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:  # noqa: PLR2004 - a stem keeps three letters
            if suffix == "s" and word[-2] in "su":
                break
            word = word[: len(word) - len(suffix)] + left
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":  # noqa: PLR2004 - running, run
        word = word[:-1]
    if len(word) > 3 and word[-1] == "e":  # noqa: PLR2004 - as above
        word = word[:-1]
    if len(word) > 3 and word[-1] == "y":  # noqa: PLR2004 - as above
        word = word[:-1] + "i"
    return word[:-2] if word.endswith("at") and len(word) > 5 else word  # noqa: PLR2004 - terminate, termination
