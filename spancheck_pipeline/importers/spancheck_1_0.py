"""Documents of the earlier library: audit logs of schema 1.0, and runs that its ``Run.save`` wrote.

What they do not carry (offsets, findings, grader versions) is None or said to be unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from spancheck_pipeline.errors import ConfigError, ContractError, Problem
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output, normalize
from spancheck_pipeline.grading.score import GradeResult, Outcome

COMPLETION = "completion"
"""The measurement that a failed call fails; every other one cannot measure it."""
MAKER = "spancheck 1.0"
"""Stands as the version of graders whose spec the document does not carry."""


class Imported(NamedTuple):
    """One case of an earlier document."""

    case: Case
    row: CapturedRow
    grades: tuple[GradeResult, ...]


def is_earlier_document(document: Mapping[str, Any]) -> bool:
    """Return whether a document is of the earlier library: schema 1.x, or a saved run's bare ``results``."""
    version = document.get("schema_version")
    if isinstance(version, str):
        return version.startswith("1.")
    return version is None and "contract" not in document and isinstance(document.get("results"), list)


def read_earlier_document(document: Mapping[str, Any], name: str) -> tuple[Imported, ...]:
    """Return the cases of an earlier document, in its order.

    Raises:
        ContractError: for a 1.x schema other than 1.0.
        ConfigError: naming every entry that cannot be read.
    """
    version = document.get("schema_version", "1.0")
    if version != "1.0":
        raise ContractError(name, found=f"schema_version {version}", known=1)
    entries = document.get("cases", document.get("results"))
    if not isinstance(entries, list):
        raise ConfigError(name, [Problem(what="has no list of cases")])
    found: list[Imported] = []
    problems: list[Problem] = []
    for index, entry in enumerate(entries):
        try:
            found.append(_read_entry(entry))
        except (ValidationError, TypeError, KeyError, ValueError, AttributeError) as error:
            problems.append(Problem(what=f"case number {index + 1} cannot be read ({type(error).__name__})"))
    counts = Counter(item.case.id for item in found)
    problems += [Problem(what=f"case id {case_id!r} stands twice") for case_id, n in counts.items() if n > 1]
    if problems:
        raise ConfigError(name, problems)
    return tuple(found)


def _read_entry(entry: Mapping[str, Any]) -> Imported:
    case = Case(
        str(entry["case_id"]),
        entry.get("input"),
        entry.get("category") or "default",
        entry.get("expected"),
        entry.get("meta") or {},
    )
    error = entry.get("error")
    output = None if error else _read_output(entry.get("output"))
    row = CapturedRow(
        case_id=case.id,
        question_digest=case.question_digest,
        output=output,
        error_class=_error_class(error) if output is None else None,
        error_message=str(error) if error else None,
        latency_ms=output.latency_ms if output else None,
        attempts=0,
    )
    grades = [_read_grade(grade, failed=output is None) for grade in entry.get("grades") or ()]
    # Only this package's own exports say what 1.0 has no grade for.
    grades += [_ungraded(str(name), Outcome(said)) for name, said in (entry.get("ungraded") or {}).items()]
    return Imported(case, row, tuple(grades))


def _ungraded(grader: str, outcome: Outcome) -> GradeResult:
    if outcome.is_measured:
        raise ValueError("a grade that was measured stands among the grades")
    return GradeResult(grader, None, None, "", outcome, "imported", (), MAKER, MAKER)


def _read_output(value: Any) -> Output:
    return normalize(value if value is not None else {"answer": ""})


def _error_class(error: Any) -> str:
    """Return the class that an error's text begins with; any other first word may be text of a case."""
    match = re.match(r"[A-Za-z_][A-Za-z0-9_.]{0,80}(?:Error|Exception|Timeout)(?=:|$)", str(error or ""))
    return match.group(0) if match else "RecordedError"


def _read_grade(grade: Mapping[str, Any], *, failed: bool) -> GradeResult:
    passed, value = grade["passed"], float(grade["score"])
    if not isinstance(passed, bool) or not 0 <= value <= 1:
        raise ValueError("a grade has a boolean `passed` and a score from 0 to 1")
    if failed and str(grade["grader"]) != COMPLETION:
        # The earlier library grades a failed call as an empty answer; ours says that it was not measured.
        return GradeResult(
            str(grade["grader"]), None, None, "The call failed.", Outcome.UNMEASURED, "call_failed", (), MAKER, MAKER
        )
    outcome = Outcome.PASS if passed else Outcome.FAIL  # of a failed call, too, where that is what is graded
    detail = str(grade.get("detail") or "")
    return GradeResult(str(grade["grader"]), value, passed, detail, outcome, "imported", (), MAKER, MAKER)
