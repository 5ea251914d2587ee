"""An answer's own list of sources, which is no claim."""

import gc
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.legend import legend_spans

SAID = "Rent is due [1], notice is 30 days [2].\n\n"


def listed(answer):
    return [answer[span.start : span.end].strip() for span in legend_spans(answer)]


def test_the_entries_under_a_heading_are_the_list():
    answer = SAID + "Sources:\n- [1] The lease\n- [2] The annex\n\nRent is high."
    assert listed(answer) == ["Sources:\n- [1] The lease\n- [2] The annex"]


@pytest.mark.parametrize(
    "tail",
    [
        "## References\n\n1. The lease\n2. The annex",
        "**Quellen**\n\n[1] Der Vertrag\n\n[2] Der Anhang",
        "[1] The lease\n[2] The annex",
        "[1]: https://ex.org/a\n[2]: https://ex.org/b",
        "[^1]: The lease\n[^2]: The annex",
        "Sources: the lease, the annex",
        "Sources:\nhttps://ex.org/a\nhttps://ex.org/b",
        "参考文献\n[1] 合同",
    ],
)
def test_each_form_of_the_list(tail):
    assert "\n".join(listed(SAID + tail)).replace("\n", "") == tail.replace("\n", "")


def test_raised_numbers_that_come_back_are_a_list():
    answer = "Rent is due¹.\n\n¹ The lease"
    assert listed(answer) == ["¹ The lease"]


@pytest.mark.parametrize(
    "answer",
    [
        "[1] Rent is due.\n\n[2] Notice is 30 days.",
        "Rent is due [1].\n\n[2] says that notice is 30 days.",
        "Sources of income are rent and fees.\n- rent\n- fees",
        "Rent is due [1].\n1. Pay it.\n2. Keep the receipt.",
        "Rent is due [1]. [1] also says when.",
    ],
)
def test_claims_are_in_no_list(answer):
    assert listed(answer) == []


@given(st.text(st.sampled_from("aS[]1:^¹. \n-*")))
def test_ranges_lie_in_the_answer_and_in_order(answer):
    spans = legend_spans(answer)
    assert list(spans) == sorted(spans)
    assert all(0 <= span.start < span.end <= len(answer) for span in spans)
    assert all(left.end < right.start for left, right in pairwise(spans))


@pytest.mark.parametrize("unit", ["\n\n[1] a", "\nSources:\n- a\n", "[1]: a\n", "\nSources: a", "\n \n"])
def test_a_long_list_takes_linear_time(unit):
    def per_char(size, salt):
        text = "x" * size + salt + (unit * size)[:size]
        started = time.process_time()
        legend_spans(text)
        return (time.process_time() - started) / size

    gc.collect()
    assert per_char(300_000, "a") <= 5 * min(per_char(10_000, salt) for salt in "abc") + 2e-7
