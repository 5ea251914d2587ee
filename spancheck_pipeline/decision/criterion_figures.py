"""Criteria over epochs: each criterion of each case reduced on its own, as a case is.

What the epochs of one thing come to lives in ``facts.py``; the figures of whole cases in ``scorecard.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from spancheck_pipeline import stats
from spancheck_pipeline.decision.facts import CaseOutcome, reduce_epochs
from spancheck_pipeline.decision.figures import Counts, CriteriaFigures, CriterionOfCase, PassHatK
from spancheck_pipeline.grading.score import Outcome

MOST_K: Final = 10

Items = Mapping[tuple[str, str], Mapping[int, Outcome]]
"""Case id and criterion id → epoch → outcome."""


def criteria_figures(items: Items, epochs: int) -> CriteriaFigures | None:
    """Return what the criteria of a run come to, None where there are none.

    An epoch that a criterion has no outcome for (a failed call) is unmeasured.

    >>> once = {("a", "k"): {0: Outcome.PASS, 1: Outcome.FAIL}}
    >>> criteria_figures(once, 2).flaky
    (CriterionOfCase(case_id='a', criterion_id='k'),)
    """
    if not items:
        return None
    outcomes = {
        key: [found.get(epoch, Outcome.UNMEASURED) for epoch in range(epochs)] for key, found in sorted(items.items())
    }
    reduced = {key: reduce_epochs(each) for key, each in outcomes.items()}
    by_id: dict[str, list[CaseOutcome]] = {}
    for (_, criterion), outcome in reduced.items():
        by_id.setdefault(criterion, []).append(outcome)
    return CriteriaFigures(
        counts=_counts(reduced.values()),
        by_criterion={criterion: _counts(found) for criterion, found in sorted(by_id.items())},
        failing=_those(reduced, CaseOutcome.FAIL),
        flaky=_those(reduced, CaseOutcome.FLAKY),
        unmeasured=_those(reduced, CaseOutcome.UNMEASURED),
        pass_hat_k=pass_hat_k([outcomes[key] for key in outcomes if reduced[key].is_measured], epochs),
    )


def pass_hat_k(outcomes: Iterable[Sequence[Outcome]], epochs: int) -> tuple[PassHatK, ...]:
    """Return pass^k over things that were measured in every epoch: k = 1 … 10 and the number of epochs.

    Nothing with one epoch, where it is the pass rate.
    """
    if epochs < 2:  # noqa: PLR2004 - one epoch repeats nothing
        return ()
    pairs = []
    for each in outcomes:
        measured = [outcome for outcome in each if outcome.is_measured]
        pairs.append((len(measured), measured.count(Outcome.PASS)))
    found = []
    for k in sorted({*range(1, min(epochs, MOST_K) + 1), epochs}):
        shares = [stats.pass_hat_k(n, c, k) for n, c in pairs if n >= k]
        if shares:
            found.append(PassHatK(k=k, value=math.fsum(shares) / len(shares), n_cases=len(shares)))
    return tuple(found)


def _counts(outcomes: Iterable[CaseOutcome]) -> Counts:
    n = Counter(outcomes)
    return Counts(n_cases=n.total(), **{f"n_{outcome.value}": n[outcome] for outcome in CaseOutcome})


def _those(reduced: Mapping[tuple[str, str], CaseOutcome], wanted: CaseOutcome) -> tuple[CriterionOfCase, ...]:
    return tuple(
        CriterionOfCase(case_id=case_id, criterion_id=criterion)
        for (case_id, criterion), outcome in reduced.items()
        if outcome is wanted
    )
