"""A captured run as it stands in the storage: published from its journals, or re-used as it is.

What is called lives in ``capturing.py``, and what a capture starts from in ``capture_begin.py``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from spancheck_pipeline.api.capture_begin import Base, Begun
from spancheck_pipeline.api.manifest import Tally, read_manifest
from spancheck_pipeline.decision.suite import Suite
from spancheck_pipeline.evidence.run import CapturedRow, Manifest
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.storage.journal import KeptJournal, questions_digest
from spancheck_pipeline.storage.lock import CaptureLock
from spancheck_pipeline.storage.rows import captured_from_row, captured_to_row
from spancheck_pipeline.storage.store import Place, Published, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What became of a capture. Counts, ids, versions."""

    published: Published
    manifest: Manifest
    is_reused: bool
    """True when the place was captured already and nothing was called."""
    n_calls: int
    """Calls made now."""
    warnings: tuple[str, ...] = ()

    def notes(self, place: str, suite: Suite, version: str | None) -> tuple[str, ...]:
        """Return what the suite says otherwise now than when the place was captured, one sentence a kind.

        ``version`` is the target's as it is now; None where it is not known.
        """
        manifest, said = self.manifest, []
        if manifest.epochs != suite.epochs:
            said.append(
                f"{place} was asked {manifest.epochs} times, and the suite asks {suite.epochs} now: "
                "the captured run stands as it is"
            )
        if self.is_reused and version is not None and version != manifest.target.version:
            was = "a target without a stated version" if manifest.target.version is None else manifest.target.version
            said.append(
                f"{place} was answered by {was}, and the target is {version} now: the captured answers stand, and "
                "the next date asks the new one (--recapture asks it for this date)"
            )
        return tuple(said)


def publish_capture(
    store: Store,
    place: Place,
    suite: Suite,
    begun: Begun,
    journals: Sequence[KeptJournal],
    *,
    lock: CaptureLock,
    config: str | None,
    graders: Sequence[Grader],
    now: dt.datetime,
) -> Captured:
    """Write the captured run from its journals, then let the journals go. The first of them has the run's header."""
    cases, base = begun.cases, begun.base
    header = journals[0].header
    keys = [(case.id, epoch) for case in cases for epoch in range(header.epochs)]
    tally = Tally(suite.prices)
    rows = tally.counting(_merged(store, place, keys, journals, base if header.mode == "retry_errors" else None))
    snapshot = store.open(place, CASES)

    def manifest(_revision: int, _digest: str) -> dict[str, object]:
        finished_at = max(now, header.started_at)
        manifest = tally.manifest(header, suite, cases, config=config, graders=graders, finished_at=finished_at)
        return manifest.model_dump(mode="json")

    published = store.publish(
        place,
        CAPTURED_RUN,
        (captured_to_row(row, header.run_id) for row in rows),
        identity={"run_id": header.run_id, "questions": questions_digest(cases)},
        metadata={"run_id": header.run_id, "suite": place.suite, "cases": snapshot.content_digest},
        document=manifest,
        check=lock.check,
    )
    # The one with the header last: as long as it stands, whatever is left of the others is known to be of this run.
    for journal in reversed(journals):
        journal.discard()
    if header.mode == "recapture":
        # What an unfinished capture of the superseded run left holds texts, and nobody will resume it.
        for overtaken in store.unfinished(place):
            if overtaken.startswith(("capture", "retry_errors")):
                store.discard_journal(overtaken, place)
    return Captured(published=published, manifest=read_manifest(store, place), is_reused=False, n_calls=0)


def _rows(journals: Sequence[KeptJournal], keys: Iterable[tuple[str, int]]) -> Iterator[CapturedRow]:
    """Yield the row of each key, from whichever journal has it; a key that none has is the first one's to refuse."""
    for key in keys:
        holder = next((journal for journal in journals if journal.state(key) is not None), journals[0])
        yield from holder.rows([key])


def _merged(
    store: Store, place: Place, keys: list[tuple[str, int]], journals: Sequence[KeptJournal], base: Base | None
) -> Iterator[CapturedRow]:
    """Yield one row a key, in order: the journals' where they have one, else what was captured before."""
    if base is None:
        yield from _rows(journals, keys)
        return
    earlier = (captured_from_row(row) for row in store.open(place, CAPTURED_RUN).rows())
    retried = base.failed
    now = _rows(journals, [key for key in keys if key in retried])
    for row in earlier:
        if row.key in retried:
            again = next(now)
            yield again.model_copy(update={"attempts": row.attempts + again.attempts})
        else:
            yield row


def reused(store: Store, place: Place) -> Captured:
    """Return the captured run that a place has, as one that was used again."""
    file = store.open(place, CAPTURED_RUN)
    published = Published(
        path=file.path,
        table=CAPTURED_RUN.name,
        revision=file.revision,
        content_digest=file.content_digest,
        n_rows=file.n_rows,
        is_new=False,
    )
    manifest = Manifest.model_validate(file.document())
    return Captured(published=published, manifest=manifest, is_reused=True, n_calls=0)
