"""A decision and its comparisons as Markdown, for a step summary or a comment on a pull request.

Ids, error names and reasons may hold anything: they are written so that no character of theirs is read as Markdown,
HTML, a link or a mention. Texts of cases and answers do not stand here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from spancheck_pipeline.decision.comparison import BASELINES, ComparisonDocument, Difference
from spancheck_pipeline.decision.difference import DifferenceDocument, GraderTest, differences_of_gate
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.decision.numerals import clusters_said, points, stated
from spancheck_pipeline.decision.rule import Answer, RuleResult
from spancheck_pipeline.report.visible import visible

_MARKS: Final = {
    Answer.PASS: "✅ PASS",
    Answer.FAIL: "❌ FAIL",
    Answer.NOT_MEASURED: "⚠️ NOT MEASURED",
    Answer.INCONCLUSIVE: "❔ INCONCLUSIVE",
}
_SHOWN_IDS: Final = 20
_LIST = re.compile(r"[-+=]|\d{1,9}[.)]")
_SPECIAL = re.compile(r"[^\w .,;:()%=+–−-]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|(?<=[A-Za-z])\.(?=\S)|:(?=/)", re.ASCII)
"""What is written as a character reference: all that may mean something, underscores at an edge, dots in names."""


def text(value: str) -> str:
    r"""Return a text of which every character stands for itself in GitHub's Markdown, on one line.

    >>> text("a|b<i> @team")
    'a&#124;b&#60;i&#62; &#64;\u2060team'
    """
    plain = visible(value).strip()
    if is_list := _LIST.match(plain):
        # A line may begin with what would be a list.
        mark = is_list.end() - 1
        return plain[:mark] + _reference_of(plain[mark]) + _SPECIAL.sub(_reference, plain[mark + 1 :])
    return _SPECIAL.sub(_reference, plain)


def code(value: str) -> str:
    """Return an id or a name as code. A code span has no way to hold any text whatever; this tag has."""
    return f"<code>{text(value)}</code>"


def decision_markdown(decision: GateDecision, comparisons: Sequence[ComparisonDocument] = ()) -> str:
    """Return what a gate said, rule by rule, and how the run compares with each baseline."""
    where = " · ".join(
        text(part) for part in (decision.suite, decision.config, decision.date or decision.run_id) if part
    )
    strict = " (strict: this blocks)" if decision.is_strict and decision.answer is Answer.INCONCLUSIVE else ""
    lines = [f"## {_MARKS[decision.answer]} — {where}{strict}", "", *_rules(decision.rules)]
    for difference in differences_of_gate(decision, comparisons):
        lines += ["", *_comparison(difference, level=3)]
    return "\n".join(lines) + "\n"


def difference_markdown(difference: DifferenceDocument) -> str:
    """Return a comparison of two runs with its tests."""
    return "\n".join(_comparison(difference, level=2)) + "\n"


def _rules(rules: Sequence[RuleResult]) -> Iterator[str]:
    yield "| rule | answer | wanted | observed | why |"
    yield "|---|---|--:|--:|---|"
    for rule in rules:
        yield _row(
            code(rule.rule),
            _MARKS[rule.answer],
            _wanted(rule),
            _observed(rule),
            text(rule.reason),
        )


def _comparison(difference: DifferenceDocument, *, level: int) -> Iterator[str]:
    comparison = difference.comparison
    baseline = comparison.baseline
    kinds = " and ".join(BASELINES[kind] for kind in difference.baseline_kinds)
    yield f"{'#' * level} Against {kinds} {code(baseline.date or baseline.run_id)}"
    yield ""
    if comparison.not_comparable:
        yield "Not comparable:"
        yield ""
        yield from (f"- {text(reason)}" for reason in comparison.not_comparable)
        return
    is_clustered = any(figures.difference.n_clusters is not None for figures in comparison.graders.values())
    columns = ["baseline", "run", "difference", "95 %", *(["clusters"] if is_clustered else [])]
    columns += ["newly failing", "newly passing", "p (Holm)", "would have seen"]
    yield _row("grader", *columns)
    yield "|---|" + "--:|" * len(columns)
    for name, figures in comparison.graders.items():
        test = difference.tests.get(name)
        yield _row(
            code(name),
            _percent(figures.baseline_rate),
            _percent(figures.candidate_rate),
            _points(figures.difference.value),
            _interval(figures.difference),
            *([clusters_said(figures.difference.n_clusters)] if is_clustered else []),
            str(figures.n_newly_failing),
            str(figures.n_newly_passing),
            _p_value(test),
            "–" if test is None or test.detectable_drop is None else f"≥ {_points(test.detectable_drop, sign='')}",
        )
    yield ""
    also = f" Against the baseline: {comparison.case_changes}." if comparison.case_changes else ""
    yield f"{comparison.n_shared} questions are shared; each row counts those that both runs measured.{also}"
    yield from _ids(comparison)


def _p_value(test: GraderTest | None) -> str:
    """Return the corrected p-value; a grader that does not gate has none."""
    if test is None:
        return "–"
    if test.p_adjusted is None:
        return "does not gate"
    return f"{test.p_adjusted:.2g}" + (" **worse**" if test.is_worse else "")


def _ids(comparison: ComparisonDocument) -> Iterator[str]:
    lists = {
        f"{what} ({name})": ids
        for name, figures in comparison.graders.items()
        for what, ids in (
            ("newly failing", figures.newly_failing_case_ids),
            ("newly passing", figures.newly_passing_case_ids),
            ("no longer measured", figures.newly_unmeasured_case_ids),
        )
    }
    lists |= {
        "added": comparison.added_case_ids,
        "removed": comparison.removed_case_ids,
        "reworded": comparison.reworded_case_ids,
        "relabelled": comparison.relabelled_case_ids,
    }
    shown = {what: ids for what, ids in lists.items() if ids}
    if shown:
        yield ""
    for what, ids in shown.items():
        more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
        yield f"- {text(what)}: {', '.join(map(code, ids[:_SHOWN_IDS]))}{more}"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _wanted(rule: RuleResult) -> str:
    if rule.kind != "regression":
        return "–" if rule.threshold is None else stated(rule.threshold)
    return "no drop shown" if rule.threshold is None else f"drop below {points(-rule.threshold)}"


def _observed(rule: RuleResult) -> str:
    if rule.kind == "regression":
        return _points(rule.observed)
    return "–" if rule.observed is None else f"{rule.observed:.6g}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _points(value: float | None, *, sign: str = "+") -> str:
    return "–" if value is None else f"{value * 100:{sign}.1f} points"


def _interval(difference: Difference) -> str:
    if difference.low is None or difference.high is None:
        return "–"
    return f"{difference.low * 100:+.1f} – {difference.high * 100:+.1f}"


def _reference(match: re.Match[str]) -> str:
    """Return a character's reference; after @ and # a joiner, for mentions are looked for in the rendered text too."""
    return _reference_of(match.group())


def _reference_of(character: str) -> str:
    return f"&#{ord(character)};" + ("\u2060" if character in "@#" else "")
