"""Builders of records and of whole reports, for tests of the page and for its benchmark."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scenario import AT, case, output, row

from spancheck_pipeline.api.facts import row_facts_of
from spancheck_pipeline.decision.audit import AuditHead, AuditRecord, AuditScore
from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.decision.facts import GraderFacts, ScoreFacts
from spancheck_pipeline.decision.gate import decide
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.decision.trend import TrendDocument
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.grading.evaluate import grade_row
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.grading.graders.abstention_correct import AbstentionCorrect
from spancheck_pipeline.grading.graders.citation_accuracy import CitationAccuracy
from spancheck_pipeline.grading.graders.groundedness import Groundedness
from spancheck_pipeline.grading.graders.no_pii import NoPii
from spancheck_pipeline.report.html.overview import ReportFacts
from spancheck_pipeline.report.html.page import write_page
from spancheck_pipeline.report.html.records import Earlier

GRADERS: tuple[Grader, ...] = (CitationAccuracy(), AbstentionCorrect(), Groundedness(), NoPii())
STAMPS = {"content-digest": "0" * 64, "revision": "00000"}


def record(of: Case, captured: CapturedRow, graders: Sequence[Grader] = GRADERS) -> AuditRecord:
    """Return the record of one case × epoch, graded."""
    return AuditRecord(
        case=of,
        question_digest=of.question_digest,
        label_digest=of.label_digest,
        call=captured,
        cost_usd=0.001 if captured.answered else None,
        scores=tuple(_scored(grader, of, captured) for grader in graders),
    )


def _scored(grader: Grader, of: Case, captured: CapturedRow) -> AuditScore:
    spec = spec_of(grader)
    score = grade_row(grader, of, captured)
    return AuditScore.of(score, grader=grader.name, grader_version=spec.version, spec_digest=spec.digest)


def answered(
    case_id: str,
    answer: str,
    *,
    passages: Sequence[tuple[str, str]] = (),
    quotes: Sequence[tuple[str, str]] = (),
    epoch: int = 0,
    question: Any = "What is the notice period?",
    graders: Sequence[Grader] = GRADERS,
    more: dict[str, Any] | None = None,
    **fields: Any,
) -> AuditRecord:
    """Return a graded record; passages are (source id, text), quotes (source id, quote)."""
    of = case(case_id, question, **fields)
    value = output(
        answer,
        contexts=[{"source_id": name, "text": text} for name, text in passages],
        citations=[{"source_id": name, "quote": quote} for name, quote in quotes],
        **(more or {}),
    )
    return record(of, row(of, value, epoch=epoch, latency_ms=12.5, latency_total_ms=12.5, started_at=AT), graders)


def renamed(of: AuditRecord, case_id: str) -> AuditRecord:
    """Return the same record of another case: many of them cost no grading."""
    return of.model_copy(
        update={
            "case": of.case.model_copy(update={"id": case_id}),
            "call": of.call.model_copy(update={"case_id": case_id}),
        }
    )


def head_of(
    records: Sequence[AuditRecord],
    *,
    graders: Sequence[Grader] = GRADERS,
    epochs: int = 1,
    gate: dict[str, Any] | None = None,
    comparisons: Sequence[ComparisonDocument] = (),
    attributions: Iterable[tuple[str, str]] = (),
) -> AuditHead:
    """Return the head of the record of a run of the suite ``leases``."""
    facts = [spec_of(grader) for grader in graders]
    card = build_scorecard(
        suite="leases",
        run_id="leases-1",
        date="2026-03-14",
        rows=[row_facts_of(r.call, category=r.case.category, cluster=r.case.cluster, prices={}) for r in records],
        scores=list(_facts(records)),
        graders=[
            GraderFacts(name=g.name, measurement=s.measurement, version=s.version, spec_digest=s.digest)
            for g, s in zip(graders, facts, strict=True)
        ],
        epochs=epochs,
        attributions=attributions,
    )
    settings = GateSettings.model_validate(gate or {"min_pass_rate": {graders[0].name: 0.5}})
    decision = decide(card, settings, comparisons=comparisons, decided_at=AT, decided_by="ada", revision=1)
    specs = {g.name: json.loads(s.readable()) for g, s in zip(graders, facts, strict=True)}
    return AuditHead(
        package_version="0.1.0",
        run_id="leases-1",
        suite="leases",
        date="2026-03-14",
        decision=decision,
        summary=card,
        comparisons=tuple(comparisons),
        graders=specs,
    )


def _facts(records: Iterable[AuditRecord]) -> Iterator[ScoreFacts]:
    for item in records:
        for score in item.scores:
            yield ScoreFacts(
                grader=score.grader,
                case_id=item.case.id,
                epoch=item.call.epoch,
                category=item.case.category,
                cluster=item.case.cluster,
                outcome=score.outcome,
                value=score.value,
                reason_code=score.reason_code,
                n_unsupported=sum(finding.outcome == "fail" for finding in score.findings),
            )


def page_of(
    records: Sequence[AuditRecord],
    head: AuditHead | None = None,
    *,
    trend: TrendDocument | None = None,
    earlier: Sequence[tuple[str, Iterable[Earlier]]] = (),
    **of_head: Any,
) -> str:
    """Return the whole page of some records."""
    facts = ReportFacts(head=head or head_of(records, **of_head), trend=trend)
    return "".join(write_page(facts, iter(records), earlier, STAMPS))


def write_page_of(path: Path, records: Sequence[AuditRecord], **of_page: Any) -> Path:
    path.write_text(page_of(records, **of_page), encoding="utf-8", newline="\n")
    return path


def blocks_of(page: str) -> dict[str, bytes]:
    """Return the unpacked data blocks of a page by their names."""
    found = re.findall(r'<script type="application/gzip" id="([a-z0-9_-]+)">([A-Za-z0-9+/=]+)</script>', page)
    return {name: gzip.decompress(base64.b64decode(packed)) for name, packed in found}
