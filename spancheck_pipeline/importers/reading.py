"""One pass over a file: its records as cases and captured rows, checked, counted and kept on disk.

Where the rows are kept lives in ``spool.py``; writing them as a captured run in ``api/importing.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from spancheck_pipeline.clients.answer import MAX_OUTPUT_BYTES
from spancheck_pipeline.clients.call_errors import CallError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.citation import Citation
from spancheck_pipeline.evidence.complaints import dotted
from spancheck_pipeline.evidence.run import CapturedRow, Context, Output, Usage
from spancheck_pipeline.importers.guessing import likely_format
from spancheck_pipeline.importers.record import Record, case_of, row_of
from spancheck_pipeline.importers.source import Source, add_likely_format, records_of
from spancheck_pipeline.importers.spool import Spool
from spancheck_pipeline.storage.case_rows import Report
from spancheck_pipeline.storage.wording import worded


class Reader:
    """Reads a file into a spool. What is wrong goes to a report, and the next record is read."""

    def __init__(self, source: Source, known: Sequence[Case] = ()) -> None:
        self.spool = Spool()
        self.carried: Counter[str] = Counter()
        """Number of answers with each thing."""
        self.criteria: Counter[str] = Counter()
        """Criterion id → cases that have one of that id."""
        self.relabelled: set[str] = set()
        """Ids of the cases that took the labels of the suite's own."""
        self._source = source
        self._report = Report(file=str(source.path))
        self._by_id = {case.id: case for case in known}
        self._by_question: dict[str, Case] = {}
        for case in known:
            self._by_question.setdefault(case.question_digest, case)

    def read(self) -> None:
        """Read the file whole.

        Raises:
            ConfigError: with everything that is wrong, all at once.
        """
        for record in records_of(self._source, self._report):
            self._take(record)
            if self._report.is_full:
                break
        if not self._report.problems and not self.carried["answers"]:
            self._check_failures()
        if self._report.problems:
            add_likely_format(self._source, self._report)
        self._report.raise_if_any()

    def _check_failures(self) -> None:
        """Refuse a file without an answer, unless it says that calls failed, and looks like what it was read as."""
        if not self.spool.n_answers:
            self._report.add("holds no answer")
        elif not self.carried["failed calls"] or likely_format(self._source.path) not in {None, self._source.format}:
            fix = "check the format's name and the export, or map the answer: --column answer=PATH"
            self._report.add(f"none of its {self.spool.n_answers} items holds an answer", fix=fix)

    def _take(self, record: Record) -> None:
        try:
            case = self._case(record)
            row = row_of(record, case, self._source.citations)
        except ValidationError as error:
            add_problem(self._report, record, *case_problem(error))
        except CallError as error:
            add_problem(self._report, record, *output_problem(error, record))
        except RecursionError:
            add_problem(self._report, record, "is nested too deeply")
        else:
            self._keep(record, case, row)

    def _keep(self, record: Record, case: Case, row: CapturedRow) -> None:
        n_cases = self.spool.n_cases
        refused = self.spool.add(case, row)
        if refused == "question":
            what = f"the id {case.id[:80]!r} asks another question in an earlier epoch"
            add_problem(self._report, record, what)
        elif refused == "twice":
            fix = "give every case its own id, or an epoch"
            add_problem(self._report, record, f"the id {case.id[:80]!r} stands twice", fix)
        else:
            if self.spool.n_cases > n_cases:
                self.criteria.update(criterion.id for criterion in case.criteria)
            self._count(case, row)

    def _case(self, record: Record) -> Case:
        case = case_of(record)
        stated = None if record.case.get("id") is None else case.id
        known = self._by_id.get(case.id)
        if known is None or known.question_digest != case.question_digest:
            known = self._by_question.get(case.question_digest)
        if known is not None:
            case = known
            self.relabelled.add(case.id)
        if stated is None or known is not None:
            taken = self.spool.namesake(case.id, record.epoch)
            if taken and stated != case.id:
                # The same question asked again, without this id of its own, is a case of its own.
                case = case.model_copy(update={"id": f"{case.id}-{taken + 1}"})
        return case

    def _count(self, case: Case, row: CapturedRow) -> None:
        output = row.output
        self.carried["rows"] += 1
        if output is None:
            self.carried["failed calls"] += row.error_class != "NoRecordedAnswer"
            return
        for name, is_there in (
            ("answers", True),
            ("contexts", bool(output.contexts)),
            ("context texts", any(context.text for context in output.contexts)),
            ("citations", bool(output.citations)),
            ("tokens", output.usage.input_tokens is not None and output.usage.output_tokens is not None),
            ("cost", output.usage.cost_usd is not None),
            ("latency", row.latency_ms is not None or output.latency_ms is not None),
            ("expected", case.expected is not None),
            ("answerable", case.answerable is not None),
        ):
            self.carried[name] += is_there


def add_problem(report: Report, record: Record, what: str, fix: str | None = None) -> None:
    """Add what is wrong with a record; its place stands in the message where it has no line."""
    where = "" if record.line else f"{record.where}: "
    report.add(f"{where}{what}", line=record.line, fix=fix)


def case_problem(error: ValidationError) -> tuple[str, str]:
    """Return what is wrong with a record's case, and the fix, without the value."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    name = next((str(part) for part in first["loc"]), "")
    what = "has no question" if first["loc"] == ("input",) else f"{name}: {worded(first)}"
    return what, f"map the right field: --column {name or 'input'}=PATH"


_ANSWERS = ("answer", "text", "response")
_FIELDS = frozenset(name for model in (Output, Context, Citation, Usage) for name in model.model_fields)


def output_problem(error: CallError, record: Record) -> tuple[str, str]:
    """Return what is wrong with a record's output, and the fix: names of fields only, since values are texts."""
    if error.error_class == "AmbiguousOutputError":
        # Its message names only producers.
        return (
            f"what it holds is no output ({error.error_class})",
            str(error).replace("target.citations", "--citations"),
        )
    cause = error.__context__
    if isinstance(cause, ValidationError):
        first = cause.errors(include_url=False, include_input=False, include_context=False)[0]
        loc = [part for part in first["loc"] if isinstance(part, int) or part in _FIELDS]
        if loc and loc[0] != "answer":
            what = f"what it holds is no output: {dotted(loc)} {worded(first)}"
            return what, f"correct it, or take it from elsewhere: --column {loc[0]}=PATH"
    if error.error_class == "OutputTooLargeError":
        return f"holds an output of more than {MAX_OUTPUT_BYTES // 1024**2} MiB", "leave out what no grader reads"
    if isinstance(record.output, Mapping) and not any(record.output.get(name) is not None for name in _ANSWERS):
        return "has no answer", "map it: --column answer=PATH; or say in `error` why there is none"
    fix = "map the answer: --column answer=PATH; or name the payload's producer: --citations NAME"
    return f"what it holds is no output ({error.error_class})", fix
