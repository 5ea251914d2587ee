"""What a capture starts from: what it asks, under which header, on which earlier capture – or why it may not begin.

Calling lives in ``capturing.py`` and ``sharding.py``, which go on with what is begun here; nothing is called here.
"""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Literal

from spancheck_pipeline.api.erased import traces_of
from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.api.snapshot import read_snapshot
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.errors import CaptureRefusedError, MissingDataError
from spancheck_pipeline.evidence.case import Case, dataset_digest
from spancheck_pipeline.evidence.run import Manifest, TargetFacts
from spancheck_pipeline.storage.journal import JournalHeader, questions_digest
from spancheck_pipeline.storage.pruned import was_pruned
from spancheck_pipeline.storage.store import Night, Place, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, GATE

Mode = Literal["capture", "recapture", "retry_errors"]


def new_run_id(suite: str, date: str | None) -> str:
    """Return a fresh run id that tells suite and date, for people, and is unique."""
    return "-".join(part for part in (suite, date, uuid.uuid4().hex[:8]) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A capture that may go on: what it asks, under which header, and what it starts from."""

    mode: Mode
    cases: tuple[Case, ...]
    header: JournalHeader
    base: Base | None


def begin(
    store: Store,
    place: Place,
    suite: Suite,
    facts: TargetFacts,
    *,
    mode: Mode,
    config: str | None,
    now: dt.datetime,
) -> Begun | None:
    """Return what is to be captured, or None when there is nothing to call for. The caller holds the place's lock.

    Raises:
        CaptureRefusedError: when what is stored was made by another target version, or is gone.
        MissingDataError: for ``retry_errors`` on a place that was never captured.
    """
    if mode == "capture" and store.exists(place, CAPTURED_RUN):
        return None
    _refuse_lost(store, place, mode)
    base = _base(store, place, mode)
    if base and not base.failed and mode == "retry_errors":
        return None
    cases = read_snapshot(store, place)
    header = _header(place, suite, cases, facts, mode=mode, base=base, config=config, now=now)
    return Begun(mode=mode, cases=cases, header=header, base=base)


def _refuse_lost(store: Store, place: Place, mode: Mode) -> None:
    """Refuse to call again for a place whose captured run was there once and is gone.

    Raises:
        CaptureRefusedError: unless everything is captured again on purpose.
    """
    if mode != "capture" or store.unfinished(place):
        return
    if isinstance(place, Night) and was_pruned(store, place):
        raise CaptureRefusedError(
            f"{place} was pruned: what was decided about it stands, its answers are gone, and nothing is called again; "
            "capture everything anew on purpose (--recapture)"
        )
    is_erased = isinstance(place, Night) and traces_of(store, place) is not None
    if store.exists(place, GATE) or store.revisions(place, CAPTURED_RUN) or is_erased:
        raise CaptureRefusedError(
            f"{store.path(place, CAPTURED_RUN)}: is missing, although {place} was captured and decided about; "
            "restore it, or capture everything again on purpose (--recapture)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The captured run that a new pass starts from."""

    manifest: Manifest
    revision: int
    failed: set[tuple[str, int]]


def _base(store: Store, place: Place, mode: Mode) -> Base | None:
    if mode == "capture":
        return None
    if not store.exists(place, CAPTURED_RUN):
        if mode == "retry_errors" and isinstance(place, Night) and was_pruned(store, place):
            raise MissingDataError(f"{place} was pruned: its answers are gone, so no failed call can be retried")
        if mode == "retry_errors":
            raise MissingDataError(f"{place}: never captured, so no failed call can be retried; capture it first")
        return None
    file = store.open(place, CAPTURED_RUN)
    rows = file.rows(["case_id", "epoch", "answered"])
    failed = {(row["case_id"], row["epoch"]) for row in rows if not row["answered"]}
    return Base(manifest=Manifest.model_validate(file.document()), revision=file.revision, failed=failed)


def _header(
    place: Place,
    suite: Suite,
    cases: tuple[Case, ...],
    facts: TargetFacts,
    *,
    mode: Mode,
    base: Base | None,
    config: str | None,
    now: dt.datetime,
) -> JournalHeader:
    retried = base if mode == "retry_errors" else None
    if retried and retried.manifest.target.version != facts.version:
        raise CaptureRefusedError(
            f"{place} (run {retried.manifest.run_id}) was captured by target version "
            f"{retried.manifest.target.version!r}, and the target is {facts.version!r} now; one run has one "
            "version: capture all of it again (--recapture)"
        )
    if isinstance(place, Night):
        run_id = retried.manifest.run_id if retried else new_run_id(place.suite, place.date)
    else:
        run_id = place.run_id
    return JournalHeader(
        run_id=run_id,
        suite=place.suite,
        date=place.date,
        config=config,
        mode=mode,
        dataset_digest=dataset_digest(cases),
        questions_digest=questions_digest(cases),
        target=facts,
        epochs=suite.epochs,
        started_at=retried.manifest.started_at if retried else now,
        base_revision=base.revision if base else None,
    )


def refuse_other_run(store: Store, place: Place, suite: Suite, config: str | None) -> None:
    """Refuse to go on with an ad-hoc run under what it was not captured with. A night is re-used as it is.

    Raises:
        CaptureRefusedError: naming the run, and every difference with both sides.
    """
    if isinstance(place, Night) or not store.exists(place, CAPTURED_RUN):
        return
    manifest = read_manifest(store, place)
    stated = suite.target.version
    facts: list[tuple[str, object, object]] = [
        ("suite", manifest.suite, suite.name),
        ("config", manifest.config, config),
        ("epochs", manifest.epochs, suite.epochs),
        ("target version", manifest.target.version, manifest.target.version if stated is None else stated),
    ]
    different = [f"{name} {old!r} there, {new!r} now" for name, old, new in facts if old != new]
    if different:
        raise CaptureRefusedError(
            f"the run {manifest.run_id} is captured already, and is another one: {'; '.join(different)}; "
            "two runs are never merged: give this one a run id of its own"
        )
