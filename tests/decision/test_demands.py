"""What a rule says of itself before there is a night: the numbers are the suite's, and every rule has a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.decision.demands import demands
from spancheck_pipeline.decision.gate import rule_names
from spancheck_pipeline.decision.gate_settings import GateSettings

GRADERS = ["completion", "no_pii", "latency"]
SHARES = st.floats(0, 1)


def test_a_threshold_says_its_rate_and_what_it_rests_on():
    said = demands(GateSettings(min_pass_rate={"no_pii": 0.955}, min_measured=12), GRADERS)

    assert said == {
        "min_pass_rate_completion": (
            "Every call must be answered. A failure holds back the promotion to the last good run."
        ),
        "min_pass_rate_no_pii": (
            "At least 95.5 % of the measured cases must pass no_pii; the rate must rest on 12 cases, or in a small "
            "suite on half of the applicable ones. A failure holds back the promotion to the last good run."
        ),
    }


@pytest.mark.parametrize(
    ("settings", "rule", "sentence"),
    [
        ({"min_pass_rate": {"completion": 0.9}}, "min_pass_rate_completion", "At least 90 % of the calls must be"),
        ({"confidence": "lower"}, "min_pass_rate_no_pii", "pass rate of no_pii must begin at 95 % or above"),
        ({"adjudicated": True}, "min_pass_rate_no_pii", "with people's signed-off dispositions"),
        ({"max_flaky": 0.05}, "max_flaky_no_pii", "At most 5 % of the measured cases of no_pii may be flaky."),
        ({"max_unmeasured": 0.1}, "max_unmeasured_no_pii", "At most 10 % of the applicable cases of no_pii"),
        ({"regression": {"alpha": 0.01}}, "regression_no_pii", "at level 0.01 over all graders that gate"),
        ({"regression": {"detect": 0.2}}, "regression_no_pii", "could not have seen a drop of 20 % of the cases"),
        ({"regression": {"margin": 0.03}}, "regression_no_pii", "A drop of no_pii by 3 % of the cases"),
        ({"budget": {"mean_cost_usd": 0.002}}, "budget_mean_cost_usd", "cost at most 0.002 USD on average"),
        ({"budget": {"p95_latency_ms": 750}}, "budget_p95_latency_ms", "95 % of the answers must come within 750 ms"),
        ({"blocking": False}, "min_pass_rate_no_pii", "A failure is a warning and holds nothing back."),
    ],
)  # fmt: skip
def test_each_setting_stands_in_the_sentence_of_its_rule(settings, rule, sentence):
    gate = GateSettings.model_validate({"min_pass_rate": {"no_pii": 0.95}, **settings})

    assert sentence in demands(gate, GRADERS)[rule]


@given(
    rates=st.dictionaries(st.sampled_from(GRADERS), SHARES),
    caps=st.fixed_dictionaries({"max_flaky": st.none() | SHARES, "max_unmeasured": st.none() | SHARES}),
    regression=st.none() | st.just({}),
    budget=st.fixed_dictionaries({}, optional={"mean_cost_usd": st.floats(0, 10), "p95_latency_ms": st.floats(0, 1e6)}),
)
def test_every_rule_of_a_gate_has_a_sentence_and_nothing_else_has(rates, caps, regression, budget):
    gate = GateSettings.model_validate({"min_pass_rate": rates, **caps, "regression": regression, "budget": budget})

    assert tuple(demands(gate, GRADERS)) == rule_names(gate, GRADERS)
