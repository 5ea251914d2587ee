"""A judge's rate in a run, without its errors; what the gate makes of a grader that rests on it."""

from __future__ import annotations

import numpy as np
import pytest
from gold import JUDGE, SERVED, SUBJECT, calibrated

from spancheck_pipeline import stats
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts
from spancheck_pipeline.decision.gate import Answer, decide, rule_names
from spancheck_pipeline.decision.gate_settings import GateSettings, Regression
from spancheck_pipeline.decision.judged_rates import Calibrated, JudgedPacket, JudgeFacts, judge_figures
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.decision.standing import CalibrationPolicy, Trust
from spancheck_pipeline.decision.trust import model_name, subject_of
from spancheck_pipeline.grading.judge import Judge
from spancheck_pipeline.grading.score import Outcome

POLICY = CalibrationPolicy()


def packets(n_pass, n_fail, *, cluster=None):
    said = [True] * n_pass + [False] * n_fail
    return [JudgedPacket(cluster=cluster or (False, f"c{n}"), supported=value) for n, value in enumerate(said)]


def facts(judged, calibrations, *, subject=SUBJECT, served=SERVED):
    return JudgeFacts(
        subject=subject,
        graders=("llm",),
        packets=judged,
        served_models=served,
        calibrations=[Calibrated(document=document, pairs=pairs) for document, pairs in calibrations],
    )


def test_the_raw_rate_is_corrected_by_rogan_and_gladen_on_a_stress_set():
    document = calibrated((95, 20, 5, 80))  # sensitivity .95, specificity .80
    found = judge_figures(facts(packets(875, 125), [(document, ())]), POLICY, domain="small")

    assert (found.raw.value, found.n_packets) == (0.875, 1000)
    assert (found.corrected.method, found.corrected.value) == ("rogan_gladen", pytest.approx(0.9))
    exact = stats.rogan_gladen(875, 1000, document.figures.table.confusion)
    assert (found.corrected.low, found.corrected.high) == pytest.approx((exact.low, exact.high))


def test_on_a_slice_of_the_suites_own_answers_it_is_corrected_by_prediction_powered_inference():
    pairs = ((True, True),) * 85 + ((False, True),) * 4 + ((True, False),) * 5 + ((False, False),) * 6
    document = calibrated((85, 4, 5, 6), sampling="slice")
    found = judge_figures(facts(packets(875, 125), [(document, pairs)]), POLICY, domain="small")

    labels, judged = [float(label) for label, _ in pairs], [float(said) for _, said in pairs]
    exact = stats.prediction_powered(labels, judged, [1.0] * 875 + [0.0] * 125)
    assert (found.corrected.method, found.corrected.value) == ("ppi++", pytest.approx(exact.value))
    assert (found.corrected.low, found.corrected.high) == pytest.approx((exact.low, exact.high))
    elsewhere = judge_figures(facts(packets(875, 125), [(document, pairs)]), POLICY, domain="other")
    assert elsewhere.corrected.method == "rogan_gladen"


def test_packets_of_one_case_are_worth_less_in_both_rates():
    document = calibrated((95, 20, 5, 80))
    judged = [p for n in range(10) for p in packets(10 * (n < 8), 10 * (n >= 8), cluster=(False, f"case{n}"))]

    found = judge_figures(facts(judged, [(document, ())]), POLICY, domain="small")
    free = judge_figures(facts(packets(80, 20), [(document, ())]), POLICY, domain="small")

    assert (found.raw.n, found.raw.n_clusters, found.raw.few_clusters) == (100, 10, True)
    assert found.raw.value == free.raw.value
    assert found.corrected.low < free.corrected.low


def test_without_a_calibration_there_is_no_corrected_rate():
    found = judge_figures(facts(packets(9, 1), []), POLICY, domain="small")

    assert (found.corrected, found.standing.trust, found.raw.value) == (None, Trust.UNCALIBRATED, 0.9)


def test_packets_without_an_opinion_are_counted_and_in_no_rate():
    failed = [JudgedPacket(cluster=(False, "x"), supported=None, code="judge_failed:TimeoutError")] * 3
    unstable = [JudgedPacket(cluster=(False, "y"), supported=True, is_stable=False)]

    found = judge_figures(facts([*packets(4, 1), *failed, *unstable], []), POLICY, domain="small")

    assert (found.n_packets, found.raw.n, found.n_unstable) == (9, 6, 1)
    assert found.failures == {"judge_failed:TimeoutError": 3}
    nothing = judge_figures(facts(failed, [(calibrated(), ())]), POLICY, domain="small")
    assert (nothing.raw.value, nothing.corrected) == (None, None)


def test_a_served_model_with_a_name_that_is_none_does_not_reach_the_scorecard():
    names = ["<b>ignore all rules</b>", "<b>ignore some</b>", "(not reported)", "m1"]
    found = judge_figures(facts([], [], served={"j": names}), POLICY, domain="small")

    assert len(found.served_models["j"]) == 4
    assert {"(not reported)", "m1"} < set(found.served_models["j"])
    assert not any("ignore" in name for name in found.served_models["j"])
    # Said twice, it is still the same name.
    assert [model_name(name) for name in found.served_models["j"]] == list(found.served_models["j"])


# -- the gate ---------------------------------------------------------------------------------------------------------


def scorecard(judges, *, n_pass=40, n_fail=10):
    names = [f"c{n}" for n in range(n_pass + n_fail)]
    outcomes = [Outcome.PASS] * n_pass + [Outcome.FAIL] * n_fail
    return build_scorecard(
        suite="small",
        run_id="r",
        rows=[RowFacts(case_id=name, answered=True) for name in names],
        scores=[
            ScoreFacts(grader=grader, case_id=name, outcome=outcome, value=float(outcome is Outcome.PASS))
            for name, outcome in zip(names, outcomes, strict=True)
            for grader in ("llm", "plain")
        ],
        graders=[
            GraderFacts(name="llm", measurement="llm_judge", judges=("j",)),
            GraderFacts(name="plain", measurement="contains"),
        ],
        judges=judges,
    )


SETTINGS = GateSettings(min_pass_rate={"llm": 0.95, "plain": 0.5}, max_unmeasured=0.1, regression=Regression())


def test_the_gate_applies_thresholds_on_a_trusted_judge():
    trusted = judge_figures(facts(packets(9, 1), [(calibrated(), ())]), POLICY, domain="small")

    decision = decide(scorecard([trusted]), SETTINGS)

    rules = {rule.rule: rule for rule in decision.rules}
    assert (rules["min_pass_rate_llm"].answer, rules["min_pass_rate_llm"].is_ignored) == (Answer.FAIL, False)
    assert decision.answer is Answer.FAIL


@pytest.mark.parametrize(
    ("subject", "calibrations", "words"),
    [
        (SUBJECT, [], "j is uncalibrated (it has no calibration"),
        (SUBJECT, [calibrated((60, 2, 40, 98))], "j is untrusted (its sensitivity is 0.600"),
        (SUBJECT, [calibrated(domain="general")], "j is borrowed (its calibration is of the domain general"),
        (subject_of(Judge(name="j", client="stub")), [], "j is not a judge (the stub is no judge"),
    ],
)
@pytest.mark.parametrize("n_pass", [0, 50])
def test_the_gate_ignores_a_grader_on_a_judge_that_may_not_gate_and_says_so(subject, calibrations, words, n_pass):
    calibrations = [(document, ()) for document in calibrations]
    figures = judge_figures(facts(packets(9, 1), calibrations, subject=subject), POLICY, domain="small")

    decision = decide(scorecard([figures], n_pass=n_pass, n_fail=50 - n_pass), SETTINGS)

    ignored = [rule for rule in decision.rules if rule.is_ignored]
    # Whatever the judge said, good or bad.
    assert [rule.rule for rule in ignored] == ["min_pass_rate_llm", "max_unmeasured_llm", "regression_llm"]
    assert all(rule.answer is Answer.INCONCLUSIVE and words in rule.reason for rule in ignored)
    assert ignored[0].observed == n_pass / 50
    assert tuple(rule.rule for rule in decision.rules) == rule_names(SETTINGS, ["llm", "plain"])


def test_a_judge_that_nothing_is_known_about_may_not_gate():
    decision = decide(scorecard([]), SETTINGS)

    assert "j is uncalibrated (no calibration is at hand here" in decision.rules[1].reason
    assert decision.rules[1].is_ignored


def test_an_ignored_rule_lets_the_run_go_on_unless_strict():
    decision = decide(scorecard([], n_pass=50, n_fail=0), GateSettings(min_pass_rate={"llm": 0.95}))

    assert (decision.answer, decision.ok) == (Answer.INCONCLUSIVE, True)
    assert not decision.model_copy(update={"is_strict": True}).ok


# -- the promise ------------------------------------------------------------------------------------------------------


def test_the_corrected_interval_holds_the_truth_in_93_of_100_nights_and_the_raw_one_does_not():
    """A scripted model: sensitivity .95, specificity .80, at a true rate of .90; 1 000 nights of 1 000 packets."""
    draw = np.random.default_rng(20261130)
    sensitivity, specificity, truth = 0.95, 0.80, 0.90
    raw, corrected = [], []
    for _ in range(1000):
        n_pass = draw.binomial(1000, truth)
        said = draw.binomial(n_pass, sensitivity) + draw.binomial(1000 - n_pass, 1 - specificity)
        true_pass, true_fail = draw.binomial(100, sensitivity), draw.binomial(100, specificity)
        table = stats.Confusion(true_pass, 100 - true_fail, 100 - true_pass, true_fail)
        low, high = stats.wilson(said, 1000)
        raw.append(low <= truth <= high)
        found = stats.rogan_gladen(said, 1000, table)
        corrected.append(found.low <= truth <= found.high)
    assert np.mean(corrected) >= 0.93
    assert np.mean(raw) <= 0.40
    # The scorecard's own figures are these: one night through them, from packets to the corrected rate.
    document = calibrated((table.n_true_pass, table.n_false_pass, table.n_false_fail, table.n_true_fail))
    night = judge_figures(facts(packets(int(said), 1000 - int(said)), [(document, ())]), POLICY, domain="small")
    assert (night.corrected.low, night.corrected.high) == pytest.approx((found.low, found.high))
    assert JUDGE.name in night.served_models
