"""Retention: which old nights and ad-hoc runs may let go of their outputs and scores, and letting go of them.

What goes is what a night was made *from*: the captured run, the cases snapshot, verdicts, scores, their superseded
revisions, and journals of captures that were never finished. What was *said* about a night stays: scorecards,
comparisons, decisions, audit logs, reports, adjudications and promotions, current and superseded, so that every
decision can be read with its evidence (the audit log repeats it). What cannot be done any more is scoring it again.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from spancheck_pipeline.api.audit_logs import open_audit_log
from spancheck_pipeline.api.baselines import baselines_before
from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.api.promoting import all_promotions
from spancheck_pipeline.errors import LockedError, StorageError, UsageError
from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.storage.pruned import mark_pruned
from spancheck_pipeline.storage.store import AdHoc, Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, GATE, JUDGE_VERDICTS, SCORES

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
# In the order in which they go: the captured run and its cases last, so that what a kill leaves is found again.
_TABLES = (SCORES.name, JUDGE_VERDICTS.name, CAPTURED_RUN.name, CASES.name)
_KEEP = re.compile(r"([1-9]\d{0,4})d")
_OF_NIGHT = re.compile(r"/suite=([a-z][a-z0-9_]*)/date=(\d{4}-\d\d-\d\d)$")


class Pruned(BaseModel):
    """One night or ad-hoc run that lets go of what it was made from."""

    model_config = _FROZEN

    suite: str
    date: str | None
    """None for an ad-hoc run."""
    run_id: str | None = None
    """Of an ad-hoc run."""
    n_files: int
    n_bytes: int


class Kept(BaseModel):
    """One old night or run that keeps everything, and why."""

    model_config = _FROZEN

    suite: str
    date: str | None
    run_id: str | None = None
    why: str


class PruneReport(BaseModel):
    """What pruning did, or would do. Names, dates and sizes."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    is_dry_run: bool
    before: str
    """What is older than this date is pruned."""
    pruned: tuple[Pruned, ...]
    kept: tuple[Kept, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes that are let go of."""
        return sum(item.n_bytes for item in self.pruned)


def cutoff(keep: str, *, today: str) -> str:
    """Return the first date that is kept.

    Raises:
        UsageError: for a span that is none.

    >>> cutoff("30d", today="2026-11-30")
    '2026-10-31'
    """
    match = _KEEP.fullmatch(keep)
    if match is None:
        raise UsageError(f"--keep {keep[:40]!r} is no span; write days, for example --keep 400d")
    return (dt.date.fromisoformat(today) - dt.timedelta(days=int(match[1]))).isoformat()


def prune(
    store: Store, *, before: str, suites: Sequence[str] = (), timezone: str = "UTC", dry_run: bool
) -> PruneReport:
    """Let old nights and ad-hoc runs go of what they were made from, or say which would be.

    Ad-hoc runs are dated by when they began, in ``timezone``; with ``suites`` only those nights and runs are looked at.
    Cut off in the middle, the same call goes on.
    """
    pruned: list[Pruned] = []
    kept: list[Kept] = []
    for place, folders in _old_places(store, before, timezone):
        if suites and place.suite not in suites:
            continue
        named = {"suite": place.suite, "date": place.date, "run_id": place.run_id if isinstance(place, AdHoc) else None}
        why = _why_kept(store, place, before)
        if not why and not dry_run:
            why = _remove(store, place, folders, before)
        if why:
            kept.append(Kept.model_validate({**named, "why": why}))
        else:
            pruned.append(Pruned.model_validate({**named, **folders.size._asdict()}))
    return PruneReport(is_dry_run=dry_run, before=before, pruned=tuple(pruned), kept=tuple(kept))


class _Size(NamedTuple):
    n_files: int
    n_bytes: int


class _Folders(NamedTuple):
    paths: tuple[str, ...]
    size: _Size


Old = Night | AdHoc


def _old_places(store: Store, before: str, timezone: str) -> Iterator[tuple[Old, _Folders]]:
    found: dict[Old, list[str]] = defaultdict(list)
    for table in _TABLES:
        of_grader = "/grader=*" if table == SCORES.name else ""
        for above in ("_history/", ""):
            for path in _folders(store, f"{above}{table}{of_grader}/suite=*/date=*"):
                _add_night(found, path, before)
    for path in _folders(store, f"_journal/{CAPTURED_RUN.name}/suite=*/date=*"):
        _add_night(found, path, before)
    for run in _old_runs(store, before, timezone):
        for above in ("_history/", "_journal/", ""):
            paths = (f"{store.root}/{above}runs/{run.run_id}/{table}" for table in _TABLES)
            found[run] += [path for path in paths if store.filesystem.exists(path)]
    for place in sorted(found, key=lambda place: (place.suite, place.date or "", str(place))):
        yield place, _Folders(tuple(found[place]), _size(store, found[place]))


def _folders(store: Store, pattern: str) -> list[str]:
    return sorted(str(path).rstrip("/") for path in store.filesystem.glob(f"{store.root}/{pattern}"))


def _add_night(found: dict[Old, list[str]], path: str, before: str) -> None:
    match = _OF_NIGHT.search(path)
    if match and match[2] < before:
        found[Night(match[1], match[2])].append(path)


def _old_runs(store: Store, before: str, timezone: str) -> Iterator[AdHoc]:
    zone = zoneinfo.ZoneInfo(timezone)
    for path in _folders(store, f"runs/*/{CAPTURED_RUN.name}"):
        run = AdHoc("adhoc", path.split("/")[-2])
        if not store.exists(run, CAPTURED_RUN):
            continue
        manifest = read_manifest(store, run)
        if manifest.started_at.astimezone(zone).date().isoformat() < before:
            yield AdHoc(manifest.suite, run.run_id)


def _size(store: Store, folders: Iterable[str]) -> _Size:
    sizes = [size for folder in folders for size in store.filesystem.du(folder, total=False).values()]
    return _Size(len(sizes), int(sum(sizes)))


def _why_kept(store: Store, place: Old, before: str) -> str:
    """Return why a place keeps everything; an empty text where it need not."""
    if not store.exists(place, CAPTURED_RUN):
        return ""  # a capture that was never finished, or what a pruning that was cut off has left
    try:
        open_audit_log(store, place)
    except StorageError:
        return "it has no record of what stands there: its evidence is nowhere else"
    return _why_baseline(store, place, before) if isinstance(place, Night) else ""


def _why_baseline(store: Store, place: Night, before: str) -> str:
    """Return whether a night that stays, or one to come, is compared with this one, or a person pinned it."""
    if any(item.date == place.date for item in all_promotions(store, place.suite, "release")):
        return "it is, or was, pinned as the release baseline"
    staying = [date for date in store.dates(place.suite, GATE) if date >= before]
    for date in (*staying, None):
        for kind, promotion in baselines_before(store, place.suite, date).items():
            if promotion.date == place.date:
                return f"it is the {kind.replace('_', ' ')} baseline of {date or 'the next night'}"
    return ""


def _remove(store: Store, place: Old, folders: _Folders, before: str) -> str:
    """Remove the folders of a place, and return why it could not be begun where it is in use."""
    try:
        with store.lock(place):
            if isinstance(place, Night) and store.exists(place, CAPTURED_RUN):
                mark_pruned(store, place, before=before)  # first: a kill leaves the captured run, or the mark
            for folder in folders.paths:
                try:
                    store.filesystem.rm(folder, recursive=True)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    raise StorageError(f"{folder}: cannot be removed ({type(error).__name__})") from None
    except LockedError:
        return "it is being captured"
    return ""
