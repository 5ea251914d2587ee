"""Tables on a terminal: no id, date or number is ever cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.cli.terminal import print_table

COLUMNS = ("case", "signed", "why")


def printed(rows, capsys, **options) -> str:
    print_table(COLUMNS, rows, left=COLUMNS, **options)
    return capsys.readouterr().out


def test_rows_that_fit_are_a_table(capsys):
    assert printed([("a", "2026-01-05", "yes"), ("long-id", "2026-01-06", "no")], capsys) == (
        "case     signed      why\na        2026-01-05  yes\nlong-id  2026-01-06  no \n"
    )


def test_rows_that_do_not_fit_stand_as_lines_of_their_own_and_whole(capsys):
    case_id, run_id = "c" * 70, "r" * 60

    out = printed([(case_id, "2026-01-05", run_id)], capsys)

    assert out.splitlines()[0] == case_id
    assert f"signed 2026-01-05 · why {run_id}" in out


def test_running_text_goes_on_in_further_lines_and_leaves_the_table_a_table(capsys):
    out = printed([("a", "2026-01-05", "word " * 60)], capsys, wrapped={"why"})

    assert out.startswith("case  signed      why")
    assert out.count("word") == 60
    assert max(map(len, out.splitlines())) <= 120


def test_hostile_cells_make_no_line_of_their_own_and_no_markup(capsys):
    out = printed([("a\nb", "[bold]x[/bold]", "")], capsys)

    assert len(out.splitlines()) == 2
    assert "[bold]x[/bold]" in out


@given(st.lists(st.text(st.characters(categories=["Ll", "Nd"]), min_size=1, max_size=110), min_size=3, max_size=3))
def test_every_word_of_every_row_is_printed_whole(cells):
    with pytest.MonkeyPatch.context() as patch:
        import io
        import sys

        out = io.StringIO()
        patch.setattr(sys, "stdout", out)
        print_table(COLUMNS, [cells])

    words = out.getvalue().split()
    assert all(cell in words for cell in cells)
