"""The citation: a claim of the answer tied to a source, as the producer gave it; and inline markers such as ``[2]``.

A marker is read where it can be one: not in code, links or footnote definitions, not as a year or an array's index.
Whether a quote really is in its source is a grader's question (``grading/graders/citation_accuracy.py``); which claim a
citation carries is ``claim.py``'s.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from spancheck_pipeline.evidence.folding import follows_as_reference

if TYPE_CHECKING:
    from spancheck_pipeline.evidence.run import Context

_NAMES = {"span": "quote", "text": "quote", "cited_text": "quote", "source": "source_id", "id": "source_id"}


class Citation(BaseModel):
    """One citation in canonical form: a quote and/or a source id, with offsets where the producer gave them.

    Offsets are half-open, in code points: ``answer_*`` of the answer, ``source_*`` of the passage that is named.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    claim: str | None = None
    """What the citation is for, in the producer's words; None where it does not say."""
    quote: str | None = None
    """The cited words; None where the producer names a passage without quoting it."""
    source_id: str | None = None
    answer_start: int | None = Field(default=None, ge=0, le=2**53)
    answer_end: int | None = Field(default=None, ge=0, le=2**53)
    source_start: int | None = Field(default=None, ge=0, le=2**53)
    source_end: int | None = Field(default=None, ge=0, le=2**53)
    flags: tuple[str, ...] = ()
    """What an importer noticed, for example ``offset_mismatch``."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        """Read a plain string as a quote, and the other names that producers use."""
        if isinstance(value, str):
            return {"quote": value}
        if not isinstance(value, Mapping):
            return value
        fields: dict[str, Any] = {}
        for key, item in value.items():
            name = key if key in cls.model_fields else _NAMES.get(key)
            if name and fields.get(name) is None:
                fields[name] = item
        if isinstance(fields.get("source_id"), int):
            fields["source_id"] = str(fields["source_id"])
        return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One inline marker of an answer, with the ids that it names in order."""

    ids: tuple[str, ...]
    """As written: ``("1", "2")`` for ``[1, 2]``; a range is written out."""
    start: int
    end: int
    """Half-open, in code points of the answer."""
    wraps: tuple[int, int] | None = None
    """Range of the words that the marker itself encloses (``<cite id="s1">…</cite>``), in the answer; else None."""


_MAX_RANGE = 50
"""A range of ids longer than this is no list of sources."""

_MASK = re.compile(
    r"""
      ```.*?(?:```|\Z) | ~~~.*?(?:~~~|\Z)                 # code blocks
    | `[^`\n]{1,400}`                                      # code
    | \[[^\[\]\n]{0,400}\]\((?:[^()\s]++|\([^()\s]{0,400}\)){1,200}+(?:[ ]"[^"\n]{0,200}")?\)   # links
    | (?:(?<=\n)|\A)[ \t]*\[\^?[^\[\]\n]{1,40}\]:[^\n]*               # footnote and link definitions
    | https?://[^\s<>\[\]]{1,2000}
    """,
    re.VERBOSE | re.DOTALL,
)
_MASKED = ("`", "~~~", "](", "]:", "http")
"""One of these is in every text in which something is masked."""
_MAY_MARK = re.compile(r"[\[【<⁰¹²³⁴-⁹(](?:(?<!\()|(?=doc|source|ref|passage))")
"""What every marker starts with."""
_MARKERS = re.compile(
    r"""
      (?<![\w)\]])(?<!\\)\[
      (?P<source>(?:[Ss]ource|[Ss]rc|[Rr]ef|[Dd]oc|[Dd]ocument|[Pp]assage|[Cc]itation|SOURCE)s?
      [ ]?:[ ]?[^\[\]\n]{1,200})\]
    | \[(?P<many>\^?(?:[A-Za-z]{2,12}[ _-]?)?\d{1,3}
      (?:[ ]?[,;–‒—-][ ]?\^?(?:[A-Za-z]{2,12}[ _-]?)?\d{1,3}){0,30})\]
    | \[\^(?P<note>[A-Za-z][\w-]{0,30})\]
    | \((?P<round>(?:doc|source|ref|passage)[ _-]?\d{1,3})\)
    | 【(?P<lens>\d{1,4}(?::\d{1,4})?)(?:†[^【】\n]{0,200})?】
    | 【(?P<book>《[^【】\n]{1,80})】
    | <sup(?:[ ][^<>]{0,200})?>(?:<a[ ][^<>]{0,200}>)?[ ]?
      \[?(?P<sup>\d{1,3}(?:[ ]?[,;–-][ ]?\d{1,3}){0,10})\]?[ ]?(?:</a>)?</sup>
    | (?P<digits>[⁰¹²³⁴-⁹]{1,3}(?:[,˒][⁰¹²³⁴-⁹]{1,3}){0,10})
    | <cite[ ](?:[^<>]{0,80}[ ])?(?:id|source|ref)=["']?(?P<cite>[^"'<>\s]{1,80})["']?[^<>]{0,80}>
    """,
    re.VERBOSE,
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹˒", "0123456789,")
_WIDE = str.maketrans("［］，；", "[],;")
"""Brackets and stops as Chinese and Japanese texts write them."""
_PARTS = re.compile(r"(?P<id>\^?(?P<prefix>[A-Za-z]{2,12}[ _-]?)?(?P<number>\d{1,4}))|(?P<range>[–‒—-])|[,;]")


def masked(text: str) -> str:
    """Return a text of the same length with code, links, footnote definitions and URLs blanked out."""
    if not any(sign in text for sign in _MASKED):
        return text
    return _MASK.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def markers(answer: str, known: Sequence[str] | None = None) -> tuple[Marker, ...]:
    """Return the inline markers of an answer in order. Linear in the answer.

    Read are ``[1]``, ``[1, 2]``, ``[1-3]``, ``[^1]``, ``[doc1]``, ``(doc1)``, ``【4:0†file.pdf】``, ``¹``,
    ``<sup>1</sup>``, ``[Source: X]``, ``<cite id="s1">…</cite>`` and 【《…》】. ``known`` are ids that exist: with it
    also ``[some-id]`` is a marker where ``some-id`` is one of them.

    >>> [(m.ids, m.start, m.end) for m in markers("Notice is 30 days [1][2-4]. x[3] is an index.")]
    [(('1',), 18, 21), (('2', '3', '4'), 21, 26)]
    """
    if "［" in answer:
        answer = answer.translate(_WIDE)
    if _MAY_MARK.search(answer) is None:
        return ()
    text = masked(answer)
    found = [marker for match in _matches(text) if (marker := _read(text, match)) is not None]
    if known:
        found = _with_known(text, found, known)
    return tuple(found)


def _matches(text: str) -> Iterator[re.Match[str]]:
    """Yield what may be a marker, as ``_MARKERS.finditer`` does, but looked for only where one can start."""
    at = 0
    for start in _MAY_MARK.finditer(text):
        if start.start() >= at and (match := _MARKERS.match(text, start.start())):
            at = match.end()
            yield match


def _read(text: str, match: re.Match[str]) -> Marker | None:
    kind = match.lastgroup or ""
    inner = match.group(kind).strip()
    start, end = match.span()
    if kind == "cite":
        close = text.find("</cite>", end, end + 4000)
        wraps = None if close < 0 else (end, close)
        return Marker(ids=(inner,), start=start, end=end, wraps=wraps)
    before = text[start - 1] if start else " "
    if kind == "digits":
        if not follows_as_reference(text, start):
            return None
        inner = inner.translate(_SUPERSCRIPTS)
    elif (kind == "sup" and before.isdigit()) or (kind == "many" and _is_index(text, start)):
        return None
    if kind == "source":
        ids = _source_names(inner.split(":", 1)[1])
    elif kind in {"note", "lens", "book", "round"}:
        ids = (inner,)
    else:
        ids = _ids(inner)
    return Marker(ids=ids, start=start, end=end) if ids else None


def _source_names(listed: str) -> tuple[str, ...]:
    """Return the names after ``Sources:``; a comma parts numbers only, because titles hold some."""
    parts = tuple(part.strip() for part in listed.split(","))
    if not all(map(_NUMBERED.fullmatch, parts)):
        parts = tuple(part.strip() for part in listed.split(";"))
    return parts


_NUMBERED = re.compile(r"(?:[A-Za-z]{2,12}[ _-]?)?\d{1,4}")


def _is_index(text: str, start: int) -> bool:
    """Say whether ``[1]`` is an index: it stands right after a one-letter name, a call or another bracket's index."""
    before = re.search(r"[\w)]{1,3}\Z", text[max(0, start - 3) : start])
    if before is None:
        return False
    return len(before.group()) == 1 and before.group().isalpha()


def _ids(inner: str) -> tuple[str, ...]:
    """Return the ids of a list such as ``1, 3-5``; none where a range is too long to be one."""
    ids: list[str] = []
    ranged = False
    prefix = ""
    for part in _PARTS.finditer(inner):
        if part.group("range"):
            ranged = True
        elif part.group("id"):
            prefix = part.group("prefix") or prefix
            number = int(part.group("number"))
            if ranged and ids:
                first = int(re.findall(r"\d+", ids[-1])[-1])
                if not 0 < number - first <= _MAX_RANGE:
                    return ()
                ids.extend(f"{prefix}{between}" for between in range(first + 1, number))
            ids.append(f"{prefix}{number}")
            ranged = False
    return tuple(ids)


def _with_known(text: str, found: list[Marker], known: Sequence[str]) -> list[Marker]:
    """Add ``[id]`` for ids that exist and are not read as numbers already."""
    wanted = frozenset(known)
    ends = [marker.end for marker in found]
    starts = [marker.start for marker in found]
    for match in re.finditer(r"\[([^\[\]\n]{1,200})\]", text):
        before = bisect_right(starts, match.start()) - 1
        if before >= 0 and match.start() < ends[before]:
            continue  # it is that marker, or within it: <sup>[1]</sup>
        ids = tuple(part.strip() for part in re.split(r"[,;]", match.group(1)))
        if match.group(1).strip() in wanted:
            ids = (match.group(1).strip(),)
        if all(part in wanted for part in ids):
            found.append(Marker(ids=ids, start=match.start(), end=match.end()))
    return sorted(found, key=lambda marker: marker.start)


def strip_markers(text: str, known: Sequence[str] | None = None) -> str:
    """Return a text of the same length whose inline markers are blanked out, so that offsets still hold.

    ``known`` are ids that exist, as for ``markers``.

    >>> strip_markers("Notice is 30 days [1].")
    'Notice is 30 days    .'
    """
    pieces: list[str] = []
    at = 0
    for marker in markers(text, known):
        pieces += [text[at : marker.start], " " * (marker.end - marker.start)]
        at = marker.end
    pieces.append(text[at:])
    return "".join(pieces).replace("</cite>", " " * 7)


def resolve_marker(marker_id: str, contexts: Sequence[Context]) -> str | None:
    """Return the source id that a marker's id names among the retrieved passages, or None where it names none.

    An id is taken literally first (source id, uri, title); then ``docN`` or ``N`` as the 1-based place of the passage.

    >>> from spancheck_pipeline.evidence.run import Context
    >>> resolve_marker("2", [Context(source_id="lease"), Context(source_id="annex")])
    'annex'
    """
    names = [source_name(context, index) for index, context in enumerate(contexts)]
    for context, name in zip(contexts, names, strict=True):
        if marker_id in {context.source_id, context.uri, context.title}:
            return name
    number = re.fullmatch(r"\^?(?:[A-Za-z]{2,12}[ _-]?)?(\d{1,4})", marker_id)
    if number is None:
        return None
    bare = number.group(1)
    if bare in names:
        return bare
    place = int(bare)
    return names[place - 1] if 1 <= place <= len(names) else None


def names_of(contexts: Sequence[Context]) -> tuple[str, ...]:
    """Return everything that retrieved passages may be called in an answer: names, addresses, titles."""
    names = (
        name
        for index, context in enumerate(contexts)
        for name in (source_name(context, index), context.uri, context.title)
        if name
    )
    return tuple(dict.fromkeys(names))


def source_name(context: Context, index: int) -> str:
    """Return what a passage is called: its source id, or its 1-based place where the producer gave none."""
    return context.source_id if context.source_id is not None else str(index + 1)
