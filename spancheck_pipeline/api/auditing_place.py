"""Checking a place: its stored audit log against its seal, and every file that lies there, whatever else is wrong.

What a check comes to, and checking an exported file, lives in ``auditing_checks.py``. The log's own cells are looked at
in ``auditing_stored.py``, the files that it names in ``auditing_sources.py``, what lies beside them in
``auditing_surroundings.py`` and ``auditing_promotions.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from spancheck_pipeline.api.audit_logs import open_audit_log, read_head, refuse_overtaken
from spancheck_pipeline.api.auditing import header_of, key_of
from spancheck_pipeline.api.auditing_checks import Verified, verified
from spancheck_pipeline.api.auditing_promotions import promotion_faults
from spancheck_pipeline.api.auditing_sources import Contents, fault_of, named_faults, source_faults
from spancheck_pipeline.api.auditing_stored import metadata_faults, stored_entries
from spancheck_pipeline.api.auditing_surroundings import place_faults
from spancheck_pipeline.api.erased import traces_of
from spancheck_pipeline.decision.audit_chain import Chain
from spancheck_pipeline.decision.audit_check import ChainCheck, Checked, What
from spancheck_pipeline.decision.audit_seal import Seal
from spancheck_pipeline.errors import ContractError, CorruptFileError, MissingDataError
from spancheck_pipeline.storage.seals import place_seals, read_seal, sealed_revisions
from spancheck_pipeline.storage.store import Night, Place, Store, StoredFile
from spancheck_pipeline.storage.tables import AUDIT_LOG, GATE


def verify_place(
    store: Store,
    place: Place,
    *,
    as_decided: int | None = None,
    seal: Path | None = None,
    head: str | None = None,
    public_key: bytes | None = None,
) -> Verified:
    """Check a stored audit log against its seal, and every file at its place: a fault in one hides no other.

    With ``as_decided`` only that record and the files that it names are looked at.

    Raises:
        MissingDataError: when there is no such log and nothing says that there was one, it has no chain, or something
            has superseded what it is about and was not decided about yet.
        StorageError: when the storage cannot be reached.
    """
    contents = Contents()
    log, faults = _open_log(store, place, as_decided)
    found = _Found(known_from=_known(store, place, log, seal), faults=faults)
    if log is not None:
        _check_log(store, place, log, found, contents, head=head, is_current=as_decided is None)
    else:
        found.faults += named_faults(store, place, _decision_inputs(store, place, as_decided), contents)
    if as_decided is None:
        found.faults += place_faults(store, place, contents, current=log, said=tuple(found.faults))
        if isinstance(place, Night):
            found.faults += promotion_faults(store, place.suite)
    if as_decided is None and found.checked.ok and not found.faults:
        refuse_overtaken(store, place, found.rests_on)
    return verified(
        str(place),
        found.checked,
        found.known_from.seal,
        head=head,
        public_key=public_key,
        created_at=found.created_at,
        more=list(dict.fromkeys(found.faults)),
    )


class _Known(NamedTuple):
    """What a log is compared with."""

    seal: Seal | None
    others: tuple[Seal, ...]
    """Further seals of the same revision in the storage."""


@dataclass(slots=True)
class _Found:
    """What is known so far of a stored log."""

    known_from: _Known
    faults: list[str]
    checked: Checked = field(default_factory=lambda: Checked(fault=None, n_records=0, head="", header=""))
    created_at: object = None
    rests_on: Mapping[str, Any] = field(default_factory=dict)
    """Digests that the log names, as far as it can be read."""


def _open_log(store: Store, place: Place, as_decided: int | None) -> tuple[StoredFile | None, list[str]]:
    """Open the log that is meant, or say what became of it.

    Raises:
        MissingDataError: when nothing says that there ever was one.
    """
    try:
        if as_decided is not None:
            return _decided(store, place, as_decided), []
        return store.open(place, AUDIT_LOG), []
    except MissingDataError:
        traces = traces_of(store, place)
        if as_decided is not None and 1 <= as_decided <= _last_decision(store, place):
            return None, [f"{place}: decision {as_decided} was made, and its record is gone"]
        if traces is None or as_decided is not None:
            raise
        return None, [f"{place}: {traces.text()}"]
    except CorruptFileError as error:
        return None, [fault_of(error)]
    except ContractError as error:
        if not sealed_revisions(store, place):  # a later version's, as a whole
            raise
        return None, [fault_of(error)]


def _decided(store: Store, place: Place, number: int) -> StoredFile:
    """Return the log of a decision by its number; the decision's own file may be gone, and the log says it too.

    Raises:
        MissingDataError: when there is none.
    """
    with contextlib.suppress(MissingDataError):
        return open_audit_log(store, place, as_decided=number)
    for file in store.revisions(place, AUDIT_LOG):
        decision = read_head(file).decision
        if decision is not None and decision.revision == number:
            return file
    raise MissingDataError(f"{place}: neither decision {number} nor a record of it is kept")


def _last_decision(store: Store, place: Place) -> int:
    """Return the number of the latest decision that is kept, which says how many there were; 0 without any."""
    try:
        return store.open(place, GATE).revision
    except (MissingDataError, CorruptFileError, ContractError):
        return max(store.kept_paths(place, GATE), default=0)


def _decision_inputs(store: Store, place: Place, as_decided: int | None) -> Mapping[str, Any]:
    """Return the inputs of the decision whose log cannot be read; none where it cannot be read either."""
    try:
        files = [store.open(place, GATE)] if as_decided is None else store.revisions(place, GATE)
        gate = next((file for file in files if as_decided in {None, file.revision}), None)
        return dict(gate.document()["inputs"]) if gate else {}
    except (MissingDataError, CorruptFileError, ContractError, KeyError, TypeError, ValueError):
        return {}


def _known(store: Store, place: Place, log: StoredFile | None, seal: Path | None) -> _Known:
    sealed = place_seals(store, place)[0].get(log.revision, ()) if log else ()
    found = sorted(sealed, key=lambda item: item.signature is None)
    if seal is not None:
        return _Known(read_seal(seal), tuple(found))
    return _Known(found[0] if found else None, tuple(found[1:]))


def _check_log(
    store: Store,
    place: Place,
    log: StoredFile,
    found: _Found,
    contents: Contents,
    *,
    head: str | None,
    is_current: bool,
) -> None:
    """Follow the chain of a log, and lay it beside the files that it was made from."""
    try:
        header = header_of(log)
        key = key_of(header, log.path)
    except CorruptFileError as error:
        found.faults.append(fault_of(error))
        return
    except MissingDataError:
        if found.known_from.seal is None:
            raise
        found.faults.append(f"{log.path}: has no chain any more, and was sealed with one; it was changed")
        return
    found.created_at = header.get("created_at")
    found.checked = _followed(log, header, key, found.known_from.seal, head)
    found.rests_on = header.get("inputs") or {}
    is_known = found.known_from.seal is not None or head is not None
    found.faults += [
        *_seal_faults(store, place, log, is_current=is_current, is_known=is_known),
        *place_seals(store, place)[1],
        *_rival_seals(*found.known_from),
        *metadata_faults(log, header, place),
        *contents.faults(log),
    ]
    seal = found.known_from.seal
    if found.checked.ok and not found.faults:
        found.faults += contents.other_bytes(log, AUDIT_LOG.name, header, seal)
    found.faults += source_faults(
        store, place, log, header, contents, seal=seal, is_in_order=_is_in_order(found.checked)
    )


def _followed(log: StoredFile, header: dict[str, Any], key: bytes, seal: Seal | None, head: str | None) -> Checked:
    check = ChainCheck(header["chain"])
    salts = Chain(key)
    seen: set[str] = set()
    try:
        for entry, texts, why in stored_entries(log, header, key):
            for name, text in texts.items():
                if name not in seen:
                    seen.add(name)
                    check.text(name, {"salt": salts.text_salt(text), "text": text})
            check.record(entry, why)
    except CorruptFileError:
        check.unreadable("the file cannot be read from here on; it was changed or damaged")
    return check.finish(header, seal=seal, head=head)


def _seal_faults(store: Store, place: Place, log: StoredFile, *, is_current: bool, is_known: bool) -> Iterator[str]:
    """Yield what the seals that lie there say against a log: which one is meant is not the log's own to say."""
    there = sealed_revisions(store, place)
    named = f"seals lie there of revision {', '.join(map(str, there))}" if there else "no seal of this place lies there"
    if log.revision not in there and not is_known:
        yield (
            f"the log, by its own metadata revision {log.revision}, has no seal ({named}): it was not written by this "
            "package, or its seal was removed, or never written; compare it with --head or --seal from elsewhere, or "
            "record the place again (spancheck score --regrade)"
        )
    if is_current and there and there[-1] > log.revision:
        yield f"revision {there[-1]} was sealed after this one, {log.revision}: a later log was removed or replaced"


def _is_in_order(checked: Checked) -> bool:
    """Return whether the records stand where they were written, so that they can be laid beside other files' rows."""
    return checked.fault is None or checked.fault.what in {What.CHANGED, What.HEADER, What.REWRITTEN}


def _rival_seals(known: Seal | None, others: tuple[Seal, ...]) -> Iterator[str]:
    for other in others:
        if known is not None and other.head != known.head:
            yield (
                f"there are two seals of revision {other.revision}, one over {known.head[:16]}… and one over "
                f"{other.head[:16]}…: the log was replaced"
            )


__all__ = ["verify_place"]
