"""Personal data: what is found in a labelled set of texts, what is left alone, and in what time."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.grading.pii import KINDS, Pii, data_versions, find_pii

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "pii_texts.jsonl").read_text("utf-8").splitlines()
]
POSITIVE = [row for row in ROWS if row["found"]]
NEGATIVE = [row for row in ROWS if not row["found"]]


def test_finds_an_address_and_says_where() -> None:
    assert find_pii("Write to jane@example.org.") == (Pii("email", 9, 25),)


def test_the_labelled_set_is_wide_enough_to_mean_something() -> None:
    kinds = {kind for row in POSITIVE for _, _, kind in row["found"]}
    templates = Counter(row["template"] for row in ROWS)
    assert len(POSITIVE) >= 200
    assert len(NEGATIVE) >= 300
    assert len(kinds) >= 15
    assert kinds <= KINDS
    assert max(templates.values()) <= len(ROWS) * 0.05


def test_every_kind_is_found_where_it_stands_and_as_what_it_is() -> None:
    missed = defaultdict(list)
    for row in POSITIVE:
        if [list(item) for item in ((p.start, p.end, p.kind) for p in find_pii(row["text"]))] != row["found"]:
            missed[row["found"][0][2]].append(row["text"])
    assert missed == {}


def test_hard_negatives_are_left_alone() -> None:
    assert [row["text"] for row in NEGATIVE if find_pii(row["text"])] == []


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Order 4155552671, call 415-555-2671", ["phone"]),
        ("Phone for order 17: 415-555-2671", []),
        ("a@b", []),
        ("jane@example.org, john@example.org", ["email", "email"]),
        ("SSN 000-12-3456", []),
        ("GB82 WEST 1234 5698 7654 32 AND MORE", ["iban"]),
        ("GB82 WEST 1234 5698 7654 33", []),
        ("4111 1111 1111 1112", []),
        ("+49 000 000", []),
        ("300.300.300.300", []),
        ("In this case please write to +49 30 901820", ["phone"]),
        ("", []),
    ],
)
def test_check_digits_and_the_nearest_word_decide(text: str, kinds: list[str]) -> None:
    assert [item.kind for item in find_pii(text)] == kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("A Doberman 12, 1990 in Kent", []),
        ("DOB 12.03.1990", ["date_of_birth"]),
        ("adob 12.03.1990", []),
        ("ungeboren am 3. Mai 1980", []),
        ("彼の生年月日は1990年1月2日", ["date_of_birth"]),
        ("compassport 912803456", []),
        ("我的护照号码912803456", ["passport"]),
        ("Kids revive en 12 calle Mayor", []),
        ("Ana vive en 12 calle Mayor", ["home_address"]),
        ("我的身份证号码是11010519491231002X", ["cn_ric"]),
    ],
)
def test_a_cue_is_a_word_of_its_own_but_in_scripts_without_spaces(text: str, kinds: list[str]) -> None:
    assert [item.kind for item in find_pii(text)] == kinds


def test_the_number_plans_are_part_of_the_spec() -> None:
    assert set(data_versions()) == {"pii_cues.toml", "pii_kinds.toml", "phonenumbers", "python-stdnum"}


@given(st.text(alphabet="+0123456789 .-@aDE()/:年", max_size=120))
def test_finds_are_in_order_and_apart_and_inside_the_text(text: str) -> None:
    at = 0
    for item in find_pii(text):
        assert at <= item.start < item.end <= len(text)
        at = item.end


@pytest.mark.parametrize(
    "unit", ["1 ", "a@", "DE89 ", "1.1.1.", "::", "tel 0151 234 56 ", "ssn 123-45-", "lives at 1 "]
)
def test_time_grows_in_proportion_to_the_text(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        start = time.process_time()
        find_pii(text)
        return time.process_time() - start

    find_pii(unit)
    # 100 times the text may take at most 100 times as long, with a generous factor of 3 for noise.
    assert seconds(1_000_000) < 300 * max(seconds(10_000), 0.004)
