"""What helps where something could not be measured, by the reason codes that stand with the unmeasured scores.

The codes are the graders' own (``grading``); which rule is not measured is decided in ``threshold.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_REMEDIES: Final = {
    "call_failed": "retry the failed calls (--retry-errors)",
    "no_score": "score the run again",
    "grader_crashed": "look at the grader",
    "no_contexts": "let the target return the passages with their text",
    "no_source_ids": "let the target return a source_id with each passage",
    "missing_verdict": "have the judge asked (nightly, or score --regrade with the judge at hand)",
    "judge_failed": "ask the judge again (nightly)",
    "too_long_to_judge": "shorten what the judge is asked about, or take one that reads more",
    "criteria_unmeasured": "look at the unmeasured criteria; faithful ones need a judge",
    "no_judge": "name a judge for this grader in the suite",
    "unknown_cost": "let the target return usage, and state the prices of its models",
    "no_latency": "record the times of the answers",
    "unknown_language": "state the languages that the grader reads",
    "date_order": "write the date of the criterion as YYYY-MM-DD",
}
_OTHERWISE: Final = "look at the unmeasured cases"


def remedy(codes: Mapping[str, int]) -> str:
    """Return what helps against the commonest reason, with its count; codes are followed by what they are about.

    >>> remedy({"no_contexts": 4, "call_failed": 1})
    '4 of 5 unmeasured scores say no_contexts: let the target return the passages with their text'
    """
    if not codes:
        return _OTHERWISE
    kinds: dict[str, int] = {}
    for code, n in codes.items():
        kind = code.partition(":")[0]
        kinds[kind] = kinds.get(kind, 0) + n
    commonest, total = min(kinds, key=lambda kind: (-kinds[kind], kind)), sum(kinds.values())
    share = f"{total} unmeasured score says" if total == 1 else f"{kinds[commonest]} of {total} unmeasured scores say"
    return f"{share} {commonest}: {_REMEDIES.get(commonest, _OTHERWISE)}"
