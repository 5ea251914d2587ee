import csv
import datetime as dt
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.errors import ConfigError
from spancheck_pipeline.storage.sheets import plain_cell, read_date, read_sheet, safe_cell, write_sheet

COLUMNS = ("row", "label", "text")
ROWS = [
    {"row": "f-1", "label": None, "text": "plain"},
    {"row": "f-2", "label": None, "text": '=HYPERLINK("https://evil.example","x")'},
    {"row": "f-3", "label": None, "text": 'two\nlines; with, everything\t"quoted"'},
]  # fmt: skip


def read(path, *needed):
    return [dict(row.cells) for row in read_sheet(path, needed)]


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl"])
def test_a_sheet_comes_back_as_it_was_written(tmp_path, name):
    assert write_sheet(tmp_path / name, COLUMNS, ROWS) == 3

    assert read(tmp_path / name, "row") == [{**row, "label": ""} for row in ROWS]


def test_a_csv_begins_with_its_mark_and_ends_its_lines_as_spreadsheets_do(tmp_path):
    write_sheet(tmp_path / "s.csv", COLUMNS, ROWS[:1])

    assert (tmp_path / "s.csv").read_bytes() == b'\xef\xbb\xbf"row","label","text"\r\n"f-1","","plain"\r\n'


@pytest.mark.parametrize("text", [
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", " =1", "0012", "1e5", "2026-03-01", "12:30", "-",
    "1/2",
])  # fmt: skip
def test_what_a_spreadsheet_would_calculate_or_change_gets_an_apostrophe(text):
    cell = safe_cell(text)

    assert cell.startswith("'")
    assert plain_cell(cell) == text.replace("\r", "\r")


@pytest.mark.parametrize("text", ["plain", "it's", "'tis", "q01", "a=b", "", "naïve – text", "12 apples"])
def test_other_texts_stand_as_they_are(text):
    assert safe_cell(text) == text
    assert plain_cell(text) == text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
def test_no_cell_begins_a_formula_and_every_cell_can_be_read_back(text):
    cell = safe_cell(text)

    assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
    if not (text.startswith("'") and safe_cell(text[1:]) == text):
        assert plain_cell(cell) == text


def saved(path, rows, *, encoding="utf-8", columns=None, separator=",", newline="\r\n", before="", blank=False):
    """Save rows as a spreadsheet does that knows better."""
    columns = columns or list(rows[0])
    handle = io.StringIO()
    handle.write(before)
    sheet = csv.writer(handle, delimiter=separator, lineterminator=newline)
    sheet.writerow(columns)
    for row in rows:
        sheet.writerow([row.get(name.strip().lower(), "more") for name in columns])
        if blank:
            sheet.writerow([""] * len(columns))
    path.write_bytes(handle.getvalue().encode(encoding))
    return path


@pytest.mark.parametrize("how", [
    {"separator": ";"},
    {"separator": "\t", "encoding": "utf-16"},
    {"encoding": "cp1252", "separator": ";"},
    {"encoding": "utf-8-sig", "newline": "\n"},
    {"columns": ["added", "Text", " LABEL ", "more", "ROW"]},
    {"blank": True},
    {"separator": ";", "before": "sep=;\r\n"},
])  # fmt: skip
def test_a_sheet_survives_being_saved_by_a_spreadsheet(tmp_path, how):
    write_sheet(tmp_path / "s.csv", COLUMNS, ROWS)
    text = (tmp_path / "s.csv").read_text("utf-8-sig")
    rows = [{**row, "label": "schön"} for row in csv.DictReader(io.StringIO(text))]

    back = read(saved(tmp_path / "back.csv", rows, **how), "row", "label")

    assert [(row["row"], row["label"]) for row in back] == [("f-1", "schön"), ("f-2", "schön"), ("f-3", "schön")]
    assert back[1]["text"] == ROWS[1]["text"]


def test_a_line_is_named_where_it_stands_in_the_file(tmp_path):
    write_sheet(tmp_path / "s.csv", COLUMNS, [ROWS[2], ROWS[0]])

    assert [row.line for row in read_sheet(tmp_path / "s.csv", ["row"])] == [3, 4], "the first has two lines"


@pytest.mark.parametrize(("content", "said"), [
    (b"a,b\r\n1,2\r\n", "has no column 'row'"),
    (b"row,label,LABEL\r\nf-1,,\r\n", "two columns of one name, numbers 2 and 3"),
    (b"a,b\r\n", "has no column 'row'"),
    (b"", "is empty"),
    (b"\xef\xbb\xbf", "is empty"),
    (b" \r\n", "is empty"),
    (b"sep=;\r\n", "has no column 'row'"),
    (b"PK\x03\x04rest", "a spreadsheet's own file .* save it as CSV"),
    (b"\xd0\xcf\x11\xe0rest", "a spreadsheet's own file"),
    ("row,label\r\nf-1,x\r\n".encode("utf-16-le"), "binary file"),
    (b'row,label\r\nf-1,x\r\nf-2,"half a cell\r\nf-3,y\r\n', "s.csv:3: not a CSV"),
    (b'{"row": "f-1"}\n[1]\n', "not a JSON object"),
    (b"nonsense\n", "not a JSON object"),
])  # fmt: skip
def test_what_is_no_such_sheet_is_refused(tmp_path, content, said):
    path = tmp_path / ("s.jsonl" if b"{" in content or b"nonsense" in content else "s.csv")
    path.write_bytes(content)

    with pytest.raises(ConfigError, match=said):
        read(path, "row")


def test_a_sheet_without_its_header_is_refused_without_repeating_its_cells(tmp_path):
    (tmp_path / "s.csv").write_text("f-1,passes,The tenant is J. Doe\n")

    with pytest.raises(ConfigError, match="has no column 'row'") as caught:
        read(tmp_path / "s.csv", "row")
    assert "tenant" not in str(caught.value)
    assert "doe" not in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "nowhere.csv", "row")


def test_a_long_text_is_shown_in_part(tmp_path):
    assert len(safe_cell("x" * 50_000)) < 32_767


@pytest.mark.parametrize(("text", "date"), [
    ("2026-12-31", (2026, 12, 31)), ("2026/1/5", (2026, 1, 5)), ("31.12.2026", (2026, 12, 31)),
    ("5.1.2026", (2026, 1, 5)), ("12/31/2026", (2026, 12, 31)), ("31/12/2026", (2026, 12, 31)),
    ("2026-12-31 00:00:00", (2026, 12, 31)),
])  # fmt: skip
def test_a_date_is_read_as_spreadsheets_rewrite_it(text, date):
    assert read_date(text) == dt.date(*date)


@pytest.mark.parametrize("text", ["03/04/2026", "soon", "2026-13-01", "31.02.2026", "46387", ""])
def test_a_date_with_two_readings_or_none_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        read_date(text)
