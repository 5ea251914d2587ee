"""A run in memory: the outputs of one evaluation with their grades, and everything that can be asked of it offline.

Calling a system lives in ``evaluation.py``; runs on stored partitions in the other modules here. Asking again never
calls the system again.
"""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spancheck_pipeline import __version__
from spancheck_pipeline.api.case_result import CaseResult, audit_score, grade_cases
from spancheck_pipeline.api.pricing import Pricing, as_prices
from spancheck_pipeline.api.provided import provided_verdicts
from spancheck_pipeline.api.run_document import (
    RunContents,
    contents_of,
    contents_of_records,
    read_document,
    write_document,
)
from spancheck_pipeline.api.run_figures import Scorecard, row_facts, score_facts, scorecard_document
from spancheck_pipeline.decision.audit import AuditHead, AuditRecord, as_document
from spancheck_pipeline.decision.audit_chain import KEY_BYTES
from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, ComparisonDocument
from spancheck_pipeline.decision.figures import JudgeFigures, ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision, decide
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, Prices, cost_usd
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, VerdictBook
from spancheck_pipeline.grading.grader import Grader, as_grader, spec_of

if TYPE_CHECKING:
    import pandas as pd


class Run:
    """The results of one evaluation. It can be scored again, saved, gated and recorded without any call."""

    def __init__(
        self,
        results: Iterable[CaseResult],
        *,
        manifest: Manifest | None = None,
        suite: str = "adhoc",
        run_id: str = "",
        specs: Mapping[str, Mapping[str, Any]] | None = None,
        prices: Prices | None = None,
        graders: Sequence[Grader] = (),
        judges: Iterable[JudgeFigures] = (),
        redacted: Sequence[str] = (),
        verdicts: VerdictBook = NO_VERDICTS,
    ) -> None:
        self.results = list(results)
        self.manifest = manifest
        self.suite = manifest.suite if manifest else suite
        self.run_id = manifest.run_id if manifest else run_id
        self.specs = {name: dict(spec) for name, spec in (specs or {}).items()}
        """Grader → the whole readable spec that made its grades."""
        self.graders = tuple(graders)
        """The graders themselves, where the run was graded in this process; empty for a run that was read."""
        self.redacted = tuple(redacted)
        """What the copy of an audit log that this run was read from leaves out; empty for a whole one."""
        self.prices: Prices = prices if prices is not None else (manifest.prices if manifest else {})
        self.judges = tuple(judges)
        """Where the judges of these graders stand, as its record says; one that is not here may not gate."""
        self.verdicts = verdicts
        """What judges replied about its outputs: grading again asks nobody."""

    def __iter__(self) -> Iterator[CaseResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    # -- figures ------------------------------------------------------------------------------------------------

    def scorecard(self) -> Scorecard:
        """Return counts and rates, with intervals, by grader and category."""
        return Scorecard(self.results, self._scorecard(self.prices))

    def cost_latency(self, pricing: Pricing | None = None) -> dict[str, Any]:
        """Return cost and latency of the answers: what was reported and measured, priced by ``pricing``.

        Unknown stays None: a cost is never made up, and one unpriced answer makes the total unknown.
        """
        document = self._scorecard(as_prices(pricing, self.results) or self.prices)
        tokens = {kind: figures.total for kind, figures in document.tokens.items()}
        latency, cost = document.headline.latency, document.headline.cost
        known = [n for n in (tokens.get("input"), tokens.get("output")) if n is not None]
        return {
            "latency": latency.answer.model_dump() | {"total_incl_retries": latency.total.model_dump()},
            "cost": {
                "input_tokens": tokens.get("input"),
                "output_tokens": tokens.get("output"),
                "total_tokens": sum(known) if known else None,
                "cost_usd": cost.total_usd,
                "pricing_applied": bool(pricing or self.prices),
                **cost.model_dump(),
            },
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row per case × epoch × grader as a pandas frame: the analyst's view."""
        import pandas as pd

        columns = [
            "case_id", "epoch", "category", "cluster", "grader", "outcome", "score", "reason_code", "reason", "answer",
            "error", "latency_ms", "cost_usd",
        ]  # fmt: skip
        return pd.DataFrame(list(self._frame_rows()), columns=columns)

    def _frame_rows(self) -> Iterator[dict[str, Any]]:
        for result in self.results:
            case, row = result.as_case(), result.captured()
            shared = {
                "case_id": case.id,
                "epoch": row.epoch,
                "category": case.category,
                "cluster": case.cluster,
                "answer": row.output.answer if row.output else None,
                "error": row.error_class,
                "latency_ms": row.latency_ms,
                "cost_usd": cost_usd(row.output, self.prices) if row.output else None,
            }
            for grade in result.grades:
                yield shared | {
                    "grader": grade.grader,
                    "outcome": grade.outcome.value,
                    "score": grade.score,
                    "reason_code": grade.reason_code,
                    "reason": grade.detail,
                }

    def compared(self) -> ComparedRun:
        """Return this run as one side of a comparison."""
        rows = [result.captured() for result in self.results]
        return ComparedRun(
            run_id=self.run_id,
            date=self.manifest.date if self.manifest else None,
            config=self.manifest.config if self.manifest else None,
            target_version=self.manifest.target.version if self.manifest else None,
            epochs=1 + max((row.epoch for row in rows), default=0),
            cases={
                case.id: ComparedCase(
                    question_digest=case.question_digest, label_digest=case.label_digest, cluster=case.cluster
                )
                for case in (result.as_case() for result in self.results)
            },
            rows=list(row_facts(self.results, self.prices, is_redacted=bool(self.redacted))),
            scores=list(score_facts(self.results)),
            prices_digest=digest({model: price.model_dump() for model, price in self.prices.items()}),
        )

    def spec_digests(self) -> dict[str, str]:
        """Return grader → digest of the spec that made its grades."""
        return {grade.grader: grade.spec_digest for result in self.results for grade in result.grades}

    def _scorecard(self, prices: Prices) -> ScorecardDocument:
        return scorecard_document(
            self.results,
            suite=self.suite,
            run_id=self.run_id,
            manifest=self.manifest,
            specs=self.specs,
            prices=prices,
            judges=self.judges,
            is_redacted=bool(self.redacted),
        )

    # -- offline work -------------------------------------------------------------------------------------------

    def rescore(self, graders: Iterable[Any]) -> Run:
        """Return a run of the same outputs under other graders. The system is not called.

        Nor is a judge of ``judges.yaml``; one that is a function (``llm_judge(provider)``) is asked what the run does
        not know of it.

        Raises:
            UsageError: for a run that was read from a redacted copy: its texts are not there.
        """
        if self.redacted:
            raise UsageError(
                f"the run {self.run_id} was read from a redacted copy (without {', '.join(self.redacted)}), which "
                "cannot be graded again; its recorded grades stand"
            )
        checked = distinct([as_grader(item) for item in graders])
        verdicts = provided_verdicts(self._pairs(), checked, self.verdicts)
        results = grade_cases(self._pairs(), checked, verdicts)
        specs = {grader.name: spec_of(grader).as_dict() for grader in checked}
        return Run(
            results,
            manifest=self.manifest,
            suite=self.suite,
            run_id=self.run_id,
            specs=specs,
            prices=self.prices,
            graders=checked,
            verdicts=verdicts,
        )

    def _pairs(self) -> Iterator[tuple[Case, CapturedRow]]:
        return ((result.as_case(), result.captured()) for result in self.results)

    def decide(self, settings: GateSettings, **facts: Any) -> GateDecision:
        """Return what a gate says about this run; ``facts`` are who, when and why."""
        return decide(self._scorecard(self.prices), settings, **facts)

    # -- files --------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the run as an audit log document."""
        return self.audit_log()

    def audit_log(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        pricing: Pricing | None = None,
        verify_citations: bool = True,
        decision: GateDecision | None = None,
        comparisons: Sequence[ComparisonDocument] = (),
    ) -> dict[str, Any]:
        """Return the run as an audit log document (schema 2.0), and write it where a path is given.

        ``verify_citations`` is kept from an earlier signature and changes nothing: the log shows the findings of the
        actual grading.
        """
        del verify_citations
        prices = as_prices(pricing, self.results) or self.prices
        head = AuditHead(
            package_version=__version__,
            run_id=self.run_id,
            suite=self.suite,
            date=self.manifest.date if self.manifest else None,
            config=self.manifest.config if self.manifest else None,
            created_at=dt.datetime.now(dt.UTC),
            manifest=self.manifest,
            decision=decision,
            summary=self._scorecard(prices),
            comparisons=tuple(comparisons),
            graders=self.specs,
        )
        records = (self._record(result, prices) for result in self.results)
        document = as_document(head, records, key=secrets.token_bytes(KEY_BYTES))
        if path is not None:
            write_document(document, Path(path))
        return document

    def _record(self, result: CaseResult, prices: Prices) -> AuditRecord:
        case, row = result.as_case(), result.captured()
        return AuditRecord(
            case=case,
            question_digest=case.question_digest,
            label_digest=case.label_digest,
            call=row,
            cost_usd=cost_usd(row.output, prices) if row.output else None,
            scores=tuple(audit_score(grade) for grade in result.grades),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a JSON file that ``load`` reads: an audit log document."""
        self.audit_log(path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Run:
        """Return the run of a file that ``save``, ``audit_log`` or the earlier library wrote.

        Raises:
            ConfigError: for a file that is none of these.
            ContractError: for a document of another contract or schema version.
        """
        return Run.from_audit_log(path)

    @staticmethod
    def from_audit_log(doc: Mapping[str, Any] | str | os.PathLike[str]) -> Run:
        """Return the run of an audit log: ours (2.0) or the earlier library's (1.0), as a document or a path."""
        if isinstance(doc, Mapping):
            return _run_of(contents_of(doc, "audit log"))
        return _run_of(contents_of(read_document(Path(doc)), str(doc)))


def run_of_records(head: AuditHead, records: Iterable[AuditRecord]) -> Run:
    """Return the run of an audit log, with the grades that stand in it."""
    return _run_of(contents_of_records(head, records))


def _run_of(read: RunContents) -> Run:
    return Run(
        read.results,
        manifest=read.manifest,
        suite=read.suite,
        run_id=read.run_id,
        specs=read.specs,
        judges=read.judges,
        redacted=read.redacted,
    )


def priced(run: Run, pricing: Pricing | None) -> Run:
    """Return the same run under a price table; without one, as it is."""
    if pricing:
        run.prices = as_prices(pricing, run.results)
    return run


def distinct(graders: list[Grader]) -> list[Grader]:
    """Return graders as they are, or raise ``UsageError`` where two have the same name."""
    names = [grader.name for grader in graders]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two graders are called {twice[0]!r}; give each its own name")
    return graders


# -- the library's functions ------------------------------------------------------------------------------------


def cost_latency(run: Run, pricing: Pricing | None = None) -> dict[str, Any]:
    """Return cost and latency of a run (``Run.cost_latency``)."""
    return run.cost_latency(pricing)


def build_audit_log(
    run: Run,
    path: str | os.PathLike[str] | None = None,
    *,
    pricing: Pricing | None = None,
    verify_citations: bool = True,
) -> dict[str, Any]:
    """Return the audit log document of a run (``Run.audit_log``)."""
    return run.audit_log(path, pricing=pricing, verify_citations=verify_citations)
