"""Why answers failed, retrieval or generation: attributions for a scorecard, from stored files or a run in memory.

What makes an attribution is said in ``grading/attribution.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.grading.attribution import attribution_of
from spancheck_pipeline.grading.score import Outcome, Score
from spancheck_pipeline.storage.store import StoredFile

Failed = dict[tuple[str, int], dict[str, Score]]
"""Case × epoch → failed scores by measurement."""


def stored_attributions(
    cases: StoredFile, captured: StoredFile, scores: Mapping[str, StoredFile]
) -> Iterator[tuple[str, str]]:
    """Yield case id and reason of every stored answer that failed. Only failing rows are kept in memory."""
    failed = _failed(scores)
    expected = {row["case_id"]: row["expected_sources"] for row in cases.rows(["case_id", "expected_sources"])}
    for row in captured.rows(["case_id", "epoch", "answered", "contexts", "citations"]):
        of_row = failed.get((row["case_id"], row["epoch"]))
        if of_row and row["answered"]:
            output = Output(contexts=row["contexts"], citations=row["citations"])
            case = Case(id=row["case_id"], input=None, expected_sources=expected[row["case_id"]])
            if (reason := attribution_of(case, output, of_row)) is not None:
                yield row["case_id"], reason.value


def _failed(scores: Mapping[str, StoredFile]) -> Failed:
    failed: Failed = {}
    for file in scores.values():
        measurement = file.grader_spec["measurement"]
        for row in file.rows(["case_id", "epoch", "outcome", "reason_code"]):
            if row["outcome"] == Outcome.FAIL:
                score = Score.judged(False, 0.0, reason="", reason_code=row["reason_code"])  # noqa: FBT003 - it failed
                failed.setdefault((row["case_id"], row["epoch"]), {})[measurement] = score
    return failed
