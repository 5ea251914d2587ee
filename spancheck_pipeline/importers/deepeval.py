"""DeepEval: datasets of test cases (``EvaluationDataset.save_as``), and saved test runs (``.latest_test_run.json``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spancheck_pipeline.evidence.payloads.reading import amount, first
from spancheck_pipeline.importers.documents import items_of
from spancheck_pipeline.importers.record import Record
from spancheck_pipeline.storage.case_rows import Report

_CAMEL = {"actualOutput": "actual_output", "expectedOutput": "expected_output", "retrievalContext": "retrieval_context"}
"""A saved test run's spelling → the test case's own."""


def read(path: Path, report: Report) -> Iterator[Record]:
    """Yield the test cases of a file. ``context`` is the ideal one, not what was retrieved, and is left to ``meta``."""
    for item in items_of(path, report, lambda document: _test_cases(document, report)):
        case = {_CAMEL.get(name, name): value for name, value in item.value.items()}
        if "input" not in case:
            fix = "conversational test cases cannot be imported; export single-turn ones"
            report.add(item.said("has no 'input'"), line=item.line, fix=fix)
            continue
        answer = case.get("actual_output")
        seconds = amount(case.get("completion_time", case.get("completionTime")))
        yield Record(
            case={
                "input": case["input"],
                "expected": case.get("expected_output"),
                "meta": {"ideal_context": case["context"]} if case.get("context") else None,
            },
            output=None if answer is None else _output(answer, case),
            error=None if answer is not None else "the test case has no actual_output",
            error_class="NoRecordedAnswer",
            latency_ms=None if seconds is None else seconds * 1000,
            where=item.where,
            line=item.line,
            source=item.value,
        )


def _output(answer: Any, case: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "answer": answer,
        "contexts": _passages(case.get("retrieval_context")),
        "usage": {
            "input_tokens": first(case, "input_token_count", "inputTokenCount"),
            "output_tokens": first(case, "output_token_count", "outputTokenCount"),
            "cost_usd": first(case, "token_cost", "tokenCost"),
        },
    }


def _test_cases(document: Any, report: Report) -> list[Any] | None:
    if isinstance(document, Mapping):
        document = document.get("testRunData", document)
        if not isinstance(document, Mapping):
            return None
        if not document.get("testCases") and document.get("conversationalTestCases"):
            report.add("holds conversational test cases only, which cannot be imported", fix="export single-turn ones")
            return []
        for name in ("testCases", "test_cases", "goldens"):
            if isinstance(document.get(name), list):
                return list(document[name])
        return None
    return document if isinstance(document, list) else None


def _passages(value: Any) -> list[Any] | None:
    """Return the retrieved texts; in CSV and JSONL the tool joins them with ``|``."""
    if isinstance(value, str):
        return value.split("|") if value else None
    return value if isinstance(value, list) else None
