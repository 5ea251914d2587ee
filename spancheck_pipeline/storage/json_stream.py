"""A large JSON object read piece by piece: its fields one at a time, and the items of its large lists and objects.

Keys that stand twice in one object, NaN and infinities are refused: two readers would read two documents.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from json import JSONDecodeError
from typing import IO, Any, Final, NamedTuple

_CHUNK: Final = 1 << 20
_LONGEST: Final = 512 << 20
"""Characters that one value may have; a file that is cut off is not read to its end for one."""
_BLANK: Final = " \t\n\r"
_AFTER: Final = frozenset(",:]} \t\n\r")
"""What may stand right after a value."""


class Piece(NamedTuple):
    """One field of the object, or one item of a field that is streamed."""

    field: str
    item: int | str | None
    """Place in a list, key in an object; None for a whole field."""
    value: Any


def parse(text: str) -> Any:
    """Return the value of a JSON text that holds nothing else.

    Raises:
        JSONDecodeError, ValueError: for anything else, and for keys that stand twice.
    """
    return _DECODER.decode(text)


def pieces(handle: IO[str], *, streamed: Collection[str]) -> Iterator[Piece]:
    """Yield the fields of the JSON object in a file, in order; of the ``streamed`` ones, their items.

    Raises:
        JSONDecodeError, ValueError: where the file stops being such an object; what was yielded before is good.
    """
    source = _Source(handle)
    source.expect("{")
    seen: set[str] = set()
    if source.takes("}"):
        source.end()
        return
    while True:
        name = source.key(seen)
        if name in streamed and source.peek() in "[{":
            yield from _items(source, name)
        else:
            yield Piece(name, None, source.value())
        if not source.takes(","):
            break
    source.expect("}")
    source.end()


def _items(source: _Source, field: str) -> Iterator[Piece]:
    is_list = source.peek() == "["
    source.expect("[" if is_list else "{")
    close = "]" if is_list else "}"
    if source.takes(close):
        return
    keys: set[str] = set()
    at = 0
    while True:
        item: int | str = at if is_list else source.key(keys)
        yield Piece(field, item, source.value())
        at += 1
        if not source.takes(","):
            break
    source.expect(close)


def _object(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)


class _Source:
    """The text of a file, a bounded part of it at a time."""

    def __init__(self, handle: IO[str]) -> None:
        self._handle = handle
        self._text = ""
        self._at = 0
        self._is_all = False

    def peek(self) -> str:
        """Return the next character that is no blank; an empty text at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def takes(self, character: str) -> bool:
        """Go over a character if it is the next one."""
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def expect(self, character: str) -> None:
        """Go over a character that must be the next one."""
        if not self.takes(character):
            raise JSONDecodeError(f"{character} expected", "", 0)

    def end(self) -> None:
        """See that nothing follows."""
        if self.peek():
            raise JSONDecodeError("something follows the object", "", 0)

    def key(self, seen: set[str]) -> str:
        """Read a key and its colon; it must not have been seen."""
        name = self.value()
        if not isinstance(name, str):
            raise JSONDecodeError("a key expected", "", 0)
        if name in seen:
            raise ValueError("a key stands twice in one object")
        seen.add(name)
        self.expect(":")
        return name

    def value(self) -> Any:
        """Read the next value whole."""
        self.peek()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except JSONDecodeError:
                if len(self._text) - self._at > _LONGEST or not self._more():
                    raise
                continue
            if self._text[end : end + 1] not in _AFTER and self._more():
                continue  # a number may go on
            self._at = end
            return found

    def _more(self) -> bool:
        if self._is_all:
            return False
        # The longer what is not whole yet, the more is read at once: a long value is tried a few times only.
        kept = self._text[self._at :]
        chunk = self._handle.read(max(_CHUNK, len(kept)))
        self._is_all = not chunk
        self._text = kept + chunk
        self._at = 0
        return bool(chunk)
