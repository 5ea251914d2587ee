from spancheck_pipeline.decision.rule import Answer, RuleResult


def rule(**facts):
    return RuleResult(
        rule="regression_cites", kind="regression", subject="cites", answer=Answer.INCONCLUSIVE, reason="", **facts
    )


def test_what_a_regressions_test_came_to_is_said_in_one_way():
    found = rule(p_value=0.0421, detectable_drop=0.1234, cases_needed=1200)

    assert found.test_facts == (
        "p = 0.042; would have seen a drop of 12.3 points; about 1,200 independent cases needed"
    )
    assert rule(cases_needed=1).test_facts == "about 1 independent case needed"


def test_a_rule_without_a_test_says_nothing_of_one():
    assert rule().test_facts == ""
