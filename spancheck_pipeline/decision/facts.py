"""What scorecards and comparisons are made from: facts of rows and scores, and how the epochs of a case reduce.

Callers make the facts from stored tables. Counting them lives in ``tally.py``, figures in ``scorecard.py`` and
``paired_figures.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spancheck_pipeline.grading.score import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """What a scorecard needs of one captured row."""

    case_id: str
    epoch: int = 0
    category: str | None = None
    cluster: str | None = None
    answered: bool
    is_empty: bool | None = False
    """Whether the answer has nothing printed in it; None where its text is not at hand."""
    error_class: str | None = None
    latency_ms: float | None = None
    latency_total_ms: float | None = None
    cost_usd: float | None = None
    """None where the price or the usage is not known; free is 0.0."""
    served_model: str | None = None
    attempts: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFacts:
    """What a scorecard needs of one score."""

    grader: str
    case_id: str
    epoch: int = 0
    category: str | None = None
    cluster: str | None = None
    outcome: Outcome
    value: float | None = None
    reason_code: str = ""
    n_unsupported: int = 0
    """Findings whose outcome is fail; only read of a groundedness grader, for the hallucination rate."""
    criteria: tuple[tuple[str, Outcome], ...] = ()
    """Criterion id and outcome of each finding that is a criterion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraderFacts:
    """Which grader made scores."""

    name: str
    measurement: str
    version: str = ""
    spec_digest: str = ""
    judges: tuple[str, ...] = ()
    """Judges whose verdicts its scores rest on."""


def judge_names(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the judges that stand in a grader's spec, wherever a setting has one; of a panel, the panel's name.

    >>> judge_names({"settings": {"judge": {"name": "strict", "prompt_digest": "5e", "members": []}}})
    ('strict',)
    """
    return tuple(dict.fromkeys(_judges_in(spec)))


def _judges_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "prompt_digest" in value and isinstance(value.get("name"), str):
            yield value["name"]
            return
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _judges_in(item)


class CaseOutcome(StrEnum):
    """What the epochs of one case come to."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    FAIL = "fail"
    FLAKY = "flaky"
    """The measured epochs disagree: unreliable, which is not the same as partly right."""
    NOT_APPLICABLE = "not_applicable"
    UNMEASURED = "unmeasured"

    @property
    def is_measured(self) -> bool:
        """Whether the case counts in a rate."""
        return self in {CaseOutcome.PASS, CaseOutcome.FAIL, CaseOutcome.FLAKY}


def reduce_epochs(outcomes: Iterable[Outcome]) -> CaseOutcome:
    """Return what the outcomes of a case's epochs come to.

    Any unmeasured → unmeasured; nothing but not applicable → not applicable; the measured agree → that; else flaky.

    >>> reduce_epochs([Outcome.PASS, Outcome.FAIL, Outcome.PASS])
    <CaseOutcome.FLAKY: 'flaky'>
    """
    kinds = set(outcomes)
    if Outcome.UNMEASURED in kinds or not kinds:
        return CaseOutcome.UNMEASURED
    measured = kinds - {Outcome.NOT_APPLICABLE}
    if not measured:
        return CaseOutcome.NOT_APPLICABLE
    return CaseOutcome(measured.pop().value) if len(measured) == 1 else CaseOutcome.FLAKY


def safe_name(name: str | None, *, other: str, most: int = 100) -> str:
    """Return a name from foreign code where it looks like an identifier or a model's name, else ``other``.

    An error class, a reason code or a served model comes from the system under test, and a summary holds no text.
    """
    return name if name and len(name) <= most and re.fullmatch(r"[A-Za-z0-9_.:/@+-]+", name) else other


def error_name(name: str | None) -> str:
    """Return an error class's name where it is one (letters, digits, ``_`` and ``.``, at most 100), else ``Error``."""
    return name if name and re.fullmatch(r"[A-Za-z0-9_.]{1,100}", name) else "Error"
