"""The trend of a suite, read from the stored scorecards, decisions and manifests. Nothing is called or graded."""

from __future__ import annotations

from collections.abc import Sequence

from spancheck_pipeline.api.deciding import read_decision, read_scorecard
from spancheck_pipeline.api.recording import open_audit_log, read_head
from spancheck_pipeline.decision.nights import missed_nights
from spancheck_pipeline.decision.trend import NightFacts, TrendDocument, trend_of
from spancheck_pipeline.errors import MissingDataError
from spancheck_pipeline.evidence.run import Manifest
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN, CASES, GATE, SCORECARD


def missed_dates(store: Store, suite: str, cron: str, *, until: str) -> tuple[str, ...]:
    """Return the nights that a schedule had up to a date and the storage has not: neither captured nor decided about.

    A night whose capture was pruned was decided about, and is not missed.
    """
    return missed_nights(cron, {*store.dates(suite, CAPTURED_RUN), *store.dates(suite, SCORECARD)}, until=until)


def read_trend(
    store: Store,
    suite: str,
    *,
    since: str | None = None,
    until: str | None = None,
    missed: Sequence[str] = (),
) -> TrendDocument:
    """Return the trend of a suite over its stored dates, as they are decided now; both bounds are included.

    ``missed`` are nights that the suite's schedule had and the storage has not (``missed_dates``).

    Raises:
        MissingDataError: when no date has a scorecard.
    """
    dates = [
        date
        for date in store.dates(suite, SCORECARD)
        if (since is None or date >= since) and (until is None or date <= until)
    ]
    if not dates:
        raise MissingDataError(f"{suite}: no date has a scorecard; run spancheck nightly {suite} first")
    left_out = [date for date in missed if (since is None or date >= since) and (until is None or date <= until)]
    return trend_of(suite, [_facts(store, Night(suite, date)) for date in dates], missed=left_out)


def _facts(store: Store, night: Night) -> NightFacts:
    if store.exists(night, CAPTURED_RUN):
        manifest = Manifest.model_validate(store.open(night, CAPTURED_RUN).document())
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
