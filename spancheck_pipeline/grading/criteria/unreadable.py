"""Abstaining on what cannot be read: a mark such as ``~~~`` or ``[illegible]`` where an assertion would stand.

Declining a whole question ("the documents do not say") is ``grading/abstention.py``'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from spancheck_pipeline.evidence.criterion import AbstentionTarget
from spancheck_pipeline.grading.criteria.fence import fences, wrapping
from spancheck_pipeline.grading.criteria.result import Held
from spancheck_pipeline.grading.criteria.wording import folded

_MARKER: Final = re.compile(
    r"""
      ~{3,}
    | \[\s?(?:illegible|unreadable|unclear|indecipherable|cannot[ ]read|\?{1,5})[^\]\n]{0,40}\]
    | (?<!not[ ])\b(?:illegible|unreadable|indecipherable)\b
    | \bnot[ ](?:clearly[ ]|fully[ ])?(?:legible|readable)\b
    | \b(?:cannot|can[ ]not|can't|could[ ]not|couldn't|unable[ ]to|impossible[ ]to)[ ]
      (?:be[ ])?(?:clearly[ ]|reliably[ ]|fully[ ])?
      (?:read|made[ ]out|make[ ]out|decipher|deciphered|determined?|transcribed?)\b
    """,
    re.VERBOSE,
)
_TILDE_FENCE: Final = re.compile(r"\s*~{3,}\w*\s*\Z")
_IS_FIELD: Final = re.compile(r"[\s\"'*_)\]]{0,8}[:|=]")
_CUT: Final = re.compile(r"[|;\t]|[ ]{2,}|,\s(?=[\"\w][\w \"]{0,40}:)")
_SENTENCE: Final = re.compile(r"[.;!?](?=\s|\Z)")

_REACH: Final = 500
"""Characters before and after a mention that can be about it."""
_MOST_MENTIONS: Final = 100


def abstains(answer: str, target: AbstentionTarget) -> Held:  # noqa: PLR0911 - one way out a finding
    r"""Return whether an answer abstains where it should, and asserts none of the forbidden terms anywhere.

    >>> target = AbstentionTarget(region="Signature", forbidden_terms=["Smith"])
    >>> abstains("Name: Jo\nSignature: ~~~", target).code, abstains("Signature: J. Smith ~~~", target).code
    ('held', 'forbidden_term')
    """
    said = folded(answer)
    terms = sum(folded(term) in said for term in target.forbidden_terms)
    if terms:
        return Held.no("forbidden_term", f"The answer holds {terms} of {len(target.forbidden_terms)} forbidden terms.")
    lines = _without_tilde_fences(answer.splitlines())
    markers = [folded(marker) for marker in target.markers]
    if target.region is None:
        if _is_marked(" ".join(lines), markers):
            return Held.yes("The answer says that it cannot be read.")
        return Held.no("no_abstention", "Nothing in the answer says that it cannot be read.")
    regions = list(_regions(lines, folded(target.region)))
    if any(_is_marked(region, markers) for region in regions):
        return Held.yes("The answer says that the region cannot be read.")
    if regions:
        return Held.no("no_abstention", "The answer names the region, and does not say that it cannot be read.")
    if _is_nothing_else(" ".join(lines), markers):
        return Held.yes("The answer says that nothing can be read.")
    return Held.no("no_region", "The answer does not name the region.")


def _is_marked(text: str, markers: Iterable[str]) -> bool:
    said = folded(text).replace("’", "'")
    return _MARKER.search(said) is not None or any(marker in said for marker in markers)


def _is_nothing_else(text: str, markers: Iterable[str]) -> bool:
    """Say whether an answer is a marker, and no word beside it."""
    said = folded(text).replace("’", "'")
    rest = _MARKER.sub(" ", said)
    for marker in markers:
        rest = rest.replace(marker, " ")
    return rest != said and not re.search(r"\w", rest)


def _regions(lines: list[str], label: str) -> Iterator[str]:
    """Yield what stands at each mention of a label: a field's value, or the sentence around it."""
    whole = re.compile(rf"(?<!\w){re.escape(label)}(?!\w)")
    mentions = (
        (number, text, match)
        for number, line in enumerate(lines)
        for text in [line.casefold().rstrip()]
        for match in whole.finditer(text)
    )
    for number, text, match in islice(mentions, _MOST_MENTIONS):
        rest = text[match.end() : match.end() + _REACH]
        field = _IS_FIELD.match(rest)
        if field:
            value = rest[field.end() :].lstrip(" |\"'*_")
            yield _CUT.split(value, maxsplit=1)[0] if value.strip() else _next_filled(lines, number)
        elif not rest.strip(" #*_"):
            yield f"{text[max(0, match.start() - _REACH) : match.start()]} {_next_filled(lines, number)}"  # a heading
        else:
            before = _SENTENCE.split(text[max(0, match.start() - _REACH) : match.start()])[-1]
            yield before + match.group() + _SENTENCE.split(rest, maxsplit=1)[0]


def _next_filled(lines: list[str], number: int) -> str:
    return next((line[:_REACH] for line in lines[number + 1 : number + 4] if line.strip()), "")


def _without_tilde_fences(lines: list[str]) -> list[str]:
    """Return lines without those of a code fence of tildes, which are no marks: it names a language or wraps all."""
    kept = list(lines)
    found = fences(lines)
    around = wrapping(found, lines)
    for fence in found:
        is_code = fence.mark[0] == "~" and _TILDE_FENCE.match(lines[fence.opening]) is not None
        if is_code and fence.closing < len(lines) and (fence.info or (fence is around and fence.body(lines))):
            kept[fence.opening] = kept[fence.closing] = ""
    return kept
