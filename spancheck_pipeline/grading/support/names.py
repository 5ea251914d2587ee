"""Names that a claim uses: capital letters where the language writes none by habit. Acme is not Apex.

Whether a missing name decides is said in ``checks.py``.
"""

from __future__ import annotations

import re

from spancheck_pipeline.evidence.text import fold, words
from spancheck_pipeline.grading.support.content import STOP_WORDS
from spancheck_pipeline.grading.support.dates import MONTHS

_NEVER = frozenset(
    "i monday tuesday wednesday thursday friday saturday sunday mr mrs ms dr prof sir inc ltd corp co llc plc gmbh ag section "
    "article chapter yes no however according based additionally furthermore moreover overall reference answer note source "
    "context".split()
)
_HABIT = 0.45
"""Above this share of capitalized words the text writes capitals by habit (German nouns, headlines)."""
_PART = re.compile(r"[^\W\d_]{2,}")


def names(sentence: str) -> tuple[str, ...]:
    """Return the names in one sentence, folded, in order of first mention.

    The first word counts only where it cannot be a common one: more capitals follow in it, or right after it.

    >>> names("Acme Corp pays the deposit to Berta.")
    ('acme', 'berta')
    """
    found = [word.text for word in words(sentence)]
    alphabetic = [word for word in found if word[0].isalpha()]
    capitals = [word for word in alphabetic[1:] if word[0].isupper()]
    if len(alphabetic) > 4 and len(capitals) > _HABIT * (len(alphabetic) - 1):  # noqa: PLR2004 - a few words tell no habit
        return ()
    result: dict[str, None] = {}
    for index, word in enumerate(found):
        if not word[0].isupper():
            continue
        folded = re.sub(r"['’]s?\Z", "", fold(word).text)
        if folded in STOP_WORDS or folded in _NEVER or folded in MONTHS or len(folded) < 2:  # noqa: PLR2004 - an initial
            continue
        if index == 0 and not (any(char.isupper() for char in word[1:]) or _capital(found, 1)):
            continue
        result[folded] = None
    return tuple(result)


def _capital(found: list[str], index: int) -> bool:
    return index < len(found) and found[index][0].isupper() and fold(found[index]).text not in STOP_WORDS


def missing(claimed: tuple[str, ...], told: frozenset[str], initials: frozenset[str]) -> tuple[str, ...]:
    """Return the names that no word of the evidence can stand for.

    A word stands for a name that is equal, that shares its beginning (America, American), or that is its initials.
    """
    beginnings = {word[: max(4, len(word) * 7 // 10)] for word in told if len(word) > 3}  # noqa: PLR2004 - short words share beginnings by chance
    absent = []
    for name in claimed:
        parts = _PART.findall(name) or [name]
        if name in told or all(part in told for part in parts):
            continue
        if name in initials or (len(name) > 3 and name[: max(4, len(name) * 7 // 10)] in beginnings):  # noqa: PLR2004 - as above
            continue
        absent.append(name)
    return tuple(absent)


def initials_of(sentence: str) -> frozenset[str]:
    """Return the initials of the runs of capitalized words in a sentence: United Nations gives un.

    >>> sorted(initials_of("It told the Bank of England so."))
    ['be', 'boe']
    """
    found: set[str] = set()
    run: list[str] = []
    for word in (*words(sentence), None):
        if word is not None and (word.text[0].isupper() or (run and word.text in _INSIDE)):
            run.append(word.text)
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
