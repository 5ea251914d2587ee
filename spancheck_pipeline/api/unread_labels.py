"""What cases say of a good answer that nothing of a suite reads: a label without a reader is no measurement.

What a label means lives in ``evidence/case.py``; what each grader reads, in the graders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.grading.graders.criteria import Criteria
from spancheck_pipeline.grading.graders.expected_contains import ExpectedContains
from spancheck_pipeline.grading.shipped import ShippedGrader


def unread_labels(cases: Iterable[Case], graders: Sequence[Grader]) -> Iterator[str]:
    """Yield one sentence for each kind of label that cases carry and no grader of the suite reads.

    A grader of the user's own may read anything, so beside one nothing is said. Counts only, no text.
    """
    if any(not isinstance(grader, ShippedGrader) for grader in graders):
        return
    has_expected = any(isinstance(grader, ExpectedContains) for grader in graders)
    has_criteria = any(isinstance(grader, Criteria) for grader in graders)
    n_expected = n_criteria = 0
    for case in cases:
        is_stated = has_criteria and bool(case.criteria)  # by criteria, which say it better
        n_expected += not has_expected and not is_stated and case.expected is not None
        n_criteria += not has_criteria and bool(case.criteria)
    if n_expected:
        yield (
            f"{_cases(n_expected)} `expected`, and no grader of the suite reads it: "
            "add expected_contains to its graders, or state criteria"
        )
    if n_criteria:
        yield f"{_cases(n_criteria)} `criteria`, and no grader of the suite reads them: add criteria to its graders"


def _cases(n: int) -> str:
    return "1 case has" if n == 1 else f"{n} cases have"
