"""Scope: how far a negation reaches in its sentence, and what takes it back.

Which sentences need this at all, and which words are opposites, is said in ``polarity.py``; whether a negated word
contradicts a claim in ``flips.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from spancheck_pipeline.evidence.text import PerWord
from spancheck_pipeline.grading.support.content import is_negation, stem
from spancheck_pipeline.grading.support.lexicon import LEXICON, word_set


class InOrder(NamedTuple):
    """The content of a sentence in order."""

    stems: tuple[str, ...]
    negated: frozenset[int]
    """Which places stand under a negation."""
    heads: frozenset[int]
    """Which of those the negation is surely about: its first word, not what only stands in that word's company."""
    apart: frozenset[int] = frozenset()
    """Which of those stand apart from the words around them: after an exception, or a parenthesis."""


LONGEST = 400
"""Content words of a sentence that are read in order; a longer one is no prose."""
_REACH = 3
"""Content words that a negation reaches in its clause."""
_REACH_BACK = 4
"""Content words before a negation at the end of its clause that it turns."""

_FAILS = re.compile(
    r"(?:(?:fail|refus|declin|neglect|omit|ceas|stop|prevent|forbid|forbade|prohibit|stopp|exempt|excus|refrain|disqualif"
    r"|reliev|releas|exclud)[a-z]{0,5}|bans?|bann(?:ed|ing)|barr(?:ed|ing)|yet)\Z"
)
"""These turn what follows *to* or *from* after them: fails to pay, exempt from paying, has yet to pay."""
_AVOIDS = re.compile(r"(?:avoid(?:s|ed|ing)?|stop(?:s|ped|ping)?|den(?:y|ies|ied|ying))\Z")
"""These turn the word in -ing after them."""
_DENIES = re.compile(r"(?:den(?:y|ies|ied|ying)|doubt(?:s|ed|ing)?|disput(?:e|es|ed|ing)|refut(?:e|es|ed|ing))\Z")
"""These turn what follows *that* after them."""
_CANCELS = re.compile(
    r"(?:den(?:y|ies|ied)|(?:doubt|disput|contest|prevent|hinder|hesitat|forget|forgot|fail|refus|lack)\w{0,4})\Z"
)
"""Under a negation these say that something is: did not deny that, cannot fail to."""
_INCAPABLE = frozenset({"incapable", "devoid", "bereft"})
_RATHER = frozenset({("rather", "than"), ("instead", "of")})
"""What is done, but not this."""
_NOT_REALLY = frozenset(
    {
        ("not", "only"), ("not", "just"), ("no", "doubt"), ("not", "merely"), ("no", "matter"), ("not", "least"),
        ("not", "simply"), ("not", "solely"), ("not", "many"), ("nicht", "nur"), ("nicht", "bloss"),
        ("nicht", "zuletzt"), ("pas", "seulement"),
        ("non", "seulement"), ("no", "sólo"), ("no", "solo"), ("no", "solamente"), ("non", "solo"), ("non", "soltanto"),
        ("niet", "alleen"), ("niet", "enkel"), ("não", "só"), ("não", "apenas"), ("não", "somente"), ("не", "только"),
        ("nothing", "less"), ("nothing", "but"), ("nichts", "anderes"),
    }
)  # fmt: skip
"""Not a negation of what follows: not only, no doubt."""
_GOES_ON = frozenset({"or", "oder", "ou", "o", "или", "that", "dass", "que", "что"})
"""After these a negation's next word is one of its own: not A or B, not true that C."""
_MANNER = frozenset(map(stem, word_set("negated_manner")))
_PASSES_ON = frozenset(stem(word) for word in LEXICON["passes_on"].split()) | _MANNER
"""Words through which a negation goes to the next one: not required to pay, does not always apply."""
_WITHOUT = word_set("without")
_BUT = word_set("but")
_INSTEAD = frozenset({"sondern", "sino"})
"""These only ever set right what was just denied."""
_AT_END = word_set("negations_at_end")
_CLOSES_NE = word_set("closes_ne")
EXCEPT = word_set("except")
_EXCEPT_PAIRS = frozenset({("other", "than"), ("exception", "of")})
_EVERY = frozenset({"everyone", "everybody", "everything", "everywhere", "anyone", "anybody", "anything"})
_CLAUSE_END = re.compile(r"[,;:.!?()\"]")
_NE_SPAN = 4
"""Words after *ne* among which its *pas*, *plus*, *jamais* … stands."""


def starts_exception(word: str, following: str) -> bool:
    """Say whether what follows is left out: except farms, other than boats, everyone but students."""
    return word in EXCEPT or (word, following) in _EXCEPT_PAIRS or (word in _EVERY and following == "but")


def turns_next(word: str, following: str) -> bool:
    """Say whether a word that is no negation turns what follows the next one: fails to, rather than, denied that."""
    if (word, following) in _RATHER:
        return True
    if following in {"to", "from"}:
        return _FAILS.match(word) is not None and (word != "yet" or following == "to")
    if following == "of":
        return word in _INCAPABLE
    if following == "that":
        return _DENIES.match(word) is not None
    return following.endswith("ing") and _AVOIDS.match(word) is not None


def turned_in_order(
    text: str, tokens: Sequence[tuple[str, int]], stems_of: Callable[[str], tuple[str, ...]]
) -> InOrder:
    """Return the content stems of a folded sentence in order, and which stand under a negation.

    ``tokens`` are its words with their places; ``stems_of`` gives the content of one. Linear in the words.
    """
    scan = _Scan(text, tokens, stems_of)
    stems, last = scan.stems, tokens[0][1] - 1 if tokens else 0
    for index, (word, start) in enumerate(tokens):
        if start - last != 1 or text[last] != " ":
            scan.gap(index, start)
        last = start + len(word)
        if scan.reach or not _IS_PLAIN[word]:
            scan.step(index, word)
        else:
            stems += stems_of(word)  # most words of most sentences: nothing is open, and nothing opens
        if len(stems) >= LONGEST:
            break
    scan.end_clause()
    return InOrder(tuple(scan.stems), frozenset(scan.turned), frozenset(scan.heads), frozenset(scan.apart))


def _read_plain(word: str) -> bool:
    """Say whether a word neither opens, closes nor takes back a negation, whatever stands beside it."""
    is_special = is_negation(word) or word in _SPECIAL or _starts_ne(word) or _MAY_OPEN.match(word)
    return not is_special


class _Scan:
    """One walk over a sentence's words with the negation that is open, if any."""

    def __init__(
        self, text: str, tokens: Sequence[tuple[str, int]], stems_of: Callable[[str], tuple[str, ...]]
    ) -> None:
        self.text, self.tokens, self.stems_of = text, tokens, stems_of
        self.stems: list[str] = []
        self.turned: set[int] = set()
        self.heads: set[int] = set()
        self.apart: set[int] = set()
        self.clause = 0
        """Place at which this clause began."""
        self.reach = 0
        """Content words that the open negation still reaches."""
        self.is_head = False
        self.opened = -1
        """Index of the word that opened the last negation."""
        self.first = 0
        """Place of the first content word after it."""
        self.is_apart = False
        """Whether its word stands apart from the words before it."""
        self.is_waiting = False
        """Whether a parenthesis stands between a negation and its word: shall not, under any circumstances, …"""
        self.is_ne = False
        self.has_negated = False

    def word(self, index: int) -> str:
        return self.tokens[index][0] if 0 <= index < len(self.tokens) else ""

    def step(self, index: int, word: str) -> None:
        """Read one word that stands under a negation, or may open, close or take back one."""
        following = self.word(index + 1)
        if word in _BUT and not (word == "but" and self.word(index - 1) in _EVERY):
            self._contrast(index, following)
        if self._is_negation(index, word, following):
            return
        self.is_head = self.is_head or word in _GOES_ON
        is_turned = self._content(word)
        if self.has_negated and is_turned and _CANCELS.match(word):
            self.reach = 0
        elif (turns_next(word, following) and (self.word(index - 1), word) not in _NOT_REALLY) or (
            not self.has_negated and starts_exception(word, following)
        ):
            self._open(index)
            if starts_exception(word, following):
                self.reach, self.is_apart = 1, True

    def end_clause(self) -> None:
        """Let a negation that found no word after it turn the words before it: zahlt die Gebühr nicht."""
        if self.reach and not self.is_waiting and self._has_found_nothing() and self._turns_back():
            back = range(max(self.clause, self.first - _REACH_BACK), self.first)
            self.turned.update(back)
            self.heads.update(back)
        self.reach, self.clause, self.is_ne = 0, len(self.stems), False

    def gap(self, index: int, start: int) -> None:
        """Read what stands between a word and the one before it: the end of a clause, or of a parenthesis."""
        if not index:
            return
        before, at = self.tokens[index - 1]
        if not _CLAUSE_END.search(self.text, at + len(before), start):
            return
        if self.is_waiting:
            self.is_waiting, self.is_apart = False, True
            return
        is_comma = self.text[at + len(before)] == ","
        if (
            self.reach
            and is_comma
            and self.opened == index - 1
            and before in _OPENS_PARENTHESIS
            and self._closes(index)
        ):
            self.is_waiting = True
            return
        self.end_clause()

    def _closes(self, index: int) -> bool:
        """Say whether a second comma follows within a dozen words, with the negation's own word after it."""
        for at in range(index, min(index + _LONG_PARENTHESIS, len(self.tokens) - 1)):
            word, start = self.tokens[at]
            if self.text[start + len(word)] == ",":
                return True
        return False

    def _is_negation(self, index: int, word: str, following: str) -> bool:
        if self.is_ne and word in _CLOSES_NE:
            return True
        if self.is_waiting:
            return is_negation(word)
        if _starts_ne(word) and any(self.word(at) in _CLOSES_NE for at in range(index + 1, index + 1 + _NE_SPAN)):
            self._open(index)
            self.is_ne = True
            if word != "ne":
                self._content(word)
            return True
        if not is_negation(word):
            return False
        if word in _WITHOUT and self.reach and not self._has_found_nothing():
            self.reach = 0  # not without permission
        elif not self._is_void(index, word, following):
            self._open(index)
        return True

    def _is_void(self, index: int, word: str, following: str) -> bool:
        if (word, following) in _NOT_REALLY or (word in {"no", "nr"} and following[:1].isdigit()):
            return True
        return self.word(index - 1) == "or" and self.word(index - 2) == "whether"

    def _open(self, index: int) -> None:
        self.reach, self.is_head, self.opened, self.first = _REACH, True, index, len(self.stems)
        self.has_negated, self.is_apart = True, False

    def _content(self, word: str) -> bool:
        """Add a word's content and say whether it stands under the open negation."""
        is_turned = False
        for stem_ in self.stems_of(word):
            if self.reach and not self.is_waiting:
                is_turned = True
                self.turned.add(len(self.stems))
                if self.is_apart:
                    self.apart.add(len(self.stems))
                if self.is_head:
                    self.heads.add(len(self.stems))
                    self.is_head = stem_ in _PASSES_ON or word.endswith("ly")
                self.reach -= 1 if stem_ not in _MANNER else 0
            if self.is_waiting:
                self.first += 1
            self.stems.append(stem_)
        return is_turned

    def _has_found_nothing(self) -> bool:
        return all(stem_ in _MANNER for stem_ in self.stems[self.first :])

    def _turns_back(self) -> bool:
        return self.word(self.opened) in _AT_END or len(self.stems) > self.first

    def _contrast(self, index: int, following: str) -> None:
        """Let *not in A but in B* deny only what stands before the *but*, and end the negation's reach at any *but*."""
        last = len(self.stems) - 1
        since = [word for word, _ in self.tokens[self.opened + 1 : index]] if index - self.opened <= _NEAR_BUT else []
        is_put_right = self.word(index) in _INSTEAD or following in since
        if is_put_right and self.opened >= 0 and self.first <= last <= self.first + _REACH:
            denied = range(self.first, last)
            self.turned.difference_update(denied)
            self.heads.difference_update(denied)
            self.turned.add(last)
            self.heads.add(last)
        self.end_clause()


_NEAR_BUT = 10
"""Words after a negation among which its *but* stands."""
_LONG_PARENTHESIS = 12
"""Words after a negation among which the parenthesis that parts it from its word ends."""


_OPENS_PARENTHESIS = word_set("negations") - frozenset({"without", "ohne", "sans", "nobody", "nothing", "none"})


def _starts_ne(word: str) -> bool:
    return word == "ne" or word.startswith("n'")


_SPECIAL = _BUT | EXCEPT | _EVERY | _INCAPABLE | _CLOSES_NE | {"rather", "instead", "other", "exception"}
_MAY_OPEN = re.compile("|".join(pattern.pattern for pattern in (_FAILS, _AVOIDS, _DENIES)))
_IS_PLAIN = PerWord(_read_plain)
