"""Items of a file: a list is read an element at a time, and is what a reader of the whole would see."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.importers.documents import _parsed, _Window, items_of
from spancheck_pipeline.storage.case_rows import Report, RowError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


class Trickle(io.StringIO):
    """A text that comes three characters at a time, however many are asked for."""

    def read(self, size: int | None = -1) -> str:
        return super().read(min(3, size or 3))


def parsed(text: str) -> list[Any]:
    return list(_parsed(_Window(Trickle(text))))


def items(path: Path) -> tuple[list[Any], list[str]]:
    report = Report(file=str(path))
    found = [item.value for item in items_of(path, report, lambda value: value if isinstance(value, list) else None)]
    return found, [problem.what for problem in report.problems]


def test_the_elements_of_a_list_are_its_items(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(' \n[ {"a": 1},\r\n\t{"b": "],[{"} ]\n', encoding="utf-8-sig")
    assert items(path) == ([{"a": 1}, {"b": "],[{"}], [])


@given(
    st.lists(st.one_of(st.text(max_size=5), st.dictionaries(st.text(max_size=3), VALUES, max_size=3))), st.booleans()
)
def test_a_list_that_trickles_in_is_what_a_reader_of_the_whole_sees(values: list[Any], is_indented: bool) -> None:
    text = json.dumps(values, indent=1 if is_indented else None, ensure_ascii=False)
    assert parsed(text) == values


@given(st.lists(VALUES, min_size=1, max_size=3), st.integers(1, 10))
def test_a_list_that_was_cut_off_is_no_list(values: list[Any], n: int) -> None:
    text = json.dumps(values)
    with pytest.raises(RowError):
        parsed(text[: max(1, len(text) - n)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1} {"b": 2}]', "a comma or the list's end is missing"),
        ('[{"a": 1},]', "Expecting value"),
        ('[{"a": 1}] x', "something follows the list"),
        ('[{"a": NaN}]', "holds NaN"),
        ('[{"a": 1, "a": 2}]', "has the key 'a' twice"),
        ("[" * 20_000, "nested too deeply"),
    ],
)
def test_what_is_no_list_of_objects_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    [problem] = items(path)[1]
    assert said in problem
    assert "item" in problem


def test_a_text_that_is_not_utf_8_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'[{"a": "\xff"}]')
    assert items(path) == ([], ["is not UTF-8"])


def peak_of_reading(path: Path, n: int) -> int:
    path.write_text(json.dumps([{"id": i, "text": "passage " * 12_500} for i in range(n)]))
    tracemalloc.start()
    try:
        assert sum(1 for _ in items_of(path, Report(file="a"), lambda value: value)) == n
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_list(tmp_path: Path) -> None:
    assert peak_of_reading(tmp_path / "b.json", 160) < 1.5 * peak_of_reading(tmp_path / "a.json", 40)
