"""Markers against what a recorded file states: the same claim for the same source, on answers written for this test."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks.markers import found_pairs, tally

NAMES = ("1", "2", "3")
"""Passages of every answer, named by their numbers as answer engines name them."""


def answered(answer: str, *stated: tuple[str, str]) -> dict[str, Any]:
    """Return a recorded answer with the claim–source pairs that it states, claims written without their markers."""
    return {
        "answer": answer,
        "contexts": [{"source_id": name, "text": f"Passage {name}."} for name in NAMES],
        "citations": [{"claim": claim, "source_id": source} for claim, source in stated],
        "claims": [{"claim": claim} for claim, _ in stated],
    }


SAMPLE = [
    answered("The lease ends on 31 May [1].", ("The lease ends on 31 May.", "1")),
    answered(
        "Notice is 30 days [1][2]. It must be given by letter.[3]",
        ("Notice is 30 days.", "1"),
        ("Notice is 30 days.", "2"),
        ("It must be given by letter.", "3"),
    ),
    answered(
        "Dr. Brandt signed for the bakery [2]. No. 4 is let until 2031 [1, 3].",
        ("Dr. Brandt signed for the bakery.", "2"),
        ("No. 4 is let until 2031.", "1"),
        ("No. 4 is let until 2031.", "3"),
    ),
    answered(
        "The tenant pays for:\n\n- heating and water [1]\n- repairs below $150.50 [2]\n\nThe owner pays the rest. [3]",
        ("heating and water", "1"),
        ("repairs below $150.50", "2"),
        ("The owner pays the rest.", "3"),
    ),
    answered("Pets are a matter of the house rules. They do not mention cats [3].", ("They do not mention cats.", "3")),
    answered(
        "Die Kaution beträgt 2.000 Euro [1]. 合同有效期三年[2]。",
        ("Die Kaution beträgt 2.000 Euro.", "1"),
        ("合同有效期三年", "2"),
    ),
    answered("The lift was built in 1987 and is inspected each year."),
]  # fmt: skip


def agreement(rows: list[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        tally(row, counts)
    return counts


def test_markers_tie_the_claims_to_the_sources_that_the_file_states() -> None:
    # Stated: 1 + 3 + 3 + 3 + 1 + 2 + 0 = 13 pairs, all found, and nothing else.
    assert agreement(SAMPLE) == {"the same claim and source": 13}


def test_a_claim_that_the_file_cuts_elsewhere_is_counted_apart_and_not_as_agreement() -> None:
    row = answered("Rent is due monthly, and late rent costs 12 euros [2].", ("late rent costs 12 euros", "2"))
    row["citations"].append({"claim": "Keys are kept by the caretaker.", "source_id": "3"})
    counts = agreement([row])
    assert counts["stated: not found"] == 1
    assert counts["stated: same source, claim cut elsewhere"] + counts["the same claim and source"] == 1


def test_a_lost_marker_shows() -> None:
    without = [{**row, "answer": row["answer"].replace("[2]", "")} for row in SAMPLE]
    # [2] stands in four of the sample's answers, once in each.
    counts = agreement(without)
    assert counts["stated: not found"] == 4
    assert counts["the same claim and source"] == 13 - 4
    assert not found_pairs(SAMPLE[-1])
