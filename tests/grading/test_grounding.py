"""Grounding: how much of one sentence several passages tell together."""

from __future__ import annotations

import gc
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.grading.grounding import ground

LEASE = "Either party may end the lease with 30 days written notice. The deposit is 2,000 euros."


def test_a_sentence_that_stands_there_is_told_whole() -> None:
    grounding = ground("The deposit is 2,000 euros.", [LEASE])
    assert grounding is not None
    assert (grounding.value, grounding.is_contradicted) == (1.0, False)


def test_a_sentence_without_content_cannot_be_grounded() -> None:
    assert ground("It is.", [LEASE]) is None


def test_half_told_is_half() -> None:
    # "deposit", "refundable" are its content words; the passage has the first.
    grounding = ground("The deposit is refundable.", [LEASE])
    assert grounding is not None
    assert grounding.value == pytest.approx(0.5)
    assert grounding.reasons == ("the passages do not have “refundable”",)


@given(st.text(max_size=60), st.lists(st.text(max_size=60), min_size=1, max_size=3))
def test_a_value_is_a_share_and_more_passages_never_take_words_away(sentence: str, passages: list[str]) -> None:
    grounding = ground(sentence, passages)
    if grounding is not None:
        assert 0.0 <= grounding.value <= 1.0
        assert grounding.weight > 0


@pytest.mark.parametrize("unit", ["30 31 ", "no not never ", "a ", "合"])
def test_a_sentence_without_end_costs_no_more_than_a_long_one(unit: str) -> None:
    def seconds(length: int) -> float:
        gc.collect()  # so that no collection of what came before is counted
        start = time.process_time()
        ground(f"From {length}: " + (unit * length)[:length], [LEASE])
        return time.process_time() - start

    seconds(100)
    assert seconds(1_000_000) < 10 * max(seconds(10_000), 0.01)


def test_time_grows_in_proportion_to_the_passages() -> None:
    def seconds(n: int) -> float:
        passages = [f"Passage {n} {i}: {LEASE} {i}" * 5 for i in range(n)]
        start = time.process_time()
        ground("The deposit is 3,000 euros and the lease ends in May.", passages)
        return time.process_time() - start

    seconds(2)
    # 20 times the text may take at most 20 times as long, with a generous factor of 5 for noise.
    assert seconds(100) < 100 * max(seconds(5), 0.004)


def test_what_is_missing_of_a_script_without_blanks_is_named() -> None:
    grounding = ground("合同期限为两年。", ["合同于2024年3月1日生效,为期两年。"])
    assert grounding is not None
    assert grounding.value < 0.5
    assert "期限" in grounding.reasons[0]
