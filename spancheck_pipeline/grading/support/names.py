"""Names that a claim uses: capital letters where the language writes none by habit. Acme is not Apex.

Whether a missing name decides is said in ``checks.py``.
"""

from __future__ import annotations

import re

from spancheck_pipeline.evidence.text import PerWord, first_word, fold_text, word_texts
from spancheck_pipeline.grading.support.content import STOP_WORDS
from spancheck_pipeline.grading.support.dates import MONTHS
from spancheck_pipeline.grading.support.lexicon import word_set

_NEVER = word_set("no_names")
_HABIT = 0.45
"""Above this share of capitalized words the text writes capitals by habit (German nouns, headlines)."""
_PART = re.compile(r"[^\W\d_]{2,}")


def names(sentence: str) -> tuple[str, ...]:
    """Return the names in one sentence, folded, in order of first mention.

    The first word counts only where it cannot be a common one: more capitals follow in it, or right after it.

    >>> names("Acme Corp pays the deposit to Berta.")
    ('acme', 'berta')
    """
    if sentence[1:].islower():
        return ()  # nothing is large but the first letter
    found = word_texts(sentence)
    large = [index for index, word in enumerate(found) if word[0].isupper()]
    if not large:
        return ()
    alphabetic = [word for word in found if word[0].isalpha()]
    capitals = [word for word in alphabetic[1:] if word[0].isupper()]
    if len(alphabetic) > 4 and len(capitals) > _HABIT * (len(alphabetic) - 1):  # noqa: PLR2004 - a few words tell no habit
        return ()
    result: dict[str, None] = {}
    for index in large:
        word = found[index]
        folded = _FOLDED[word]
        if folded in STOP_WORDS or folded in _NEVER or folded in MONTHS or len(folded) < 2:  # noqa: PLR2004 - an initial
            continue
        if index == 0 and not (any(char.isupper() for char in word[1:]) or _capital(found, 1)):
            continue
        result[folded] = None
    return tuple(result)


def _fold_name(word: str) -> str:
    return re.sub(r"['’]s?\Z", "", fold_text(word))


_FOLDED = PerWord(_fold_name)


def _capital(found: list[str], index: int) -> bool:
    return index < len(found) and found[index][0].isupper() and fold_text(found[index]) not in STOP_WORDS


def missing(claimed: tuple[str, ...], told: frozenset[str], initials: frozenset[str]) -> tuple[str, ...]:
    """Return the names that no word of the evidence can stand for.

    A word stands for a name that is equal, that shares its beginning (America, American), or that is its initials.
    """
    beginnings: dict[str, list[str]] = {}
    for word in told:
        if len(word) >= _BEGINNING:
            beginnings.setdefault(word[:_BEGINNING], []).append(word)
    absent = []
    for name in claimed:
        parts = _PART.findall(name) or [name]
        if name in told or all(part in told for part in parts):
            continue
        if name in initials or any(_alike(name, word) for word in beginnings.get(name[:_BEGINNING], ())):
            continue
        absent.append(name)
    return tuple(absent)


_BEGINNING = 4
"""Letters that two forms of a name share at least; shorter words share beginnings by chance."""


def _alike(name: str, word: str) -> bool:
    """Say whether two words are forms of one name: they share seven tenths of the shorter."""
    shared = 0
    for left, right in zip(name, word, strict=False):
        if left != right:
            break
        shared += 1
    return shared * 10 >= 7 * min(len(name), len(word)) and shared >= _BEGINNING


def leading(sentence: str) -> str | None:
    """Return the first word of a sentence, folded, where it may be a name: large, bare of an article, and no plural.

    >>> leading("Mary approved the loan."), leading("Tenants pay rent."), leading("The bank pays.")
    ('mary', None, None)
    """
    if not sentence.lstrip()[:1].isupper():
        return None
    found = first_word(sentence[:40])
    if found is None or not found.text[0].isupper() or sentence[: found.start].strip():
        return None
    folded = fold_text(found.text)
    if folded in STOP_WORDS or folded in _NEVER or folded in MONTHS or folded.endswith("s") or not folded.isalpha():
        return None
    return folded


def initials_of(sentence: str) -> frozenset[str]:
    """Return the initials of the runs of capitalized words in a sentence: United Nations gives un.

    >>> sorted(initials_of("It told the Bank of England so."))
    ['be', 'boe']
    """
    found: set[str] = set()
    run: list[str] = []
    for word in (*word_texts(sentence), None):
        if word is not None and (word[0].isupper() or (run and word in _INSIDE)):
            run.append(word)
            continue
        while run and not run[-1][0].isupper():
            run.pop()
        if 1 < len(run) <= _LONGEST_RUN:
            found.add("".join(part[0] for part in run).casefold())
            found.add("".join(part[0] for part in run if part[0].isupper()).casefold())
        run = []
    return frozenset(found)


_INSIDE = frozenset({"of", "the", "and", "for", "de", "der", "des", "du"})
_LONGEST_RUN = 8
