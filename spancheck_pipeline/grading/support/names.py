"""Names that a claim uses: capital letters where the language writes none by habit. Acme is not Apex.

Whether a missing name decides is said in ``checks.py``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Sequence

from spancheck_pipeline.evidence.text import PerWord, first_word, fold_text, word_texts
from spancheck_pipeline.grading.support.content import STOP_WORDS, is_negation, stem
from spancheck_pipeline.grading.support.dates import MONTHS
from spancheck_pipeline.grading.support.lexicon import LEXICON, word_set
from spancheck_pipeline.grading.support.quantifiers import QUANTIFIERS

_NEVER = word_set("no_names")
_UNNAMED = STOP_WORDS | _NEVER | MONTHS.keys() | QUANTIFIERS.keys()
TITLES = word_set("titles")
_HABIT = 0.45
"""Above this share of capitalized words the text writes capitals by habit (German nouns, headlines)."""
_POSSESSIVE = re.compile(r"['’]s?\Z")
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
    if len(large) > 3 and _by_habit(found):  # noqa: PLR2004 - of eight words more than three would have to be large
        return ()
    opening = _opening(sentence, found)
    result: dict[str, None] = {}
    for index in large:
        word = found[index]
        folded = _FOLDED[word]
        if folded in _UNNAMED or len(folded) < 2 or is_negation(folded):  # noqa: PLR2004 - an initial
            continue
        if index in opening and _ADVERB.match(folded):
            continue
        if index in opening and not (any(char.isupper() for char in word[1:]) or _capital(found, index + 1)):
            continue
        result[folded] = None
    return tuple(result)


def _by_habit(found: list[str]) -> bool:
    """Say whether a sentence's words show that capitals are written by habit."""
    alphabetic = [word for word in found if word[0].isalpha()]
    if len(alphabetic) <= 7:  # noqa: PLR2004 - a few words tell no habit
        return False
    return sum(word[0].isupper() for word in alphabetic[1:]) > _HABIT * (len(alphabetic) - 1)


def _opening(sentence: str, found: list[str]) -> frozenset[int]:
    """Return which words are large because something opens there: the sentence, an item's words, what a label names."""
    first = next((index for index, word in enumerate(found) if not word.isdigit()), 0)
    label = _LABEL.match(sentence) if ":" in sentence else None
    return frozenset({first, len(word_texts(label.group()))} if label else {first})


_LABEL = re.compile(r"[\s\d.)*_#•–-]{0,12}[^\W\d][^:.!?\n]{0,60}:[*_]{0,3}\s")
"""What stands before a colon at a sentence's beginning: **Tax benefits:** …"""


def label_words(sentence: str) -> frozenset[str]:
    """Return the folded words of the label that a sentence opens with.

    >>> sorted(label_words("2. **Tax Benefits:** Interest is deductible."))
    ['2', 'benefits', 'tax']
    """
    label = _LABEL.match(sentence)
    return frozenset(word_texts(fold_text(label.group()))) if label else frozenset()


def _fold_name(word: str) -> str:
    if word[-1] == "s" and len(word) > 2 and word[:-1].isupper():  # noqa: PLR2004 - PDFs, IRAs
        word = word[:-1]
    return _POSSESSIVE.sub("", fold_text(word))


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
        if name in told or name.replace(".", "") in told or all(part in told for part in parts):
            continue
        if name in _ALIASES and not _ALIASES[name].isdisjoint(told):
            continue
        if name in initials or any(_alike(name, word) for word in beginnings.get(name[:_BEGINNING], ())):
            continue
        absent.append(name)
    return tuple(absent)


_BEGINNING = 4
"""Letters that two forms of a name share at least; shorter words share beginnings by chance."""


_ALIASES = {
    name: frozenset(line.split()) - {name}
    for line in LEXICON["same_names"].strip().splitlines()
    for name in line.split()
}


def _alike(name: str, word: str) -> bool:
    """Say whether two words are forms of one name: they share seven tenths of the shorter."""
    shared = 0
    for left, right in zip(name, word, strict=False):
        if left != right:
            break
        shared += 1
    return shared * 10 >= 7 * min(len(name), len(word)) and shared >= _BEGINNING


def opening_name(sentence: str) -> str | None:
    """Return the first word of a sentence, folded, where it may be a name, or a plural."""
    found = first_word(sentence[:40])
    if found is None or not found.text[0].isupper() or sentence[: found.start].strip():
        return None
    folded = fold_text(found.text)
    is_none = folded in _UNNAMED or folded in TITLES or not folded.isalpha() or _ADVERB.match(folded)
    return None if is_none else folded


def leading(sentence: str) -> str | None:
    """Return the first word of a sentence, folded, where it may be a name: large, bare of an article, and no plural.

    >>> leading("Mary approved the loan."), leading("Tenants pay rent."), leading("The bank pays.")
    ('mary', None, None)
    """
    if not sentence.lstrip()[:1].isupper():
        return None
    name = opening_name(sentence)
    if name is None or (name.endswith("s") and not _is_one(sentence)):
        return None
    return name


def _is_one(sentence: str) -> bool:
    """Say whether the verb after a sentence's first word is a singular's: Paris hosts, Windows 11 is."""
    second = next((word for word in word_texts(sentence[:80])[1:] if not word.isdigit()), "")
    return second.islower() and second.endswith("s") and not second.endswith("ss")


_ADVERB = re.compile(r".{2,}(?:al|ar|at|ate|ed|ent|ant|ful|ic|ing|ive|nt|ous|ual)ly\Z")
"""Eventually, recently: no names, though some names end in ly as well (Emily)."""


def _same_name(token: str, name: str) -> bool:
    return token == name or (token.startswith(name) and _POSSESSIVE.sub("", token) == name)


def stands_for(name: str, claim: Sequence[str], named: Container[str], rival: str, told: Sequence[str]) -> bool:
    """Say whether a rival stands in a sentence where the claim's sentence has the name, so that one denies the other.

    Where the name is part of a longer one of which the other part is told (*Mary* Smith), the rival must stand beside
    that part on the same side; else both must have a content word in common among the two on each side.

    >>> stands_for("mary", ["mary", "smith"], {"mary", "smith"}, "john", ["john", "smith"])
    True
    >>> stands_for("harry", ["harry", "truman"], {"harry", "truman"}, "congress", ["truman", "told", "congress"])
    False
    """
    if _unaccented(name) == _unaccented(rival):
        return False  # Zurich, Zürich
    mine, theirs = _filled(claim), _filled(told)
    ours = [index for index, token in enumerate(mine) if _same_name(token, name)]
    others = [index for index, token in enumerate(theirs) if _same_name(token, rival)]
    if not ours or not others:
        return False
    at = ours[0]
    for side in (1, -1):
        beside = mine[at + side] if 0 <= at + side < len(mine) else None
        if beside is not None and beside in named and beside in theirs:
            return any(0 <= there + side < len(theirs) and theirs[there + side] == beside for there in others)
    near = set(map(stem, (*mine[max(0, at - 2) : at], *mine[at + 1 : at + 3])))
    return any(
        not near.isdisjoint(map(stem, (*theirs[max(0, there - 2) : there], *theirs[there + 1 : there + 3])))
        for there in others
    )


def _unaccented(name: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", name) if char.isalnum())


def _filled(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if token not in STOP_WORDS]


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
