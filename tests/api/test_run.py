"""The library's front: evaluate, Run, diff, gate, and files of the earlier library."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario import case, cases_of, cited

import spancheck_pipeline as sc
from spancheck_pipeline.errors import ConfigError, ContractError, NotComparableError, UsageError
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.grading.score import Outcome


def system(question):
    if "president" in question:
        return "I don't know; the documents do not say."
    return cited()


def cases(n=6):
    return [sc.Case(**item) for item in cases_of(n)]


def test_evaluate_calls_once_per_case_and_grades_what_came_back():
    asked = []

    run = sc.evaluate(cases(), lambda question: asked.append(question) or system(question))

    assert asked == [item["input"] for item in cases_of(6)]
    card = run.scorecard()
    assert card.by_grader()["citation_accuracy"]["pass_rate"] == 1.0
    assert card.by_category()["unanswerable"]["abstention_correct"] == 1.0
    assert card.overall_pass_rate() == 1.0
    assert card.failures() == []


def test_evaluate_takes_an_async_system_inside_a_running_loop():
    async def asynchronous(question):
        await asyncio.sleep(0)
        return system(question)

    async def notebook():
        return sc.evaluate(cases(), asynchronous)

    assert asyncio.run(notebook()).scorecard().overall_pass_rate() == 1.0


def test_a_system_with_two_arguments_also_gets_the_history():
    seen = []
    asked = case(history=[{"role": "user", "text": "Hello"}])

    sc.evaluate([asked], lambda question, history: seen.append((question, history)) or "x")

    assert seen == [("What is the notice period?", [{"role": "user", "text": "Hello"}])]


def test_evaluate_takes_the_path_of_a_cases_file(tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(json.dumps(item) for item in cases_of(3)))

    assert len(sc.evaluate(file, system)) == 3


def test_a_case_may_be_given_by_position_as_the_earlier_library_does():
    by_position = sc.Case("a", "q?", "lease", "30 days", {"answerable": True})

    assert (by_position.category, by_position.expected, by_position.answerable) == ("lease", "30 days", True)
    with pytest.raises(TypeError, match="both by position and by name"):
        sc.Case("a", "q?", id="b")


def test_a_failing_system_gives_rows_with_the_error_class():
    run = sc.evaluate(cases(3), lambda question: 1 / 0)

    assert [result.error for result in run] == ["ZeroDivisionError"] * 3
    grades = {grade.grader: grade for grade in run.results[0].grades}
    assert grades["completion"].passed is False
    assert grades["citation_accuracy"].outcome is Outcome.UNMEASURED
    assert not sc.gate(run, {}).ok


@pytest.mark.parametrize("value", [None, 7, {"no": "answer"}, {"answer": "x", "latency_ms": float("nan")}, object()])
def test_an_output_that_is_none_is_an_error_row_and_no_crash(value):
    run = sc.evaluate([case()], lambda question: value)

    assert run.results[0].error is not None


@pytest.mark.parametrize("text", ["\ud800 lone", "\x00\x1b[2J", "x" * 100_000, "🙂" * 1000])
def test_any_text_is_an_answer_that_survives_a_file(text, tmp_path):
    run = sc.evaluate([case()], lambda question: text)
    run.save(tmp_path / "run.json")

    assert sc.Run.load(tmp_path / "run.json").results[0].output.answer == text.replace("\ud800", "\ufffd")


def test_duplicate_ids_and_no_cases_are_refused():
    with pytest.raises(UsageError, match="the first is 'q1'"):
        sc.evaluate([case(), case()], system)
    with pytest.raises(UsageError, match="no cases"):
        sc.evaluate([], system)


def test_two_graders_of_one_name_are_refused():
    with pytest.raises(UsageError, match="'contains'"):
        sc.evaluate([case()], system, graders=[sc.graders.contains("a"), sc.graders.contains("b")])


def test_rescoring_calls_nothing_and_changes_only_the_grades():
    calls = []
    run = sc.evaluate(cases(3), lambda question: calls.append(question) or system(question))

    again = run.rescore([sc.graders.contains("30 days")])

    assert len(calls) == 3
    assert list(again.scorecard().by_grader()) == ["contains"]
    assert [result.output for result in again] == [result.output for result in run]


def test_rescoring_asks_a_judge_that_is_a_function_once_and_not_the_system():
    calls, asked = [], []
    run = sc.evaluate(cases(3), lambda question: calls.append(question) or system(question))

    def provider(prompt):
        asked.append(prompt)
        return json.dumps({"label": "supported", "reason": "so it is"})

    again = run.rescore([sc.llm_judge(provider)])

    measured = [result.grades[0].outcome for result in again if result.grades[0].outcome.is_measured]
    assert measured
    assert set(measured) == {"pass"}
    n_asked = len(asked)
    third = again.rescore([sc.llm_judge(provider), sc.graders.contains("30 days")])
    assert (len(calls), len(asked)) == (3, n_asked)
    assert third.results[0].grades[0].outcome == again.results[0].grades[0].outcome


def test_a_saved_run_is_the_same_run(tmp_path):
    run = sc.evaluate(cases(), system, prices={"m": {"input_usd_per_mtok": 1, "output_usd_per_mtok": 2}})
    run.save(tmp_path / "run.json")

    loaded = sc.Run.load(tmp_path / "run.json")

    assert loaded.scorecard().document == run.scorecard().document
    assert loaded.manifest == run.manifest
    assert [result.grades for result in loaded] == [result.grades for result in run]


def test_on_case_sees_each_result_in_order():
    seen = []

    sc.evaluate(cases(3), system, on_case=lambda result: seen.append(result.case_id))

    assert seen == ["q00", "q01", "q02"]


def test_a_journal_makes_an_interrupted_evaluation_go_on(tmp_path):
    calls = []

    def dies(question):
        calls.append(question)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return "x"

    for _ in range(2):
        run = None
        try:
            run = sc.evaluate(cases(5), dies, journal=tmp_path / "journal.jsonl")
        except KeyboardInterrupt:
            continue
    assert run is not None
    assert len(run) == 5
    assert len(calls) <= 6


def test_the_frame_has_a_row_a_case_and_grader():
    frame = sc.evaluate(cases(3), system).to_frame()

    assert len(frame) == 3 * 5
    assert set(frame["outcome"]) <= {"pass", "fail", "not_applicable", "unmeasured"}


def test_cost_is_none_where_it_is_unknown_and_a_number_where_it_is_priced():
    def priced(question):
        return {"answer": "x", "usage": {"input_tokens": 1000, "output_tokens": 500}}

    run = sc.evaluate(cases(2), priced)

    assert run.cost_latency()["cost"]["cost_usd"] is None
    # 2 × (1 000/1 000 × 0.001 + 500/1 000 × 0.002) = 0.004
    cost = sc.cost_latency(run, {"input_per_1k": 0.001, "output_per_1k": 0.002})["cost"]
    assert cost["cost_usd"] == pytest.approx(0.004)


def test_gate_unpacks_as_the_earlier_pair_and_has_ok_and_reasons():
    run = sc.evaluate(cases(), system)

    ok, reasons = sc.gate(run, {"citation_accuracy": 0.9})

    assert ok
    assert reasons == ()
    assert sc.gate(run, {"citation_accuracy": 0.9}).ok


def test_gate_names_the_nearest_grader():
    with pytest.raises(UsageError, match="did you mean 'citation_accuracy'"):
        sc.gate(sc.evaluate(cases(3), system), {"citation_acuracy": 1.0})


def test_gate_against_itself_never_fails_and_against_a_worse_run_does():
    good = sc.evaluate(cases(60), system)
    bad = sc.evaluate(cases(60), lambda question: "The notice period is 90 days, I am sure.")

    assert sc.gate(good, {"abstention_correct": 0.5}, good).ok
    decision = sc.gate(bad, {"abstention_correct": 0.5}, good)
    assert not decision.ok
    assert any("newly failing" in reason for reason in decision.reasons)


def test_a_baseline_graded_otherwise_is_graded_again_where_the_graders_are_at_hand(tmp_path):
    run = sc.evaluate(cases(), system)
    other = run.rescore([sc.graders.groundedness(0.9)])
    lost = run.rescore([sc.grader("mine")(lambda case, output: True)])

    assert sc.diff(other, run)["groundedness"]["delta"] == 0
    for name, saved in {"other": other, "run": run, "lost": lost}.items():
        saved.save(tmp_path / f"{name}.json")
    other, run, lost = (sc.Run.load(tmp_path / f"{name}.json") for name in ("other", "run", "lost"))
    assert sc.diff(other, run)["groundedness"]["delta"] == 0, "shipped graders are made from their specs"
    with pytest.raises(NotComparableError, match="made by other graders"):
        sc.diff(run, lost)


EARLIER = {
    "schema_version": "1.0",
    "spancheck_version": "0.3.1",
    "summary": {},
    "cases": [
        {
            "case_id": "a",
            "category": "lease",
            "input": "What is the notice period?",
            "expected": None,
            "meta": {"answerable": True},
            "error": None,
            "output": {
                "answer": "30 days.",
                "contexts": ["The notice period is 30 days."],
                "citations": [{"span": "notice period is 30 days", "claim": "30 days.", "source_id": None}],
                "sources": {"s1": "The notice period is 30 days."},
                "usage": {"input_tokens": 4, "output_tokens": 2},
                "latency_ms": 6.0,
                "abstained": None,
            },
            "grades": [{"grader": "groundedness", "score": 1.0, "passed": True, "detail": "clean"}],
        },
        {
            "case_id": "b",
            "category": "lease",
            "input": "Who?",
            "expected": None,
            "meta": {},
            "error": "RuntimeError: boom",
            "output": {"answer": ""},
            "grades": [{"grader": "groundedness", "score": 1.0, "passed": True, "detail": "vacuous"}],
        },
    ],
}


def test_an_audit_log_of_the_earlier_library_is_read():
    run = sc.Run.from_audit_log(EARLIER)

    answered, failed = run.results
    assert answered.output.contexts[0].source_id == "s1"
    assert answered.output.citations[0].quote == "notice period is 30 days"
    assert (answered.case.answerable, answered.row.latency_ms) == (True, 6.0)
    assert answered.grades[0].passed is True
    assert (failed.error, failed.grades[0].outcome) == ("RuntimeError", Outcome.UNMEASURED)


def test_what_rests_on_findings_is_not_known_of_a_document_that_has_none():
    run = sc.Run.from_audit_log(EARLIER)

    assert run.scorecard().document.headline.hallucination is None
    assert run.rescore(sc.default_graders()).scorecard().document.headline.hallucination.rate.value == 0.0


def test_a_run_that_the_earlier_library_saved_is_read_and_scored_again():
    run = sc.Run.from_audit_log({"results": EARLIER["cases"]})

    assert run.rescore(sc.default_graders()).scorecard().by_grader()["groundedness"]["n_pass"] == 1


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"schema_version": "1.7", "cases": []}, ContractError),
        ({"schema_version": "3.0"}, ContractError),
        ({"schema_version": "2.0", "contract": 7}, ContractError),
        ({"schema_version": "2.0", "contract": 1}, ConfigError),
        ({"schema_version": "1.0"}, ConfigError),
        ({"schema_version": "1.0", "cases": [{"case_id": "a", "output": {"answer": "x"}}, 7]}, ConfigError),
        ({"schema_version": "1.0", "cases": [EARLIER["cases"][0]] * 2}, ConfigError),
        ({}, ConfigError),
    ],
)
def test_a_document_that_cannot_be_read_is_refused(document, error):
    with pytest.raises(error):
        sc.Run.from_audit_log(document)


def test_a_plain_function_is_a_grader_whose_source_stands_in_the_spec():
    @sc.grader("polite")
    def polite(case, output):
        return "please" in output.answer

    run = sc.evaluate([case()], lambda question: "please", graders=[polite])

    assert run.scorecard().by_grader()["polite"]["pass_rate"] == 1.0
    assert run.specs["polite"]["settings"]["function"]["source"]


def test_an_old_grader_function_works_as_it_is():
    def long_enough(case, output):
        return sc.GradeResult("long_enough", 0.25, False, "too short")

    run = sc.evaluate([case()], lambda question: "x", graders=[long_enough])

    grade = run.results[0].grades[0]
    assert (grade.grader, grade.score, grade.passed, grade.detail) == ("long_enough", 0.25, False, "too short")


answers = st.text(max_size=60)


@given(st.lists(st.builds(Output, answer=answers.map(lambda t: t.encode("utf-8", "replace").decode())), max_size=4))
def test_grading_never_crashes_and_the_order_of_cases_plays_no_part(outputs):
    asked = [case(f"q{i}", f"question {i}?", answerable=bool(i % 2)) for i in range(len(outputs))]
    if not asked:
        return
    by_id = {item.input: value for item, value in zip(asked, outputs, strict=True)}

    forward = sc.evaluate(asked, by_id.get)
    backward = sc.evaluate(asked[::-1], by_id.get)

    assert not [g for result in forward for g in result.grades if g.reason_code == "grader_crashed"]
    first = {result.case_id: result.grades for result in forward}
    assert first == {result.case_id: result.grades for result in backward}


def test_every_failing_answer_is_attributed_to_retrieval_or_generation():
    asked = [
        case("invented", "a", answerable=True, expected_sources=["lease"]),
        case("not_retrieved", "b", answerable=True, expected_sources=["annex"]),
        case("wrongly_answered", "c", answerable=False),
        case("wrongly_declined", "d", answerable=True, expected_sources=["lease"]),
        case("fine", "e", answerable=True, expected_sources=["lease"]),
    ]
    lease = [{"source_id": "lease", "text": "Either party may end the lease with 30 days written notice."}]
    answers = {
        "a": {"answer": "The roof was painted blue in 1987 by a firm from Leeds.", "contexts": lease},
        "b": {"answer": "The roof was painted blue in 1987 by a firm from Leeds.", "contexts": lease},
        "c": cited(),
        "d": {"answer": "I don't know; the documents do not say.", "contexts": lease},
        "e": cited(),
    }

    card = sc.evaluate(asked, answers.get).scorecard().document

    assert {case_id: reason for reason, ids in card.attributions.items() for case_id in ids} == {
        name: name for name in ("invented", "not_retrieved", "wrongly_answered", "wrongly_declined")
    }
