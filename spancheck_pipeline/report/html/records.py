"""What the page keeps of a record: its JSON forms, for the packed texts and for the table of cases.

How they are packed into the file lives in ``packing.py``; what the page makes of them in ``assets/*.js``. Nothing is
measured here: outcomes, reasons and offsets are those of the record.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spancheck_pipeline.decision.audit import AuditRecord, AuditScore, AuditVerdict
from spancheck_pipeline.decision.facts import CaseOutcome, reduce_epochs
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.citation import source_name
from spancheck_pipeline.evidence.run import CapturedRow, Context, Output
from spancheck_pipeline.grading.score import Outcome
from spancheck_pipeline.report.html.signed import Dispositions

Json = dict[str, Any]

LETTERS: Final = {
    CaseOutcome.PASS: "p",
    CaseOutcome.FAIL: "f",
    CaseOutcome.FLAKY: "k",
    CaseOutcome.NOT_APPLICABLE: "n",
    CaseOutcome.UNMEASURED: "u",
}
"""One letter an outcome of a case; a case's outcomes are one string, a letter a grader."""
_QUESTION: Final = 240
"""Code points of a question that stand in the table; the whole is with the case."""


class TextPool:
    """The texts of one pack, each once: passages come again over cases and epochs."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        """The texts, in the order of their places."""
        self._places: dict[str, int] = {}

    def place(self, text: str | None) -> int | None:
        """Return the place of a text in the pool, which takes it in; None for no text."""
        if text is None:
            return None
        if text not in self._places:
            self._places[text] = len(self.texts)
            self.texts.append(text)
        return self._places[text]


def case_json(
    records: Sequence[AuditRecord], graders: Sequence[str], pool: TextPool, dispositions: Dispositions
) -> Json:
    """Return one case with all its epochs as the page shows it; ``records`` are those of the case."""
    epochs = [{**_epoch(record, graders, pool), "signed": dispositions.json(record, graders)} for record in records]
    return {**_question(records[0].case, pool), "epochs": epochs}


def _question(case: Case, pool: TextPool) -> Json:
    return {
        "id": case.id,
        "category": case.category,
        "cluster": case.cluster,
        "input": _text(case.input),
        "history": [[turn.role, turn.text] for turn in case.history],
        "expected": None if case.expected is None else _text(case.expected),
        "answerable": case.answerable,
        "expectedSources": list(case.expected_sources),
        "criteria": [[item.id, item.type, _text(item.target), item.comment] for item in case.criteria],
        "known": [_context(context, index, pool) for index, context in enumerate(case.contexts)],
        "meta": _text(case.meta) if case.meta else None,
    }


def _epoch(record: AuditRecord, graders: Sequence[str], pool: TextPool) -> Json:
    call = record.call
    return {
        "epoch": call.epoch,
        "error": None if call.output is not None else [call.error_class, call.error_message],
        **(answer_json(call.output, pool) if call.output else {}),
        "cost": record.cost_usd,
        "latency": call.latency_ms,
        "total": call.latency_total_ms,
        "attempts": call.attempts,
        "at": call.started_at.isoformat(timespec="seconds") if call.started_at else None,
        "scores": [_score(score, graders) for score in record.scores],
        "verdicts": [_verdict(verdict) for verdict in record.verdicts],
    }


def _verdict(verdict: AuditVerdict) -> Json:
    return {
        "judge": verdict.judge,
        "graders": list(verdict.graders),
        "model": verdict.served_model,
        "prompt": verdict.prompt,
        "promptDigest": verdict.prompt_digest,
        "packetDigest": verdict.packet_digest,
        "repeat": verdict.repeat,
        "label": verdict.label,
        "score": verdict.score,
        "reason": verdict.reason,
        "finish": verdict.finish_reason,
        "latency": verdict.latency_ms,
        "attempts": verdict.attempts,
        "cost": verdict.cost_usd,
        "error": verdict.error_class,
    }


def answer_json(output: Output, pool: TextPool) -> Json:
    """Return an answer with its passages and citations."""
    return {
        "answer": output.answer,
        "contexts": [_context(context, index, pool) for index, context in enumerate(output.contexts)],
        "citations": [
            {
                "claim": item.claim,
                "quote": item.quote,
                "source": item.source_id,
                "start": item.answer_start,
                "end": item.answer_end,
                "flags": list(item.flags),
            }
            for item in output.citations
        ],
        "abstained": output.abstained,
        "finish": output.finish_reason,
        "model": output.served_model,
        "versions": sorted(output.versions.items()),
        "tokens": [
            output.usage.input_tokens,
            output.usage.output_tokens,
            output.usage.cached_input_tokens,
            output.usage.reasoning_tokens,
        ],
    }


def _context(context: Context, index: int, pool: TextPool) -> Json:
    return {
        "name": source_name(context, index),
        "text": pool.place(context.text),
        "title": context.title,
        "uri": context.uri,
        "page": context.page,
    }


def _score(score: AuditScore, graders: Sequence[str]) -> Json:
    return {
        "grader": graders.index(score.grader),
        "outcome": score.outcome.value,
        "value": score.value,
        "code": score.reason_code,
        "reason": score.reason,
        "findings": [
            {
                "item": item.item,
                "kind": item.kind,
                "outcome": item.outcome.value,
                "value": item.value,
                "grade": item.grade,
                "reason": item.reason,
                "source": item.source_id,
                "from": item.source_start,
                "to": item.source_end,
                "start": item.answer_start,
                "end": item.answer_end,
            }
            for item in score.findings
        ],
    }


def _text(value: Any) -> str:
    """Return a text as it is, and anything else as indented JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """What the table of cases says of one case: outcomes of its epochs together, and numbers; one line of question."""

    case_id: str
    category: str
    question: str
    outcomes: str
    """A letter a grader (``LETTERS``), in the graders' order."""
    values: tuple[float | None, ...]
    """Mean value of the measured epochs, a grader each."""
    codes: tuple[str, ...]
    """Reason code of the first epoch that came out worst, a grader each."""
    n_errors: int
    latency_ms: float | None
    """Mean over the answered epochs; None where any of them has no time."""
    cost_usd: float | None
    """Sum over the answered epochs; None where the cost of any is not known."""

    def line(self, pack: int, place: int) -> list[Any]:
        """Return it as JSON, with the pack that holds the case and its place there."""
        values = [None if value is None else round(value, 4) for value in self.values]
        numbers = [_rounded(self.latency_ms), _rounded(self.cost_usd), self.n_errors]
        return [self.case_id, pack, place, self.category, self.question, self.outcomes, values, self.codes, *numbers]


def table_row(records: Sequence[AuditRecord], graders: Sequence[str], epochs: int) -> TableRow:
    """Return the row of one case. An epoch or a score that is missing counts as unmeasured, as on the scorecard."""
    case = records[0].case
    of_grader: dict[str, list[AuditScore]] = {name: [] for name in graders}
    for record in records:
        for score in record.scores:
            of_grader[score.grader].append(score)
    answered = [record for record in records if record.call.answered]
    return TableRow(
        case_id=case.id,
        category=case.category,
        question=" ".join(_text(case.input)[: 4 * _QUESTION].split())[:_QUESTION],
        outcomes="".join(LETTERS[_outcome(scores, epochs)] for scores in of_grader.values()),
        values=tuple(
            _mean([score.value for score in scores if score.value is not None]) for scores in of_grader.values()
        ),
        codes=tuple(_code(scores) for scores in of_grader.values()),
        n_errors=len(records) - len(answered),
        latency_ms=_mean([record.call.latency_ms for record in answered]),
        cost_usd=_sum([record.cost_usd for record in answered]),
    )


_WORST: Final = (Outcome.FAIL, Outcome.UNMEASURED, Outcome.PASS, Outcome.NOT_APPLICABLE)


def _outcome(scores: Sequence[AuditScore], epochs: int) -> CaseOutcome:
    missing = [Outcome.UNMEASURED] * (epochs - len(scores))
    return reduce_epochs([*(score.outcome for score in scores), *missing])


def _code(scores: Sequence[AuditScore]) -> str:
    return min(scores, key=lambda score: _WORST.index(score.outcome)).reason_code if scores else "no_score"


def _mean(numbers: Sequence[float | None]) -> float | None:
    total = _sum(numbers)
    return None if total is None else total / len(numbers)


def _sum(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return math.fsum(known) if known and len(known) == len(numbers) else None


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.6g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The answers of a baseline to a case that came out otherwise, and what its stored scores said of them."""

    case_id: str
    rows: tuple[CapturedRow, ...]
    reasons: Mapping[tuple[str, int], AuditScore]
    """Grader and epoch → the stored score of the same grader spec and labels. A grader that was changed since has none:
    the baseline was graded again for the comparison, and only the outcome was kept."""


def earlier_json(earlier: Earlier, graders: Sequence[str], pool: TextPool) -> Json:
    """Return a baseline's side of a case as the page shows it."""
    return {
        "id": earlier.case_id,
        "epochs": [
            {
                "epoch": row.epoch,
                "error": None if row.output is not None else [row.error_class, row.error_message],
                **(answer_json(row.output, pool) if row.output else {}),
                "cost": None,
                "latency": row.latency_ms,
                "scores": [
                    _score(score, graders) for (_, epoch), score in earlier.reasons.items() if epoch == row.epoch
                ],
            }
            for row in earlier.rows
        ],
    }


def by_case(records: Iterable[AuditRecord]) -> Iterable[list[AuditRecord]]:
    """Yield the records of each case together; they stand next to each other in a record file."""
    group: list[AuditRecord] = []
    for record in records:
        if group and group[0].case.id != record.case.id:
            yield group
            group = []
        group.append(record)
    if group:
        yield group
