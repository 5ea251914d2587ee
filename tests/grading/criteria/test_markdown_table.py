"""Markdown tables: which lines are body rows."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline.grading.criteria.markdown_table import has_rows, tables

HEAD = "| a | b |\n|---|---|\n"


def rows(text: str) -> list[int]:
    return [table.n_rows for table in tables(text)]


def test_header_and_separator_are_not_counted():
    assert has_rows(HEAD + "| 1 | 2 |\n| 3 | 4 |", 2).code == "held"
    assert has_rows(HEAD + "| 1 | 2 |\n| 3 | 4 |", 4).code == "other_rows"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD, [0]),
        ("a | b\n:-- | --:\n1 | 2", [1]),  # no bars at the sides
        (HEAD + "| 1 | 2 |\n\nThe end | of it", [1]),  # a blank line ends it
        (HEAD + "| 1 | 2 |\n# Next", [1]),  # another block ends it
        (HEAD + "| 1 | 2 |\nand more", [2]),  # a line without bars is a row, as GitHub has it
        (HEAD + "| merged over both ||\n| ^^ | 2 |\n| only one |\n| 1 | 2 | 3 |", [4]),  # a row is a line
        (HEAD + "| | |\n", [1]),  # an empty row is one
        (HEAD + "| 1 | 2 |\n|---|---|\n| sum | 2 |", [2]),  # a second separator divides
        ("| a \\| b | c |\n|---|---|\n| 1 | 2 |", [1]),  # an escaped bar stands in its cell
        ("| a |\n|---|---|\n| 1 |", []),  # as many dashes as headers, or no table
        ("a\n---\nb", []),  # a heading
        ("| a | b |\n| 1 | 2 |", []),  # no separator
        ("- item\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n- next", [1]),  # in a list
        ("1. outer\n   - | a | b |\n     |---|---|\n     | 1 | 2 |\n     | 3 | 4 |\n", [2]),  # in a nested one
        ("> | a | b |\n> |---|---|\n> | 1 | 2 |", [1]),  # in a quotation
        (HEAD + "| 1 | 2 |\n\n" + HEAD + "| 1 | 2 |\n| 3 | 4 |", [1, 2]),
        ((HEAD + "| 1 | 2 |").replace("\n", "\r\n"), [1]),
    ],
)
def test_rows_are_those_that_a_reader_of_markdown_sees(text, expected):
    assert rows(text) == expected


def test_code_is_no_table_but_a_fence_of_markdown_or_around_everything_is_seen_through():
    table = HEAD + "| 1 | 2 |"
    assert rows(f"See:\n```\n{table}\n```\n") == []
    assert rows(f"See:\n```python\n{table}\n```\n") == []
    assert rows(f"See:\n```markdown\n{table}\n```\n") == [1]
    assert rows(f"```\n{table}\n```\n") == [1]
    assert rows(f"~~~md\n{table}\n~~~") == [1]
    assert rows(f"````markdown\n```\n{table}\n```\n````") == []


def test_one_table_is_wanted_unless_the_target_says_which():
    text = HEAD + "| 1 | 2 |\n\n" + HEAD + "| 1 | 2 |\n| 3 | 4 |"

    assert has_rows(text, 1).code == "several_tables"
    assert has_rows(text, 2, which=2).code == "held"
    assert has_rows(text, 2, which=3).code == "no_table"
    assert has_rows("no table", 0).code == "no_table"


@settings(deadline=None)
@given(st.integers(0, 30), st.integers(1, 5))
def test_a_table_has_as_many_rows_as_were_written(n_rows, n_columns):
    line = "|" + " x |" * n_columns
    text = "\n".join(["Before", "", line, "|" + "---|" * n_columns, *[line] * n_rows, "", "After"])

    assert [(table.n_columns, table.n_rows) for table in tables(text)] == [(n_columns, n_rows)]
