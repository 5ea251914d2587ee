"""Which captured nights were scored by other graders than today's, read from the files alone.

A score file names the spec that made it, a decision the scores that it rests on. Scoring again lives in
``rescoring.py``; Dagster's own view of staleness (code versions) is a convenience and is never asked.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from spancheck_pipeline.api.judging import verdicts_digest
from spancheck_pipeline.api.scoring import score_inputs
from spancheck_pipeline.errors import StorageError, UsageError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.storage.store import Night, Store, StoredFile
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, CASES, COMPARISON, GATE, SCORECARD, SCORES

_READERS = 8
"""Files of an object store that are opened at once; a local disk is read by one thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleNight:
    """A captured night that does not say what today's graders say."""

    night: Night
    graders: tuple[str, ...]
    """Graders whose scores are missing, or were made by another spec, from another capture or from other labels."""

    problem: str = ""
    """Why the night cannot be read, where it cannot; it is then for a person, and the other nights go on."""

    @property
    def is_scored(self) -> bool:
        """Whether only the decision is behind: scoring it again was cut off between scores and record."""
        return not self.graders and not self.problem


def check_span(since: str | None, until: str | None) -> None:
    """Check the first and the last date of a choice.

    Raises:
        UsageError: for a date that is none, and for a span that holds no date.
    """
    for text in (since, until):
        try:
            is_date = text is None or dt.date.fromisoformat(text).isoformat() == text
        except ValueError:
            is_date = False
        if not is_date:
            raise UsageError(f"{str(text)[:40]!r} is not a date; write it as YYYY-MM-DD")
    if since is not None and until is not None and since > until:
        raise UsageError(f"no date is from {since} on and up to {until}: the first date is after the last; swap them")


def stale_nights(
    store: Store,
    suite: str,
    graders: Sequence[Grader],
    *,
    only: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
) -> tuple[StaleNight, ...]:
    """Return the stale nights of a suite in order of their dates: of all graders, or of ``only`` some.

    Nights that were never captured, or whose capture was pruned, are no business of this.

    Raises:
        UsageError: for a grader that the suite has not, and for a choice of graders that leaves another stale one on
            the same night: a decision rests on today's graders, all of them.
    """
    specs = {grader.name: spec_of(grader).digest for grader in graders}
    if unknown := [name for name in only if name not in specs]:
        raise UsageError(f"{suite} has no grader {unknown[0][:80]!r}; it has: {', '.join(specs)}")
    dates = [
        date
        for date in store.dates(suite, CAPTURED_RUN)
        if (since is None or since <= date) and (until is None or date <= until)
    ]
    examine = partial(_examined, store, specs)
    nights = [Night(suite, date) for date in dates]
    if store.is_local:
        found = list(map(examine, nights))
    else:
        with ThreadPoolExecutor(_READERS) as pool:
            found = list(pool.map(examine, nights))
    stale = [night for night in found if night]
    return tuple(_chosen(stale, only)) if only else tuple(stale)


def _chosen(stale: Sequence[StaleNight], only: Sequence[str]) -> Iterator[StaleNight]:
    chosen = [night for night in stale if set(night.graders) & set(only) or not night.graders]
    others = {name for night in chosen for name in night.graders} - set(only)
    if others:
        n = sum(bool(set(night.graders) & others) for night in chosen)
        raise UsageError(
            f"{chosen[0].night.suite}: {', '.join(sorted(others))} is stale too on {n} of these nights, and a decision "
            f"rests on all graders; add {' '.join(f'--grader {name}' for name in sorted(others))}, or name none"
        )
    yield from chosen


def _examined(store: Store, specs: dict[str, str], night: Night) -> StaleNight | None:
    try:
        return _read(store, specs, night)
    except StorageError as error:
        return StaleNight(night=night, graders=(), problem=str(error))


def _read(store: Store, specs: dict[str, str], night: Night) -> StaleNight | None:
    captured, cases = store.open(night, CAPTURED_RUN), store.open(night, CASES)
    made_from = score_inputs(captured, cases)
    verdicts = verdicts_digest(store, night)
    files = {name: _opened(store, night, name) for name in specs}
    stale = tuple(name for name, file in files.items() if not _is_todays(file, specs[name], made_from, verdicts))
    if stale:
        return StaleNight(night=night, graders=stale)
    digests = {f"scores/{name}": file.content_digest for name, file in files.items() if file}
    digests |= {"captured_run": captured.content_digest, "cases": cases.content_digest}
    return None if _is_recorded(store, night, digests) else StaleNight(night=night, graders=())


def _opened(store: Store, night: Night, grader: str) -> StoredFile | None:
    return store.open(night, SCORES, grader) if store.exists(night, SCORES, grader) else None


def _is_todays(file: StoredFile | None, spec_digest: str, made_from: dict[str, str], verdicts: str | None) -> bool:
    if file is None or file.metadata["spec_digest"] != spec_digest:
        return False
    inputs = file.inputs
    if inputs.get("judge_verdicts", verdicts) != verdicts:  # a score that rests on no judge names no verdicts
        return False
    return all(inputs.get(name) == value for name, value in made_from.items())


def _is_recorded(store: Store, night: Night, digests: dict[str, str]) -> bool:
    """Return whether scorecard, comparison, decision and record follow from the scores, each from the one before.

    Graders that the suite has no more may stand in them: what was decided with them stays as it was.
    """
    tables = (SCORECARD, COMPARISON, GATE, AUDIT_LOG)
    if not all(store.exists(night, table) for table in tables):
        return False
    scorecard, comparison, gate, log = (store.open(night, table) for table in tables)
    named = gate.inputs
    follows = {**digests, "scorecard": scorecard.content_digest, "comparison": comparison.content_digest}
    made_from = scorecard.inputs
    return (
        all(made_from.get(name) == value for name, value in digests.items())
        and all(named.get(name) == value for name, value in follows.items())
        and log.metadata.get("gate") == gate.content_digest
    )


def plan_digest(stale: Sequence[StaleNight], graders: Sequence[Grader]) -> str:
    """Return what tells one piece of rescoring from another: its nights, their graders, and today's specs.

    >>> plan_digest((), ()) == plan_digest((), ())
    True
    """
    nights = [[night.night.date, *night.graders] for night in stale]
    return digest({"nights": nights, "specs": [spec_of(grader).digest for grader in graders]})
