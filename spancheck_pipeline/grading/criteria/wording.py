"""Texts and days that an answer holds: ``presence``, ``absence``, and ``identity`` of a text."""

from __future__ import annotations

import unicodedata

from spancheck_pipeline.evidence.dates import DateOrder, dates_in, read_date
from spancheck_pipeline.grading.criteria.result import Held


def holds_text(answer: str, text: str) -> Held:
    r"""Return whether a text stands in an answer; letter case and white space do not matter.

    >>> holds_text("Payable\nMONTHLY in advance", "monthly in").code
    'held'
    """
    if folded(text) in folded(answer):
        return Held.yes("The text stands in the answer.")
    return Held.no("text_missing", "The text does not stand in the answer.")


def lacks_text(answer: str, text: str) -> Held:
    """Return whether a text does not stand in an answer; letter case and white space do not matter."""
    if folded(text) in folded(answer):
        return Held.no("text_present", "The text stands in the answer.")
    return Held.yes("The text does not stand in the answer.")


def holds_exactly(answer: str, text: str) -> Held:
    """Return whether a text stands in an answer letter by letter; only runs of white space are one space.

    >>> holds_exactly("Ref. AB-7 /  x", "AB-7 / x").code, holds_exactly("ref. ab-7", "AB-7").code
    ('held', 'other_case')
    """
    if " ".join(text.split()) in " ".join(answer.split()):
        return Held.yes("The text stands in the answer, letter by letter.")
    if folded(text) in folded(answer):
        return Held.no("other_case", "The text stands in the answer in other letters: case or composition differ.")
    return Held.no("text_missing", "The text does not stand in the answer.")


def names_day(answer: str, wanted: str, *, order: DateOrder, other_order: bool) -> Held:
    """Return whether an answer names a day, in whatever usual format.

    >>> names_day("Due 04/02/2019.", "2019-04-02", order="month_first", other_order=False).code
    'held'
    """
    day = read_date(wanted, order=order, other_order=other_order)
    if day is None:
        return Held.unmeasured(
            "date_order", f"The criterion's own date is no day when read {_words(order)}; write it as YYYY-MM-DD."
        )
    found = dates_in(answer, order=order, other_order=other_order)
    same = [other for other in found if other.day == day]
    # A date that is read as it stands is the better evidence.
    for other in sorted(same, key=lambda item: item.is_swapped):
        way = f" when read the other way round: {_words(order)} it is no day" if other.is_swapped else ""
        return Held.yes(f"The answer names {day.isoformat()}{way}.", (other.start, other.end))
    if not found:
        return Held.no("date_missing", f"The answer names no day, and {day.isoformat()} is wanted.")
    days = len({other.day for other in found})
    return Held.no("other_date", f"The answer names {days} other days, and not {day.isoformat()}.")


def folded(text: str) -> str:
    """Return a text as presence sees it: composed, without case, white space as single spaces."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def _words(order: DateOrder) -> str:
    return order.replace("_", " ")
