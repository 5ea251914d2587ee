"""The output that is being read from a payload: its answer in pieces, its passages by name, its citations.

Which field of a payload means what lives in the producers' modules.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from spancheck_pipeline.evidence.citation import Citation, source_name
from spancheck_pipeline.evidence.payloads.offsets import Placed, Unit, length_agrees, place
from spancheck_pipeline.evidence.payloads.reading import PayloadError, kind_word, plain, whole
from spancheck_pipeline.evidence.run import Context, Output, Usage
from spancheck_pipeline.evidence.sentence import sentences
from spancheck_pipeline.evidence.word import Span

_NO_PLACE = Placed(None, ("offset_mismatch",))
"""Offsets that are given, and cannot be a range: negative, broken, the wrong way round, a text."""


class Draft:
    """Collects what a payload says. Passages that the caller captured come first, and keep their names."""

    def __init__(self, contexts: Sequence[Context] = ()) -> None:
        self._contexts = list(contexts)
        self._n_given = len(self._contexts)
        self._given: dict[str, str] = {}
        self._added: dict[str, dict[str | None, str]] = {}
        """By source: the text of each of its passages → the passage's name."""
        self._texts: dict[str, str | None] = {}
        for index, context in enumerate(contexts):
            self._texts.setdefault(source_name(context, index), context.text)
            for alias in (context.source_id, context.uri, context.title):
                if alias is not None:
                    self._given.setdefault(alias, source_name(context, index))
        self._pieces: list[str] = []
        self._length = 0
        self._citations: list[Citation] = []

    # -- the answer -----------------------------------------------------------------------------------------------

    @property
    def answer(self) -> str:
        """The answer as far as it was read."""
        return "".join(self._pieces)

    def add_text(self, piece: str) -> Span:
        """Append a piece to the answer, and return its range."""
        start = self._length
        self._pieces.append(piece)
        self._length += len(piece)
        return Span(start, self._length)

    # -- the passages ---------------------------------------------------------------------------------------------

    def given_at(self, index: int | None) -> tuple[Context, str] | None:
        """Return the caller's passage at a 0-based place with its name, or None where there is none."""
        if index is None or not 0 <= index < self._n_given:
            return None
        return self._contexts[index], source_name(self._contexts[index], index)

    def passage(
        self,
        source_id: str | None,
        text: str | None = None,
        *,
        uri: str | None = None,
        title: str | None = None,
        page: int | None = None,
        is_whole_source: bool = False,
    ) -> str:
        """Return the name of a passage: the caller's that has this id or address, one that was added, or a new one.

        Two texts of one source are two passages, ``id`` and ``id#2``, so that a citation names the one that it means;
        with ``is_whole_source`` both are called ``id``, since the producer cites the source and not the passage.
        """
        wanted = source_id or uri or title or f"passage:{len(self._contexts) + 1}"
        if wanted in self._given:
            return self._given[wanted]
        added = self._added.setdefault(wanted, {})
        if text in added:
            return added[text]
        if text is None and added:
            # A source that is named without a text is any of the passages that came of it.
            return next(iter(added.values()))
        name = wanted if is_whole_source or not added else f"{wanted}#{len(added) + 1}"
        added[text] = name
        self._texts.setdefault(name, text)
        self._contexts.append(Context(source_id=name, text=text, uri=uri, title=title, page=page))
        return name

    def text_of(self, name: str) -> str | None:
        """Return the text of a passage by its name, or None where it came without one."""
        return self._texts.get(name)

    def unknown(self, kind: Any, *, claim: str | None = None, at: Span | None = None) -> None:
        """Keep a citation of a type that is not known here: it names a source without text, so nothing is decided.

        ``claim`` and ``at`` are the piece of the answer that it stands with: without them it would seem to be for all.
        """
        name = self.passage(f"unknown:{kind_word(kind)}")
        self.cite(claim=claim or None, source_id=name, at=at, flags=("unknown_citation_type",))

    # -- the citations --------------------------------------------------------------------------------------------

    def cite(
        self,
        *,
        claim: str | None = None,
        quote: str | None = None,
        source_id: str | None = None,
        at: Span | None = None,
        source: Span | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        """Add a citation; ``at`` is its claim's range in the answer, ``source`` its quote's range in the source."""
        self._citations.append(
            Citation(
                claim=claim,
                quote=quote,
                source_id=source_id,
                answer_start=at.start if at else None,
                answer_end=at.end if at else None,
                source_start=source.start if source else None,
                source_end=source.end if source else None,
                flags=tuple(dict.fromkeys(flags)),
            )
        )

    def output(self, payload: Any, *, usage: Usage | None = None, **fields: Any) -> Output:
        """Return the output that was read; ``payload`` stays with it as it came."""
        return Output(
            answer=self.answer,
            contexts=tuple(self._contexts),
            citations=tuple(self._citations),
            usage=usage or Usage(),
            raw=payload,
            **fields,
        )


def in_piece(
    piece: str,
    at: Span,
    start: Any,
    end: Any,
    quoted: str | None = None,
    *,
    unit: Unit = "code_points",
    inclusive: bool | None = False,
) -> Placed:
    """Return where offsets into one piece of the answer point in the answer; no range where none are given."""
    if start is None or end is None:
        return Placed(None, ())
    first, last = whole(start), whole(end)
    if first is None or last is None:
        return _NO_PLACE
    placed = place(piece, first, last, quoted, unit=unit, inclusive=inclusive)
    span = placed.span
    return Placed(Span(at.start + span.start, at.start + span.end) if span else None, placed.flags)


def in_source(source: str | None, start: Any, end: Any, quoted: str | None, *, unit: Unit = "code_points") -> Placed:
    """Return where offsets into a source point. Without its text only their length can be held against the quote."""
    if start is None or end is None:
        return Placed(None, ())
    first, last = whole(start), whole(end)
    if first is None or last is None:
        return _NO_PLACE
    if source is not None:
        return place(source, first, last, quoted, unit=unit)
    if first > last or (quoted is not None and not length_agrees(first, last, quoted, unit)):
        return _NO_PLACE
    return Placed(Span(first, last) if unit == "code_points" else None, ())


def sentence_before(piece: str, offset: int, shift: int = 0) -> Span | None:
    """Return the sentence that ends at, or holds, the place where a citation is inserted, moved by ``shift``.

    >>> sentence_before("One. Two.", 4), sentence_before("One. Two.", 9)
    (Span(start=0, end=4), Span(start=5, end=9))
    """
    spans = sentences(piece)
    index = bisect_left(spans, offset, key=lambda span: span.start) - 1
    return Span(spans[index].start + shift, spans[index].end + shift) if index >= 0 else None


def given_contexts(value: Any) -> tuple[Context, ...]:
    """Return the passages that a caller captured beside a payload: texts, mappings, or ``{source_id: text}``."""
    if isinstance(value, Mapping):
        return tuple(Context(source_id=str(key), text=plain(text)) for key, text in value.items())
    if value is not None and not isinstance(value, Sequence):
        raise PayloadError("the contexts beside a payload are a list, or {source_id: text}")
    return tuple(Context.model_validate(plain(item)) for item in value or ())
