"""What must never look good: each through the library's front, from calls to gate."""

import pytest
from scenario import QUOTE, cited

import spancheck_pipeline as sc
from spancheck_pipeline.errors import UsageError


def cases(n, answerable=True):
    return [sc.Case(f"q{i}", f"question {i}", answerable=answerable) for i in range(n)]


def test_nine_of_ten_calls_that_fail_are_no_pass():
    def mostly_down(question):
        if question != "question 0":
            raise ConnectionError
        return cited()

    decision = sc.gate(sc.evaluate(cases(10), mostly_down), {"citation_accuracy": 0.9, "no_pii": 1.0})

    assert not decision.ok
    assert {rule.subject: rule.answer for rule in decision.rules} == {
        "completion": "FAIL", "citation_accuracy": "NOT_MEASURED", "no_pii": "NOT_MEASURED",
    }  # fmt: skip


def test_2999_of_3000_is_not_all():
    def once_wrong(question):
        return cited(quote="a quote that stands nowhere at all" if question == "question 77" else QUOTE)

    run = sc.evaluate(cases(3000), once_wrong, graders=[sc.graders.citation_accuracy()])

    assert run.scorecard().by_grader()["citation_accuracy"]["n_fail"] == 1
    assert not sc.gate(run, {"citation_accuracy": 1.0}).ok
    assert sc.gate(run, {"citation_accuracy": 0.999}).ok


def test_a_system_that_always_declines_is_no_pass():
    run = sc.evaluate(cases(40), lambda question: "I don't know; the documents do not say.")

    for grader in ("citation_accuracy", "groundedness", "abstention_correct"):
        assert not sc.gate(run, {grader: 0.5}).ok, grader


def test_a_threshold_on_a_grader_that_measured_nothing_is_no_pass():
    run = sc.evaluate(cases(40), lambda question: cited(), graders=[sc.graders.expected_contains()])

    decision = sc.gate(run, {"expected_contains": 0.0})

    assert not decision.ok
    assert "nothing was measured" in decision.reasons[0]


def test_one_cited_answer_among_300_decides_nothing():
    def once(question):
        return cited() if question == "question 0" else "I don't know; the documents do not say."

    run = sc.evaluate(cases(300, answerable=None), once)

    assert run.scorecard().by_grader()["citation_accuracy"]["n"] == 1
    assert not sc.gate(run, {"citation_accuracy": 0.9}).ok


def test_a_misspelt_grader_is_an_error_that_names_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'citation_accuracy'"):
        sc.gate(sc.evaluate(cases(3), lambda question: cited()), {"citation_acuracy": 0.0})


def test_an_empty_answer_is_no_completion():
    assert not sc.gate(sc.evaluate(cases(3), lambda question: ""), {}).ok


def test_an_answer_without_passages_is_not_grounded_and_not_ungrounded():
    run = sc.evaluate(cases(12), lambda question: "The moon is made of cheese.")

    assert run.scorecard().by_grader()["groundedness"]["n_unmeasured"] == 12
    assert not sc.gate(run, {"groundedness": 0.1}).ok


def test_an_answer_in_another_script_is_not_grounded_for_lack_of_latin_words():
    run = sc.evaluate(cases(1), lambda question: {"answer": "Луна сделана из сыра", "contexts": ["Договор в силе"]})

    assert run.scorecard().by_grader()["groundedness"]["pass_rate"] == 0.0
