"""Asking judges that are functions: what ``llm_judge(provider)`` needs to know, asked before anything is graded.

The judges of ``judges.yaml`` are asked by ``judging.py``, which keeps their verdicts in a storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.evidence.verdict import VerdictBook
from spancheck_pipeline.grading.evaluate import packets_of
from spancheck_pipeline.grading.grader import Evidence, Grader
from spancheck_pipeline.grading.graders.llm_judge import ProvidedJudge
from spancheck_pipeline.grading.judge_provider import answered


def provided_verdicts(
    pairs: Iterable[tuple[Case, CapturedRow]], graders: Sequence[Grader], known: VerdictBook
) -> VerdictBook:
    """Return known verdicts, and beside them what the functions among the graders' judges say of what is not known.

    Each packet is asked about once. Without such a grader nothing is read or asked.
    """
    provided = [grader for grader in graders if isinstance(grader, ProvidedJudge)]
    if not provided:
        return known
    book = VerdictBook(known)
    for case, row in pairs:
        if row.output is None:
            continue
        evidence = Evidence(case=case, output=row.output, row=row)
        for grader in provided:
            answered(packets_of(grader, evidence), grader.provider, book=book)
    return book


__all__ = ["provided_verdicts"]
