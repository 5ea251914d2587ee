"""The asset ``captured_run`` of a suite: the one step that may call a target, and when it may not.

A capture that is made in shards is ``sharded.py``'s; what follows from a captured run lives in ``assets.py``.
"""

import dagster as dg

from spancheck_pipeline.api.capture_begin import Mode
from spancheck_pipeline.api.capturing import capture_place
from spancheck_pipeline.api.erased import traces_of
from spancheck_pipeline.api.snapshot import is_begun
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.resources import StoreResource
from spancheck_pipeline.defs.suite_defs import NightMade, SuiteDefs, each_night
from spancheck_pipeline.errors import CaptureRefusedError
from spancheck_pipeline.storage.pruned import was_pruned
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import CAPTURED_RUN


class CaptureConfig(dg.Config):
    """Whether a captured date is called for again. By default it never is."""

    recapture: bool = False
    """Call for every case again, and supersede the captured run."""
    retry_errors: bool = False
    """Call for the rows that failed, and for no other."""
    allow_past: bool = False
    """Capture a date that is over, although today's system answers."""

    def mode(self) -> Mode:
        """Return what is asked for."""
        if self.recapture and self.retry_errors:
            raise CaptureRefusedError("ask for recapture or for retry_errors, not for both")
        if self.recapture:
            return "recapture"
        return "retry_errors" if self.retry_errors else "capture"


DESCRIPTION = "What the target answered, captured once. A captured date is re-used and never called for again."


def captured_run_asset(suite: SuiteDefs) -> dg.AssetsDefinition:
    """Return the asset ``captured_run`` as one step."""
    deps = [suite.key("cases")]
    fresh, pool = suite.freshness(), suite.pool

    @suite.asset(CAPTURED_RUN, "evidence", DESCRIPTION, deps=deps, is_one_run=False, freshness=fresh, pool=pool)
    def captured_run(
        context: dg.AssetExecutionContext,
        config: CaptureConfig,
        spancheck_store: dg.ResourceParam[StoreResource],
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> NightMade:
            refuse_past(suite, store, night, allow_past=config.allow_past)
            captured = capture_place(
                store,
                night,
                suite.loaded.suite,
                suite.load_target,
                mode=config.mode(),
                graders=suite.loaded.graders,
                on_progress=suite.on_progress,
                contain=contained,
            )
            suite.warn(context, captured.warnings)
            suite.warn_of_changes(context, night, captured)
            return captured.published.content_digest, metadata.of_capture(captured)

        return each_night(context, suite, step)

    return captured_run


def refuse_past(suite: SuiteDefs, store: Store, night: Night, *, allow_past: bool) -> None:
    """Refuse the first capture of a date that is over: today's system cannot answer for last week.

    Recorded answers may be read in for any date.

    Raises:
        CaptureRefusedError: unless ``allow_past``.
    """
    is_recorded = suite.loaded.suite.target.kind == "recorded"
    if allow_past or is_recorded or night.date >= suite.environment.today() or is_begun(store, night):
        return
    if was_pruned(store, night):
        raise CaptureRefusedError(
            f"{night} was pruned: what was decided about it stands, and its answers are gone; today's system cannot "
            "answer for that day. Capture it anew on purpose with recapture and allow_past (CLI: --recapture "
            "--allow-past)"
        )
    if traces := traces_of(store, night):
        raise CaptureRefusedError(
            f"{night}: {traces.text()}; restore the night from a backup. Without one, capture it anew on purpose with "
            "recapture and allow_past (CLI: --recapture --allow-past)"
        )
    raise CaptureRefusedError(
        f"{night} was never captured and is over: today's system cannot answer for that day; "
        "capture it all the same with allow_past: true (CLI: --allow-past)"
    )
