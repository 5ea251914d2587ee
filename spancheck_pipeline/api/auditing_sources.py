"""The files that an audit log was made from: whether each is what it was, and whether the log repeats what it says.

The log's own file is read in ``auditing_stored.py``; putting the verdict together lives in ``auditing_place.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from spancheck_pipeline.api.auditing_stored import said
from spancheck_pipeline.api.dispositions import batches_of, disposition_cells, signed_of
from spancheck_pipeline.api.named_files import named_file
from spancheck_pipeline.decision.audit import AuditHead
from spancheck_pipeline.decision.audit_chain import file_commitment, sealed_name
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.decision.comparison import ComparisonDocument
from spancheck_pipeline.decision.figures import ScorecardDocument
from spancheck_pipeline.decision.gate import GateDecision
from spancheck_pipeline.errors import (
    ContractError,
    CorruptFileError,
    ForeignFileError,
    MissingDataError,
    StorageError,
)
from spancheck_pipeline.evidence.run import Manifest
from spancheck_pipeline.storage.digests import content_fault, file_digest
from spancheck_pipeline.storage.rows import Row
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.tables import (
    CAPTURED_RUN,
    CASES,
    COMPARISON,
    GATE,
    SCORECARD,
    SCORES,
)

_SCORE_CELLS: Final = ("grader_version", "spec_digest", "outcome", "value", "reason_code", "reason", "findings")
_CALL_CELLS: Final = tuple(field.name for field in CAPTURED_RUN.schema if field.name != "question_digest")
_CASE_CELLS: Final = tuple(field.name for field in CASES.schema if field.name not in {"position", "contexts"})


class Contents:
    """Whether files are what their content digests are of; each is read through once, however often it is asked."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}
        self._bytes: dict[str, str] = {}

    def faults(self, file: StoredFile) -> tuple[str, ...]:
        """Return what is wrong with a file's content, or nothing."""
        if file.path not in self._known:
            self._known[file.path] = content_fault(file)
        found = self._known[file.path]
        return () if found is None else (found,)

    def other_bytes(self, file: StoredFile, name: str, header: Mapping[str, Any], seal: Seal | None) -> Iterator[str]:
        """Yield that a file has other bytes than were sealed; ``name`` is what a log's header calls it.

        Raises:
            KeyError, TypeError, ValueError: for a header without a key.
        """
        if seal is None or not seal.files:
            return
        key = bytes.fromhex(header["chain"]["key"])
        sealed = seal.files.get(sealed_name(key, name))
        if sealed is None:
            return
        if file.path not in self._bytes:
            self._bytes[file.path] = file_digest(file)
        if file_commitment(key, name, self._bytes[file.path]) != sealed:
            yield (
                f"{file.path}: has other bytes than were sealed, though its content is the same: it was written again "
                "by something else than this package, or damaged where no reader looks"
            )


def fault_of(error: StorageError) -> str:
    """Return what an error says of a file that does not stand as it was written, without advice to make it anew.

    Raises:
        StorageError: the error itself, where the storage cannot be reached: that is no fault of the file.
    """
    if isinstance(error, ForeignFileError | ContractError | MissingDataError):
        return str(error)
    if isinstance(error, CorruptFileError):
        what = str(error).partition("; ")[0]
        return f"{what}: it was changed or damaged. Keep it as it is, and restore it from a backup"
    raise error


def named_faults(
    store: Store,
    place: Place,
    inputs: Mapping[str, Any],
    contents: Contents,
    *,
    header: Mapping[str, Any] | None = None,
    seal: Seal | None = None,
    whole: dict[str, StoredFile] | None = None,
) -> Iterator[str]:
    """Yield what is wrong with the files that inputs name: missing, changed, or other than header and seal say.

    ``whole`` takes the files that nothing is wrong with, by their names.
    """
    for name, content_digest in inputs.items():
        try:
            opened = named_file(store, place, name, str(content_digest))
            if opened is None:
                continue
            file = opened
            faults = [*contents.faults(file), *(_document_faults(file, name, header) if header else ())]
            if header and not faults:
                faults = [*contents.other_bytes(file, name, header, seal)]
        except StorageError as error:
            faults = [fault_of(error)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            faults = [f"{name} of {place}: its metadata cannot be read ({type(error).__name__}); it was changed"]
        if not faults and whole is not None:
            whole[name] = file
        yield from faults


def source_faults(
    store: Store,
    place: Place,
    log: StoredFile,
    header: Mapping[str, Any],
    contents: Contents,
    *,
    seal: Seal | None,
    is_in_order: bool,
) -> Iterator[str]:
    """Yield what is wrong with the files that a log was made from, and where it does not repeat them.

    ``is_in_order``: the log's records stand where they were written, so that they can be laid beside other files' rows.
    """
    whole: dict[str, StoredFile] = {}
    inputs = header.get("inputs") or {}
    yield from named_faults(store, place, inputs, contents, header=header, seal=seal, whole=whole)
    if not is_in_order:
        return
    yield from _repeated_faults(log, whole)
    batches = batches_of(inputs)
    if batches and batches.keys() <= whole.keys():
        yield from _disposition_faults(store, place, log)


def _document_faults(file: StoredFile, name: str, header: Mapping[str, Any]) -> Iterator[str]:
    """Compare the document in a file's metadata, which no content digest covers, with the one in the sealed header."""
    if name in _DOCUMENTS:
        what, field, model = _DOCUMENTS[name]
        there, sealed = file.document(), header.get(field)
    elif name == COMPARISON.name:
        what, model = "comparisons", _Comparisons
        there, sealed = file.document(), {"comparisons": header.get("comparisons")}
        there.pop("contract", None)
    elif name.startswith(f"{SCORES.name}/"):
        what, model = "grader spec", None
        there, sealed = file.grader_spec, header.get("graders", {}).get(name.partition("/")[2])
    else:
        return
    if not _is_same(there, sealed, model):
        yield f"{file.path}: the {what} in its metadata is not the one that the audit log records"


class _Comparisons(BaseModel):
    comparisons: tuple[ComparisonDocument, ...]


_DOCUMENTS: dict[str, tuple[str, str, type[BaseModel]]] = {
    CAPTURED_RUN.name: ("manifest", "manifest", Manifest),
    SCORECARD.name: ("scorecard", "summary", ScorecardDocument),
    GATE.name: ("decision", "decision", GateDecision),
}
"""Table → what its document is called, where the audit log's header has it, and what it is."""


def _is_same(there: Any, sealed: Any, model: type[BaseModel] | None) -> bool:
    """Return whether two documents say the same; a field that only a later version writes stands at its default."""
    if model is None or there == sealed:
        return bool(there == sealed)
    try:
        return model.model_validate(there) == model.model_validate(sealed)
    except ValidationError:
        return False


def _disposition_faults(store: Store, place: Place, log: StoredFile) -> Iterator[str]:
    """Yield the first record whose dispositions are not those that the batches say."""
    try:
        signed = signed_of(store, place, AuditHead.model_validate(log.document()))
        columns = ["case_id", "epoch", "scores", "dispositions"]
        for number, row in enumerate(log.rows(columns), start=1):
            made = disposition_cells(signed.of(row["case_id"], row["epoch"], row["scores"] or ()))
            if said({"dispositions": row["dispositions"] or []}) != said({"dispositions": made}):
                where = f"record {number} (case {row['case_id']!r}, epoch {row['epoch']})"
                yield f"{where}: its dispositions are not those that were signed before the decision"
                return
    except CorruptFileError as error:
        yield fault_of(error)
    except (ValueError, KeyError, TypeError) as error:
        yield f"{log.path}: its dispositions cannot be read ({type(error).__name__}); it was changed"


# -- record by record -----------------------------------------------------------------------------------------------


def _repeated_faults(log: StoredFile, sources: Mapping[str, StoredFile]) -> Iterator[str]:
    """Yield the first record that does not repeat what a file says which the log was made from; one fault a file.

    ``sources`` are the files by the names that the header gives them; those of other tables are passed over.
    """
    comparers = [found for name, file in sources.items() if (found := _comparer(name, file)) is not None]
    # A record needs all cells of its case, its call and its scores; the passages are most of a log.
    columns = [*dict.fromkeys([*_CASE_CELLS, *_CALL_CELLS, "scores"])]
    for number, row in enumerate(log.rows(columns), start=1):
        for comparer in list(comparers):
            if what := comparer.differs(row):
                yield f"record {number} (case {row['case_id']!r}, epoch {row['epoch']}): {what} {comparer.file.path}"
                comparers.remove(comparer)
        if not comparers:
            return
    for comparer in comparers:
        if comparer.has_more():
            yield f"{comparer.file.path}: holds more than the log repeats"


class _Comparer:
    """Walks one source along with the records."""

    def __init__(self, file: StoredFile, name: str) -> None:
        self.file = file
        self._name = name
        self._rows = file.rows()
        self._row: Row | None = None

    def has_more(self) -> bool:
        """Return whether the source goes on after the last record."""
        return next(self._rows, None) is not None

    def differs(self, record: Row) -> str:
        """Return what of a record is not what the source says, or nothing."""
        kind, _, grader = self._name.partition("/")
        if kind == CASES.name:
            while self._row is None or self._row["case_id"] != record["case_id"]:
                self._row = next(self._rows, None)
                if self._row is None:
                    return "its case is not in"
            return _first_unlike(record, self._row, _CASE_CELLS, "its case is not the one in")
        self._row = next(self._rows, None)
        if self._row is None or any(self._row[name] != record[name] for name in ("case_id", "epoch")):
            return f"its {'score by ' + grader if grader else 'answer'} does not stand at the same place in"
        if kind == CAPTURED_RUN.name:
            return _first_unlike(record, self._row, _CALL_CELLS, "its answer is not the one in")
        score = next((item for item in record["scores"] or () if item["grader"] == grader), None)
        if score is None:
            return f"it has no score by {grader}, which stands in"
        return _first_unlike(score, self._row, _SCORE_CELLS, f"its score by {grader} is not the one in")


def _comparer(name: str, file: StoredFile) -> _Comparer | None:
    kind = name.partition("/")[0]
    return _Comparer(file, name) if kind in {CASES.name, CAPTURED_RUN.name, SCORES.name} else None


def _first_unlike(here: Mapping[str, Any], there: Mapping[str, Any], names: Sequence[str], what: str) -> str:
    is_same = said({name: here[name] for name in names}) == said({name: there[name] for name in names})
    return "" if is_same else what


__all__ = ["Contents", "fault_of", "named_faults", "source_faults"]
