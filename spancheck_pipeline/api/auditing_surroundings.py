"""Everything that lies at a place beside its current record: files nobody wrote, revisions, earlier records, gaps.

Checking the record itself lives in ``auditing_place.py``, the files that it names in ``auditing_sources.py``,
promotions in ``auditing_promotions.py``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from spancheck_pipeline.api.auditing_sources import Contents, fault_of, named_faults
from spancheck_pipeline.decision.audit_chain import KEY_BYTES, Chain
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.errors import StorageError
from spancheck_pipeline.storage.seals import place_seals
from spancheck_pipeline.storage.signing import wrong_signature
from spancheck_pipeline.storage.store import FILE, Place, Store, StoredFile
from spancheck_pipeline.storage.tables import (
    ADJUDICATIONS,
    AUDIT_LOG,
    CAPTURED_RUN,
    CASES,
    COMPARISON,
    GATE,
    JUDGE_VERDICTS,
    SCORECARD,
    SCORES,
    Table,
)

_TABLES: Final = (CASES, CAPTURED_RUN, JUDGE_VERDICTS, SCORECARD, COMPARISON, GATE, AUDIT_LOG)
_REVISION = re.compile(r"revision=\d{5,}")


def place_faults(
    store: Store, place: Place, contents: Contents, *, current: StoredFile | None, said: Collection[str]
) -> Iterator[str]:
    """Yield what is wrong at a place beside its current record: a sentence each, in a fixed order.

    ``said`` is what was found already: an earlier record that names the same file does not say it again.
    """
    tables: list[tuple[Table, str | None]] = [
        *((table, None) for table in _TABLES),
        *((SCORES, grader) for grader in _graders(store, place)),
    ]
    found: list[str] = []
    for table, grader in tables:
        found += _unknown_files(store, place, table, grader)
        found += _revision_faults(store, place, table, grader, contents)
    found += _unknown_batches(store, place)
    yield from found
    yield from _earlier_faults(store, place, contents, current=current, said={*said, *found})


def _graders(store: Store, place: Place) -> list[str]:
    """Return every grader that has a score file at a place, a superseded one too."""
    pattern = place.folder(SCORES.name, "any").replace("grader=any", "grader=*")
    found = [
        re.search(r"/grader=([a-z][a-z0-9_]*)(?:/|$)", str(path))
        for above in ("", "_history/")
        for path in store.filesystem.glob(f"{store.root}/{above}{pattern}")
    ]
    return sorted({match.group(1) for match in found if match})


def _unknown_files(store: Store, place: Place, table: Table, grader: str | None) -> Iterator[str]:
    """Yield files that no writer of ours leaves: readers of the folders would read them along."""
    folder = store.path(place, table, grader).rpartition("/")[0]
    yield from _strangers(store, folder, {FILE})
    history = store.history_folder(place, table, grader)
    for name in store.names(history):
        if not _REVISION.fullmatch(name):
            yield _stranger(history, name)
        else:
            yield from _strangers(store, f"{history}/{name}", {FILE})


def _unknown_batches(store: Store, place: Place) -> Iterator[str]:
    folder = f"{store.root}/{place.folder(ADJUDICATIONS.name, None)}"
    for name in store.names(folder):
        if name.startswith("batch="):
            yield from _strangers(store, f"{folder}/{name}", {FILE})
        else:
            yield _stranger(folder, name)


def _strangers(store: Store, folder: str, known: Collection[str]) -> Iterator[str]:
    yield from (_stranger(folder, name) for name in store.names(folder) if name not in known)


def _stranger(folder: str, name: str) -> str:
    shown = name if re.fullmatch(r"[A-Za-z0-9_.=\-]{1,80}", name) else "a file of another name"
    return f"{folder}: {shown} is no file of this package; whoever reads the folder reads it along: move it away"


def _revision_faults(store: Store, place: Place, table: Table, grader: str | None, contents: Contents) -> Iterator[str]:
    """Yield which revisions of a table are damaged, of another place, missing, or stand in a later one's place."""
    kept = store.kept_paths(place, table, grader)
    path = store.path(place, table, grader)
    numbers = set(kept)
    for each in (*kept.values(), path):
        if each == path and not store.filesystem.exists(path):
            if kept:
                yield f"{path}: is gone; of revision {max(kept)} and before there are copies in the history"
            continue
        try:
            file = store.open_path(each, place, table, grader)
        except StorageError as error:
            yield fault_of(error)
            continue
        if each == path and kept and file.revision < max(kept):
            why = "it was put back" if store.is_local else "it was put back, or the newer one never came to stand here"
            yield f"{path}: is revision {file.revision}, and there was a revision {max(kept)}: {why}"
        numbers.add(file.revision)
        yield from contents.faults(file)
    missing = sorted(set(range(1, max(numbers, default=0))) - numbers)
    if missing:
        what = f"{table.name} of {grader}" if grader else table.name
        are = "revisions" if len(missing) > 1 else "revision"
        yield (
            f"{store.history_folder(place, table, grader)}: {are} {_spans(missing)} of {what} "
            f"{'are' if len(missing) > 1 else 'is'} gone: every one that is superseded is kept"
        )


def _spans(numbers: list[int]) -> str:
    """Return numbers in order as spans.

    >>> _spans([1, 2, 3, 5])
    '1–3, 5'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in spans)


# -- earlier records --------------------------------------------------------------------------------------------


def _earlier_faults(
    store: Store, place: Place, contents: Contents, *, current: StoredFile | None, said: Collection[str]
) -> Iterator[str]:
    """Yield what is wrong with the records that were superseded: each against its seal, and the files it names."""
    seals, faults = place_seals(store, place)
    yield from faults
    logs: dict[int, StoredFile] = {}
    for path in store.kept_paths(place, AUDIT_LOG).values():
        try:
            file = store.open_path(path, place, AUDIT_LOG)
        except StorageError:
            continue  # said already
        logs[file.revision] = file
    there = {*logs, *([current.revision] if current else ())}
    gone = sorted({*seals} - there)
    if current is None and gone:
        gone.pop()  # the current one, which is gone or cannot be read, as was said already
    for revision in gone:
        when = seals[revision][0].sealed_at.isoformat(timespec="seconds")
        yield f"{place}: log {revision} was sealed at {when}, and is gone"
    for revision, log in sorted(logs.items()):
        if current is not None and revision == current.revision:
            continue
        for fault in _earlier_log(store, place, log, seals.get(revision, ()), contents):
            if fault not in said:
                yield f"{place}, log {revision}: {fault}"


def _earlier_log(
    store: Store, place: Place, log: StoredFile, seals: Collection[Seal], contents: Contents
) -> Iterator[str]:
    try:
        header: dict[str, Any] = dict(log.document())
        key = bytes.fromhex(header["chain"]["key"])
        if len(key) != KEY_BYTES:
            raise ValueError  # noqa: TRY301 - one word for a header that is none
        start = Chain(key).start({**header, "chain": None})
    except (KeyError, TypeError, ValueError, AttributeError):
        yield "its header is none; it was changed or damaged"
        return
    if not seals:
        yield "has no seal; it was removed, or never written"
    for seal in seals:
        if seal.signature is not None and (wrong := wrong_signature(seal)):
            yield wrong
        if (seal.header, seal.n_records, seal.run_id) != (start.digest, log.n_rows, header.get("run_id")):
            yield "is not the log that was sealed; it was changed"
        else:
            yield from contents.other_bytes(log, AUDIT_LOG.name, header, seal)
    sealed = next(iter(seals), None)
    yield from named_faults(store, place, header.get("inputs") or {}, contents, header=header, seal=sealed)


__all__ = ["place_faults"]
