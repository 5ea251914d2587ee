"""Support on pairs of every kind that was thought of: what differs is not carried, what only looks different is.

The pairs stand in ``support_pairs.jsonl``, about three fifths of them false; single rules are tested beside this file.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spancheck_pipeline.grading.support import check_support

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "support_pairs.jsonl").read_text("utf-8").splitlines()
]
KINDS = sorted({row["kind"] for row in ROWS})


def wrong(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [
        (row["claim"], row["evidence"])
        for row in rows
        if check_support(row["claim"], row["evidence"]).supported is not row["supported"]
    ]


def of_kind(kind: str, *, is_supported: bool) -> list[dict[str, Any]]:
    return [row for row in ROWS if row["kind"] == kind and row["supported"] is is_supported]


@pytest.mark.parametrize("kind", KINDS)
def test_what_says_something_else_does_not_carry_a_claim(kind: str) -> None:
    assert wrong(of_kind(kind, is_supported=False)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_says_the_same_in_another_way_carries_a_claim(kind: str) -> None:
    assert wrong(of_kind(kind, is_supported=True)) == []


def test_the_pairs_are_many_and_of_many_kinds() -> None:
    assert len(ROWS) == len({(row["claim"], row["evidence"]) for row in ROWS}) >= 500
    assert len(KINDS) >= 25
    assert min(Counter(row["supported"] for row in ROWS).values()) >= 200


PADDING = " The quiet harbour museum displays wooden boats."
COVERED_ONLY = {"The employee resigned.", "Les animaux sont admis.", "Tous les locataires paient."}
"""Claims of which too few words stand in the evidence when nothing else does; no rule speaks against them."""


def test_a_claim_stays_unsupported_where_more_that_is_true_is_said() -> None:
    spaced = [row for row in ROWS if not row["supported"] and row["claim"][0] < "\u2e80"]
    longer = [
        {"claim": row["claim"] + PADDING, "evidence": row["evidence"] + PADDING, "supported": False}
        for row in spaced
        if row["claim"][-1] == row["evidence"][-1] == "." and row["claim"] not in COVERED_ONLY
    ]
    assert len(longer) >= 250
    assert wrong(longer) == []


FOOLED = [
    ("Basic: 5 users; Pro: 50 users.", "Basic: 50 users; Pro: 5 users."),
    ("Globex supplies the pumps in Norway.", "Initech supplies the pumps in Norway; Globex supplies the valves."),
    ("The fee is charged.", "The fee is charged only if the order is late, and is otherwise not charged."),
]


@pytest.mark.parametrize(("claim", "evidence"), FOOLED)
def test_what_the_page_says_fools_it_does(claim: str, evidence: str) -> None:
    assert check_support(claim, evidence).supported is True
