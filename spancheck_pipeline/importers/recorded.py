"""A file of another tool as a target: each case is answered with what the file recorded for it. Nothing is called.

Plain files of answers, matched by case id alone, are ``clients/recorded_target.py``; making a captured run of a whole
file, with the file's own cases, is ``api/importing.py``.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from spancheck_pipeline.clients.call_errors import CallError, NoRecordedAnswer
from spancheck_pipeline.errors import TargetError, UsageError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.run import CapturedRow
from spancheck_pipeline.importers.reading import add_problem, case_problem, output_problem
from spancheck_pipeline.importers.record import Record, row_of
from spancheck_pipeline.importers.source import Source, add_likely_format, records_of
from spancheck_pipeline.importers.spool import TemporaryDatabase, disk_errors
from spancheck_pipeline.storage.case_rows import Report

if TYPE_CHECKING:
    from spancheck_pipeline.decision.suite_target import Citations, RecordedTarget
    from spancheck_pipeline.evidence.run import Output, TargetFacts

_SCHEMA = """
    CREATE TABLE answers(number INTEGER PRIMARY KEY, id TEXT, question TEXT, input TEXT, epoch INTEGER NOT NULL,
                         body TEXT NOT NULL);
    CREATE UNIQUE INDEX by_id ON answers(id, epoch) WHERE id IS NOT NULL;
    CREATE INDEX by_question ON answers(question)
"""
_CLASS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class RecordedFailure(CallError):  # noqa: N818 - it bears the class that the file recorded
    """The file says that this call failed."""

    def __init__(self, error_class: str | None, message: str | None) -> None:
        self._error_class = error_class if error_class and _CLASS_NAME.fullmatch(error_class) else "RecordedError"
        super().__init__(message or "the recorded call failed")

    @property
    def error_class(self) -> str:
        """The class that the file recorded."""
        return self._error_class


class AmbiguousRecordError(CallError):
    """The file holds several answers to this question, and does not say which is meant."""

    def __init__(self, n: int) -> None:
        super().__init__(f"{n} answers are recorded for this question; map an id or an epoch, or keep one of them")


class RecordedElsewhere:
    """Answers of another tool's file, matched by case id, else by question.

    An id counts only where the file's question, if it tells one, is the case's: the numbers that a tool gives its
    samples are often those of other questions elsewhere. A case that is recorded once answers every epoch alike; one
    that is recorded several times, epoch by epoch. The file is read once, whole, onto the disk.
    """

    abandoned = 0

    def __init__(
        self, settings: RecordedTarget, *, suite_folder: Path, facts: TargetFacts, citations: Citations = "auto"
    ) -> None:
        """Read the file.

        Raises:
            TargetError: for a column or choice that does not exist, or a file that is not there.
            ConfigError: with every record that cannot be used, each with its line.
        """
        self.facts = facts
        columns = {("id" if name == "case_id" else name): path for name, path in settings.columns.items()}
        self._source = Source(
            path=suite_folder / settings.file,
            format=settings.format or "jsonl",
            columns=columns,
            only=settings.only,
            citations=citations,
        )
        try:
            self._source.check()
        except UsageError as error:
            raise TargetError(f"target.recorded: {error}") from None
        self._answers = TemporaryDatabase(_SCHEMA)
        self._read()

    async def call(self, case: Case, epoch: int) -> Output:
        """Return what is recorded for a case.

        Raises:
            NoRecordedAnswer: when the file has nothing for this case and epoch.
            AmbiguousRecordError: when it has several answers to the question.
            RecordedFailure: when it says that the call failed.
        """
        found = self._by_id(case) or self._by_question(case)
        body = found.get(0 if list(found) == [0] else epoch)
        if body is None:
            raise NoRecordedAnswer
        row = CapturedRow.model_validate_json(body)
        if row.output is None:
            if row.error_class == "NoRecordedAnswer":
                raise NoRecordedAnswer
            raise RecordedFailure(row.error_class, row.error_message)
        if row.output.latency_ms is None and row.latency_ms is not None:
            return row.output.model_copy(update={"latency_ms": row.latency_ms})
        return row.output

    async def close(self) -> None:
        """Do nothing: what was read stays for the next call, and goes with the process."""

    def _by_id(self, case: Case) -> dict[int, str]:
        query = "SELECT epoch, body FROM answers WHERE id = ? AND (input IS NULL OR input = ?)"
        with disk_errors():
            return dict(self._answers.db.execute(query, (case.id, digest(case.input))).fetchall())

    def _by_question(self, case: Case) -> dict[int, str]:
        query = "SELECT epoch, body FROM answers WHERE question = ?"
        with disk_errors():
            found = self._answers.db.execute(query, (case.question_digest,)).fetchall()
        if len(dict(found)) < len(found):
            raise AmbiguousRecordError(len(found))
        return dict(found)

    def _read(self) -> None:
        report = Report(file=str(self._source.path))
        n = 0
        for record in records_of(self._source, report):
            self._take(record, report)
            n += 1
            if report.is_full:
                break
        if not n and not report.problems:
            report.add("holds no answer")
        if report.problems:
            add_likely_format(self._source, report)
            self._answers.close()
        # A fix names the option of an import; here it is a setting of the suite.
        report.problems = [replace(found, fix=found.fix and _as_setting(found.fix)) for found in report.problems]
        report.raise_if_any()

    def _take(self, record: Record, report: Report) -> None:
        try:
            case = _asked(record)
            if case is None:
                fix = "map one of them: columns: {id: PATH} or {input: PATH}"
                add_problem(report, record, "has neither a case id nor a question", fix)
                return
            has_id, has_question = record.case.get("id") is not None, record.case.get("input") is not None
            row = row_of(record, case, self._source.citations)
        except ValidationError as error:
            add_problem(report, record, *case_problem(error))
        except CallError as error:
            add_problem(report, record, *output_problem(error, record))
        except RecursionError:
            add_problem(report, record, "is nested too deeply")
        else:
            values = (
                case.id if has_id else None,
                case.question_digest if has_question else None,
                digest(case.input) if has_question else None,
                row.epoch,
                row.model_dump_json(),
            )
            try:
                with disk_errors():
                    self._insert(values)
            except _TwiceError:
                fix = "keep one answer per case and epoch"
                add_problem(report, record, f"the id {case.id[:80]!r} stands twice", fix)

    def _insert(self, values: tuple[Any, ...]) -> None:
        insert = "INSERT INTO answers(id, question, input, epoch, body) VALUES (?, ?, ?, ?, ?)"
        try:
            self._answers.db.execute(insert, values)
        except sqlite3.IntegrityError:
            raise _TwiceError from None


class _TwiceError(Exception):
    pass


def _asked(record: Record) -> Case | None:
    """Return what a record says of its case: id and question, at least one of them; None where it has neither."""
    found = {name: record.case[name] for name in ("id", "input", "history") if record.case.get(name) is not None}
    if "id" not in found and "input" not in found:
        return None
    case_id = found.get("id", "unnamed")
    if isinstance(case_id, int) and not isinstance(case_id, bool):
        case_id = str(case_id)
    return Case(id=case_id, input=found.get("input", ""), history=found.get("history") or ())


def _as_setting(fix: str) -> str:
    """Name the suite's setting where an import names its option.

    >>> _as_setting("choose one with --only NAME"), _as_setting("map the answer: --column answer=PATH")
    ('choose one with only: NAME', 'map the answer: columns: {answer: PATH}')
    """
    fix = re.sub(r"--column (\w+)=PATH", r"columns: {\1: PATH}", fix)
    return fix.replace("--only", "only:").replace("--citations", "target.citations:")
