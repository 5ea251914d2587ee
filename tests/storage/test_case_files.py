"""Case files: what is read, and how a bad one is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.errors import ConfigError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.storage.case_files import read_cases

FULL_ROW = {
    "id": "q1",
    "input": {"question": "What is the rent?", "unit": 4},
    "history": [{"role": "user", "text": "Unit 4, please."}],
    "category": "rent",
    "expected": "EUR 1,200",
    "answerable": True,
    "expected_sources": ["lease-4"],
    "criteria": [{"id": "says-rent", "type": "presence", "target": {"text": "1,200"}}],
    "cluster": "lease-4",
    "contexts": [{"source_id": "lease-4", "text": "The rent is EUR 1,200."}],
    "meta": {"author": "ops"},
}


def write(folder: Path, content: str | bytes, name: str = "cases.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def complaints(path: Path, columns: dict[str, str] | None = None) -> list[str]:
    """Return the lines of the one error, without the folder."""
    with pytest.raises(ConfigError) as caught:
        read_cases(path, columns)
    return str(caught.value).replace(str(path), path.name).splitlines()


def test_a_full_row_becomes_a_case(tmp_path: Path) -> None:
    (case,) = read_cases(write(tmp_path, json.dumps(FULL_ROW) + "\n"))
    assert case == Case.model_validate(FULL_ROW)
    assert case.input == {"question": "What is the rent?", "unit": 4}
    assert case.history[0].text == "Unit 4, please."
    assert case.contexts[0].source_id == "lease-4"


def test_a_file_of_the_earlier_library_reads_as_it_is(tmp_path: Path) -> None:
    rows = [
        {"id": "q1", "input": "Who?", "category": "people", "expected": "Ada", "meta": {"answerable": True}},
        {"case_id": "q2", "input": "Where?", "meta": {"answerable": False, "note": "x"}},
        {"id": "q3", "input": {"q": "When?"}, "expected": None, "category": None, "meta": None},
    ]
    cases = read_cases(write(tmp_path, "\n".join(map(json.dumps, rows))))
    assert [case.id for case in cases] == ["q1", "q2", "q3"]
    assert [case.answerable for case in cases] == [True, False, None]
    assert cases[2].category == "default"


def test_bom_crlf_blank_lines_and_a_missing_last_line_end_are_accepted(tmp_path: Path) -> None:
    raw = b'\xef\xbb\xbf{"id": "a", "input": "x"}\r\n\r\n{"id": "b", "input": "y\\r"}'
    cases = read_cases(write(tmp_path, raw))
    assert [(case.id, case.input) for case in cases] == [("a", "x"), ("b", "y\r")]


def test_every_bad_line_is_reported_at_once_with_its_number_and_the_fix(tmp_path: Path) -> None:
    lines = [
        '{"id": "a", "input": "x"}',
        '{"id": "a", "input": "y"}',
        '{"id": "b", "input": "x", "answerable": "yes", "expcted": 3}',
        '{"id": "c", "input": "x", "criteria": [{"id": "k", "type": "presense"}]}',
        '{"id": "d", "input": NaN}',
        '{"id": "e"',
        "[1]",
        '{"id": "f", "input": "\\ud800"}',
        '{"id": "g"}',
        '{"id": "h", "input": "q", "meta": 5, "history": "x", "expected_sources": "s", "category": 1}',
        '{"id": "i", "id": "j", "input": "q"}',
        '{"id": "k\\nl", "input": "q"}',
        '{"id": "m", "input": 1e999}',
    ]
    assert complaints(write(tmp_path, "\n".join(lines))) == [
        "cases.jsonl:2: the id 'a' stands twice (first in line 1); give every case its own id",
        (
            "cases.jsonl:3: unknown column 'expcted'; did you mean 'expected'?; to leave other columns out, give "
            "`cases` a `columns` map"
        ),
        "cases.jsonl:3: 'answerable' must be true, false or empty",
        "cases.jsonl:4: criteria[0].type: unknown criterion type 'presense'; did you mean 'presence'?",
        "cases.jsonl:5: this line holds NaN, which is no JSON; use null",
        "cases.jsonl:6: this line is not JSON (Expecting ',' delimiter at character 11)",
        'cases.jsonl:7: this line is no JSON object; write {"id": "q1", "input": "…"}',
        "cases.jsonl:8: this line holds half of a surrogate pair, which UTF-8 cannot hold",
        "cases.jsonl:9: 'input' is missing or empty",
        "cases.jsonl:10: category: must be a text; put it in quotes if it is one",
        "cases.jsonl:10: meta: must be a mapping of keys to values",
        "cases.jsonl:10: history: must be a list",
        "cases.jsonl:10: expected_sources: must be a list",
        "cases.jsonl:11: this line has the key 'id' twice in one object",
        "cases.jsonl:12: id: an id must not hold control characters, line breaks or lone surrogates",
        "cases.jsonl:13: this line holds a number that is too large",
    ]


def test_a_message_holds_no_text_of_the_file(tmp_path: Path) -> None:
    lines = [
        '{"id": "a", "input": "SECRET-1", "meta": "SECRET-2"}',
        '{"id": "b", "input": SECRET-3}',
        '{"id": "c", "input": "q", "history": [{"role": "SECRET-4"}], "contexts": [{"page": "SECRET-5"}]}',
        '"SECRET-6"',
    ]
    assert "SECRET" not in "\n".join(complaints(write(tmp_path, "\n".join(lines))))


def test_a_message_fits_on_one_screen_however_bad_the_file_is(tmp_path: Path) -> None:
    shown = complaints(write(tmp_path, "[]\n" * 5000))
    assert len(shown) == 21
    assert shown[-1] == "… and 981 more problems in cases.jsonl"


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"", "cases.jsonl: the file holds no case; write at least one"),
        (b"\n \n\r\n", "cases.jsonl: the file holds no case; write at least one"),
        (b'{"id": "a", "input": "x"}\n{"id": "b", "input": "caf\xe9"}\n', "cases.jsonl:2: this line is not UTF-8"),
        ('{"id": "a", "input": "x"}'.encode("utf-16"), "cases.jsonl:1: this is UTF-16, not UTF-8; save the file"),
        (b'{"id": "a", "input": "x"}\n\0\0\n', "cases.jsonl:2: a NUL byte stands in this line; this is a binary"),
        (b"[" * 200_000, "cases.jsonl:1: this line is nested too deeply"),
        (b'{"id": "a", "input": ' + b"9" * 5000 + b"}", "cases.jsonl:1: this line holds a number with too many digits"),
        (b'{"id": "  ", "input": "x"}', "cases.jsonl:1: id: an id must not be empty"),
        (b'{"id": null, "input": "x"}', "cases.jsonl:1: 'id' is missing or empty"),
    ],
)
def test_a_damaged_jsonl_file_is_refused(tmp_path: Path, raw: bytes, complaint: str) -> None:
    (shown,) = complaints(write(tmp_path, raw))
    assert shown.startswith(complaint)


def test_a_file_that_is_not_there_or_no_cases_file_is_refused(tmp_path: Path) -> None:
    assert complaints(tmp_path / "no.jsonl") == [
        "no.jsonl: there is no such file; write it, or correct `cases` in suite.yaml"
    ]
    assert complaints(write(tmp_path, "x", "cases.xlsx")) == [
        "cases.xlsx: a cases file is named .jsonl, .ndjson, .csv, .parquet; rename or convert it"
    ]
    (tmp_path / "folder.csv").mkdir()
    assert complaints(tmp_path / "folder.csv") == ["folder.csv: this is a folder, not a cases file"]


def test_a_column_map_renames_and_leaves_other_columns_out(tmp_path: Path) -> None:
    path = write(tmp_path, '{"id": "ignored", "qid": 7, "question": "x", "gold": "y", "category": "c"}')
    (case,) = read_cases(path, {"id": "qid", "input": "question", "expected": "gold"})
    assert case == Case("7", "x", "c", "y")


def test_a_column_map_to_what_is_not_there_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, '{"qid": "a", "question": "x"}')
    assert complaints(path, {"id": "qid", "input": "question", "expected": "qestion"}) == [
        "cases.jsonl: no row has the column 'qestion' that 'expected' is mapped to; did you mean 'question'?"
    ]
    assert complaints(path, {"ids": "qid"}) == [
        "cases.jsonl: a case has no field 'ids' to map a column to; did you mean 'id'?"
    ]


def test_a_csv_file_holds_lists_and_objects_as_json_in_cells(tmp_path: Path) -> None:
    text = (
        "id,input,category,expected,answerable,expected_sources,history,meta\r\n"
        'q1,"What is ""it"",\r\nreally?",,yes,TRUE,"[""lease-4""]","[{""role"": ""user"", ""text"": ""Hi""}]",\r\n'
        '\r\nq2,{"x": 1},rent,,false,,,"{""answerable"": true}"\r\n'
        "q3,x,,,,,,\r\n"
    )
    first, second, third = read_cases(write(tmp_path, text.replace('{"x": 1}', '"{""x"": 1}"'), "cases.csv"))
    assert first.input == 'What is "it",\nreally?'
    assert (first.answerable, first.expected_sources, first.history[0].text) == (True, ("lease-4",), "Hi")
    # A text column stays text, whatever it looks like; a column of its own says more than `meta`.
    assert (second.input, second.answerable, second.meta) == ('{"x": 1}', False, {"answerable": True})
    assert (third.answerable, third.expected, third.category) == (None, None, "default")


def test_every_bad_csv_row_is_reported_at_once_with_the_line_where_it_begins(tmp_path: Path) -> None:
    raw = b'id,input,answerable,meta\na,"two\nlines",maybe,\nb,x,,{oops}\nc,x\nd,caf\xe9,,\na,x,,\ne,x,,\ne,x,,\n,x,,\n'
    assert complaints(write(tmp_path, raw, "cases.csv")) == [
        "cases.csv:2: 'answerable' must be true, false or empty",
        "cases.csv:4: 'meta' is not JSON (Expecting property name enclosed in double quotes at character 2)",
        "cases.csv:5: 2 cells where the header has 4; quote a cell that holds a comma",
        "cases.csv:6: this line is not UTF-8 (byte 6 of it); save the file as UTF-8",
        "cases.csv:9: the id 'e' stands twice (first in line 8); give every case its own id",
        "cases.csv:10: 'id' is missing or empty",
    ]


def test_a_csv_header_that_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    (shown, *_) = complaints(write(tmp_path, "id;input\na;x\n", "cases.csv"))
    assert shown == "cases.csv:1: the header has one column; separate the columns by commas"
    (shown, *_) = complaints(write(tmp_path, "id,input,id\na,x,b\n", "cases.csv"))
    assert shown == "cases.csv:1: the column 'id' stands twice"
    (shown, *_) = complaints(write(tmp_path, 'id,input\na,"x\n', "cases.csv"))
    assert shown == "cases.csv:2: this is not CSV (unexpected end of data); check the quotes from here on"
    assert complaints(write(tmp_path, "id,input\n", "cases.csv")) == [
        "cases.csv: the file holds no case; write at least one"
    ]


def test_a_parquet_file_reads_nested_columns_and_numbers_as_ids(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "input": ["x", "y"],
            "answerable": [True, None],
            "expected_sources": [["lease-1"], None],
            "contexts": [[{"source_id": "lease-1", "text": "t"}], []],
            "meta": ['{"k": [1]}', None],
            "__index_level_0__": [0, 1],
        }
    )
    pq.write_table(table, tmp_path / "cases.parquet")
    first, second = read_cases(tmp_path / "cases.parquet")
    assert (first.id, first.answerable, first.expected_sources, first.meta) == ("1", True, ("lease-1",), {"k": [1]})
    assert first.contexts[0].text == "t"
    assert (second.id, second.contexts) == ("2", ())


def test_a_bad_parquet_file_is_refused_by_row(tmp_path: Path) -> None:
    path = tmp_path / "cases.parquet"
    table = {"id": ["a", "a", "b"], "input": ["x", "y", "z"], "expected": [0.5, 0.5, math.nan], "zzz": [1, 1, 1]}
    pq.write_table(pa.table(table), path)
    assert complaints(path) == [
        (
            "cases.parquet: row 1: unknown column 'zzz'; valid here: answerable, category, cluster, contexts, "
            "criteria, expected, expected_sources, history, id, input, meta; to leave other columns out, give `cases` "
            "a `columns` map"
        ),
        "cases.parquet: row 2: the id 'a' stands twice (first in row 1); give every case its own id",
        "cases.parquet: row 3: holds a number that is NaN or infinite; use null",
    ]
    path.write_bytes(path.read_bytes()[:100])
    assert complaints(path) == ["cases.parquet: this cannot be read as Parquet at all; write the file anew"]


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(
    questions=st.lists(_VALUES.filter(lambda value: value is not None), min_size=1, max_size=5),
    ascii_only=st.booleans(),
)
def test_what_json_can_hold_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, questions: list[object], ascii_only: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.jsonl"
    rows = [{"id": f"q{number}", "input": question} for number, question in enumerate(questions)]
    path.write_text("\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows), encoding="utf-8", newline="")
    assert [case.input for case in read_cases(path)] == questions


@given(raw=st.binary(max_size=200), suffix=st.sampled_from([".jsonl", ".csv", ".parquet"]))
def test_any_bytes_are_read_or_refused_with_a_message(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, suffix: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz{suffix}"
    path.write_bytes(raw)
    try:
        cases = read_cases(path)
    except ConfigError:
        return
    assert cases
