"""Running graders over captured rows: one bad case never stops a night, and a failed call is nobody's score.

What a single grader says lives in ``graders/``; rates over scores live in ``decision/scorecard.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.grading.grader import Evidence, Grader
from spancheck_pipeline.grading.score import Score


class Graded(NamedTuple):
    """One score with the row that it is for."""

    case: Case
    row: CapturedRow
    score: Score


def grade_row(grader: Grader, case: Case, row: CapturedRow) -> Score:
    """Return one grader's score for one captured row.

    A failed call is unmeasured, but for a grader with ``grades_failed_calls`` (completion). A grader that crashes gives
    an unmeasured score that names the class of the error and not its text.
    """
    if row.output is None and not getattr(grader, "grades_failed_calls", False):
        return Score.unmeasured("call_failed", f"The call failed ({row.error_class}).")
    output = row.output or Output()
    try:
        score = grader.grade(Evidence(case=case, output=output, row=row))
    except Exception as error:  # noqa: BLE001 - one grader crashing on one case must not end the night
        return Score.unmeasured("grader_crashed", f"The grader crashed on this case ({type(error).__name__}).")
    if not isinstance(score, Score):
        return Score.unmeasured("grader_crashed", f"The grader returned {type(score).__name__}, not a score.")
    return score


def grade_rows(grader: Grader, cases: Mapping[str, Case], rows: Iterable[CapturedRow]) -> Iterator[Graded]:
    """Yield the score of every row, in the rows' order.

    Raises:
        KeyError: for a row whose case is not among ``cases``; a captured run and its cases snapshot are one thing.
    """
    for row in rows:
        case = cases[row.case_id]
        yield Graded(case, row, grade_row(grader, case, row))
