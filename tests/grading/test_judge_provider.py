"""Any function as a judge: the earlier library's names and signatures, and what goes wrong in a function."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
from scenario import PASSAGE, case, cited, output

import spancheck_pipeline as sc
from spancheck_pipeline.decision.judges import JudgeSettings
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.packet import Packet, entailment_packet
from spancheck_pipeline.grading.graders import llm_judge
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy, verify_citation
from spancheck_pipeline.grading.judge import DEFAULT_THRESHOLD, Judge
from spancheck_pipeline.grading.judge_provider import (
    answered,
    ask_provider,
    judge_entailment,
    judge_of_provider,
    judge_support,
)
from spancheck_pipeline.grading.judge_stub import stub_opinion
from spancheck_pipeline.grading.score import Outcome


def says(label: str, asked: list[str] | None = None) -> Callable[[str], str]:
    def provider(prompt: str) -> str:
        if asked is not None:
            asked.append(prompt)
        return json.dumps({"reason": "because", "label": label})

    return provider


def raises(prompt: str) -> str:
    raise TimeoutError(prompt)


def test_a_provider_is_asked_and_its_verdict_returned_under_the_earlier_names() -> None:
    provider = says("contradicted")
    provider.model = "m7"  # type: ignore[attr-defined]  # a function may carry its model's name
    assert judge_entailment("Notice is 30 days.", "Notice is 45 days.", provider) == {
        "score": 0.0, "reason": "because", "prompt_version": "entailment_v1", "model": "m7", "label": "contradicted",
    }  # fmt: skip
    assert judge_entailment("a b c", "d", says("supported"), model="mine")["model"] == "mine"
    assert judge_entailment("a b c", "d", says("supported"))["model"] == "unknown"


def test_a_provider_sees_instructions_claim_and_evidence() -> None:
    asked: list[str] = []
    judge_entailment("Notice is 30 days.", "Notice is 45 days.", says("supported", asked))
    assert "You check citations." in asked[0]
    assert "Notice is 30 days." in asked[0]
    assert "Notice is 45 days." in asked[0]


def test_without_a_provider_the_stub_answers_offline() -> None:
    said = judge_entailment("Notice is 30 days.", "Notice is 45 days.")
    assert (said["label"], said["model"]) == ("contradicted", "stub")
    assert said["reason"].startswith("[stub, not a judge]")
    assert judge_support()("Notice is 30 days.", "The notice is 30 days.") == (True, 1.0)


@pytest.mark.parametrize("provider", [raises, lambda prompt: "supported, 1.0", lambda prompt: None])
def test_what_is_no_verdict_is_none_and_never_zero(provider: Callable[[str], str]) -> None:
    said = judge_entailment("Notice is 30 days.", "x", provider)
    assert (said["score"], said["label"]) == (None, None)
    assert judge_support(provider)("Notice is 30 days.", "x") == (None, None)
    verdict = verify_citation(
        "30 days written notice", [PASSAGE], "Notice is 30 days.", support_fn=judge_support(provider)
    )
    assert (verdict.ok, verdict.supported) == (None, None)
    assert verdict.reason.endswith("Support could not be measured: the support function could not say.")


@pytest.mark.parametrize(("threshold", "outcome"), [(0.5, Outcome.PASS), (0.6, Outcome.FAIL)])
def test_a_support_function_decides_by_its_threshold(threshold: float, outcome: Outcome) -> None:
    grader = CitationAccuracy(support_fn=judge_support(says("partially_supported"), threshold=threshold))
    assert grader(case(), cited()).outcome is outcome


def test_the_llm_judge_grader_asks_once_an_answer_when_it_is_called_by_hand() -> None:
    asked: list[str] = []
    grader = llm_judge(says("supported", asked), name="mine")
    graded = grader(case(), {"answer": "Notice is a month.", "contexts": [PASSAGE]})
    assert (graded.grader, graded.passed, graded.score, len(asked)) == ("mine", True, 1.0, 1)
    assert graded.detail == "Judge mine says supported: because."
    assert grader(case(), "I don't know.").outcome is Outcome.NOT_APPLICABLE
    assert llm_judge(raises)(case(), {"answer": "x y z", "contexts": [PASSAGE]}).reason_code == "judge_failed"
    assert len(asked) == 1


def test_the_stub_grader_says_that_it_is_none() -> None:
    graded = llm_judge()(case(), output(PASSAGE, contexts=[PASSAGE]))
    assert graded.passed is True
    assert "[stub, not a judge]" in graded.detail


@pytest.mark.parametrize(
    "make",
    [
        llm_judge,
        judge_support,
        lambda provider: judge_entailment("c", "s", provider),
        lambda provider: sc.calibrate_judge([{"claim": "c", "span": "s", "label": True}], provider),
    ],
)
def test_a_provider_that_is_no_function_is_refused(make: Callable[[Any], Any]) -> None:
    with pytest.raises(UsageError, match=r"a provider is a function of the question .* not of type str"):
        make("claude-sonnet-5")


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5, "0.5", True])
def test_a_threshold_that_everything_or_nothing_clears_is_refused(threshold: Any) -> None:
    for make in (llm_judge, judge_support):
        with pytest.raises(UsageError, match="above 0 and at most 1"):
            make(threshold=threshold)


def test_wherever_nobody_says_another_threshold_it_is_the_same() -> None:
    made = [llm_judge, judge_support, judge_of_provider, sc.calibrate_judge]
    assert {inspect.signature(each).parameters["threshold"].default for each in made} == {DEFAULT_THRESHOLD}
    assert (Judge(name="j", client="c").threshold, JudgeSettings(stub={}).threshold) == (DEFAULT_THRESHOLD,) * 2
    # What is partly supported is not supported, and two yes of three repeats are.
    assert 0.5 < DEFAULT_THRESHOLD < 2 / 3


def test_what_a_book_has_is_not_asked_again_and_a_failure_is() -> None:
    judge = Judge(name="j", client="provider", runs=2)
    packet = entailment_packet("Notice is 30 days.", "x")
    asked: list[str] = []
    book = answered([(judge, packet)], says("supported", asked))
    assert len(asked) == len(book) == 2
    answered([(judge, packet)], says("supported", asked), book=book)
    assert len(asked) == 2
    failed = answered([(judge, packet)], raises)
    assert len(answered([(judge, packet)], says("supported", asked), book=failed)) == 2
    assert len(asked) == 4
    assert judge.opinion(packet, failed).supported is True


def test_a_failed_call_names_the_class_of_its_error_and_no_text() -> None:
    verdict = ask_provider(Judge(name="j", client="provider"), entailment_packet("zebrafish", "x"), raises)
    assert (verdict.error_class, verdict.label, verdict.score) == ("TimeoutError", None, None)
    assert "zebrafish" not in verdict.model_dump_json()


@pytest.mark.parametrize(
    ("packet", "label"),
    [
        (Packet("entailment", "Notice is 30 days.", ("The notice is 30 days.",)), "supported"),
        (Packet("entailment", "Notice is 30 days.", ("Notice is 45 days.",)), "contradicted"),
        (Packet("entailment", "Notice is 30 days.", ("The moon is far.",)), "not_supported"),
        # Three of its six words: half is told, and the word check wants .6.
        (
            Packet(
                "entailment", "The landlord repairs roof, windows, doors and walls.", ("The landlord repairs roof.",)
            ),
            "partially_supported",
        ),
        (Packet("entailment", "Yes.", ("The moon is far.",)), "not_supported"),
        (Packet("groundedness", "Notice is 30 days.", ("Notice.", "It is 30 days.")), "supported"),
        (Packet("groundedness", "Yes.", ("Notice.",)), "not_supported"),
        (Packet("faithful", "Notice is 30 days.", (), "Our notice is 30 days."), "holds"),
        (Packet("faithful", "Notice is 30 days.", (), "Our notice is 45 days."), "does_not_hold"),
        (Packet("faithful", "Notice is 30 days.", ()), "does_not_hold"),
    ],
)
def test_the_stub_says_what_the_word_check_says_and_never_the_opposite_by_its_score(packet: Packet, label: str) -> None:
    said = stub_opinion(packet)
    assert said.label == label
    assert (said.score >= DEFAULT_THRESHOLD) == (label in {"supported", "holds"})


def test_no_parameter_could_take_a_question() -> None:
    for function in (judge_entailment, judge_support, llm_judge, ask_provider, answered):
        assert set(inspect.signature(function).parameters).isdisjoint({"case", "input", "question", "history"})
