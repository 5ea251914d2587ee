"""retrieval: hand-worked measures, and what the grader says of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Context, Output
from spancheck_pipeline.grading.evaluate import grade_row
from spancheck_pipeline.grading.graders.retrieval import Retrieval, ranking, retrieved_sources
from spancheck_pipeline.grading.score import Outcome, Score


def graded(needed: tuple[str, ...], contexts: list[dict[str, object]], grader: Retrieval | None = None) -> Score:
    case = Case("q1", "?", expected_sources=needed)
    output = Output(answer="x", contexts=tuple(Context.model_validate(context) for context in contexts))
    row = CapturedRow(case_id="q1", question_digest=case.question_digest, output=output)
    return grade_row(grader or Retrieval(), case, row)


def test_all_needed_sources_came() -> None:
    score = graded(("a",), [{"source_id": "a", "text": "t"}])
    assert (score.outcome, score.value) == (Outcome.PASS, 1.0)


def test_hand_worked_measures() -> None:
    # Retrieved x, a, y, b; needed a, b, c.
    # hit 1; recall 2/3; precision 2/4; first needed at rank 2, so MRR 1/2.
    # DCG = 1/log2(3) + 1/log2(5) = 0.6309 + 0.4307 = 1.0616; ideal = 1 + 0.6309 + 1/log2(4) = 2.1309; nDCG 0.4982
    measures = ranking(["x", "a", "y", "b"], ["a", "b", "c"])
    assert measures[:4] == (1.0, 2 / 3, 0.5, 0.5)
    assert measures.ndcg == pytest.approx(0.4982, abs=1e-4)


def test_only_the_first_k_count() -> None:
    # First two of x, a, y, b: recall 1/3, precision 1/2; the ideal of two is 1 + 1/log2(3) = 1.6309.
    measures = ranking(["x", "a", "y", "b"], ["a", "b", "c"], k=2)
    assert measures[:4] == (1.0, 1 / 3, 0.5, 0.5)
    assert measures.ndcg == pytest.approx(1 / math.log2(3) / 1.6309, abs=1e-4)


def test_nothing_retrieved_is_measured_and_fails() -> None:
    score = graded(("a",), [])
    assert (score.outcome, score.value, score.reason_code) == (Outcome.FAIL, 0.0, "not_retrieved")


def test_without_expected_sources_there_is_nothing_to_say() -> None:
    assert graded((), [{"source_id": "a"}]).outcome is Outcome.NOT_APPLICABLE


def test_passages_that_name_no_source_cannot_be_measured() -> None:
    assert graded(("a",), [{"text": "t"}]).outcome is Outcome.UNMEASURED


def test_a_source_is_known_by_id_address_or_title_and_counts_once() -> None:
    contexts = (
        Context(source_id="1", uri="https://x.org/a", rank=2),
        Context(source_id="b", rank=1),
        Context(source_id="b", rank=3),
    )
    assert retrieved_sources(contexts, ["https://x.org/a"]) == ("b", "https://x.org/a")


def test_findings_name_each_needed_source_and_each_measure() -> None:
    findings = graded(("a", "c"), [{"source_id": "x"}, {"source_id": "a"}]).findings
    assert [(finding.source_id, finding.grade) for finding in findings[:2]] == [
        ("a", "retrieved"),
        ("c", "not_retrieved"),
    ]
    assert [finding.item for finding in findings[2:]] == ["hit", "recall", "precision", "mrr", "ndcg"]


@pytest.mark.parametrize("settings", [{"threshold": 1.5}, {"k": 0}])
def test_impossible_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Retrieval(**settings)  # type: ignore[arg-type]  # the point of the test


@given(
    st.lists(st.sampled_from("abcdef"), unique=True), st.sets(st.sampled_from("abcdef"), min_size=1), st.integers(1, 6)
)
def test_every_measure_is_a_share_and_a_perfect_list_is_one(retrieved: list[str], needed: set[str], k: int) -> None:
    assert all(0 <= value <= 1 + 1e-12 for value in ranking(retrieved, sorted(needed), k))
    assert ranking(sorted(needed), sorted(needed)) == (1.0, 1.0, 1.0, 1.0, 1.0)
