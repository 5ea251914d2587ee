"""A report in Markdown."""

from report_scenario import answered, head_of
from scenario import PASSAGE

from spancheck_pipeline.report.summary import summary_markdown


def test_a_summary_says_decision_figures_coverage_and_rules():
    records = [answered("c1", "Notice is 30 days.", passages=[("lease", PASSAGE)], answerable=True)]

    text = summary_markdown(head_of(records, gate={"min_pass_rate": {"no_pii": 0.5}}))

    lines = text.splitlines()
    assert lines[0] == "**The gate lets this run pass: all 2 rules hold.**"
    assert "| abstention correctness | 100.0 % | 20.7 – 100.0 % | 1 |" in lines  # Wilson: 1 / (1 + 1.96²) = 0.2065
    assert "| latency, p95 | 12 ms | | 1 |" in lines
    assert "1 case. Not measured: nothing. Failed calls: none." in text
    assert sum("✅ PASS" in line for line in lines) == 3  # two rules and the heading


def test_a_summary_holds_no_text_of_a_case():
    secret = "Zanzibar"
    records = [answered("c1", f"It is {secret}.", passages=[(secret, f"{PASSAGE} {secret}")], question=secret)]

    assert secret not in summary_markdown(head_of(records))
