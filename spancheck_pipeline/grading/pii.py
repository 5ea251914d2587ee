"""Personal data in a text: candidates by linear patterns, decided by validators that know the number plans.

A number counts only when its check digits or number plan say that it can be one, and, where order and part numbers
look the same, when a word near it says what it is. National ids live in ``pii_ids.py``, the words in
``pii_cues.toml``; what a find means for a score lives in ``graders/no_pii.py``.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Final, NamedTuple

import phonenumbers
from stdnum import iban, luhn

from spancheck_pipeline.evidence.text import is_no_space
from spancheck_pipeline.grading.pii_ids import ID_KINDS, national_ids
from spancheck_pipeline.grading.pii_patterns import (
    AFTER,
    BEFORE,
    BIRTH,
    CARD_GROUPS,
    CARD_PLAN,
    DATE,
    EMAIL,
    EMAIL_CUES,
    HOME,
    IBAN,
    IP_CUES,
    IPV4,
    IPV6,
    NO_MAILBOX,
    NOT_TLD,
    NUMBER,
    OTHER_CUES,
    PASSPORT,
    PHONE_CUES,
    SPELLED_EMAIL,
    US_PHONE,
    VERSION_CUES,
    last_cue,
)
from spancheck_pipeline.grading.pii_writing import as_seen

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pii(NamedTuple):
    """One find: its kind and where it stands, half-open in code points. It never holds the value."""

    kind: str
    start: int
    end: int


_GIVEN_V6: Final = ipaddress.IPv6Network("2000::/3")
_YEAR: Final = re.compile(r"\d{4}")
REGIONS: Final = (
    "US", "GB", "DE", "FR", "ES", "IT", "NL", "PL", "PT", "BE", "CH", "AT", "SE", "DK", "NO", "FI", "IE", "CZ", "RU",
    "TR", "BR", "MX", "AR", "IN", "CN", "JP", "KR", "AU", "NZ", "ZA", "EG", "AE", "SA", "IL", "SG", "GR", "HU", "RO",
    "UA", "BG", "HR", "SK", "CO", "CL", "PE", "TH", "VN", "ID", "MY", "PH", "HK", "TW", "PK", "NG", "KE", "MA",
)  # fmt: skip
"""Where a phone number without a country code may be from, when a cue says that it is one."""


def find_pii(text: str) -> tuple[Pii, ...]:
    """Return the personal data in a text, in order, none inside another; of two that overlap the longer wins.

    Kinds: ``email``, ``phone``, ``iban``, ``payment_card``, ``ip_address``, ``passport``, ``date_of_birth``,
    ``home_address``, and the national ids of ``pii_kinds.toml``. Time is linear in the text.

    >>> find_pii("Write to jane.roe@example.org about invoice 2024-00017.")
    (Pii(kind='email', start=9, end=29),)
    """
    seen, places = as_seen(text)
    found: list[Pii] = []
    for item in sorted(_all(seen), key=lambda item: (item.start, -item.end)):
        if not found or item.start >= found[-1].end:
            found.append(item)
    if places is None:
        return tuple(found)
    return tuple(Pii(item.kind, places[item.start], places[item.end - 1] + 1) for item in found)


@cache
def data_versions() -> dict[str, str]:
    """Return what the finds depend on besides this code: the kinds file and the versions of the number plans."""
    import stdnum

    folder = resources.files("spancheck_pipeline.grading")
    files = ("pii_cues.toml", "pii_kinds.toml")
    return {
        **{name: hashlib.sha256((folder / name).read_bytes()).hexdigest()[:16] for name in files},
        "phonenumbers": str(phonenumbers.__version__),
        "python-stdnum": str(stdnum.__version__),
    }


def _all(text: str) -> Iterator[Pii]:
    yield from _emails(text)
    yield from _ibans(text)
    yield from _addresses(text)
    yield from (Pii("date_of_birth", *match.span(1)) for match in BIRTH.finditer(text) if _may_live(match.group(1)))
    yield from (Pii("home_address", *match.span(1)) for match in HOME.finditer(text))
    yield from (Pii("passport", *match.span(2)) for match in PASSPORT.finditer(text) if _has_digits(match.group(2)))
    for kind in national_ids():
        yield from (Pii(kind.name, start, end) for start, end in kind.find(text))
    for match in NUMBER.finditer(text):
        if kind_name := _number_kind(text, *match.span()):
            yield Pii(kind_name, *match.span())


def _may_live(birth: str) -> bool:
    """Whether who was born then may be alive: a year before 1900 is of history, and nobody's personal data."""
    years = _YEAR.findall(birth)
    return not years or int(years[-1]) >= 1900  # noqa: PLR2004 - as the docstring says


def _has_digits(value: str) -> bool:
    """Whether a token has the digits of a document's number, which a word after "passport" has not."""
    return sum(character.isdigit() for character in value) >= 3  # noqa: PLR2004 - the fewest that are seen


def _emails(text: str) -> Iterator[Pii]:
    for match in EMAIL.finditer(text):
        start, end = match.span()
        end -= _glued_scheme(text, end)
        local, _, domain = text[start:end].replace("(at)", "@").replace("[at]", "@").partition("@")
        if domain.rpartition(".")[2].lower() in NOT_TLD or (local == "git" and text[end : end + 1] == ":"):
            continue
        yield Pii("email", start, end)
    for match in SPELLED_EMAIL.finditer(text) if " dot " in text.lower() else ():
        start, end = match.span(1)
        mailbox = match.group(1).lower().partition(" at ")[0]
        if mailbox not in NO_MAILBOX and EMAIL_CUES.search(text[max(0, start - BEFORE) : start]):
            yield Pii("email", start, end)


def _glued_scheme(text: str, end: int) -> int:
    """Return how many letters before a place belong to a web address that follows without a space."""
    if text[end : end + 3] != "://":
        return 0
    return next((len(scheme) for scheme in ("https", "http") if text.endswith(scheme, 0, end)), 0)


def _ibans(text: str) -> Iterator[Pii]:
    """Yield valid IBANs; a run that took a following word in is shortened group by group."""
    for match in IBAN.finditer(text):
        start, end = match.span()
        while end - start >= 15:  # noqa: PLR2004 - the shortest IBAN (Norway)
            if iban.is_valid(text[start:end], check_country=False):
                yield Pii("iban", start, end)
                break
            end = max(text.rfind(" ", start, end), text.rfind("-", start, end), start)


def _addresses(text: str) -> Iterator[Pii]:
    for match in IPV4.finditer(text):
        start, end = match.span()
        if _stands_alone(text, start, end, ".") and _is_public_ip(text, start, end):
            yield Pii("ip_address", start, end)
    for match in IPV6.finditer(text):
        start, end = match.span()
        if _stands_alone(text, start, end, ":") and _is_global(match.group()):
            yield Pii("ip_address", start, end)


def _stands_alone(text: str, start: int, end: int, joiner: str) -> bool:
    before, after = text[max(0, start - 1) : start], text[end : end + 2]
    if _joins(before) or before == joiner or _joins(after[:1]):
        return False
    return not ((after[:1] == joiner and after[1:].isalnum()) or (after[:1] == "." and after[1:].isdigit()))


def _is_public_ip(text: str, start: int, end: int) -> bool:
    """Whether four numbers are a public address and not a version or section number."""
    if not _is_global(text[start:end]) or VERSION_CUES.search(text[max(0, start - 16) : start]):
        return False
    has_large = any(int(part) > 31 for part in text[start:end].split("."))  # noqa: PLR2004 - versions stay small
    return has_large or IP_CUES.search(text[max(0, start - BEFORE) : start]) is not None


def _is_global(value: str) -> bool:
    """Whether an address is one that somebody was given; of version 6 that is only 2000::/3."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return address.is_global and not address.is_multicast and (address.version == 4 or address in _GIVEN_V6)  # noqa: PLR2004 - the version


def _number_kind(text: str, start: int, end: int) -> str | None:
    """Say whether a run of digits is a payment card or a phone number, by its plan and the words near it."""
    value = text[start:end]
    before, after = text[max(0, start - BEFORE) : start], text[end : end + AFTER]
    if _joins(before[-1:]) or before[-1:] in {"#", "/", "=", "_"} or _is_joined(after) or DATE.fullmatch(value):
        return None
    cue = last_cue(PHONE_CUES, before)
    other = last_cue(OTHER_CUES, before, within=AFTER)
    digits = "".join(character for character in value if character.isdigit())
    if _is_card(value, digits) and other < 0 and cue < 0:
        return "payment_card"
    if other > cue:
        return None
    return "phone" if _is_phone(value, has_cue=cue >= 0 or PHONE_CUES.search(after) is not None) else None


def _is_joined(after: str) -> bool:
    """Whether a number goes on in what follows, which a web address without a space before it is not."""
    return _joins(after[:1]) and not after.lower().startswith(("http://", "https://", "www."))


def _joins(character: str) -> bool:
    """Whether a character beside a number makes it part of a longer token; scripts without spaces do not."""
    return character.isalnum() and not is_no_space(character) and not "가" <= character <= "힣"


def _is_card(value: str, digits: str) -> bool:
    if not (CARD_PLAN.fullmatch(digits) and luhn.is_valid(digits)):
        return False
    return value == digits or CARD_GROUPS.fullmatch(value) is not None


@lru_cache(maxsize=4096)
def _is_phone(value: str, *, has_cue: bool) -> bool:
    if value.startswith("+"):
        return _is_valid_number(value, None)
    if value.startswith("00") and (has_cue or value.count(" ") >= 2) and _is_valid_number(f"+{value[2:]}", None):  # noqa: PLR2004 - groups
        return True
    if US_PHONE.fullmatch(value):
        return _is_valid_number(value, "US")
    return has_cue and any(_is_valid_number(value, region) for region in REGIONS)


def _is_valid_number(value: str, region: str | None) -> bool:
    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(value, region)))
    except phonenumbers.NumberParseException:
        return False


KINDS: Final = ID_KINDS | {
    "email", "phone", "iban", "payment_card", "ip_address", "passport", "date_of_birth", "home_address",
}  # fmt: skip
"""Every kind that is looked for."""
