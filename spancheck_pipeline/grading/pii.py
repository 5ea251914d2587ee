"""Personal data in a text: candidates by linear patterns, decided by validators that know the number plans."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, NamedTuple

import phonenumbers
import re2
from stdnum import iban, luhn

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pii(NamedTuple):
    """One find: its kind and where it stands. It never holds the value."""

    kind: str
    start: int
    end: int


_EMAIL = re2.compile(r"[\pL\pN._%+'-]+@(?:[\pL\pN-]+\.)+\pL\pL+")
_IP = re2.compile(r"(?:\d{1,3}\.){3}\d{1,3}")
_DIGITS = re2.compile(r"\+?\(?\d(?:[ .()/-]{0,2}\d){6,18}")
_IBAN = re2.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_SSN = re2.compile(r"\b\d{3}-\d{2}-\d{4}\b")


def find_pii(text: str) -> tuple[Pii, ...]:
    """Return the personal data in a text, in order, none inside another."""
    found: list[Pii] = []
    for item in sorted(_all(text), key=lambda item: (item.start, -item.end)):
        if not found or item.start >= found[-1].end:
            found.append(item)
    return tuple(found)


def _all(text: str) -> Iterator[Pii]:
    yield from (Pii("email", *match.span()) for match in _EMAIL.finditer(text))
    yield from (Pii("us_ssn", *match.span()) for match in _SSN.finditer(text))
    for match in _IBAN.finditer(text):
        if iban.is_valid(match.group()):
            yield Pii("iban", *match.span())
    for match in _IP.finditer(text):
        if _is_public_ip(match.group()):
            yield Pii("ip_address", *match.span())
    for match in _DIGITS.finditer(text):
        kind = _number_kind(match.group())
        if kind:
            yield Pii(kind, *match.span())


def _is_public_ip(value: str) -> bool:
    try:
        return ipaddress.ip_address(value).is_global
    except ValueError:
        return False


def _number_kind(value: str) -> str | None:
    digits = "".join(character for character in value if character.isdigit())
    if 13 <= len(digits) <= 19 and digits[0] in "3456" and luhn.is_valid(digits):
        return "payment_card"
    try:
        number = phonenumbers.parse(value, None if value.startswith("+") else "US")
    except phonenumbers.NumberParseException:
        return None
    separated = any(character in value for character in " .()-/")
    return "phone" if phonenumbers.is_valid_number(number) and (value.startswith("+") or separated) else None
