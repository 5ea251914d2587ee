"""The trend of a suite, read from the stored scorecards, decisions and manifests. Nothing is called or graded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spancheck_pipeline.api.audit_logs import open_audit_log, read_head
from spancheck_pipeline.api.deciding import read_decision, read_scorecard
from spancheck_pipeline.api.erased import gone_dates
from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.decision.nights import missed_nights
from spancheck_pipeline.decision.trend import NightFacts, TrendDocument, trend_of
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, CASES, GATE, SCORECARD


def missed_dates(store: Store, suite: str, cron: str, *, until: str) -> tuple[str, ...]:
    """Return the nights that a schedule had up to a date and the storage has not: neither captured nor decided about.

    A night whose capture was pruned was decided about, and is not missed; one that is gone was there.
    """
    there = {*store.dates(suite, CAPTURED_RUN), *store.dates(suite, SCORECARD), *gone_dates(store, suite)}
    return missed_nights(cron, there, until=until)


def read_trend(
    store: Store,
    suite: str,
    *,
    since: str | None = None,
    until: str | None = None,
    missed: Sequence[str] = (),
) -> TrendDocument:
    """Return the trend of a suite over its stored dates, as they are decided now; both bounds are included.

    ``missed`` are nights that the suite's schedule had and the storage has not (``missed_dates``). Nights that were
    recorded and whose record or scorecard is gone are named.

    Raises:
        MissingDataError: when no date has a scorecard.
    """

    def within(found: Iterable[str]) -> list[str]:
        return [date for date in found if (since is None or date >= since) and (until is None or date <= until)]

    carded, erased = store.dates(suite, SCORECARD), gone_dates(store, suite)
    gone = within(sorted({*erased, *({*store.dates(suite, AUDIT_LOG)} - {*carded})}))
    dates = [date for date in within(carded) if date not in gone or store.exists(Night(suite, date), CAPTURED_RUN)]
    if not dates and not gone:
        raise MissingDataError(f"{suite}: no date has a scorecard; run spancheck nightly {suite} first")
    return trend_of(suite, [_facts(store, Night(suite, date)) for date in dates], missed=within(missed), gone=gone)


def _facts(store: Store, night: Night) -> NightFacts:
    if store.exists(night, CAPTURED_RUN):
        manifest = read_manifest(store, night)
        # Of the snapshot and not of the manifest, so that relabelling is a mark too.
        dataset_digest = store.open(night, CASES).metadata["dataset_digest"]
    else:  # the night was pruned; its record repeats the manifest
        recorded = read_head(open_audit_log(store, night)).manifest
        if recorded is None:
            raise MissingDataError(f"{night}: neither a captured run nor a record that names one")
        manifest = recorded
        dataset_digest = manifest.dataset_digest
    return NightFacts(
        scorecard=read_scorecard(store, night),
        target_version=manifest.target.version,
        dataset_digest=dataset_digest,
        epochs=manifest.epochs,
        answer=read_decision(store, night).answer if store.exists(night, GATE) else None,
    )
