"""An audit log in the earlier library's schema 1.0: what of a record it can hold.

Reading such a document lives in ``importers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spancheck_pipeline.decision.audit import AuditHead, AuditRecord, AuditScore
from spancheck_pipeline.grading.score import Outcome

LOST: Final = (
    "the chain: a 1.0 document cannot be verified",
    "manifest, decision with its rules, comparisons, calibration, grader specs",
    "intervals, clusters, and the counts of what is not applicable or was not measured",
    "grades that are not applicable or unmeasured, but under `ungraded`, which the earlier library passes over",
    "the hallucination rate and why answers failed: both rest on findings, and are not known of such a document",
    "findings other than citations, their offsets and provenance grades",
    "passages' titles, pages, ranks and links, and passages without text",
    "offsets and flags of citations",
    "dispositions that people signed of findings",
    "judge verdicts, attempts, time stamps, served models, costs per answer",
    "criteria, history, cluster, known contexts and expected sources of cases",
    "all epochs of a case but the first",
)
"""What a document of schema 1.0 does not hold of a log, a sentence each."""

_FOUND: Final = frozenset({"exact", "typographic", "elided", "passage"})
"""Provenance grades that the earlier library calls found."""


def earlier_head(head: AuditHead, n_cases: int) -> dict[str, Any]:
    """Return everything of a 1.0 document but its cases."""
    summary = head.summary
    counts = [figures.counts for figures in summary.graders.values()]
    n_measured = sum(item.n_measured for item in counts)
    tokens = {kind: figures.total for kind, figures in summary.tokens.items()}
    known = [n for n in (tokens.get("input"), tokens.get("output")) if n is not None]
    answer = summary.headline.latency.answer
    return {
        "schema_version": "1.0",
        "spancheck_version": f"spancheck-pipeline {head.package_version}",
        "created_at": head.created_at.isoformat() if head.created_at else None,
        "summary": {
            "n_cases": n_cases,
            "overall_pass_rate": sum(item.n_pass for item in counts) / n_measured if n_measured else None,
            "by_grader": {
                name: {
                    "score": figures.mean_score.value,
                    "pass_rate": figures.pass_rate.value,
                    "n": figures.counts.n_measured,
                }
                for name, figures in summary.graders.items()
                if figures.counts.n_measured
            },
            "by_category": _by_category(head),
            "latency": {
                "n": answer.n,
                "total_ms": None if answer.mean_ms is None else answer.mean_ms * answer.n,
                "mean_ms": answer.mean_ms,
                "p50_ms": answer.p50_ms,
                "p95_ms": answer.p95_ms,
                "max_ms": answer.max_ms,
            },
            "cost": {
                "input_tokens": tokens.get("input"),
                "output_tokens": tokens.get("output"),
                "total_tokens": sum(known) if known else None,
                "cost_usd": summary.headline.cost.total_usd,
                "pricing_applied": summary.headline.cost.n_priced > 0,
            },
        },
    }


def _by_category(head: AuditHead) -> dict[str, dict[str, float]]:
    rates: dict[str, dict[str, float]] = {}
    for name, figures in head.summary.graders.items():
        for category, part in figures.by_category.items():
            if part.pass_rate.value is not None:
                rates.setdefault(category, {})[name] = part.pass_rate.value
    return rates


def earlier_case(record: AuditRecord) -> dict[str, Any]:
    """Return one record as a case of a 1.0 document."""
    case, call = record.case, record.call
    meta = dict(case.meta)
    if case.answerable is not None:
        meta.setdefault("answerable", case.answerable)
    error = f"{call.error_class}: {call.error_message or ''}".rstrip(": ") if call.error_class else None
    return {
        "case_id": case.id,
        "category": case.category,
        "input": case.input,
        "expected": case.expected,
        "meta": meta,
        "error": error,
        "output": _output(record),
        "grades": [
            {"grader": s.grader, "score": s.value, "passed": s.outcome is Outcome.PASS, "detail": s.reason}
            for s in record.scores
            if s.outcome.is_measured
        ],
        "ungraded": {s.grader: s.outcome.value for s in record.scores if not s.outcome.is_measured},
        "citations": list(_citations(record)),
    }


def _output(record: AuditRecord) -> dict[str, Any] | None:
    output = record.call.output
    if output is None:
        return None
    return {
        "answer": output.answer,
        "contexts": [context.text for context in output.contexts if context.text is not None],
        "citations": [
            {"span": item.quote, "claim": item.claim, "source_id": item.source_id} for item in output.citations
        ],
        "sources": {name: text for name, text in output.sources.items() if text is not None},
        "usage": {
            name: value
            for name in ("input_tokens", "output_tokens")
            if (value := getattr(output.usage, name)) is not None
        },
        "latency_ms": record.call.latency_ms if record.call.latency_ms is not None else output.latency_ms,
        "abstained": output.abstained,
        "raw": output.raw,
    }


def _citations(record: AuditRecord) -> Iterator[dict[str, Any]]:
    """Yield what was found of each citation, by the first grader that looked at citations."""
    output = record.call.output
    score = next((s for s in record.scores if any(f.kind == "citation" for f in s.findings)), None)
    if output is None or score is None:
        return
    for finding in _of_citations(score):
        place = finding.item.removeprefix("citation[").removesuffix("]")
        cited = output.citations[int(place)] if place.isdigit() and int(place) < len(output.citations) else None
        yield {
            "span": cited.quote if cited else None,
            "source_id": finding.source_id,
            "scoped": finding.source_id is not None,
            "span_found": finding.grade in _FOUND,
            "claim_supported": finding.outcome is Outcome.PASS,
            "ok": finding.outcome is Outcome.PASS,
            "support": finding.value,
            "reason": finding.reason,
        }


def _of_citations(score: AuditScore) -> list[Any]:
    return [finding for finding in score.findings if finding.kind == "citation"]


__all__ = ["LOST", "earlier_case", "earlier_head"]
