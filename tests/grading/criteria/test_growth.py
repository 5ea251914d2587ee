"""Answers are hostile input: every check takes time in proportion to the answer."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from spancheck_pipeline.evidence.criterion import AbstentionTarget
from spancheck_pipeline.evidence.dates import dates_in
from spancheck_pipeline.grading.criteria.json_answer import read_object
from spancheck_pipeline.grading.criteria.markdown_table import tables
from spancheck_pipeline.grading.criteria.marked_option import is_marked
from spancheck_pipeline.grading.criteria.unreadable import abstains

TARGET = AbstentionTarget(region="Yes", forbidden_terms=["q"])
CHECKS: dict[str, Callable[[str], object]] = {
    "dates": dates_in,
    "tables": tables,
    "json": read_object,
    "marked": lambda text: is_marked(text, "Yes"),
    "beside": lambda text: is_marked(text, "Yes", region="Yes"),
    "abstains": lambda text: abstains(text, TARGET),
}
PARTS = [
    " ", "~", "|-", "> ", "```json\n", "```\n", "[x] Yes ", "Yes. ", "circled: ", "1/2/", "March ", "{",
    '{"a":', "- \t",
]  # fmt: skip


def seconds(check: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    check(text)
    return time.process_time() - begun


@pytest.mark.parametrize("name", CHECKS)
def test_time_grows_with_the_length_and_not_with_its_square(name):
    for part in PARTS:
        short, long = part * (4_000 // len(part)), part * (64_000 // len(part)) + "x"
        # 16 times as long: linear is 16, a square 256. What takes below 0.05 s is too fast to be judged.
        took = seconds(CHECKS[name], long)
        assert took < 0.05 or took < 80 * min(seconds(CHECKS[name], short) for _ in range(3)), part
