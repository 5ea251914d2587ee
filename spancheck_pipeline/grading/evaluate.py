"""Running graders over captured rows: one bad case never stops a night, and a failed call is nobody's score.

What a single grader says lives in ``graders/``; rates over scores live in ``decision/scorecard.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.run import CapturedRow, Output
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, Verdicts
from spancheck_pipeline.grading.grader import Evidence, Grader
from spancheck_pipeline.grading.judge import Judge
from spancheck_pipeline.grading.score import Score


class Graded(NamedTuple):
    """One score with the row that it is for."""

    case: Case
    row: CapturedRow
    score: Score


def grade_row(grader: Grader, case: Case, row: CapturedRow, *, verdicts: Verdicts = NO_VERDICTS) -> Score:
    """Return one grader's score for one captured row, and for what judges replied about it.

    A failed call is unmeasured, but for a grader with ``grades_failed_calls`` (completion). A grader that crashes gives
    an unmeasured score that names the class of the error and not its text.
    """
    if row.output is None and not getattr(grader, "grades_failed_calls", False):
        return Score.unmeasured("call_failed", f"The call failed ({row.error_class}).")
    output = row.output or Output()
    try:
        score = grader.grade(Evidence(case=case, output=output, row=row, verdicts=verdicts))
    except Exception as error:  # noqa: BLE001 - one grader crashing on one case must not end the night
        return Score.unmeasured("grader_crashed", f"The grader crashed on this case ({type(error).__name__}).")
    if not isinstance(score, Score):
        return Score.unmeasured("grader_crashed", f"The grader returned {type(score).__name__}, not a score.")
    return score


def packets_of(grader: Grader, evidence: Evidence) -> tuple[tuple[Judge, Packet], ...]:
    """Return what a grader wants to know from judges about one output; nothing of one that uses none or crashes.

    What crashes here crashes when it grades, too, and is unmeasured then.
    """
    if not getattr(grader, "judges", ()):
        return ()
    try:
        return tuple(grader.packets(evidence))  # type: ignore[attr-defined]  # a grader with judges has it
    except Exception:  # noqa: BLE001 - as above: one case must not end the night
        return ()


def grade_rows(
    grader: Grader, cases: Mapping[str, Case], rows: Iterable[CapturedRow], *, verdicts: Verdicts = NO_VERDICTS
) -> Iterator[Graded]:
    """Yield the score of every row, in the rows' order.

    Raises:
        KeyError: for a row whose case is not among ``cases``; a captured run and its cases snapshot are one thing.
    """
    for row in rows:
        case = cases[row.case_id]
        yield Graded(case, row, grade_row(grader, case, row, verdicts=verdicts))
