"""What personal data looks like: linear patterns, and the words that announce it.

The words are data (``pii_cues.toml``); what a candidate really is, is decided in ``pii.py``.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any, Final

import re2


def compiled(pattern: str) -> Any:
    """Return an RE2 pattern, compiled without a word on standard error."""
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


BEFORE: Final = 48
AFTER: Final = 24
"""Characters before and after a number in which a cue counts; what makes it another sort of number stands nearer."""


def last_cue(pattern: Any, text: str, within: int = BEFORE) -> int:
    """Return where the last match in the last ``within`` characters starts, or -1."""
    last = -1
    for match in pattern.finditer(text):
        last = match.start()
    return last if last >= len(text) - within else -1


_LOCAL = r"\p{Latin}\p{Cyrillic}\p{Greek}\p{Arabic}\p{Hebrew}\p{Devanagari}"
_AT, _DOT = r"(?:@|\s?[(\[](?:at|@)[)\]]\s?)", r"(?:\.|\s?[(\[](?:dot|\.)[)\]]\s?)"
EMAIL = compiled(rf"[{_LOCAL}\pN._%+'-]+{_AT}(?:[\pL\pN-]+{_DOT})+[{_LOCAL}][{_LOCAL}]+")
IBAN = compiled(r"\b[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,4})?\b")
IPV4 = compiled(r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}")
IPV6 = compiled(r"(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}")
NUMBER = compiled(r"\+?[(]?\d(?:(?: / |[ \x{a0}.()/-]{0,2})\d){6,24}")
# A day, whatever follows, or two years: also beside a word for a phone they are no number to call.
DATE = compiled(
    r"(?:19|20)\d{2}[-./ ](?:0?[1-9]|1[0-2])[-./ ](?:0?[1-9]|[12]\d|3[01])(?:\D.*)?|"
    r"(?:19|20)\d{2} ?[-/] ?(?:19|20)\d{2}|"
    r"(?:0?[1-9]|[12]\d|3[01])[-./](?:0?[1-9]|[12]\d|3[01])[-./](?:19|20)\d{2}(?:\D.*)?"
)
US_PHONE = compiled(r"(?:\+?1[ .-])?(?:\(\d{3}\) ?|\d{3}[.-])\d{3}[.-]\d{4}")
CARD_PLAN = compiled(
    r"(?:4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d)\d{12}|"
    r"35\d{14}|62\d{14,17})"
)
CARD_GROUPS = compiled(r"\d{4}([ -])\d{4}[ -]\d{4}[ -]\d{1,7}|\d{4}[ -]\d{6}[ -]\d{4,5}")


SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}"
_LEFT = rf"(?i)(?:^|[^\pL]|[{SPACELESS}])"
"""What stands before a cue: no letter, or one of a script that puts no space between words."""


def _cued(name: str, after: str = "", end: str = "") -> Any:
    """Compile the cues of a list of ``pii_cues.toml`` with what must follow them (both are group 1), and its end."""
    return compiled(rf"{_LEFT}((?:{'|'.join(data_file('pii_cues')[name])}){after}){end}")


def _cues(name: str) -> Any:
    """Compile the cues of one sort, and those of it that may stand inside a run of a script without spaces."""
    words = "|".join(data_file("pii_cues")[name])
    inside = "|".join(data_file("pii_cues").get(f"{name}_spaceless", ["[^\\x00-\\x{10FFFF}]"]))
    return compiled(rf"(?i)(?:^|[^\pL])(?:{words})(?:$|[^\pL])|(?:{inside})")


@cache
def data_file(name: str) -> dict[str, Any]:
    """Return one of the packaged data files, by its name without the ending."""
    return tomllib.loads((resources.files("spancheck_pipeline.grading") / f"{name}.toml").read_text("utf-8"))


SPELLED_EMAIL = compiled(
    r"(?i)(?:^|[^\pL\pN])([a-z0-9._-]+(?: dot [a-z0-9_-]+){0,3} at (?:[a-z0-9-]+ dot ){1,3}[a-z]{2,12})(?:$|[^\pL\pN])"
)
"""An address whose signs are spelled out."""
EMAIL_CUES = _cues("email")
NO_MAILBOX = frozenset(data_file("pii_cues")["no_mailbox"])
NOT_TLD = frozenset(data_file("pii_cues")["file_endings"])
PHONE_CUES, OTHER_CUES, IP_CUES = _cues("phone"), _cues("other"), _cues("address")
VERSION_CUES = _cued("version", r"\s*$")
_ENGLISH, _COMPOUND, _STREET_BEFORE = (
    "|".join(data_file("pii_cues")[name]) for name in ("street", "street_numbered_after", "street_before")
)
_NUMBER_OF = r"\d[\pL\d/-]{0,5}"
HOME = _cued(
    "home",
    rf" (?:[\pL\d.,'-]+ ){{0,6}}?(?:{_NUMBER_OF},? (?:[\pL.'-]+ ){{1,4}}?(?:{_ENGLISH})|"
    rf"{_NUMBER_OF},? (?:[\pL.'-]+ ){{0,4}}?(?:{_COMPOUND})|"
    rf"{_NUMBER_OF},? (?:{_STREET_BEFORE})(?: [\pL.'-]+){{1,3}}|"
    rf"(?:{_COMPOUND}) {_NUMBER_OF}|(?:{_STREET_BEFORE}) (?:[\pL.'-]+,? ){{1,4}}?{_NUMBER_OF})",
    end=r"(?:$|[^\pL\d])",
)
_IS = r"(?:is |ist |est |es |è |é |the |el |le |[は은는] ?)?"
_DAY_FIRST = (
    r"\d{1,4}[./年년-]\s?\d{1,2}[./月월-]\s?\d{1,4}[日일]?|"
    r"\d{1,2}(?:st|nd|rd|th|er|[.º])?(?: de| of)? \pL{3,12}\.?,?(?: de| of)? \d{4}"
)
BIRTH = _cued(
    "birth",
    # A month's name must not be the rest of the cue's own word: something stands between them.
    rf"(?:[^\pL\pN]{{0,4}}{_IS}(?:{_DAY_FIRST})|[^\pL\pN]{{1,4}}{_IS}\pL{{3,12}} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})",
)
PASSPORT = _cued(
    "passport",
    r"[\s:#_-]{0,3}(?:no\.?|nr\.?|number|nummer|num[eé]ro|número|n[°ºo]\.?|号码|番号|번호)?[\s:#\"']{0,4}(?:is |ist )?"
    r"([A-Z]{0,2}\d{6,9}[A-Z]?|\d{2}[A-Z]{2}\d{5}|[A-Z][A-Z\d]{7,8})\b",
)
