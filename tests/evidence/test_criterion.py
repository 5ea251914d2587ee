"""Targets of criteria: what fits a type, and how what does not is refused, with file and line."""

from __future__ import annotations

import json

import pytest

from spancheck_pipeline.errors import ConfigError
from spancheck_pipeline.evidence.case import Criterion
from spancheck_pipeline.storage.case_files import read_cases

GOOD = [
    ("presence", {"date": "2019-03-14"}),
    ("presence", {"text": "monthly"}),
    ("absence", {"text": "weekly"}),
    ("structure", {"table_rows": 0}),
    ("structure", {"table_rows": 3, "table": 2}),
    ("structure", {"circled": "Yes"}),
    ("structure", {"path": ["lines", 0, "qty"], "type": "integer"}),
    ("identity", {"text": "AB-7"}),
    ("identity", {"field": "n", "value": None}),
    ("identity", {"field": ["a", 0], "value": {"b": [1]}}),
    ("abstention", {"forbidden_terms": []}),
    ("abstention", {"region": "Dose", "forbidden_terms": ["5 mg"], "markers": ["smudge"]}),
    ("faithful", {"anything": "goes"}),
    ("faithful", {}),
]
BAD = [
    ("presence", {}, "presence wants one of {date} or {text}"),
    ("presence", {"txt": "a"}, "presence wants one of {date} or {text}; 'txt' is not known here, did you mean 'text'?"),
    ("presence", {"date": "2019-03-14", "text": "a"}, "presence wants one of {date} or {text}"),
    ("presence", {"date": "2019-02-29"}, "'date' is no day of the calendar; write it as YYYY-MM-DD"),
    ("presence", {"text": " "}, "'text' must not be empty"),
    ("absence", {"date": "2019-03-14"}, "absence wants {text}"),
    ("structure", {"table_rows": "3"}, "'table_rows' must be a valid integer"),
    ("structure", {"table_rows": True}, "'table_rows' must be a valid integer"),
    ("structure", {"table_rows": -1}, "'table_rows' must be greater than or equal to 0"),
    ("structure", {"path": ["a"]}, "'type' is missing"),
    ("structure", {"path": ["a"], "type": "text"}, "'type' must be 'string', 'number'"),
    ("structure", {"path": [], "type": "null"}, "'path' List should have at least 1 item"),
    ("structure", {"path": [0.5], "type": "null"}, "'path' must be a valid string"),
    ("identity", {"field": "a"}, "'value' is missing"),
    ("identity", {"field": [], "value": 1}, "'field' must not be empty"),
    ("abstention", {}, "abstention wants {forbidden_terms}"),
    ("abstention", {"forbidden_terms": [" "]}, "'forbidden_terms' must not be empty"),
    ("abstention", {"forbidden_terms": [], "regin": "x"}, "there is no key 'regin' here; did you mean 'region'?"),
]


@pytest.mark.parametrize(("kind", "target"), GOOD)
def test_a_target_that_fits_its_type_is_taken(kind, target):
    assert Criterion(id="k", type=kind, target=target).target == target


@pytest.mark.parametrize(("kind", "target", "message"), BAD)
def test_a_target_that_does_not_fit_is_refused_with_file_and_line(tmp_path, kind, target, message):
    path = tmp_path / "cases.jsonl"
    rows = [
        {"id": "a", "input": "x"},
        {"id": "b", "input": "x", "criteria": [{"id": "k", "type": kind, "target": target}]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    with pytest.raises(ConfigError) as raised:
        read_cases(path)

    assert str(raised.value).startswith(f"{path}:2: criteria[0].target: {message}")


def test_an_unknown_type_is_refused_with_the_nearest_one(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "input": "x", "criteria": [{"id": "k", "type": "abstension"}]}\n')

    with pytest.raises(ConfigError, match=r":1: .*unknown criterion type 'abstension'; did you mean 'abstention'\?"):
        read_cases(path)


def test_no_value_of_a_target_stands_in_a_message():
    for kind, target, _ in BAD:
        with pytest.raises(ValueError, match="target") as raised:
            Criterion(id="k", type=kind, target={**target, "secret-key": "SECRET-VALUE"})
        assert "SECRET-VALUE" not in raised.value.errors()[0]["msg"]
