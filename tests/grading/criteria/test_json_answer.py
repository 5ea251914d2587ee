"""Answers that are JSON objects: paths, types and values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spancheck_pipeline.grading.criteria.json_answer import field_equals, path_has_type, read_object

ANSWER = '{"n": 1, "s": "1", "t": true, "f": 1.5, "w": 2.0, "z": null, "a": [{"b": "c"}], "o": {}}'


def test_a_path_leads_to_a_value_of_a_type():
    assert path_has_type(ANSWER, ["a", 0, "b"], "string").code == "held"


@pytest.mark.parametrize(
    ("field", "types"),
    [
        ("n", {"integer", "number"}), ("s", {"string"}), ("t", {"boolean"}), ("f", {"number"}),
        ("w", {"integer", "number"}),
        ("z", {"null"}), ("a", {"array"}), ("o", {"object"}),
    ],
)  # fmt: skip
def test_every_value_has_its_json_types_and_no_other(field, types):
    every = ["string", "number", "integer", "boolean", "null", "array", "object"]

    assert {kind for kind in every if path_has_type(ANSWER, [field], kind).code == "held"} == types


@pytest.mark.parametrize(
    ("field", "wanted", "code"),
    [
        ("n", 1, "held"), ("n", 1.0, "held"), ("n", "1", "other_type"), ("n", True, "other_type"), ("s", 1,
        "other_type"),
        ("t", 1, "other_type"), ("s", "1 ", "other_value"), ("z", None, "held"), ("z", False, "other_type"),
        ("a", [{"b": "c"}], "held"), ("a", [{"b": "C"}], "other_value"), ("x", 1, "no_field"),
    ],
)  # fmt: skip
def test_a_field_equals_a_value_when_type_and_value_are_the_same(field, wanted, code):
    assert field_equals(ANSWER, [field], wanted).code == code


@pytest.mark.parametrize("path", [["a", 1], ["a", -1], ["a", "0"], ["n", "x"], ["a", 0, "b", 0], [0]])
def test_a_path_that_leads_nowhere_is_no_field(path):
    assert path_has_type(ANSWER, path, "string").code == "no_field"


@pytest.mark.parametrize(
    "answer",
    [
        f"```json\n{ANSWER}\n```",
        f"Here it is:\n\n```\n{ANSWER}\n```\nAnything else?",
        f"~~~json\n{ANSWER}\n~~~",
        f"1. item\n   ```json\n   {ANSWER}\n   ```",
        f"\ufeff {ANSWER}\n",
        f"```text\nno\n```\n```json\n{ANSWER}\n```",
    ],
)
def test_the_object_may_stand_in_a_fence(answer):
    assert field_equals(answer, ["n"], 1).code == "held"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("n is 1", "The answer is no JSON."),
        (f"It is {ANSWER}", "The answer is no JSON."),
        ("[1]", "The answer is JSON of type array, not an object."),
        ('{"n": NaN}', "The answer is no JSON."),
        (f"```json\n{ANSWER}\n```\n```json\n{ANSWER}\n```", "The answer holds 2 JSON objects."),
        ("{" * 100_000, "The answer is no JSON."),
        ('{"a":' * 100_000, "The answer is no JSON."),
        ('{"n": ' + "9" * 5000 + "}", "The answer is no JSON."),
        ("", "The answer is no JSON."),
    ],
)
def test_an_answer_that_is_no_object_holds_no_field(answer, reason):
    held = field_equals(answer, ["n"], 1)

    assert (held.code, held.reason) == ("no_object", reason)


def test_a_field_that_stands_twice_says_nothing_and_others_are_read():
    answer = '{"n": 2, "n": 1, "m": 3}'

    assert field_equals(answer, ["n"], 1).code == "field_twice"
    assert path_has_type(answer, ["n"], "integer").code == "field_twice"
    assert field_equals(answer, ["m"], 3).code == "held"
    assert field_equals(f'{{"o": {answer}}}', ["o"], {"n": 1, "m": 3}).code == "other_value"


def test_the_order_of_fields_plays_no_part():
    assert field_equals('{"o": {"a": 1, "b": 2}}', ["o"], {"b": 2, "a": 1}).code == "held"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(JSON, JSON)
def test_a_value_equals_itself_and_what_is_written_the_same(one, other):
    answer = json.dumps({"v": one})

    assert field_equals(answer, ["v"], one).code == "held"
    is_same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (field_equals(answer, ["v"], other).code == "held") is is_same


def test_a_string_keeps_its_line_separators():
    assert read_object('```json\n{"a": "x\u2028y"}\n```') == {"a": "x\u2028y"}
