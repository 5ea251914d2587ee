"""A decision as JUnit XML, which CI systems show beside their tests: one test case a rule.

It holds rules, numbers and ids, and no text of cases or answers.
"""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.rule import Answer, RuleResult

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped."""


def junit_of(decision: GateDecision) -> str:
    """Return a decision as JUnit XML.

    FAIL is a failure, NOT_MEASURED an error (quality is not what failed), INCONCLUSIVE is skipped, or under strict a
    failure.
    """
    rules = decision.rules
    suite = ET.Element(
        "testsuite",
        name=_safe(f"spancheck gate {decision.suite}"),
        tests=str(len(rules)),
        failures=str(sum(_kind(rule, decision) == "failure" for rule in rules)),
        errors=str(sum(_kind(rule, decision) == "error" for rule in rules)),
        skipped=str(sum(_kind(rule, decision) == "skipped" for rule in rules)),
        time="0",
    )
    if decision.decided_at is not None:
        suite.set("timestamp", decision.decided_at.strftime("%Y-%m-%dT%H:%M:%S"))
    properties = ET.SubElement(suite, "properties")
    for name in ("run_id", "date", "config", "revision", "answer", "scorecard_digest"):
        if (value := getattr(decision, name)) is not None:
            ET.SubElement(properties, "property", name=name, value=_safe(str(value)))
    for rule in rules:
        _add_rule(suite, rule, decision)
    root = ET.Element(
        "testsuites", {key: suite.attrib[key] for key in ("tests", "failures", "errors")}, name="spancheck"
    )
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _add_rule(suite: ET.Element, rule: RuleResult, decision: GateDecision) -> None:
    item = ET.SubElement(
        suite, "testcase", classname=_safe(f"{decision.suite}.{rule.kind}"), name=_safe(rule.rule), time="0"
    )
    kind = _kind(rule, decision)
    if kind is not None:
        answer = ET.SubElement(item, kind, message=_safe(rule.reason))
        if kind != "skipped":
            answer.set("type", rule.answer.value)
            answer.text = _safe(rule.reason)
    out = ET.SubElement(item, "system-out")
    out.text = _safe(rule.reason)


def _kind(rule: RuleResult, decision: GateDecision) -> str | None:
    if rule.answer is Answer.INCONCLUSIVE:
        return "failure" if decision.is_strict else "skipped"
    return {Answer.FAIL: "failure", Answer.NOT_MEASURED: "error"}.get(rule.answer)


def _safe(text: str) -> str:
    return _NOT_XML.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
