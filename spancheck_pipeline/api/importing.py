"""Another tool's file as a captured run: read and checked whole, then written through the store, an answer at a time.

What a format's fields mean lives in ``importers``; calling a target in ``capturing.py``. Nothing here calls a system.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from spancheck_pipeline.api.capturing import new_run_id
from spancheck_pipeline.api.manifest import Tally
from spancheck_pipeline.api.snapshot import is_begun, publish_cases
from spancheck_pipeline.clients.call_errors import CallError
from spancheck_pipeline.decision.suite import Citations, Suite
from spancheck_pipeline.errors import CaptureRefusedError, UsageError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.case import Case, dataset_digest
from spancheck_pipeline.evidence.run import CapturedRow, Manifest, TargetFacts
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.importers.formats import FORMATS
from spancheck_pipeline.importers.record import COLUMN_NAMES, Record, case_of, row_of, with_columns
from spancheck_pipeline.storage.case_rows import Report
from spancheck_pipeline.storage.journal import JournalHeader, questions_digest
from spancheck_pipeline.storage.lock import PartitionLock
from spancheck_pipeline.storage.store import Night, Published, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, captured_to_row
from spancheck_pipeline.storage.wording import nearest, worded

MAX_EPOCHS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The file that is imported, and how it is read."""

    path: Path
    format: str
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field of a case or an output → dotted path into the file's items."""
    only: str | None = None
    """Of a file with several systems' answers, the system that is meant."""
    citations: Citations = "auto"
    version: str | None = None
    """Version of the system that answered, where one knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a file holds, after all of it was read and found good. Its outputs are not kept."""

    cases: tuple[Case, ...]
    keys: tuple[tuple[str, int], ...]
    """Case id and epoch of each record, in the file's order."""
    epochs: int
    carried: Mapping[str, int]
    """Number of answers with each thing: ``contexts``, ``citations``, ``tokens`` …"""
    n_relabelled: int
    """Cases that took the labels of the suite's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of an import. Counts and ids only."""

    published: Published
    manifest: Manifest
    read: Read


def read_source(source: Source, known: Sequence[Case] = ()) -> Read:
    """Read a file whole, keeping its cases and counts.

    A case whose question is one of the ``known`` takes that one's id and labels (by id first, then by question).

    Raises:
        UsageError: for a format or a mapped field that does not exist.
        ConfigError: with every problem of the file and its place.
    """
    _check(source)
    reader = _Reader(source, known)
    keys = tuple(row.key for row in reader.rows())
    reader.finish()
    return Read(
        cases=tuple(reader.cases.values()),
        keys=keys,
        epochs=1 + max(epoch for _, epoch in keys),
        carried=dict(reader.carried),
        n_relabelled=len(reader.relabelled),
    )


def import_run(
    store: Store,
    place: Night,
    suite: Suite,
    source: Source,
    read: Read,
    *,
    graders: Sequence[Grader] = (),
    known: Sequence[Case] = (),
    replace: bool = False,
    now: dt.datetime | None = None,
) -> Imported:
    """Write a file that was read as the captured run of a place: its cases, then its answers, as one run.

    Raises:
        CaptureRefusedError: when the place holds a run already, or a capture of it has begun, without ``replace``.
        LockedError: when somebody else captures this place.
    """
    now = now or dt.datetime.now(dt.UTC)
    with PartitionLock(store.local_folder("_locks", place) / "capture.lock"):
        if is_begun(store, place) and not replace:
            raise CaptureRefusedError(
                f"{place} holds a captured run already, and a partition has one run; give another --date, or --replace "
                "to supersede it (it stays readable in the history)"
            )
        snapshot = publish_cases(store, place, read.cases)
        header = _header(place, source, read, now)
        tally = Tally(suite.prices)

        def manifest(_revision: int, _digest: str) -> dict[str, object]:
            made = tally.manifest(header, suite, read.cases, config=None, graders=graders, finished_at=now)
            settings = {"imported_from": source.format, "file_sha256": _sha256(source.path), "only": source.only}
            return made.model_copy(update={"settings": settings}).model_dump(mode="json")

        rows = tally.counting(_in_order(_Reader(source, known).rows(), read))
        published = store.publish(
            place,
            CAPTURED_RUN,
            (captured_to_row(row, header.run_id) for row in rows),
            identity={"run_id": header.run_id, "questions": questions_digest(read.cases)},
            metadata={"run_id": header.run_id, "suite": place.suite, "cases": snapshot.content_digest},
            document=manifest,
        )
    stored = Manifest.model_validate(store.open(place, CAPTURED_RUN).document())
    return Imported(published=published, manifest=stored, read=read)


class _Reader:
    """One pass over a file: records as captured rows, with the cases and counts that they add up to."""

    def __init__(self, source: Source, known: Sequence[Case]) -> None:
        self.cases: dict[str, Case] = {}
        self.carried: Counter[str] = Counter()
        self.relabelled: set[str] = set()
        self._source = source
        self._report = Report(file=str(source.path))
        self._by_id = {case.id: case for case in known}
        self._by_question: dict[str, Case] = {}
        for case in known:
            self._by_question.setdefault(case.question_digest, case)
        self._seen: set[tuple[str, int]] = set()
        self._named: Counter[str] = Counter()

    def rows(self) -> Iterator[CapturedRow]:
        """Yield the captured row of each record; what is wrong goes to the report, and the next one is read."""
        spec = FORMATS[self._source.format]
        choice = {"only": self._source.only} if spec.has_choice else {}
        for record in spec.read(self._source.path, self._report, **choice):
            row = self._row(with_columns(record, self._source.columns))
            if row is not None:
                self._count(row)
                yield row
            if self._report.is_full:
                return

    def finish(self) -> None:
        """Raise what was wrong, all at once."""
        if not self._seen and not self._report.problems:
            self._report.add("holds no answer")
        self._report.raise_if_any()

    def _row(self, record: Record) -> CapturedRow | None:
        try:
            case = self._case(record)
            row = row_of(record, case, self._source.citations)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            name = next((str(part) for part in first["loc"]), "")
            what = "has no question" if first["loc"] == ("input",) else f"{name}: {worded(first)}"
            self._add(record, what, fix=f"map the right field: --column {name or 'input'}=PATH")
        except CallError as error:
            self._add(record, f"what it holds is no output ({error.error_class})", fix=_output_fix(error))
        except RecursionError:
            self._add(record, "is nested too deeply")
        else:
            if row.epoch >= MAX_EPOCHS:
                self._add(record, f"is of epoch {row.epoch}; at most {MAX_EPOCHS} are read, from 0")
                return None
            if row.key not in self._seen:
                if self.cases.setdefault(case.id, case).question_digest != case.question_digest:
                    self._add(record, f"the id {case.id[:80]!r} asks another question in an earlier epoch")
                    return None
                self._seen.add(row.key)
                return row
            self._add(record, f"the id {case.id[:80]!r} stands twice", fix="give every case its own id, or an epoch")
        return None

    def _case(self, record: Record) -> Case:
        case = case_of(record)
        known = self._by_id.get(case.id)
        if known is None or known.question_digest != case.question_digest:
            known = self._by_question.get(case.question_digest)
        if known is not None:
            case = known
            self.relabelled.add(case.id)
        if record.case.get("id") is None or known is not None:
            # The same question asked again, without an id of its own, is a case of its own.
            taken = self._named[f"{case.id}/{record.epoch}"]
            self._named[f"{case.id}/{record.epoch}"] += 1
            if taken:
                case = case.model_copy(update={"id": f"{case.id}-{taken + 1}"})
        return case

    def _add(self, record: Record, what: str, fix: str | None = None) -> None:
        where = "" if record.line else f"{record.where}: "
        self._report.add(f"{where}{what}", line=record.line, fix=fix)

    def _count(self, row: CapturedRow) -> None:
        output = row.output
        self.carried["rows"] += 1
        if output is None:
            return
        case = self.cases[row.case_id]
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


def _output_fix(error: CallError) -> str | None:
    """Ambiguity names only producers; another message may quote the file, and is not shown."""
    if error.error_class == "AmbiguousOutputError":
        return str(error).replace("target.citations", "--citations")
    return "map the answer: --column answer=PATH; or name the payload's producer: --citations NAME"


def _in_order(rows: Iterator[CapturedRow], read: Read) -> Iterator[CapturedRow]:
    """Yield a row for each case and epoch, in order; one that the file does not hold is an error row."""
    if read.epochs == 1:
        yield from rows
        return
    found = {row.key: row for row in rows}
    for case in read.cases:
        for epoch in range(read.epochs):
            row = found.get((case.id, epoch))
            yield row or CapturedRow(
                case_id=case.id,
                question_digest=case.question_digest,
                epoch=epoch,
                error_class="NoRecordedAnswer",
                attempts=0,
            )


def _check(source: Source) -> None:
    if source.format not in FORMATS:
        raise UsageError(f"{source.format[:80]!r} is no format that can be imported; {nearest(source.format, FORMATS)}")
    for name in source.columns:
        if name not in COLUMN_NAMES:
            raise UsageError(f"--column {name[:80]}=…: there is no such field; {nearest(name, COLUMN_NAMES)}")
    if source.only is not None and not FORMATS[source.format].has_choice:
        raise UsageError(f"--only has no meaning for {source.format}: such a file holds one system's answers")
    if not source.path.is_file():
        raise UsageError(f"{source.path}: there is no such file")


def _header(place: Night, source: Source, read: Read, now: dt.datetime) -> JournalHeader:
    settings = {"format": source.format, "columns": dict(source.columns), "only": source.only}
    return JournalHeader(
        run_id=new_run_id(place.suite, place.date),
        suite=place.suite,
        date=place.date,
        dataset_digest=dataset_digest(read.cases),
        questions_digest=questions_digest(read.cases),
        target=TargetFacts(
            kind="recorded",
            reference=source.path.name,
            version=source.version,
            settings_digest=digest({**settings, "citations": source.citations}),
        ),
        epochs=read.epochs,
        started_at=now,
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
