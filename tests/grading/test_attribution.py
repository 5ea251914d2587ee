"""Attribution: whether to mend retrieval or generation."""

from __future__ import annotations

import pytest

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.grading.attribution import attribution_of
from spancheck_pipeline.grading.score import Score

PASS = Score.judged(passed=True, value=1.0, reason="r")
FAIL = Score.judged(passed=False, value=0.0, reason="r")


def failed(code: str) -> Score:
    return Score.judged(passed=False, value=0.0, reason="r", reason_code=code)


def test_an_answer_that_passes_has_no_attribution() -> None:
    assert attribution_of(Case("q", "?"), Output(answer="x"), {"groundedness": PASS, "latency": FAIL}) is None


@pytest.mark.parametrize(
    ("needed", "came", "cited", "scores", "why"),
    [
        ((), (), (), {"abstention_correct": failed("wrongly_answered"), "groundedness": FAIL}, "wrongly_answered"),
        (("a",), ("b",), (), {"groundedness": FAIL}, "not_retrieved"),
        (("a",), ("b",), (), {"abstention_correct": failed("wrongly_declined")}, "not_retrieved"),
        (("a",), ("a",), (), {"abstention_correct": failed("wrongly_declined")}, "wrongly_declined"),
        (("a",), ("a",), (), {"groundedness": FAIL, "citation_accuracy": FAIL}, "invented"),
        (("a",), ("a", "b"), ("b",), {"expected_contains": FAIL}, "ignored"),
        (("a",), ("a",), ("a",), {"expected_contains": FAIL}, "other"),
        ((), ("a",), (), {"citation_accuracy": FAIL}, "other"),
    ],
)
def test_the_first_reason_that_holds_is_named(
    needed: tuple[str, ...], came: tuple[str, ...], cited: tuple[str, ...], scores: dict[str, Score], why: str
) -> None:
    output = Output.model_validate(
        {
            "answer": "x",
            "contexts": [{"source_id": name} for name in came],
            "citations": [{"source_id": name} for name in cited],
        }
    )
    assert attribution_of(Case("q", "?", expected_sources=needed), output, scores) == why
