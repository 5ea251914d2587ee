"""Decisions as JUnit XML, read back by expat, which shares nothing with the writer."""

import datetime as dt
from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.decision.rule import Answer, RuleResult
from spancheck_pipeline.report.junit import junit_of


def decision(*rules, **changes):
    made = [
        RuleResult(rule=name, kind="threshold", subject="cites", answer=answer, reason=reason)
        for name, answer, reason in rules
    ]
    facts = {
        "suite": "leases", "run_id": "leases-1", "date": "2026-11-30", "answer": Answer.FAIL, "rules": made,
        "settings": GateSettings(), "scorecard_digest": "d",
    }  # fmt: skip
    return GateDecision(**{**facts, **changes})


ALL = [
    ("min_a", Answer.PASS, "fine"),
    ("min_b", Answer.FAIL, "b: 3 of 9 passed"),
    ("min_c", Answer.NOT_MEASURED, "c: nothing"),
    ("regression_a", Answer.INCONCLUSIVE, "a: too few"),
]


def read(text):
    return minidom.parseString(text.encode()).documentElement


def outcome(case):
    names = [node.tagName for node in case.childNodes if node.nodeType == node.ELEMENT_NODE]
    return next((name for name in names if name != "system-out"), None)


def test_each_rule_is_a_test_case_with_its_answer():
    root = read(junit_of(decision(*ALL, decided_at=dt.datetime(2026, 11, 30, 2, tzinfo=dt.UTC))))

    [suite] = root.getElementsByTagName("testsuite")
    counts = {name: suite.getAttribute(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert suite.getAttribute("timestamp") == "2026-11-30T02:00:00"
    cases = {case.getAttribute("name"): outcome(case) for case in suite.getElementsByTagName("testcase")}
    assert cases == {"min_a": None, "min_b": "failure", "min_c": "error", "regression_a": "skipped"}
    [failure] = suite.getElementsByTagName("failure")
    assert (failure.getAttribute("message"), failure.getAttribute("type")) == ("b: 3 of 9 passed", "FAIL")
    properties = {p.getAttribute("name"): p.getAttribute("value") for p in suite.getElementsByTagName("property")}
    assert properties["run_id"] == "leases-1"


def test_an_inconclusive_rule_is_a_failure_under_strict():
    [suite] = read(junit_of(decision(*ALL, is_strict=True))).getElementsByTagName("testsuite")

    assert (suite.getAttribute("failures"), suite.getAttribute("skipped")) == ("2", "0")


HOSTILE = [
    '"/><failure/><x a="',
    "]]><evil/>",
    "<!DOCTYPE x [<!ENTITY e 'y'>]>&e;",
    "a\x00b\x08c\ufffe\ud800",
    "<!-- -- -->",
    "line\nline\ttab",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_reason_stays_text(text):
    root = read(junit_of(decision(("min_a", Answer.FAIL, text), run_id=text, date=text)))

    [case] = root.getElementsByTagName("testcase")
    assert [node.tagName for node in case.getElementsByTagName("*")] == ["failure", "system-out"]
    assert not root.getElementsByTagName("evil")
    written = case.getElementsByTagName("system-out")[0].firstChild.data
    assert written == "".join(c if c not in "\x00\x08\ufffe\ud800" else f"\\u{ord(c):04x}" for c in text)


@given(st.text())
def test_any_reason_gives_a_document_with_one_case_and_its_answer(text):
    root = read(junit_of(decision(("min_a", Answer.FAIL, text))))

    assert len(root.getElementsByTagName("testcase")) == 1
    assert len(root.getElementsByTagName("*")) == len(read(junit_of(decision(ALL[1]))).getElementsByTagName("*"))
