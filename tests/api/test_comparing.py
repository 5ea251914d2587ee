"""Two runs in memory or in files: the baseline on the current run's terms, or the reasons why that cannot be."""

import pytest
from scenario import cited

import spancheck_pipeline as sc
from spancheck_pipeline.api.comparing import comparison
from spancheck_pipeline.decision.difference import difference_of
from spancheck_pipeline.errors import NotComparableError


def cases(n=20, **first):
    made = [sc.Case(f"q{i}", f"question {i}", answerable=True) for i in range(n)]
    return [sc.Case("q0", "question 0", **first), *made[1:]] if first else made


def reloaded(run, path):
    run.save(path)
    return sc.Run.load(path)


def test_a_corrected_label_is_applied_to_both_sides_and_listed(tmp_path):
    old = reloaded(sc.evaluate(cases(answerable=True), lambda q: cited()), tmp_path / "old.json")
    new = reloaded(sc.evaluate(cases(answerable=False), lambda q: cited()), tmp_path / "new.json")

    found = comparison(old, new)

    assert found.relabelled_case_ids == ("q0",)
    figures = found.graders["abstention_correct"]
    assert (figures.n_newly_failing, figures.n_both_fail, figures.n_both_pass) == (0, 1, 19)


def test_a_bumped_shipped_grader_is_made_from_its_spec_and_grades_the_baseline_again(tmp_path):
    run = sc.evaluate(cases(), lambda q: cited())
    old = reloaded(run, tmp_path / "old.json")
    new = reloaded(run.rescore([sc.graders.groundedness(0.9), sc.graders.max_latency(5)]), tmp_path / "new.json")

    found = comparison(old, new)

    assert found.graders["groundedness"].n_pairs == 20
    assert found.graders["latency"].difference.value == 0


def test_a_graders_own_function_that_is_not_at_hand_is_refused_and_accepted_where_it_is(tmp_path):
    @sc.grader("polite")
    def polite(case, output):
        return "please" in output.answer

    run = sc.evaluate(cases(), lambda q: "please")
    old = reloaded(run, tmp_path / "old.json")
    new = reloaded(run.rescore([polite]), tmp_path / "new.json")

    with pytest.raises(NotComparableError, match="the grades of polite were made by other graders"):
        comparison(old, new)
    assert comparison(old, new, [polite]).graders["polite"].n_both_pass == 20


def test_a_difference_tests_every_grader_and_says_what_it_could_have_seen():
    good = sc.evaluate(cases(60), lambda q: cited())
    bad = sc.evaluate(cases(60), lambda q: "I don't know." if int(q.split()[1]) < 12 else cited())

    found = difference_of(comparison(good, bad))

    test = found.tests["abstention_correct"]
    assert test.is_worse  # 12 of 12 flips one way: 2^-12, and Holm over four graders
    assert test.p_adjusted == pytest.approx(len(found.tests) * 0.5**12)
    # Declining asserts and cites nothing: these pairs are not measured, so that nothing is lost there.
    assert found.tests["no_pii"].p_adjusted == 1.0
    assert (found.alpha, found.detect) == (0.05, 0.1)


def test_a_gate_counts_an_empty_answer_as_not_completed_whatever_graders_ran():
    @sc.grader("mine")
    def mine(case, output):
        return True if output.answer else None

    for graders in (None, [mine], [sc.graders.no_pii]):
        run = sc.evaluate(cases(3), lambda q: {"answer": "fine" if q == "question 0" else " "}, graders=graders)
        for found in (run, run.rescore([sc.graders.groundedness(0.8)])):
            ok, reasons = sc.gate(found, {})
            assert not ok
            assert reasons[0].startswith("completion: 1 of 3 measured passed, below 1")


def test_the_librarys_decision_says_how_many_cases_are_not_those_of_its_baseline():
    old = sc.evaluate(cases(20), lambda q: cited())
    new = sc.evaluate([*cases(19), sc.Case("q20", "question 20", answerable=True)], lambda q: cited())

    decision = sc.gate(new, {"no_pii": 0.5}, baseline=old)

    assert decision.case_changes == (f"against the baseline ({old.run_id}): cases: 1 added, 1 removed",)
    assert sc.gate(new, {"no_pii": 0.5}, baseline=new).case_changes == ()


def test_the_hallucination_rates_of_two_runs_are_compared():
    def invents(question):
        return cited() if question != "question 1" else cited("The rent is 9,000 a month and rises each week.")

    old, new = sc.evaluate(cases(), lambda q: cited()), sc.evaluate(cases(), invents)

    assert comparison(old, new).hallucination.value == 1 / 20
