"""What the gate answers, and that it never answers green by accident."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, compare
from spancheck_pipeline.decision.figures import Cost, Counts, GraderFigures, Headline, Latency, Quantiles, Rate
from spancheck_pipeline.decision.figures import ScorecardDocument as Document
from spancheck_pipeline.decision.gate import (
    Answer,
    GateDecision,
    check_thresholds,
    decide,
    required_measured,
    rule_names,
)
from spancheck_pipeline.decision.gate_settings import Budget, GateSettings, Regression
from spancheck_pipeline.decision.scorecard import GraderFacts, RowFacts, ScoreFacts, build_scorecard
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.grading.score import Outcome


def counts(n_pass=0, n_fail=0, *, flaky=0, not_applicable=0, unmeasured=0):
    return Counts(
        n_cases=n_pass + n_fail + flaky + not_applicable + unmeasured,
        n_pass=n_pass,
        n_fail=n_fail,
        n_flaky=flaky,
        n_not_applicable=not_applicable,
        n_unmeasured=unmeasured,
    )


def document(*, completion=None, headline=None, **graders):
    n = max([c.n_cases for c in graders.values()], default=100)
    calls = completion or counts(n)
    figures = {
        name: GraderFigures(
            name=name, measurement=name, version="1", spec_digest="", counts=c, pass_rate=Rate(), mean_score=Rate()
        )
        for name, c in graders.items()
    }
    return Document(
        suite="leases", run_id="r1", headline=headline or Headline(), n_cases=n, epochs=1, n_rows=n, n_answered=n,
        calls=calls, graders=figures,
    )  # fmt: skip


def answer_of(decision, rule):
    return next(r for r in decision.rules if r.rule == rule)


def answer(found, threshold, **settings):
    decision = decide(document(cites=found), GateSettings(min_pass_rate={"cites": threshold}, **settings))
    return answer_of(decision, "min_pass_rate_cites")


def test_a_run_above_its_thresholds_passes_and_the_decision_unpacks():
    when = datetime(2026, 11, 30, 3, tzinfo=UTC)
    decision = decide(
        document(cites=counts(96, 4)),
        GateSettings(min_pass_rate={"cites": 0.95}),
        decided_at=when,
        decided_by="nightly",
        note="first",
        revision=1,
    )
    ok, reasons = decision
    assert (ok, reasons, decision.answer) == (True, (), Answer.PASS)
    assert [r.rule for r in decision.rules] == ["min_pass_rate_completion", "min_pass_rate_cites"]
    assert decision.rules[1].reason == "cites: 96 of 100 measured passed, at least 0.95 is wanted"
    assert (decision.decided_at, decision.decided_by, decision.revision) == (when, "nightly", 1)
    assert GateDecision.model_validate_json(decision.model_dump_json()) == decision


def test_a_run_below_a_threshold_fails_with_its_numbers():
    rule = answer(counts(94, 6), 0.95)
    assert rule.answer is Answer.FAIL
    assert rule.reason == "cites: 94 of 100 measured passed, below 0.95; look at the failing cases"


def test_nine_of_ten_calls_erroring_fails():
    rows = [
        RowFacts(case_id=str(i), answered=i == 0, error_class=None if i == 0 else "TimeoutError") for i in range(10)
    ]
    scores = [
        ScoreFacts(
            grader="cites",
            case_id=str(i),
            outcome=Outcome.PASS if i == 0 else Outcome.UNMEASURED,
            value=1.0 if i == 0 else None,
        )
        for i in range(10)
    ]
    graders = [GraderFacts(name="cites", measurement="citation_accuracy")]
    card = build_scorecard(suite="leases", run_id="r1", rows=rows, scores=scores, graders=graders)
    decision = decide(card, GateSettings(min_pass_rate={"cites": 0.9}))
    assert not decision.ok
    assert decision.answer is Answer.FAIL
    assert answer_of(decision, "min_pass_rate_completion").answer is Answer.FAIL
    assert answer_of(decision, "min_pass_rate_cites").answer is Answer.NOT_MEASURED


def test_2999_of_3000_fails_a_threshold_of_one():
    assert answer(counts(2999, 1), 1.0).answer is Answer.FAIL
    assert answer(counts(3000), 1.0).answer is Answer.PASS


@pytest.mark.parametrize(
    ("n_pass", "n", "threshold"),
    [(19, 20, 0.95), (7, 10, 0.7), (29, 50, 0.58), (57, 100, 0.57), (18, 20, 0.9), (11, 20, 0.55)],
)
def test_a_threshold_means_the_decimal_that_was_written(n_pass, n, threshold):
    assert answer(counts(n_pass, n - n_pass), threshold).answer is Answer.PASS
    assert answer(counts(n_pass - 1, n - n_pass + 1), threshold).answer is Answer.FAIL


def test_a_system_that_always_abstains_fails():
    # 40 answerable and 10 unanswerable questions, all declined: nothing cited, 40 of 50 abstentions wrong.
    card = document(cites=counts(not_applicable=50), abstains=counts(10, 40))
    decision = decide(card, GateSettings(min_pass_rate={"cites": 0.9, "abstains": 0.9}))
    assert [r.answer for r in decision.rules] == [Answer.PASS, Answer.FAIL, Answer.FAIL]


def test_a_threshold_on_a_grader_that_measured_nothing_fails_even_at_zero():
    assert answer(counts(not_applicable=40), 0.0).answer is Answer.FAIL
    assert "nothing was measured" in answer(counts(not_applicable=40), 0.0).reason
    assert answer(Counts(), 0.0).answer is Answer.FAIL
    assert answer(counts(unmeasured=40), 0.0).answer is Answer.NOT_MEASURED


def test_a_misspelt_grader_is_an_error_that_names_the_nearest_one():
    settings = GateSettings(min_pass_rate={"citation_acuracy": 0.9})
    with pytest.raises(UsageError, match="did you mean 'citation_accuracy'"):
        check_thresholds(settings, ["citation_accuracy", "no_pii"])
    with pytest.raises(UsageError, match="citation_acuracy"):
        decide(document(citation_accuracy=counts(50)), settings)
    check_thresholds(GateSettings(min_pass_rate={"completion": 0.9}), [])


def test_a_run_without_any_row_does_not_pass():
    card = build_scorecard(suite="leases", run_id="r1", rows=[], scores=[], graders=[])
    assert decide(card, GateSettings()).answer is Answer.FAIL


def test_flaky_cases_count_against_the_threshold():
    assert answer(counts(95, flaky=5), 0.96).answer is Answer.FAIL


def test_the_unmeasured_decide_only_when_they_could_turn_the_answer():
    assert answer(counts(97, 1, unmeasured=2), 0.95).answer is Answer.PASS  # 97 of 100 at the worst
    assert answer(counts(90, 8, unmeasured=2), 0.95).answer is Answer.FAIL  # 92 of 100 at the best
    for between in (answer(counts(94, 4, unmeasured=2), 0.95), answer(counts(93, 5, unmeasured=2), 0.95)):
        assert between.answer is Answer.NOT_MEASURED  # 94 to 96, and 93 to 95 of 100
        assert "quality is not what failed" in between.reason


def test_what_is_not_measured_blocks():
    decision = decide(document(cites=counts(94, 4, unmeasured=2)), GateSettings(min_pass_rate={"cites": 0.95}))
    assert (decision.answer, decision.ok) == (Answer.NOT_MEASURED, False)


def test_completion_always_gates_and_its_threshold_can_be_set():
    card = document(completion=counts(98, 2))
    assert decide(card, GateSettings()).answer is Answer.FAIL
    assert decide(card, GateSettings(min_pass_rate={"completion": 0.95})).answer is Answer.PASS


def test_a_grader_called_completion_that_measures_something_else_does_not_stand_in_for_it():
    other = document(completion=counts(1, 99), completion_like=counts(100))
    renamed = {"completion": other.graders["completion_like"]}
    assert decide(other.model_copy(update={"graders": renamed}), GateSettings()).answer is Answer.FAIL


@pytest.mark.parametrize(
    ("found", "min_measured", "required"),
    [
        (counts(1, not_applicable=299), None, 10),  # one cited answer and 299 not applicable decide nothing
        (counts(8), None, 4),  # a suite of 8 cases can decide
        (counts(30, 30), None, 30),
        (counts(50, not_applicable=250), None, 25),
        (counts(500), None, 30),
        (counts(500), 200, 200),
        (counts(100), 200, 50),
        (counts(100), 5, 5),
    ],
)
def test_a_threshold_rests_on_enough_cases(found, min_measured, required):
    assert required_measured(found, min_measured) == required


def test_too_few_measured_cases_are_not_measured_whatever_they_say():
    for one in (counts(1, not_applicable=299), counts(0, 1, not_applicable=299)):
        rule = answer(one, 0.9)
        assert rule.answer is Answer.NOT_MEASURED
        assert "1 of 300 cases measured" in rule.reason
        assert "rest on 10" in rule.reason


def test_regressions_without_a_baseline_leave_the_decision_to_the_thresholds():
    settings = GateSettings(min_pass_rate={"cites": 0.9}, regression=Regression())
    decision = decide(document(cites=counts(100)), settings)
    assert (decision.answer, decision.ok) == (Answer.INCONCLUSIVE, True)
    assert decision.reasons == ("cites: no comparable baseline; the thresholds alone decide",)


def compared(n_both, n_failing, kind="release"):
    flags = {"old": [True] * (n_both + n_failing), "new": [True] * n_both + [False] * n_failing}
    runs = {
        name: ComparedRun(
            run_id=name,
            cases={str(i): ComparedCase(question_digest=str(i)) for i in range(len(passes))},
            scores=[
                ScoreFacts(grader="cites", case_id=str(i), outcome=Outcome.PASS if p else Outcome.FAIL, value=float(p))
                for i, p in enumerate(passes)
            ],
        )
        for name, passes in flags.items()
    }
    return compare(runs["new"], runs["old"], suite="leases", graders=["cites"], baseline_kind=kind)


def test_a_regression_fails_a_night_that_reaches_its_thresholds():
    settings = GateSettings(min_pass_rate={"cites": 0.9}, regression=Regression())
    comparison = compared(92, 8)
    decision = decide(document(cites=counts(92, 8)), settings, comparisons=[comparison])
    assert [r.answer for r in decision.rules] == [Answer.PASS, Answer.PASS, Answer.FAIL]
    assert decision.comparisons == {"release": comparison.digest}
    unchanged = decide(document(cites=counts(100)), settings, comparisons=[compared(100, 0)])
    assert unchanged.answer is Answer.PASS


def test_a_strict_gate_blocks_what_is_inconclusive():
    settings = GateSettings(regression=Regression())
    assert decide(document(cites=counts(100)), settings).ok
    strict = decide(document(cites=counts(100)), settings, is_strict=True)
    assert (strict.answer, strict.ok) == (Answer.INCONCLUSIVE, False)
    assert not GateDecision.model_validate_json(strict.model_dump_json()).ok


def test_a_threshold_may_be_decided_by_the_lower_bound():
    # Wilson of 97 of 100: .9155; of 99 of 100: .9455
    assert answer(counts(97, 3), 0.95).answer is Answer.PASS
    assert answer(counts(97, 3), 0.95, confidence="lower").answer is Answer.FAIL
    assert answer(counts(97, 3), 0.91, confidence="lower").answer is Answer.PASS
    assert answer(counts(97, 0, unmeasured=3), 0.92, confidence="lower").answer is Answer.FAIL
    assert answer(counts(90, 10), 0.95, confidence="lower").answer is Answer.FAIL


def test_a_threshold_of_one_is_decided_by_the_count_for_no_interval_begins_there():
    rule = answer(counts(400), 1.0, confidence="lower")
    assert rule.answer is Answer.PASS
    assert rule.reason.endswith("a threshold of 1 is decided by the count, since no interval begins at 1")
    assert answer(counts(399, 1), 1.0, confidence="lower").answer is Answer.FAIL
    assert decide(document(cites=counts(400)), GateSettings(confidence="lower")).answer is Answer.PASS  # completion


def clustered(said, *, failed_calls=(), size=10):
    """A scorecard of documents of ten cases: P, F or U a case, and the cases whose call failed."""
    outcomes = {"P": Outcome.PASS, "F": Outcome.FAIL, "U": Outcome.UNMEASURED}
    facts = [
        {"case_id": f"{i:03d}", "cluster": f"d{i // size}", "outcome": outcomes[word]} for i, word in enumerate(said)
    ]
    scores = [
        ScoreFacts(grader="cites", value=None if word == "U" else float(word == "P"), **fact)
        for word, fact in zip(said, facts, strict=True)
    ]
    rows = [
        RowFacts(case_id=fact["case_id"], cluster=fact["cluster"], answered=i not in failed_calls)
        for i, fact in enumerate(facts)
    ]
    graders = [GraderFacts(name="cites", measurement="citation_accuracy")]
    return build_scorecard(suite="leases", run_id="r1", rows=rows, scores=scores, graders=graders)


def test_the_lower_bound_of_documents_says_whose_it_is_and_asks_for_documents():
    # 200 of 200 in 20 documents: the interval begins at .8203, with four failures at .9087 (tests/stats/test_clustered)
    settings = GateSettings(min_pass_rate={"cites": 0.9, "completion": 0.5}, confidence="lower")
    rule = answer_of(decide(clustered("P" * 200), settings), "min_pass_rate_cites")
    assert rule.answer is Answer.PASS
    assert rule.reason.startswith("cites: 200 of 200 measured passed")
    assert rule.reason.endswith(
        ", with the lower bound 0.9087, which it would have with 4 further failures (its interval begins at 0.8203, "
        "since too few documents hold a failure to tell how far their cases go together; no run is judged worse for "
        "failing less), at least 0.9 is wanted"
    )
    stricter = settings.model_copy(update={"min_pass_rate": {"cites": 0.95}})
    failed = answer_of(decide(clustered("P" * 200), stricter), "min_pass_rate_cites")
    assert failed.answer is Answer.FAIL
    assert failed.reason.endswith("below 0.95; measure more documents, or decide by the count")
    assert "measure more cases" in answer(counts(97, 3), 0.95, confidence="lower").reason


def test_the_unmeasured_of_a_document_count_as_failed_in_its_bound_and_so_do_failed_calls():
    # Two of 20 documents are lost: 180 of 200 in 18 documents, ICC 1: n_eff 20, p = .9, t(19) = 2.093024:
    # (.9 + 4.380750/40 - 2.093024·√(.09/20 + 4.380750/1600))/(1 + 4.380750/20) = (1.009519 - .178087)/1.219038
    settings = GateSettings(min_pass_rate={"cites": 0.7, "completion": 0.7}, confidence="lower")
    lost = decide(clustered("U" * 20 + "P" * 180, failed_calls=range(20)), settings)
    for name in ("cites", "completion"):
        rule = answer_of(lost, f"min_pass_rate_{name}")
        assert rule.answer is Answer.FAIL
        assert "lower bound 0.682" in rule.reason
    cites = answer_of(lost, "min_pass_rate_cites").reason
    assert "below 0.7; the unmeasured count as failed in it (20 of 20 unmeasured scores say " in cites
    at = GateSettings(min_pass_rate={"cites": 0.68, "completion": 0.68}, confidence="lower")
    assert decide(clustered("U" * 20 + "P" * 180, failed_calls=range(20)), at).answer is Answer.PASS


def test_messages_do_not_round_a_threshold_or_an_estimate_past_it():
    assert "below 0.9500000001;" in answer(counts(19, 1), 0.9500000001).reason
    # Wilson of 97 of 100 begins at .915481: to four digits it would stand on the other side.
    assert "lower bound 0.91548, below 0.91549;" in answer(counts(97, 3), 0.91549, confidence="lower").reason


TOO_FEW = counts(1, 1, unmeasured=4)
"""Two of six applicable cases are measured, and three are needed."""


@pytest.mark.parametrize(
    ("codes", "helps"),
    [
        ({"call_failed": 3, "no_contexts": 1}, "3 of 4 unmeasured scores say call_failed: retry the failed calls"),
        ({"no_contexts": 4}, "4 of 4 unmeasured scores say no_contexts: let the target return the passages"),
        ({"grader_crashed": 4}, "4 of 4 unmeasured scores say grader_crashed: look at the grader"),
        ({"judge_failed:A": 2, "judge_failed:B": 1, "no_contexts": 1}, "3 of 4 unmeasured scores say judge_failed"),
        ({"of_my_own": 4}, "4 of 4 unmeasured scores say of_my_own: look at the unmeasured cases"),
    ],
)  # fmt: skip
def test_what_helps_where_something_is_not_measured_follows_the_commonest_reason(codes, helps):
    card = document(cites=counts(34, 2, unmeasured=4))
    figures = card.graders["cites"].model_copy(update={"unmeasured_codes": codes})
    card = card.model_copy(update={"graders": {"cites": figures}})
    turned = answer_of(decide(card, GateSettings(min_pass_rate={"cites": 0.9})), "min_pass_rate_cites")
    few = GateSettings(min_pass_rate={"cites": 0.5}, min_measured=100)
    too_few = answer_of(
        decide(card.model_copy(update={"graders": {"cites": figures.model_copy(update={"counts": TOO_FEW})}}), few),
        "min_pass_rate_cites",
    )
    for rule in (turned, too_few):
        assert rule.answer is Answer.NOT_MEASURED
        assert f"quality is not what failed: {helps}" in rule.reason


def test_caps_hold_flaky_and_unmeasured_cases_down():
    settings = GateSettings(min_pass_rate={"cites": 0.5}, max_flaky=0.05, max_unmeasured=0.05)
    decision = decide(document(cites=counts(84, 3, flaky=5, unmeasured=8)), settings)
    assert answer_of(decision, "max_flaky_cites").answer is Answer.FAIL  # 5 of 92
    assert answer_of(decision, "max_unmeasured_cites").answer is Answer.NOT_MEASURED  # 8 of 100
    assert answer_of(decision, "max_flaky_cites").reason.endswith("at most 0.05 may be; look at these cases")
    assert answer_of(decision, "max_unmeasured_cites").reason.endswith("; look at the unmeasured cases")
    within = decide(document(cites=counts(90, flaky=5, unmeasured=5)), settings)
    assert answer_of(within, "max_flaky_cites").answer is Answer.FAIL  # 5 of 95
    assert answer_of(within, "max_unmeasured_cites").answer is Answer.PASS  # 5 of 100
    assert tuple(r.rule for r in decision.rules) == rule_names(settings, ["cites"])


def cost(n_priced, total, n_unpriced=0, without_usage=0):
    known = n_unpriced == 0
    return Headline(
        cost=Cost(
            total_usd=total if known else None,
            mean_usd=total / n_priced if known else None,
            priced_total_usd=total,
            n_priced=n_priced,
            n_unpriced=n_unpriced,
            n_without_usage=without_usage,
            unpriced_models=() if known else ("m-2",),
        )
    )


@pytest.mark.parametrize(
    ("headline", "expected", "words"),
    [
        (cost(100, 1.0), Answer.PASS, "0.01 USD an answer over 100"),
        (cost(100, 1.1), Answer.FAIL, "0.011 USD"),
        (cost(50, 0.2, 50), Answer.NOT_MEASURED, "50 lack only a price: state those of m-2"),
        (cost(50, 0.2, 50, without_usage=50), Answer.NOT_MEASURED, "50 report no tokens: let the target return usage"),
        (cost(3, 0.03), Answer.PASS, "within 0.01"),  # three of .01: as floats more than .03
        (cost(50, 2.0, 50), Answer.FAIL, "taken as free"),  # 2/100 even if the rest is free
        (Headline(), Answer.NOT_MEASURED, "no call was answered"),
    ],
)
def test_the_cost_budget_holds_for_what_is_known_and_says_what_is_not(headline, expected, words):
    decision = decide(document(headline=headline), GateSettings(budget=Budget(mean_cost_usd=0.01)))
    rule = answer_of(decision, "budget_mean_cost_usd")
    assert rule.answer is expected
    assert words in rule.reason


def latency(p95, fast, slow, n_unknown=0):
    answers = Quantiles(n=100 if p95 else 0, p95_ms=p95)
    return Headline(
        latency=Latency(answer=answers, n_unknown=n_unknown, p95_if_unknown_fast_ms=fast, p95_if_unknown_slow_ms=slow)
    )


@pytest.mark.parametrize(
    ("headline", "expected"),
    [
        (latency(900.0, 900.0, 900.0), Answer.PASS),
        (latency(1000.0, 1000.0, 1000.0), Answer.PASS),
        (latency(1100.0, 1050.0, None, 9), Answer.FAIL),
        (latency(900.0, 880.0, None, 9), Answer.NOT_MEASURED),
        (latency(1100.0, 990.0, None, 9), Answer.NOT_MEASURED),
        (latency(900.0, 880.0, 950.0, 2), Answer.PASS),
        (latency(None, None, None, 100), Answer.NOT_MEASURED),
    ],
)
def test_the_latency_budget_is_decided_at_both_extremes_of_the_unknown(headline, expected):
    decision = decide(document(headline=headline), GateSettings(budget=Budget(p95_latency_ms=1000)))
    assert answer_of(decision, "budget_p95_latency_ms").answer is expected


def test_a_cost_of_exactly_the_budget_is_within_it():
    for price, n in ((0.1, 3), (0.1, 10), (0.0007, 3), (0.0011, 3), (0.0013, 7)):
        rows = [RowFacts(case_id=str(i), answered=True, cost_usd=price) for i in range(n)]
        card = build_scorecard(suite="leases", run_id="r1", rows=rows, scores=[], graders=[])
        assert (card.headline.cost.mean_usd, card.headline.cost.total_usd) == (price, float(f"{price * n:.10g}"))
        rule = answer_of(decide(card, GateSettings(budget=Budget(mean_cost_usd=price))), "budget_mean_cost_usd")
        assert rule.answer is Answer.PASS
        less = GateSettings(budget=Budget(mean_cost_usd=price - 1e-12))
        assert answer_of(decide(card, less), "budget_mean_cost_usd").answer is Answer.FAIL


def test_a_time_that_is_missing_is_asked_for_where_the_call_did_not_fail():
    def said(rows):
        card = build_scorecard(suite="leases", run_id="r1", rows=rows, scores=[], graders=[])
        return answer_of(decide(card, GateSettings(budget=Budget(p95_latency_ms=5))), "budget_p95_latency_ms").reason

    untimed = [RowFacts(case_id=str(i), answered=True) for i in range(3)]
    assert said(untimed).endswith(
        "3 answers came without a time: record the times with the answers, or capture the run"
    )
    failed = [RowFacts(case_id=str(i), answered=False, error_class="TimeoutError") for i in range(3)]
    assert said(failed).endswith("3 calls failed: retry them (--retry-errors)")


def test_the_names_of_the_rules_are_known_beforehand_and_fit_a_checks_name():
    settings = GateSettings(
        min_pass_rate={"cites": 0.9, "completion": 0.99},
        regression=Regression(),
        budget=Budget(mean_cost_usd=1, p95_latency_ms=5),
        blocking=False,
    )
    decision = decide(document(cites=counts(100)), settings)
    assert tuple(r.rule for r in decision.rules) == rule_names(settings, ["cites"])
    assert all(r.rule.isidentifier() and not r.is_blocking for r in decision.rules)


def test_without_thresholds_every_grader_is_watched_for_regressions():
    settings = GateSettings(regression=Regression())
    assert rule_names(settings, ["completion", "a", "b"]) == (
        "min_pass_rate_completion",
        "regression_a",
        "regression_b",
    )


COUNTS = st.builds(
    counts,
    st.integers(0, 60),
    st.integers(0, 60),
    flaky=st.integers(0, 5),
    not_applicable=st.integers(0, 60),
    unmeasured=st.integers(0, 10),
)


@given(COUNTS, st.decimals(0, 1, places=3).map(float))
def test_green_means_that_the_worst_case_reaches_the_threshold(found, threshold):
    rule = answer(found, threshold)
    if rule.answer is Answer.PASS:
        # Thousandths, so that both sides are whole numbers.
        assert found.n_pass * 1000 >= round(threshold * 1000) * found.n_applicable
        assert found.n_measured >= required_measured(found, None)


@given(COUNTS, st.decimals(0, 1, places=3).map(float))
def test_measuring_an_unmeasured_case_never_contradicts_a_decided_answer(found, threshold):
    before = answer(found, threshold).answer
    if found.n_unmeasured == 0 or before is Answer.NOT_MEASURED:
        return
    for kind in ("n_pass", "n_fail", "n_flaky"):
        changes = {kind: getattr(found, kind) + 1, "n_unmeasured": found.n_unmeasured - 1}
        assert answer(found.model_copy(update=changes), threshold).answer is before
