"""The envelope of an answer: what is taken off, and that offsets stay."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.grading.abstention import detect_abstention
from spancheck_pipeline.grading.envelope import ANSWER_KEYS, unwrapped


def test_the_answer_of_a_json_object_stands_where_it_stood() -> None:
    text = '{"answer": "The rent is 900 euros.", "sources": [1]}'
    plain = unwrapped(text)
    assert plain.strip() == "The rent is 900 euros."
    assert plain.index("The rent") == text.index("The rent")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I don't know.", "I don't know."),
        ('{"response": "No idea."}', "No idea."),
        ('```json\n{"final_answer": "30 days"}\n```', "30 days"),
        ("```\n30 days\n```", "30 days"),
        ("<think>Perhaps 40 days?</think>30 days", "30 days"),
        ("Perhaps 40 days?</think>\n30 days", "30 days"),
        ("<THINKING>a</THINKING><answer>30 days</answer> bye", "30 days"),
        ("<answer>40</answer> no, <answer>30 days</answer>", "30 days"),
        ('{"answer": null, "sources": []}', ""),
        ('{"answer": ""}', ""),
        ('{"answer": {"days": 30}}', '{"answer": {"days": 30}}'),
        ('{"answer": 30}', '{"answer": 30}'),
        ('{"days": 30}', '{"days": 30}'),
        ('{"answer": "x"', '{"answer": "x"'),
        ("<think>never closed", "<think>never closed"),
        ("a ```b``` c", "a ```b``` c"),
        ("x < 3 and y > 4", "x < 3 and y > 4"),
    ],
)
def test_what_is_left_of_an_answer(text: str, left: str) -> None:
    plain = unwrapped(text)
    assert plain.strip() == left
    assert len(plain) == len(text)


def test_a_text_that_names_its_key_inside_a_string_is_read_at_the_right_place() -> None:
    text = json.dumps({"note": 'say "answer": "no"', "answer": "yes"})
    assert unwrapped(text).strip() == "yes"


@given(st.text(max_size=40), st.sampled_from(ANSWER_KEYS), st.booleans())
def test_any_answer_comes_out_of_json_at_its_length(answer: str, key: str, ascii_only: bool) -> None:
    text = json.dumps({"id": 1, key: answer}, ensure_ascii=ascii_only)
    plain = unwrapped(text)
    assert len(plain) == len(text)
    if answer.isascii() and answer.isprintable() and not set(answer) & {'"', "\\"}:
        assert plain.strip() == answer.strip()


@given(st.text(alphabet='<>/thinkaswer{}":,`\n \\', max_size=80))
def test_any_text_keeps_its_length(text: str) -> None:
    assert len(unwrapped(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "abstained"),
    [
        ('{"answer": null}', True),
        ('{"answer": "The lease does not specify the rent.", "sources": []}', True),
        ('{"answer": "No, pets are not allowed."}', False),
        ('{"answer": false}', False),
        ("<think>I do not know it, or do I?</think>The fee is 50 dollars.", False),
        ("<think>The fee is 50 dollars in another lease.</think>The lease does not mention a fee.", True),
    ],
)
def test_what_an_answer_does_is_told_without_its_envelope(text: str, abstained: bool) -> None:
    assert detect_abstention(text).abstained is abstained


@pytest.mark.parametrize(
    "unit", ["<think>", "</think>", "<answer>", '{"answer":', '{"answer":"', "```", '"answer": "\\', "{", "``` \n   "]
)
def test_time_grows_in_proportion_to_the_text(unit: str) -> None:
    def seconds(length: int) -> float:
        text = '{"a":' + (unit * (length // len(unit) + 1))[:length]
        start = time.process_time()
        unwrapped(text)
        return time.process_time() - start

    seconds(1_000)
    # 100 times the text may take at most 100 times as long, with a generous factor of 3 for noise and caches.
    assert seconds(1_000_000) < 300 * max(seconds(10_000), 0.004)
