"""A run in memory: the outputs of one evaluation with their grades, and everything that can be asked of it offline.

Calling a system lives in ``evaluation.py``; runs on stored partitions in the other modules here. Asking again never
calls the system again.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spancheck_pipeline import __version__
from spancheck_pipeline.api.facts import criteria_of, row_facts_of
from spancheck_pipeline.api.provided import provided_verdicts
from spancheck_pipeline.decision.audit import AuditHead, AuditRecord, AuditScore, as_document, log_of
from spancheck_pipeline.decision.audit_chain import KEY_BYTES
from spancheck_pipeline.decision.comparison import ComparedCase, ComparedRun, ComparisonDocument
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts, judge_names
from spancheck_pipeline.decision.figures import JudgeFigures, ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision, decide
from spancheck_pipeline.decision.scorecard import build_scorecard
from spancheck_pipeline.decision.suite import GateSettings
from spancheck_pipeline.errors import ConfigError, ContractError, Problem, UsageError
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, ModelPrice, Output, Prices, cost_usd, normalize
from spancheck_pipeline.evidence.verdict import NO_VERDICTS, VerdictBook, Verdicts
from spancheck_pipeline.grading.attribution import attribution_of
from spancheck_pipeline.grading.evaluate import grade_row
from spancheck_pipeline.grading.grader import Grader, as_grader, spec_of
from spancheck_pipeline.grading.score import Finding, GradeResult, Outcome, Score
from spancheck_pipeline.importers.spancheck_1_0 import MAKER, is_earlier_document, read_earlier_document
from spancheck_pipeline.storage.audit_files import is_lines, read_lines

if TYPE_CHECKING:
    import pandas as pd

Pricing = Mapping[str, Any]
"""Model → price (``ModelPrice`` or its dict), or the earlier ``{"input_per_1k": usd, "output_per_1k": usd}``."""


@dataclass(slots=True)
class CaseResult:
    """What one case × epoch came to: the output, and one grade a grader."""

    case_id: str
    category: str
    output: Output | None
    """None when the call failed."""
    grades: list[GradeResult]
    error: str | None = None
    """Class of the error that the call ended with; None when it answered."""
    input: Any = None
    expected: Any = None
    meta: dict[str, Any] = field(default_factory=dict)
    case: Case | None = None
    row: CapturedRow | None = None

    def as_case(self) -> Case:
        """Return the case that was asked."""
        if self.case is None:
            self.case = Case(self.case_id, self.input, self.category, self.expected, self.meta)
        return self.case

    def captured(self) -> CapturedRow:
        """Return what was captured."""
        if self.row is None:
            output = None if self.error else normalize(self.output)
            self.row = CapturedRow(
                case_id=self.case_id,
                question_digest=self.as_case().question_digest,
                output=output,
                error_class=self.error if output is None else None,
                latency_ms=output.latency_ms if output else None,
            )
        return self.row

    @property
    def epoch(self) -> int:
        """0-based."""
        return self.captured().epoch

    def output_dict(self) -> dict[str, Any] | None:
        """Return the output as JSON-ready values."""
        return self.output.to_dict() if self.output is not None else None

    @classmethod
    def of(cls, case: Case, row: CapturedRow, grades: list[GradeResult]) -> CaseResult:
        """Return the result of a case and its captured row."""
        return cls(
            case_id=case.id,
            category=case.category,
            output=row.output,
            grades=grades,
            error=row.error_class,
            input=case.input,
            expected=case.expected,
            meta=dict(case.meta),
            case=case,
            row=row,
        )


def grade_cases(
    pairs: Iterable[tuple[Case, CapturedRow]], graders: Sequence[Grader], verdicts: Verdicts = NO_VERDICTS
) -> Iterator[CaseResult]:
    """Yield the result of each case and captured row, in order; each grader's spec is worked out once."""
    digests = [spec_of(grader).digest for grader in graders]
    for case, row in pairs:
        grades = [
            _grade_of(grade_row(grader, case, row, verdicts=verdicts), grader, spec_digest)
            for grader, spec_digest in zip(graders, digests, strict=True)
        ]
        yield CaseResult.of(case, row, grades)


def _grade_of(score: Score, grader: Grader, spec_digest: str) -> GradeResult:
    return GradeResult(
        grader=grader.name,
        score=score.value,
        passed=score.outcome is Outcome.PASS if score.outcome.is_measured else None,
        detail=score.reason,
        outcome=score.outcome,
        reason_code=score.reason_code,
        findings=score.findings,
        grader_version=grader.version,
        spec_digest=spec_digest,
    )


class Scorecard:
    """Counts and rates of a run. ``document`` holds all of them, with intervals, and no text."""

    def __init__(self, results: Sequence[CaseResult], document: ScorecardDocument | None = None) -> None:
        self._results = list(results)
        self.document: ScorecardDocument = document or Run(results).scorecard().document

    def by_grader(self) -> dict[str, dict[str, Any]]:
        """Return per grader ``score`` (mean), ``pass_rate``, ``n`` (measured cases) and all counts."""
        return {
            name: {
                "score": figures.mean_score.value,
                "pass_rate": figures.pass_rate.value,
                "n": figures.counts.n_measured,
                "low": figures.pass_rate.low,
                "high": figures.pass_rate.high,
                **figures.counts.model_dump(),
            }
            for name, figures in self.document.graders.items()
        }

    def by_category(self) -> dict[str, dict[str, float | None]]:
        """Return per category the pass rate of each grader; None where nothing was measured."""
        rates: dict[str, dict[str, float | None]] = {}
        for name, figures in self.document.graders.items():
            for category, part in figures.by_category.items():
                rates.setdefault(category, {})[name] = part.pass_rate.value
        return rates

    def overall_pass_rate(self) -> float | None:
        """Return the share of measured case–grader pairs that passed; None where nothing was measured."""
        counts = [figures.counts for figures in self.document.graders.values()]
        n_measured = sum(item.n_measured for item in counts)
        return sum(item.n_pass for item in counts) / n_measured if n_measured else None

    def failures(self, grader: str | None = None) -> list[tuple[CaseResult, list[GradeResult]]]:
        """Return the results with at least one failed grade (of one grader, where named), with those grades."""
        found = []
        for result in self._results:
            failed = [g for g in result.grades if g.outcome is Outcome.FAIL and grader in {None, g.grader}]
            if failed:
                found.append((result, failed))
        return found


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
        document = self._scorecard(_as_prices(pricing, self.results) or self.prices)
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
            rows=list(self._row_facts(self.prices)),
            scores=list(self._score_facts()),
            prices_digest=digest({model: price.model_dump() for model, price in self.prices.items()}),
        )

    def spec_digests(self) -> dict[str, str]:
        """Return grader → digest of the spec that made its grades."""
        return {grade.grader: grade.spec_digest for result in self.results for grade in result.grades}

    def _row_facts(self, prices: Prices) -> Iterator[RowFacts]:
        for result in self.results:
            yield row_facts_of(
                result.captured(), category=result.category, cluster=result.as_case().cluster, prices=prices
            )

    def _scorecard(self, prices: Prices) -> ScorecardDocument:
        names = list(dict.fromkeys(grade.grader for result in self.results for grade in result.grades))
        facts = {grade.grader: grade for result in self.results for grade in result.grades}
        is_earlier = any(grade.spec_digest == MAKER for grade in facts.values())
        document = build_scorecard(
            suite=self.suite,
            run_id=self.run_id,
            date=self.manifest.date if self.manifest else None,
            config=self.manifest.config if self.manifest else None,
            rows=self._row_facts(prices),
            scores=self._score_facts(),
            graders=[
                GraderFacts(
                    name=name,
                    measurement=str(self.specs.get(name, {}).get("measurement", name)),
                    version=facts[name].grader_version,
                    spec_digest=facts[name].spec_digest,
                    judges=judge_names(self.specs.get(name, {})),
                )
                for name in names
            ],
            attributions=() if is_earlier else self._attributions(),
            judges=self.judges,
        )
        if not is_earlier:
            return document
        # A document of schema 1.0 has no findings: what rests on them is not known, which is not 0.
        headline = document.headline.model_copy(update={"hallucination": None})
        return document.model_copy(update={"headline": headline})

    def _attributions(self) -> Iterator[tuple[str, str]]:
        for result in self.results:
            if result.output is not None:
                failed = {
                    str(self.specs.get(grade.grader, {}).get("measurement", grade.grader)): _score_of(grade)
                    for grade in result.grades
                    if grade.outcome is Outcome.FAIL
                }
                if failed and (reason := attribution_of(result.as_case(), result.output, failed)) is not None:
                    yield result.case_id, reason.value

    def _score_facts(self) -> Iterator[ScoreFacts]:
        for result in self.results:
            for grade in result.grades:
                yield ScoreFacts(
                    grader=grade.grader,
                    case_id=result.case_id,
                    epoch=result.epoch,
                    category=result.category,
                    cluster=result.as_case().cluster,
                    outcome=grade.outcome,
                    value=grade.score,
                    reason_code=grade.reason_code,
                    n_unsupported=sum(finding.outcome is Outcome.FAIL for finding in grade.findings),
                    criteria=criteria_of(grade.findings),
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
        prices = _as_prices(pricing, self.results) or self.prices
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
            scores=tuple(_audit_score(grade) for grade in result.grades),
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
            return _from_document(doc, "audit log")
        return _from_document(read_document(Path(doc)), str(doc))


def _from_document(document: Mapping[str, Any], name: str) -> Run:
    if is_earlier_document(document):
        found = read_earlier_document(document, name)
        return Run(
            [CaseResult.of(item.case, item.row, list(item.grades)) for item in found],
            suite="imported",
            run_id=f"imported-{name.rpartition('/')[2]}"[:100],
        )
    version = document.get("schema_version")
    if version is None:
        raise ConfigError(name, [Problem(what="not an audit log: it states no schema_version")])
    if version != "2.0":
        raise ContractError(name, found=f"schema_version {version}", known=CONTRACT)
    if document.get("contract") != CONTRACT:
        raise ContractError(name, found=document.get("contract"), known=CONTRACT)
    head, records = _validated(document, name)
    _check_whole(head, records, name)
    return run_of_records(head, records)


def _check_whole(head: AuditHead, records: Sequence[AuditRecord], name: str) -> None:
    """Refuse a log whose records are not those that its summary counts: a part of a run would look like the run.

    Raises:
        ConfigError: naming both numbers, or the record that stands twice.
    """
    keys = Counter(record.call.key for record in records)
    problems = [Problem(what=f"case {key[0]!r}, epoch {key[1]}, stands twice") for key, n in keys.items() if n > 1]
    if len(records) != head.summary.n_rows:
        what = f"holds {len(records)} records, and its summary counts {head.summary.n_rows}"
        problems.append(Problem(what=what, fix="export the whole log again"))
    if problems:
        raise ConfigError(name, problems)


def run_of_records(head: AuditHead, records: Iterable[AuditRecord]) -> Run:
    """Return the run of an audit log, with the grades that stand in it."""
    return Run(
        [
            CaseResult.of(record.case, record.call, [_grade_from(score) for score in record.scores])
            for record in records
        ],
        manifest=head.manifest,
        suite=head.suite,
        run_id=head.run_id,
        specs=head.graders,
        judges=head.summary.judges.values(),
        redacted=head.redacted,
    )


def _validated(document: Mapping[str, Any], name: str) -> tuple[AuditHead, tuple[AuditRecord, ...]]:
    from pydantic import ValidationError

    try:
        head, records = log_of(document)
        for record in records:
            for score in record.scores:
                score.score()
    except ValidationError as error:
        problems = [
            Problem(what=f"{'.'.join(map(str, item['loc']))}: {item['type']}")
            for item in error.errors(include_input=False, include_url=False, include_context=False)
        ]
        raise ConfigError(name, problems) from None
    except (KeyError, TypeError) as error:
        raise ConfigError(name, [Problem(what=f"holds a record that is none ({type(error).__name__})")]) from None
    except ValueError as error:
        raise ConfigError(name, [Problem(what=f"holds a score that cannot be: {error}")]) from None
    return head, records


def read_document(path: Path) -> Mapping[str, Any]:
    """Return the JSON object of a file; an audit log in JSON lines as the object that it would be.

    Raises:
        ConfigError: when there is no such file, or it is not a JSON object in UTF-8.
    """
    if is_lines(path):
        return read_lines(path)
    try:
        document = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(str(path), [Problem(what=f"cannot be read ({os.strerror(error.errno or 0)})")]) from None
    except json.JSONDecodeError as error:
        what = "not JSON"
        raise ConfigError(str(path), [Problem(what=what, line=error.lineno, column=error.colno)]) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(str(path), [Problem(what=f"not a JSON file in UTF-8 ({type(error).__name__})")]) from None
    if not isinstance(document, dict):
        raise ConfigError(str(path), [Problem(what="not an audit log: the file holds no JSON object")])
    return document


def write_document(document: Mapping[str, Any], path: Path) -> None:
    """Write a JSON document, all of it or nothing: a temporary file beside it, then a rename."""
    from spancheck_pipeline.storage.documents import write_text

    write_text(path, json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def _score_of(grade: GradeResult) -> Score:
    return Score(
        outcome=grade.outcome,
        value=grade.score if grade.outcome.is_measured else None,
        reason_code=grade.reason_code,
        reason=grade.detail,
        findings=grade.findings,
    )


def _audit_score(grade: GradeResult) -> AuditScore:
    return AuditScore.of(
        _score_of(grade),
        grader=grade.grader,
        grader_version=grade.grader_version,
        spec_digest=grade.spec_digest,
    )


def _grade_from(score: AuditScore) -> GradeResult:
    return GradeResult(
        grader=score.grader,
        score=score.value,
        passed=score.outcome is Outcome.PASS if score.outcome.is_measured else None,
        detail=score.reason,
        outcome=score.outcome,
        reason_code=score.reason_code,
        findings=tuple(Finding(**dict(item)) for item in score.findings),
        grader_version=score.grader_version,
        spec_digest=score.spec_digest,
    )


def _as_prices(pricing: Pricing | None, results: Sequence[CaseResult]) -> dict[str, ModelPrice]:
    """Return a price table from what a caller gave; the earlier per-1k form prices every model that answered."""
    if not pricing:
        return {}
    if set(pricing) <= {"input_per_1k", "output_per_1k"}:
        price = ModelPrice(
            input_usd_per_mtok=1000 * float(pricing.get("input_per_1k", 0)),
            output_usd_per_mtok=1000 * float(pricing.get("output_per_1k", 0)),
        )
        models = {(result.output.served_model or "") if result.output else "" for result in results}
        return dict.fromkeys(models, price)
    return {
        model: item if isinstance(item, ModelPrice) else ModelPrice.model_validate(item)
        for model, item in pricing.items()
    }


def priced(run: Run, pricing: Pricing | None) -> Run:
    """Return the same run under a price table; without one, as it is."""
    if pricing:
        run.prices = _as_prices(pricing, run.results)
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
