"""The shipped graders: a readable list, and the functions that make one by hand or from a suite's settings.

Each measurement lives in its own module here; how settings are checked lives in ``grading/settings.py``. Importing
registers nothing: ``MEASUREMENTS`` is all there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from spancheck_pipeline.errors import GraderSettingsError, SettingProblem
from spancheck_pipeline.evidence.run import Prices
from spancheck_pipeline.grading import settings as _settings
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.grading.graders.abstention_correct import AbstentionCorrect
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy
from spancheck_pipeline.grading.graders.completion import Completion
from spancheck_pipeline.grading.graders.contains import Contains, NotContains
from spancheck_pipeline.grading.graders.cost import Cost
from spancheck_pipeline.grading.graders.criteria import Criteria
from spancheck_pipeline.grading.graders.expected_contains import ExpectedContains
from spancheck_pipeline.grading.graders.groundedness import Groundedness
from spancheck_pipeline.grading.graders.latency import Latency
from spancheck_pipeline.grading.graders.llm_judge import LlmJudge, ProvidedJudge
from spancheck_pipeline.grading.graders.no_pii import NoPii
from spancheck_pipeline.grading.graders.regex_match import RegexMatch
from spancheck_pipeline.grading.graders.retrieval import Retrieval
from spancheck_pipeline.grading.judge import DEFAULT_THRESHOLD, Judge
from spancheck_pipeline.grading.judge_provider import Provider, judge_of_provider

SHIPPED: Final = (
    Completion,
    CitationAccuracy,
    AbstentionCorrect,
    Groundedness,
    NoPii,
    Retrieval,
    Criteria,
    Latency,
    Cost,
    Contains,
    NotContains,
    RegexMatch,
    ExpectedContains,
    LlmJudge,
)

MEASUREMENTS: Final[Mapping[str, type]] = MappingProxyType(
    {grader.measurement: grader for grader in SHIPPED} | {"max_latency": Latency}
)
"""Name in a suite file → measurement. ``max_latency`` is the earlier library's name of ``latency``."""


def build_grader(
    name: str,
    settings: Mapping[str, Any],
    *,
    load: Callable[[str], Any] | None = None,
    prices: Prices | None = None,
    judges: Mapping[str, Judge] | None = None,
) -> Grader:
    """Return the grader that a suite calls ``name``.

    ``settings["use"]`` names another measurement than ``name``, or ``module:attribute``, which ``load`` resolves: a
    grader, a plain function, or a class or factory that is called with the other settings. ``prices`` is the suite's
    price list; a ``cost`` grader without its own takes it. ``judges`` are those that the project declares; None: the
    settings are a spec's, which holds a judge whole.

    Raises:
        GraderSettingsError: (a ``ValueError``) naming every wrong setting and the nearest valid one.
    """
    known = dict(settings)
    if prices and "prices" not in known and MEASUREMENTS.get(known.get("use", name)) is Cost:
        known["prices"] = {model: price.model_dump() for model, price in prices.items()}
    return _settings.build(MEASUREMENTS, name, known, load=load, judges=judges)


def build_graders(
    graders: Mapping[str, Mapping[str, Any] | None],
    *,
    load: Callable[[str], Any] | None = None,
    prices: Prices | None = None,
    judges: Mapping[str, Judge] | None = None,
) -> tuple[Grader, ...]:
    """Return all graders of a suite, in its order; ``completion`` is put first where the suite does not name it.

    Raises:
        GraderSettingsError: naming every wrong grader and setting at once.
    """
    wanted = dict(graders) if _has_completion(graders) else {"completion": {}, **graders}
    built: list[Grader] = []
    problems: list[SettingProblem] = []
    for name, settings in wanted.items():
        try:
            built.append(build_grader(name, settings or {}, load=load, prices=prices, judges=judges))
        except GraderSettingsError as error:
            problems += error.problems
    if problems:
        raise GraderSettingsError(problems)
    return tuple(built)


def _has_completion(graders: Mapping[str, Mapping[str, Any] | None]) -> bool:
    return any(name == "completion" for name in graders)


def default_graders() -> tuple[Grader, ...]:
    """Return the graders that need no settings: completion and the earlier library's four."""
    return (Completion(), AbstentionCorrect(), Groundedness(), NoPii(), CitationAccuracy())


def contains(substr: str, name: str | None = None, negate: bool = False) -> Contains:
    """Return a grader that passes when the answer holds a text (or, with ``negate``, when it does not)."""
    return NotContains(substr, name or "not_contains") if negate else Contains(substr, name or "contains")


def regex_match(pattern: str, name: str = "regex_match", flags: int = re.IGNORECASE) -> RegexMatch:
    """Return a grader that passes when a pattern occurs in the answer.

    Raises:
        ValueError: for a pattern that RE2 cannot run in linear time.
    """
    return RegexMatch(pattern, name, int(flags))


def groundedness(threshold: float = 0.6, name: str = "groundedness") -> Groundedness:
    """Return a grader that passes when at least ``threshold`` of what the answer asserts stands in its passages."""
    return Groundedness(name=name, threshold=threshold)


def no_pii(name: str = "no_pii") -> NoPii:
    """Return a grader that passes when the answer leaks no personal data."""
    return NoPii(name=name)


def max_latency(ms: float, name: str = "latency") -> Latency:
    """Return a grader that passes when the answer came within ``ms`` milliseconds."""
    return Latency(ms, name)


def expected_contains(name: str = "expected_contains") -> ExpectedContains:
    """Return a grader that passes when the answer holds its case's expected answer."""
    return ExpectedContains(name)


def abstention_correct(name: str = "abstention_correct") -> AbstentionCorrect:
    """Return a grader that passes when the system declines exactly the cases that have no answer."""
    return AbstentionCorrect(name=name)


def citation_accuracy(  # noqa: PLR0917 - an earlier public signature
    name: str = "citation_accuracy",
    support_threshold: float = 0.6,
    pass_threshold: float = 1.0,
    require_citation: bool = True,
    support_fn: Callable[..., Any] | None = None,
    claim_split: bool = False,
) -> CitationAccuracy:
    """Return a grader that passes when every citation is really in its source and supports its claim."""
    return CitationAccuracy(
        name=name,
        support_threshold=support_threshold,
        pass_threshold=pass_threshold,
        require_citation=require_citation,
        support_fn=support_fn,
        claim_split=claim_split,
    )


def llm_judge(
    provider: Provider | None = None,
    prompt_version: str = "entailment_v1",
    threshold: float = DEFAULT_THRESHOLD,
    model: str | None = None,
    name: str = "llm_judge",
) -> ProvidedJudge:
    """Return a grader that passes when a judge says that the passages carry the answer.

    ``provider`` takes the whole question and returns the reply's text; without one the stub answers, which is no judge.
    """
    judge = judge_of_provider(name, provider, prompt_version, model, threshold)
    return ProvidedJudge(judge=judge, name=name, provider=provider)


__all__ = [
    "MEASUREMENTS", "SHIPPED", "abstention_correct", "build_grader", "build_graders", "citation_accuracy", "contains",
    "default_graders", "expected_contains", "groundedness", "llm_judge", "max_latency", "no_pii", "regex_match",
]  # fmt: skip
