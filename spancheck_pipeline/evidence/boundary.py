"""Token boundaries: where a quote may start and end, so that 30 is not found in 130, nor *art* in *cart*.

Words live in ``word.py``, folding in ``folding.py``; what a place means for a citation is said in
``grading/provenance.py``.
"""

from __future__ import annotations

import re

from spancheck_pipeline.evidence.word import is_no_space, is_word_char

_MAX_TRIES = 64
"""Places that one look-up tries before it gives up: a hostile text may hold a needle at every character."""


def find_tokens(text: str, needle: str, start: int = 0, stop: int | None = None) -> int:
    """Return the first place, up to ``stop``, where a needle starts and ends at token boundaries, or -1.

    >>> find_tokens("130 days", "30 days"), find_tokens("in 30 days", "30 days")
    (-1, 3)
    """
    if not needle:
        return -1
    for _ in range(_MAX_TRIES):
        at = text.find(needle, start, stop)
        if at < 0:
            return -1
        if starts_token(text, at) and ends_token(text, at + len(needle)):
            return at
        start = at + 1
        while start < len(text) and not starts_token(text, start):
            start += 1
    return -1


_HYPHENS = "-\u2010\u2011\u2012\u2013\u2212"
_APOSTROPHES = "'\u2019\u02bc\uff07"
_JOINERS = _APOSTROPHES + "_\xad\u200b\u200c\u200d\u2060\ufeff"
_NUMBER_SIGNS = ".,/:" + _HYPHENS
_CUTTING_PREFIX = re.compile(
    rf"(?<!\w)(?:non|un|anti|ex|pre|post|sub|semi|quasi|pseudo|dis|mis|in|im|counter|nicht|no)[{_HYPHENS}]\Z",
    re.IGNORECASE,
)


def starts_token(text: str, at: int) -> bool:  # noqa: C901, PLR0911 - one return a rule
    """Say whether a token starts at a place, so that a quote may start there.

    Inside a token are: letters and digits side by side; the point or comma of a number; the dash of a range; a minus
    sign and its number; a prefix that turns a word's meaning (non-refundable); the apostrophe of can't and 10'000; the
    signs of an e-mail address; the hyphen of a word that goes on in the next line.
    """
    if at <= 0 or at >= len(text):
        return True
    left, here = text[at - 1], text[at]
    if not is_word_char(here):
        return (
            not (here in "%‰" and left.isdigit()) and not _inside_number(text, at) and not _inside_contraction(text, at)
        )
    if is_word_char(left):
        return is_no_space(left) or is_no_space(here) if not _same_number(left, here) else False
    if left in _NUMBER_SIGNS and here.isdigit():
        before = text[at - 2] if at >= 2 else " "  # noqa: PLR2004 - the character before the sign
        if before.isdigit():
            return False
        return not ((left == "." or left in _HYPHENS) and not is_word_char(before) and before not in ")]\"'")
    if left in _HYPHENS:
        return _CUTTING_PREFIX.search(text, max(0, at - 10), at) is None
    if left.isspace():
        return not _inside_wrap(text, at)
    if left in "@.":
        return not _inside_address(text, at - 1)
    if left in _APOSTROPHES:
        if here.isdigit() and at >= 2 and text[at - 2].isdigit():  # noqa: PLR2004 - 10'000
            return False
        return at < 2 or not is_word_char(text[at - 2]) or _word_length(text, at) >= 3  # noqa: PLR2004 - 't, 're, 'll
    return not (left == "_" and at >= 2 and is_word_char(text[at - 2]))  # noqa: PLR2004 - as above


def ends_token(text: str, at: int) -> bool:  # noqa: PLR0911 - one return a rule
    """Say whether a token ends right before a place, so that a quote may end there."""
    if at <= 0 or at >= len(text):
        return True
    left, here = text[at - 1], text[at]
    if is_word_char(left) and is_word_char(here):
        return is_no_space(left) or is_no_space(here) if not _same_number(left, here) else False
    if is_word_char(left):
        if here in _WRAPPING and _WRAP.match(text, at):
            return False
        if here in "%‰" and (left.isdigit() or left.isnumeric()):
            return False
        return not (_inside_number(text, at) or _inside_contraction(text, at) or _inside_address(text, at))
    if left in _NUMBER_SIGNS and here.isdigit():
        return starts_token(text, at)
    if left in "@." and is_word_char(here):
        return not _inside_address(text, at - 1)
    return True


def _same_number(left: str, right: str) -> bool:
    return left.isnumeric() and right.isnumeric() and not (is_no_space(left) or is_no_space(right))


def _inside_number(text: str, at: int) -> bool:
    """Say whether the sign at a place stands between two digits: 3.5, 1,000, 3-5, 1/2, 10:30."""
    return text[at] in _NUMBER_SIGNS and text[at - 1].isdigit() and at + 1 < len(text) and text[at + 1].isdigit()


def _inside_contraction(text: str, at: int) -> bool:
    """Say whether an apostrophe or underscore at a place joins letters: can't, a_b."""
    return text[at] in _JOINERS and is_word_char(text[at - 1]) and at + 1 < len(text) and is_word_char(text[at + 1])


def _word_length(text: str, at: int) -> int:
    end = at
    while end < len(text) and end - at < 3 and is_word_char(text[end]):  # noqa: PLR2004 - nobody asks beyond three
        end += 1
    return end - at


def _inside_address(text: str, at: int) -> bool:
    """Say whether the sign at a place is the @ of an e-mail address, or a stop after it: max@example.org."""
    if text[at] not in "@." or not 0 < at < len(text) - 1:
        return False
    if not (is_word_char(text[at - 1]) and is_word_char(text[at + 1])):
        return False
    return text[at] == "@" or _HOST.search(text, max(0, at - 80), at) is not None


_HOST = re.compile(r"\w@[\w.-]{1,80}\Z")


_WRAPPING = "-\xac\xad\u2010\u2011"
_WRAP = re.compile(rf"(?<=[^\W\d_])[{_WRAPPING}][ \t]{{0,80}}\r?\n[ \t>]{{0,80}}(?=[^\W\d_])")
_INDENT = 20
"""Characters before a line's first word in which the hyphen of the line before is looked for."""


def _inside_wrap(text: str, at: int) -> bool:
    """Say whether a place is the first letter of a line whose word began in the line before: termi-/nation."""
    low = max(0, at - _INDENT)
    if text.rfind("\n", low, at) < 0:
        return False
    return any(match.end() == at for match in _WRAP.finditer(text, low, at + 1))
