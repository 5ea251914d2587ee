"""Attribution: what a failing answer owes to retrieval and what to generation.

It reads scores that graders gave; counting attributions over a run lives in ``decision/scorecard.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import Output
from spancheck_pipeline.grading.graders.retrieval import retrieved_sources
from spancheck_pipeline.grading.score import Outcome, Score


class Attribution(StrEnum):
    """Why an answer failed, in the order in which the reasons are asked."""

    WRONGLY_ANSWERED = "wrongly_answered"
    """The case has no answer, and the system gave one."""
    NOT_RETRIEVED = "not_retrieved"
    """A source that a good answer needs never came."""
    WRONGLY_DECLINED = "wrongly_declined"
    """The case has an answer (and its sources, where known, came), and the system declined."""
    INVENTED = "invented"
    """The answer asserts what no passage says."""
    IGNORED = "ignored"
    """The needed sources came, and the answer does not use or cite them."""
    OTHER = "other"
    """Nothing that is known here explains the failure."""


NOT_QUALITY = frozenset({"latency", "cost", "completion", "no_pii", "retrieval"})
"""Measurements whose failure says nothing about how the answer came from its sources."""


def attribution_of(  # noqa: PLR0911 - one return a reason, in the order of the enum
    case: Case, output: Output, scores: Mapping[str, Score]
) -> Attribution | None:
    """Return why an answer failed, or None where it did not fail.

    ``scores`` are one output's, by measurement (``groundedness`` …), not by the name of the instance.
    """
    failed = {name for name, score in scores.items() if score.outcome is Outcome.FAIL}
    codes = {name: scores[name].reason_code for name in failed}
    if not failed - NOT_QUALITY:
        return None
    if codes.get("abstention_correct") == "wrongly_answered":
        return Attribution.WRONGLY_ANSWERED
    came = retrieved_sources(output.contexts, case.expected_sources)
    if case.expected_sources and not set(case.expected_sources) <= set(came):
        return Attribution.NOT_RETRIEVED
    if codes.get("abstention_correct") == "wrongly_declined":
        return Attribution.WRONGLY_DECLINED
    if "groundedness" in failed:
        return Attribution.INVENTED
    if case.expected_sources:
        cited = {citation.source_id for citation in output.citations}
        uses = "citation_accuracy" not in failed and bool(cited & set(case.expected_sources))
        return Attribution.OTHER if uses else Attribution.IGNORED
    return Attribution.OTHER
