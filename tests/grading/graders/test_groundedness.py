"""groundedness: sentence by sentence against the passages, and when there is nothing to say."""

from __future__ import annotations

import time
from typing import Any

import pytest

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.grading.evaluate import grade_row
from spancheck_pipeline.grading.grader import spec_of
from spancheck_pipeline.grading.graders.groundedness import MOST_SENTENCES, Groundedness
from spancheck_pipeline.grading.score import Outcome, Score

LEASE = "Either party may end the lease with 30 days written notice. The deposit is 2,000 euros."
PARKING = "Parking costs 40 euros a month and is reserved for residents."


def graded(answer: str, *passages: str, grader: Groundedness | None = None, **fields: Any) -> Score:
    case = Case("q1", "?")
    contexts = [{"source_id": f"s{i}", "text": text} for i, text in enumerate(passages)]
    output = Output.model_validate({"answer": answer, "contexts": contexts, **fields})
    row = CapturedRow(case_id="q1", question_digest=case.question_digest, output=output)
    return grade_row(grader or Groundedness(), case, row)


def test_an_answer_that_its_passages_carry_passes() -> None:
    score = graded("Either party may end the lease with 30 days written notice.", LEASE)
    assert (score.outcome, score.value) == (Outcome.PASS, 1.0)


def test_each_sentence_is_a_finding_with_its_place_and_best_passage() -> None:
    answer = "The deposit is 2,000 euros [1]. Parking costs 40 euros a month. The moon is made of green cheese."
    score = graded(answer, LEASE, PARKING)
    assert [(f.item, f.outcome, f.source_id) for f in score.findings[:2]] == [
        ("sentence[0]", Outcome.PASS, "s0"),
        ("sentence[1]", Outcome.PASS, "s1"),
    ]
    last = score.findings[2]
    assert last.outcome is Outcome.FAIL
    assert answer[last.answer_start : last.answer_end] == "The moon is made of green cheese."
    assert last.reason == "The passages do not have “moon”, “made”, “green”, “cheese”."


def test_the_value_is_the_share_of_the_content_that_stands_in_the_passages() -> None:
    # "deposit" and "2,000 euros" stand there: 2 of 2. Of "moon", "made", "green", "cheese" none does: 0 of 4.
    # (2 + 0) / (2 + 4) = 1/3
    answer = "The deposit is 2,000 euros. The moon is made of green cheese."
    score = graded(answer, LEASE)
    assert score.value == pytest.approx(1 / 3)
    assert score.outcome is Outcome.FAIL
    assert graded(answer, LEASE, grader=Groundedness(threshold=0.3)).outcome is Outcome.PASS


def test_a_sentence_may_draw_on_several_passages() -> None:
    assert graded("The deposit is 2,000 euros and parking costs 40 euros a month.", LEASE, PARKING).value == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        "Either party may end the lease with 60 days written notice.",
        "Either party may not end the lease with 30 days written notice.",
        "The deposit is 3,000 euros.",
    ],
)
def test_another_number_or_a_negation_contradicts_whatever_else_stands_there(answer: str) -> None:
    score = graded(answer, LEASE)
    assert score.findings[0].grade == "contradicted"
    assert score.outcome is Outcome.FAIL


def test_a_lists_numbers_are_not_asserted() -> None:
    assert graded("1. The deposit is 2,000 euros.\n2) Parking costs 40 euros a month.", LEASE, PARKING).value == 1.0


def test_the_word_lists_are_part_of_the_spec() -> None:
    assert {"en.toml", "support/lexicon.toml"} <= spec_of(Groundedness()).data.keys()


@pytest.mark.parametrize("contexts", [[], [{"source_id": "a"}], [{"source_id": "a", "text": "  "}]])
def test_without_passage_text_it_is_unmeasured(contexts: list[dict[str, str]]) -> None:
    score = graded("The deposit is 2,000 euros.", contexts=contexts)
    assert (score.outcome, score.reason_code) == (Outcome.UNMEASURED, "no_contexts")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("I don't know.", "abstained"),
        ("", "abstained"),
        ("I must decline to share personal details.", "refused"),
        ("# Deposit", "nothing_asserted"),
        ("Would you like to know more?", "nothing_asserted"),
    ],
)
def test_an_answer_that_asserts_nothing_is_not_applicable(answer: str, code: str) -> None:
    score = graded(answer, LEASE)
    assert (score.outcome, score.reason_code) == (Outcome.NOT_APPLICABLE, code)


def test_the_declining_part_of_a_hedge_is_not_an_assertion() -> None:
    score = graded("The deposit is 2,000 euros. The documents do not say when it is returned.", LEASE)
    assert len(score.findings) == 1
    assert score.outcome is Outcome.PASS


def test_a_flag_that_an_assertion_contradicts_does_not_hide_the_assertion() -> None:
    assert graded("The moon is made of green cheese.", LEASE, abstained=True).outcome is Outcome.FAIL


def test_other_scripts_are_not_passed_unread() -> None:
    assert graded("合同于一月一日生效。", "合同于一月一日生效。").outcome is Outcome.PASS
    assert graded("月亮是奶酪做的。", "合同于一月一日生效。").outcome is Outcome.FAIL


@pytest.mark.parametrize("settings", [{"threshold": 1.1}, {"support_threshold": -0.1}])
def test_impossible_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Groundedness(**settings)  # type: ignore[arg-type]  # the point of the test


def test_an_answer_without_end_is_read_as_far_as_its_two_thousandth_sentence_and_the_reason_says_so() -> None:
    invented = "The moon is made of green cheese."
    told = "The deposit is 2,000 euros. " * MOST_SENTENCES
    score = graded(f"{invented} {told}", LEASE)
    assert (len(score.findings), score.findings[0].outcome) == (MOST_SENTENCES, Outcome.FAIL)
    assert score.reason.endswith("1999 of 2000 sentences are supported; 1 after the first 2,000 were not read.")
    assert "not read" not in graded(told, LEASE).reason


def repeated(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


@pytest.mark.parametrize("unit", ["The notice is 31 days. ", "1 May 2020. ", "30 31 ", "a. ", "[1] ", "合"])
def test_time_grows_in_proportion_to_the_answer(unit: str) -> None:
    def seconds(length: int) -> float:
        answer = repeated(unit, length)
        start = time.process_time()
        graded(answer, LEASE)
        return time.process_time() - start

    seconds(100)
    # 100 times the text may take at most 100 times as long, with a generous factor of 3 for noise and caches.
    assert seconds(1_000_000) < 300 * max(seconds(10_000), 0.004)


@pytest.mark.parametrize("unit", ["The notice is 30 days. ", "no not never ", "30 31 ", "a. ", "合"])
def test_time_grows_in_proportion_to_the_passages_however_many_sentences_ask(unit: str) -> None:
    answer = " ".join(f"Unit {i} of Alice Smith does not pay {i} euros on {i} May 2020." for i in range(1, 9))

    def seconds(length: int) -> float:
        passage = repeated(unit, length)
        start = time.process_time()
        graded(answer, passage)
        return time.process_time() - start

    seconds(100)
    # As above. A passage that is read again for each of the eight sentences takes 800 times as long.
    assert seconds(1_000_000) < 300 * max(seconds(10_000), 0.004)


def test_a_courtesy_in_any_language_is_no_claim() -> None:
    answer = "Gerne! Die Kaution beträgt 2.000 Euro. Ich hoffe, das hilft Ihnen weiter."
    score = graded(answer, "Die Kaution beträgt 2.000 Euro.")
    assert [answer[f.answer_start : f.answer_end] for f in score.findings] == ["Die Kaution beträgt 2.000 Euro."]


def test_reasoning_before_an_answer_is_not_graded() -> None:
    answer = "<think>Perhaps the deposit is 9,000 euros.</think>The deposit is 2,000 euros."
    score = graded(answer, LEASE)
    assert [answer[f.answer_start : f.answer_end] for f in score.findings] == ["The deposit is 2,000 euros."]
    assert score.outcome is Outcome.PASS


def test_only_the_answer_of_a_json_object_is_graded() -> None:
    answer = '{"answer": "The deposit is 2,000 euros.", "note": "The moon is made of green cheese."}'
    score = graded(answer, LEASE)
    assert [answer[f.answer_start : f.answer_end] for f in score.findings] == ["The deposit is 2,000 euros."]
