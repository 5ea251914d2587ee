"""Exporting stored audit logs, whole or redacted, and reading exported files. All of it streams.

Putting a log together lives in ``recording.py``, checking one in ``auditing_checks.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from spancheck_pipeline.api.audit_logs import open_audit_log, read_head, read_records, read_seals, rows_and_records
from spancheck_pipeline.decision.audit import AuditHead, AuditRecord, head_of, record_of
from spancheck_pipeline.decision.audit_1_0 import earlier_case, earlier_head
from spancheck_pipeline.decision.audit_chain import KEY_BYTES, Chain, parted
from spancheck_pipeline.decision.audit_redaction import Redactor
from spancheck_pipeline.errors import ConfigError, CorruptFileError, MissingDataError, Problem
from spancheck_pipeline.storage.audit_files import (
    BrokenLogError,
    Format,
    LogWriter,
    check_version,
    format_of,
    is_lines,
    log_pieces,
    read_header,
)
from spancheck_pipeline.storage.contract_documents import text_of
from spancheck_pipeline.storage.documents import write_text, writing
from spancheck_pipeline.storage.store import Place, Store, StoredFile
from spancheck_pipeline.storage.text_pool import TextPool


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export wrote."""

    head: str
    """Digest of the last record; empty for a document of schema 1.0, which has none."""
    n_records: int
    seal_path: Path | None
    """The copy of the seal beside the file; None where the log was never sealed, or the export goes to a stream."""


def seal_path_of(path: Path) -> Path:
    """Return where the seal of an exported file lies."""
    return path.with_name(f"{path.name}.seal.json")


# -- exporting --------------------------------------------------------------------------------------------------


def export_log(
    store: Store,
    place: Place,
    target: Path | IO[str],
    *,
    as_decided: int | None = None,
    file_format: Format | None = None,
    redact: frozenset[str] = frozenset(),
) -> Exported:
    """Write a stored audit log as a JSON document or as JSON lines, with the digests that were recorded, and its seal.

    With ``redact`` (``audit_redaction.GROUPS``) it is a copy that leaves these out and ends in the same head.

    Raises:
        MissingDataError: when there is no such log.
        StorageError: when the file cannot be written; what stood there stands.
    """
    file = open_audit_log(store, place, as_decided=as_decided)
    header = header_of(file)
    key = key_of(header, file.path)
    redactor = Redactor(redact, key) if redact else None
    if file_format is None:
        file_format = format_of(target) if isinstance(target, Path) else "json"
    head = str(header["chain"]["digest"])
    n_records = 0
    with LogWriter(target, file_format) as writer:
        writer.header(redactor.header(header) if redactor else header)
        for entry, texts in entries_of(file, key):
            head = entry["chain"]["digest"]
            n_records += 1
            writer.entry(redactor.entry(entry, texts) if redactor else entry, _shown(texts, key, redactor))
    return Exported(head=head, n_records=n_records, seal_path=_export_seal(store, place, file, target))


def header_of(file: StoredFile) -> dict[str, Any]:
    """Return the header of a stored log as it stands there.

    Raises:
        CorruptFileError: for one that is none.
    """
    read_head(file)
    return dict(file.document())


def key_of(header: Mapping[str, Any], name: str) -> bytes:
    """Return the key of a stored log.

    Raises:
        MissingDataError: for one that is not chained.
        CorruptFileError: for a key that is none.
    """
    chain = header.get("chain")
    if not chain or not chain.get("key"):
        raise MissingDataError(f"{name}: this log is not chained; record the place again (spancheck score --regrade)")
    try:
        key = bytes.fromhex(chain["key"])
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise CorruptFileError(f"{name}: the key of its chain is none; the file was changed or damaged: restore it")
    return key


def entries_of(file: StoredFile, key: bytes) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
    """Yield the entries of a stored log with the digests that stand there, and the texts of their passages."""
    for index, (row, record) in enumerate(rows_and_records(file)):
        entry, texts = parted(record.model_dump(mode="json"), key)
        chain = {"index": index, "previous": row["previous_digest"], "digest": row["record_digest"]}
        yield {**entry, "chain": {**chain, "salts": {}, "withheld": {}}}, texts


def _shown(texts: Mapping[str, str], key: bytes, redactor: Redactor | None) -> dict[str, dict[str, str | None]]:
    salts = Chain(key)
    found: dict[str, dict[str, str | None]] = {}
    for name, text in texts.items():
        is_shown = redactor is None or redactor.shows(name, text)
        found[name] = {"salt": salts.text_salt(text), "text": text} if is_shown else {"salt": None, "text": None}
    return found


def _export_seal(store: Store, place: Place, file: StoredFile, target: Path | IO[str]) -> Path | None:
    sealed = read_seals(store, place, file)
    if sealed is None or not isinstance(target, Path) or (target.exists() and not target.is_file()):
        return None
    path = seal_path_of(target)
    write_text(path, text_of(sealed.seal))
    return path


def export_earlier(store: Store, place: Place, target: Path | IO[str], *, as_decided: int | None = None) -> Exported:
    """Write a stored audit log in the earlier library's schema 1.0; what that loses stands in ``audit_1_0.LOST``."""
    file = open_audit_log(store, place, as_decided=as_decided)
    head = read_head(file)
    if isinstance(target, Path):
        with writing(target) as handle:
            n_records = _write_earlier(head, read_records(file), handle)
    else:
        n_records = _write_earlier(head, read_records(file), target)
    return Exported(head="", n_records=n_records, seal_path=None)


def _write_earlier(head: AuditHead, records: Iterator[AuditRecord], handle: IO[str]) -> int:
    top = json.dumps(earlier_head(head, head.summary.n_cases), ensure_ascii=False, allow_nan=False)
    handle.write(top.removesuffix("}") + ', "cases": [')
    n_records = 0
    for record in records:
        if record.call.epoch == 0:
            case = json.dumps(earlier_case(record), ensure_ascii=False, allow_nan=False)
            handle.write((",\n" if n_records else "\n") + case)
            n_records += 1
    handle.write("\n]}\n")
    return n_records


# -- reading exported files -------------------------------------------------------------------------------------


def read_log(path: Path) -> tuple[AuditHead, Iterator[AuditRecord]]:
    """Return the head of an exported log, and its records one at a time; the chain is not checked (``verify_file``).

    One record is in memory at a time; texts of passages wait in a temporary file. One JSON object is read through for
    its texts first.

    Raises:
        ConfigError: for a file that is no audit log, or stops being one; from the iterator too.
        ContractError: for another schema version.
    """
    header = read_header(path)
    check_version(header, str(path))
    return head_of(header), _records(path)


def _records(path: Path) -> Iterator[AuditRecord]:
    try:
        with TextPool() as texts:
            if not is_lines(path):
                for piece in log_pieces(path):
                    if piece.kind == "text":
                        texts.add(piece.name, piece.value["text"])
            for piece in log_pieces(path):
                if piece.kind == "text":
                    texts.add(piece.name, piece.value["text"])
                elif piece.kind == "record":
                    yield record_of(piece.value, texts)
    except BrokenLogError as error:
        raise ConfigError(str(path), [Problem(what=str(error), fix="export the whole log again")]) from None
    except (KeyError, TypeError, ValueError) as error:
        what = f"holds a record that is none ({type(error).__name__})"
        raise ConfigError(str(path), [Problem(what=what, fix="spancheck audit verify names it")]) from None
