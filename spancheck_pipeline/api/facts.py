"""What scorecards and comparisons need of a place's stored files: opened together, and read as facts, row by row.

Making the scorecard and deciding live in ``deciding.py``, comparing with baselines in ``baselines.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spancheck_pipeline.api.judging import verdicts_digest
from spancheck_pipeline.api.scoring import score_inputs
from spancheck_pipeline.decision.facts import GraderFacts, RowFacts, ScoreFacts, judge_names
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow, Output, Prices, Usage, cost_usd
from spancheck_pipeline.grading.graders.completion import is_empty
from spancheck_pipeline.grading.score import Finding, Outcome, Score
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, SCORES


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The files that a decision rests on, opened; one run, one snapshot, one score file a grader."""

    cases: StoredFile
    captured: StoredFile
    scores: dict[str, StoredFile]

    def digests(self) -> dict[str, str]:
        """Return the content digest of each, by the name that decisions use."""
        return {
            "cases": self.cases.content_digest,
            "captured_run": self.captured.content_digest,
            **{f"scores/{name}": file.content_digest for name, file in self.scores.items()},
        }


def open_evidence(store: Store, place: Place, graders: Sequence[str]) -> Evidence:
    """Open the current files of a place, and see that the scores are of exactly this capture and these labels.

    Raises:
        MissingDataError: naming every grader whose scores are missing or were made from something else.
    """
    captured = store.open(place, CAPTURED_RUN)
    cases = store.open(place, CASES)
    expected = score_inputs(captured, cases)
    verdicts = verdicts_digest(store, place)
    files: dict[str, StoredFile] = {}
    stale: list[str] = []
    for name in graders:
        if not store.exists(place, SCORES, name):
            stale.append(f"{name} (no scores)")
            continue
        file = files[name] = store.open(place, SCORES, name)
        made_from = file.inputs
        if any(made_from.get(key) != value for key, value in expected.items()):
            stale.append(f"{name} (scored another capture or other labels)")
        elif made_from.get("judge_verdicts", verdicts) != verdicts:
            stale.append(f"{name} (scored with other verdicts of its judges)")
    if stale:
        raise MissingDataError(f"{place}: scores are not up to date: {', '.join(stale)}; score the place again first")
    return Evidence(cases=cases, captured=captured, scores=files)


_ROW_COLUMNS = [
    "case_id", "epoch", "answered", "error_class", "latency_ms", "latency_total_ms", "served_model", "attempts",
    "input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens", "reported_cost_usd",
]  # fmt: skip


def row_facts(cases: StoredFile, captured: StoredFile, prices: Prices) -> Iterator[RowFacts]:
    """Yield what a scorecard or comparison needs of every captured row, in order.

    The answers are not read: a suite always has the grader ``completion``, which says whether one is empty.
    """
    labels = {
        row["case_id"]: (row["category"], row["cluster"]) for row in cases.rows(["case_id", "category", "cluster"])
    }
    for row in captured.rows(_ROW_COLUMNS):
        category, cluster = labels[row["case_id"]]
        usage = Usage(
            **{name: row[name] for name in Usage.model_fields if name in row}, cost_usd=row["reported_cost_usd"]
        )
        output = Output(usage=usage, served_model=row["served_model"])
        facts = {name: row[name] for name in _ROW_COLUMNS if name != "reported_cost_usd"}
        cost = cost_usd(output, prices) if row["answered"] else None
        yield RowFacts(category=category, cluster=cluster, cost_usd=cost, **facts)


def row_facts_of(row: CapturedRow, *, category: str | None, cluster: str | None, prices: Prices) -> RowFacts:
    """Return what a scorecard needs of a captured row that is at hand."""
    output = row.output
    usage = output.usage if output else Usage()
    return RowFacts(
        case_id=row.case_id,
        epoch=row.epoch,
        category=category,
        cluster=cluster,
        answered=row.answered,
        is_empty=output is not None and is_empty(output.answer),
        error_class=row.error_class,
        latency_ms=row.latency_ms,
        latency_total_ms=row.latency_total_ms,
        cost_usd=cost_usd(output, prices) if output else None,
        served_model=output.served_model if output else None,
        attempts=row.attempts,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


_SCORE_COLUMNS = ["case_id", "epoch", "category", "cluster", "outcome", "value", "reason_code", "findings"]


def score_facts(evidence: Evidence) -> Iterator[ScoreFacts]:
    """Yield what a scorecard or comparison needs of every stored score."""
    for name, file in evidence.scores.items():
        for row in file.rows(_SCORE_COLUMNS):
            yield _stored_score(name, row)


def stored_score_facts(name: str, file: StoredFile, label_digests: Mapping[str, str]) -> Iterator[ScoreFacts]:
    """Yield the stored scores of the cases that were scored under given labels (case id → label digest)."""
    for row in file.rows([*_SCORE_COLUMNS, "label_digest"]):
        if label_digests.get(row["case_id"]) == row["label_digest"]:
            yield _stored_score(name, row)


def score_facts_of(grader: str, case: Case, row: CapturedRow, score: Score) -> ScoreFacts:
    """Return what a comparison needs of a score that is at hand."""
    return ScoreFacts(
        grader=grader,
        case_id=case.id,
        epoch=row.epoch,
        category=case.category,
        cluster=case.cluster,
        outcome=score.outcome,
        value=score.value,
        reason_code=score.reason_code,
        n_unsupported=sum(finding.outcome is Outcome.FAIL for finding in score.findings),
        criteria=criteria_of(score.findings),
    )


def criteria_of(findings: Iterable[Finding]) -> tuple[tuple[str, Outcome], ...]:
    """Return criterion id and outcome of the findings that are criteria."""
    return tuple((finding.item, finding.outcome) for finding in findings if finding.kind == "criterion")


def _stored_score(name: str, row: Row) -> ScoreFacts:
    failed = sum(finding["outcome"] == Outcome.FAIL for finding in row["findings"] or ())
    return ScoreFacts(
        grader=name,
        case_id=row["case_id"],
        epoch=row["epoch"],
        category=row["category"],
        cluster=row["cluster"],
        outcome=Outcome(row["outcome"]),
        value=row["value"],
        reason_code=row["reason_code"],
        n_unsupported=failed,
        criteria=tuple(
            (finding["item"], Outcome(finding["outcome"]))
            for finding in row["findings"] or ()
            if finding["kind"] == "criterion"
        ),
    )


def grader_facts(name: str, file: StoredFile) -> GraderFacts:
    """Return what made a score file."""
    spec = file.grader_spec
    return GraderFacts(
        name=name,
        measurement=spec["measurement"],
        version=spec["version"],
        spec_digest=file.metadata["spec_digest"],
        judges=judge_names(spec),
    )
