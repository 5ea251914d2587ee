"""Where a judge stands: trusted only by a calibration of exactly it that clears the policy."""

from __future__ import annotations

import dataclasses

import pytest
from gold import JUDGE, SERVED, calibrated

from spancheck_pipeline.decision.standing import CalibrationPolicy
from spancheck_pipeline.decision.trust import standing, subject_of
from spancheck_pipeline.grading.judge import Judge

POLICY = CalibrationPolicy()


def stands(judge=JUDGE, served=SERVED, calibrations=None, policy=POLICY, domain="small"):
    found = standing(judge, served, [calibrated()] if calibrations is None else calibrations, policy, domain=domain)
    return found.trust.value, found.gates, found.reason


def test_a_judge_whose_own_calibration_clears_the_policy_is_trusted_and_gates():
    # 95 of 100 passes: Wilson's lower bound .8882; 98 of 100 failures: .9300
    shown = "200 gold items of the domain small show a sensitivity of at least 0.888 and specificity of at least 0.930"
    assert stands() == ("trusted", True, shown)


def test_without_a_calibration_it_is_uncalibrated():
    assert stands(calibrations=[]) == (
        "uncalibrated", False, "it has no calibration; run `spancheck calibrate j --gold FILE`",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"threshold": 0.7}, "threshold"),
        ({"model": "m2"}, "model"),
        ({"prompt": "groundedness_v1", "prompt_digest": ""}, "prompt"),
        ({"prompt_digest": "0" * 64}, "text of its prompt"),
        ({"client": "anthropic"}, "client"),
        ({"runs": 3}, "number of runs"),
        ({"temperature": 0.0}, "temperature, address, program, function or version of it"),
        ({"client_digest": "other"}, "temperature, address, program, function or version of it"),
    ],
)
def test_a_calibration_of_anything_else_under_its_name_does_not_count(change, word):
    trust, gates, reason = stands(dataclasses.replace(JUDGE, **change))

    assert (trust, gates) == ("uncalibrated", False)
    assert reason.startswith(f"it is calibrated with another {word}; run")


def test_another_served_model_does_not_count():
    assert stands(served={"j": ["m1-2027"]})[:2] == ("uncalibrated", False)
    assert stands(served={"j": ["m1-2026", "m1-2027"]})[:2] == ("uncalibrated", False)
    assert stands(served={"j": []})[:2] == ("trusted", True)  # nobody was asked


def test_a_calibration_over_several_served_models_speaks_for_none_of_them():
    mixed = calibrated(served={"j": ["m1-2026", "m1-2027"]})

    assert stands(calibrations=[mixed])[:2] == ("uncalibrated", False)


def test_a_calibration_of_a_grader_of_the_same_name_does_not_count():
    grader = calibrated(subject=subject_of(JUDGE).model_copy(update={"kind": "grader"}))

    assert stands(calibrations=[grader])[0] == "uncalibrated"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ((45, 1, 4, 49), "99 gold items are measured, and 100 are asked for"),
        ((75, 0, 0, 29), "29 of them are failures, and 30 are asked for"),
        # 87 of 100: .7902, and 88 of 100: .8019
        ((87, 2, 13, 98), "its sensitivity is 0.870 with the lower bound 0.790, and 0.8 is asked for"),
        ((95, 13, 5, 87), "its specificity is 0.870 with the lower bound 0.790, and 0.8 is asked for"),
        ((0, 3, 0, 120), "its sensitivity is not measured, and 0.8 is asked for"),
    ],
)
def test_a_calibration_that_shows_too_little_leaves_it_untrusted(table, words):
    trust, gates, reason = stands(calibrations=[calibrated(table)])

    assert (trust, gates) == ("untrusted", False)
    assert words in reason


def test_the_bound_decides_and_not_the_value():
    assert stands(calibrations=[calibrated((88, 2, 12, 98))])[0] == "trusted"  # lower bound .8019
    strict = CalibrationPolicy(min_sensitivity=0.81)
    assert stands(calibrations=[calibrated((88, 2, 12, 98))], policy=strict)[0] == "untrusted"


def test_items_that_it_gave_no_verdict_on_count_against_it():
    # 95 of 100 are right; with 15 more passes unmeasured, 95 of 115: lower bound .7468
    trust, _, reason = stands(calibrations=[calibrated(n_failed=15)])

    assert trust == "untrusted"
    assert "lower bound 0.747, 15 unmeasured taken as errors" in reason


def test_a_calibration_of_another_domain_is_borrowed():
    borrowed = [calibrated(domain="general")]

    assert stands(calibrations=borrowed)[:2] == ("borrowed", False)
    allowed = CalibrationPolicy(allow_borrowed=True)
    assert stands(calibrations=borrowed, policy=allowed)[:2] == ("borrowed", True)
    assert stands(calibrations=borrowed, policy=CalibrationPolicy(domain="general"))[:2] == ("trusted", True)
    weak = [calibrated((60, 2, 40, 98), domain="general")]
    assert stands(calibrations=weak, policy=allowed)[:2] == ("untrusted", False)


def test_its_own_domain_comes_before_a_better_borrowed_one():
    own, borrowed = calibrated((60, 2, 40, 98)), calibrated(domain="general")

    for order in ([own, borrowed], [borrowed, own]):
        assert stands(calibrations=order, policy=CalibrationPolicy(allow_borrowed=True))[0] == "untrusted"


def test_the_stub_is_no_judge_however_good_its_figures():
    stub = Judge(name="j", client="stub")
    perfect = calibrated((100, 0, 0, 100), subject=subject_of(stub), served={"j": ["stub"]})

    assert stands(stub, {"j": ["stub"]}, [perfect])[:2] == ("not_a_judge", False)


def test_a_panel_is_calibrated_as_a_whole():
    members = tuple(Judge(name=name, client="openai", model="m") for name in ("a", "b", "c"))
    panel = Judge(name="j", client="panel", members=members)
    served = {"a": ["x"], "b": ["y"], "c": ["z"]}
    own = calibrated(subject=subject_of(panel), served=served)

    assert stands(panel, served, [own])[0] == "trusted"
    assert stands(panel, {**served, "b": ["other"]}, [own])[0] == "uncalibrated"
    stricter = dataclasses.replace(panel, members=(dataclasses.replace(members[0], threshold=0.9), *members[1:]))
    assert stands(stricter, served, [own])[2].startswith("it is calibrated with another panel")
    with_stub = dataclasses.replace(panel, members=(Judge(name="a", client="stub"), *members[1:]))
    assert stands(with_stub, served, [own])[0] == "not_a_judge"
