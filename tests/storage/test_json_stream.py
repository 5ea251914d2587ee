import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.storage import json_stream
from spancheck_pipeline.storage.json_stream import Piece, pieces


def read(text: str, *streamed: str) -> list[Piece]:
    return list(pieces(io.StringIO(text), streamed=streamed))


def test_fields_come_one_by_one_and_streamed_ones_item_by_item():
    assert read('{"a": 1, "records": [true, {"b": 2}], "texts": {"x": "y"}, "n": [3]}', "records", "texts") == [
        ("a", None, 1), ("records", 0, True), ("records", 1, {"b": 2}), ("texts", "x", "y"), ("n", None, [3]),
    ]  # fmt: skip


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=4), st.integers(1, 7), st.booleans())
def test_any_object_is_read_the_same_whatever_the_size_of_the_chunks(value, chunk, spaced):
    text = json.dumps(value, indent=1 if spaced else None)
    found: dict = {}

    class Slow(io.StringIO):
        def read(self, _size=-1):
            return super().read(chunk)

    for piece in pieces(Slow(text), streamed=list(value)[:2]):
        if piece.item is None:
            found[piece.field] = piece.value
        elif isinstance(piece.item, int):
            found.setdefault(piece.field, []).append(piece.value)
        else:
            found.setdefault(piece.field, {})[piece.item] = piece.value

    empty = {name: item for name, item in value.items() if item in ([], {}) and name in list(value)[:2]}
    assert empty | found == value


@pytest.mark.parametrize("text", [
    "", "[]", "{", '{"a"', '{"a": }', '{"a": 1', '{"a": 1,}', '{"a": 1} x', '{"a": 1 "b": 2}', "{1: 2}", "nonsense",
    '{"r": [1, 2', '{"r": [1,]}', '{"r": {"a": 1', '{"a": NaN}', '{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 2}}',
    '{"r": {"a": 1, "a": 2}}', '{"r": [Infinity]}', '{"a": "cut off',
])  # fmt: skip
def test_what_is_no_whole_object_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - JSONDecodeError is one
        read(text, "r")


def test_a_value_that_never_ends_is_not_read_to_the_end_of_the_file(monkeypatch):
    monkeypatch.setattr(json_stream, "_CHUNK", 100)
    monkeypatch.setattr(json_stream, "_LONGEST", 1000)
    handle = io.StringIO('{"a": "' + "x" * 100_000)

    with pytest.raises(ValueError):  # noqa: PT011 - as above
        list(pieces(handle, streamed=()))
    assert handle.tell() < 10_000
