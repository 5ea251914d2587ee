"""The assets of one suite, from cases to audit log and baseline, all on one partitions definition.

What they share lives in ``suite_defs.py``, the one that calls the target in ``captured_run.py`` and ``sharded.py``,
checks in ``checks.py``, jobs and schedules in ``jobs.py``.
"""

import datetime as dt
import getpass
from typing import Any

import dagster as dg

from spancheck_pipeline.api.audit_logs import chain_head
from spancheck_pipeline.api.deciding import decide_place, summarize_place
from spancheck_pipeline.api.judge_needs import needed_judges
from spancheck_pipeline.api.judging import judge_place
from spancheck_pipeline.api.promoting import promote_place
from spancheck_pipeline.api.recording import record_place
from spancheck_pipeline.api.reporting import report_place
from spancheck_pipeline.api.scoring import score_place
from spancheck_pipeline.api.snapshot import snapshot_cases
from spancheck_pipeline.api.unread_labels import unread_labels
from spancheck_pipeline.capture.containment import contained
from spancheck_pipeline.defs import metadata
from spancheck_pipeline.defs.calibration import calibration_key
from spancheck_pipeline.defs.captured_run import captured_run_asset
from spancheck_pipeline.defs.guard import refused_by_gate
from spancheck_pipeline.defs.resources import StoreResource
from spancheck_pipeline.defs.sharded import sharded_capture
from spancheck_pipeline.defs.suite_defs import NightMade, SuiteDefs, each_night, nightly_asset
from spancheck_pipeline.errors import PromotionRefusedError
from spancheck_pipeline.evidence.canonical import CONTRACT, digest
from spancheck_pipeline.evidence.packet import PACKET_VERSION
from spancheck_pipeline.grading.grader import Grader, spec_of
from spancheck_pipeline.storage.datasets import load_cases
from spancheck_pipeline.storage.store import Night, Store
from spancheck_pipeline.storage.tables import AUDIT_LOG, CASES, COMPARISON, JUDGE_VERDICTS, SCORECARD, SCORES


class CasesConfig(dg.Config):
    """How the cases of a date are fixed."""

    relabel: bool = False
    """Take today's labels for questions that are still the same; nothing is called."""


def suite_assets(suite: SuiteDefs) -> list[dg.AssetsDefinition]:
    """Return all assets of one suite."""
    judges = [_judge_verdicts(suite)] if needed_judges(suite.loaded.graders) else []
    graders = [_scores(suite, grader) for grader in suite.loaded.graders]
    decision = [_scorecard(suite), _comparison(suite), _audit_log(suite), _report(suite), _baseline(suite)]
    capture = sharded_capture if suite.loaded.suite.target.shards > 1 else captured_run_asset
    return [_cases(suite), capture(suite), *judges, *graders, *decision]


def _cases(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = "The night's snapshot of the cases. A captured date keeps the snapshot that it was asked with."

    @suite.asset(CASES, "evidence", text, is_one_run=False)
    def cases(
        context: dg.AssetExecutionContext,
        config: CasesConfig,
        spancheck_store: dg.ResourceParam[StoreResource],
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()

        def step(night: Night) -> NightMade:
            today = load_cases(suite.loaded.folder, suite.loaded.suite.cases)
            snapshot = snapshot_cases(store, night, today, relabel=config.relabel)
            suite.warn(context, snapshot.notes(str(night)))
            suite.warn(context, unread_labels(today, suite.loaded.graders))
            return snapshot.dataset_digest, metadata.of_snapshot(snapshot)

        return each_night(context, suite, step)

    return cases


def _judge_verdicts(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = (
        "What judges replied about the captured answers. A packet that the same judge has judged, on any night and in "
        "any suite, is not sent again; what failed is asked for again when this is materialized."
    )
    deps = [suite.key("captured_run"), suite.key("cases")]
    judges = {judge.name: judge.identity for judge in needed_judges(suite.loaded.graders)}
    code_version = digest({"contract": CONTRACT, "packets": PACKET_VERSION, "judges": judges})

    @nightly_asset(suite, JUDGE_VERDICTS, "evidence", text, deps=deps, code_version=code_version, is_one_run=False)
    def judge_verdicts(context: dg.AssetExecutionContext, store: Store, night: Night) -> NightMade:
        judged = judge_place(
            store,
            night,
            suite.loaded.graders,
            suite.loaded.judges,
            on_progress=suite.on_progress,
            limit_usd=suite.loaded.suite.budget.max_run_cost_usd,
            contain=contained,
        )
        suite.warn(context, judged.warnings(str(night)))
        return judged.published.content_digest, metadata.of_verdicts(judged)

    return judge_verdicts


def _scores(suite: SuiteDefs, grader: Grader) -> dg.AssetsDefinition:
    spec = spec_of(grader)
    text = f"Scores of the grader {grader.name} (measurement {spec.measurement}, version {spec.version})."
    deps = [suite.key("captured_run"), suite.key("cases")]
    if needed_judges([grader]):
        deps.append(suite.key(JUDGE_VERDICTS.name))

    @nightly_asset(suite, SCORES, "grading", text, path=(SCORES.name, grader.name), deps=deps, code_version=spec.digest)
    def scores(_context: dg.AssetExecutionContext, store: Store, night: Night) -> NightMade:
        with contained(None):
            scored = score_place(store, night, grader)
        return scored.published.content_digest, metadata.of_scores(scored, spec.readable())

    return scores


def _scorecard(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = "Counts and rates per grader and category. It holds no text."
    deps = [suite.key("captured_run"), suite.key("cases"), *suite.score_keys()]
    prices = {model: price.model_dump(mode="json") for model, price in suite.loaded.suite.prices.items()}
    made_by: dict[str, Any] = {"contract": CONTRACT, "prices": prices}
    if needed_judges(suite.loaded.graders):
        deps += [suite.key(JUDGE_VERDICTS.name), calibration_key(suite.environment.namespace)]
        made_by["judges"] = suite.loaded.suite.gate.judges.model_dump(mode="json")
    code_version = digest(made_by)

    @nightly_asset(suite, SCORECARD, "decision", text, deps=deps, code_version=code_version)
    def scorecard(_context: dg.AssetExecutionContext, store: Store, night: Night) -> NightMade:
        graders = suite.loaded.graders
        made = summarize_place(store, night, suite.loaded.suite, suite.grader_names, judging=graders)
        return made.published.content_digest, metadata.of_scorecard(made)

    return scorecard


def _comparison(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = (
        "The night against the release baseline and the last good run, paired by case, and the gate's decision. "
        "Earlier dates are read from the storage; their digests stand in the metadata."
    )
    deps = [suite.key("captured_run"), suite.key("cases"), *suite.score_keys(), suite.key("scorecard")]
    gate = suite.loaded.suite.gate.model_dump(mode="json")

    @nightly_asset(
        suite, COMPARISON, "decision", text, deps=deps, code_version=digest({"contract": CONTRACT, "gate": gate})
    )
    def comparison(context: dg.AssetExecutionContext, store: Store, night: Night) -> NightMade:
        with contained(None):
            decided = decide_place(
                store,
                night,
                suite.loaded.suite,
                suite.loaded.graders,
                decided_at=dt.datetime.now(dt.UTC),
                decided_by=getpass.getuser(),
                note=f"Dagster run {context.run.run_id}",
            )
        # The decision names everything that it rests on, the comparisons among it.
        return decided.gate_file.content_digest, metadata.of_decision(decided)

    return comparison


def _audit_log(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = "The record that a reviewer reads: per case what was asked, answered, cited, measured and decided."
    deps = [suite.key("captured_run"), suite.key("cases"), *suite.score_keys()]
    deps += [suite.key("scorecard"), suite.key("comparison")]

    @nightly_asset(suite, AUDIT_LOG, "decision", text, deps=deps)
    def audit_log(_context: dg.AssetExecutionContext, store: Store, night: Night) -> NightMade:
        now = dt.datetime.now(dt.UTC)
        published = record_place(store, night, suite.loaded.suite, suite.grader_names, created_at=now)
        return published.content_digest, metadata.of_audit_log(published, chain_head(store, night))

    return audit_log


def _report(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = (
        "The record as one HTML page that needs nothing else: decision, rates, every case with its marks. "
        "Answers of the baselines and earlier dates are read from the storage."
    )
    deps = [suite.key("scorecard"), suite.key("comparison"), suite.key("audit_log")]

    @nightly_asset(suite, None, "decision", text, path=("report",), deps=deps, kind="html")
    def report(_context: dg.AssetExecutionContext, store: Store, night: Night) -> NightMade:
        reported = report_place(store, night)
        return reported.page.content_digest, metadata.of_report(reported)

    return report


def _baseline(suite: SuiteDefs) -> dg.AssetsDefinition:
    text = (
        "Promotion of the night to the last good run. The only asset that the gate holds back: where the gate does not "
        "let the night pass and blocks, this step fails. A recorded promotion is never rewritten."
    )

    @suite.asset(None, "decision", text, path=("baseline",), deps=[suite.key("comparison")])
    def baseline(
        context: dg.AssetExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # it carries no value
        store = spancheck_store.store()
        promoted: dict[str, metadata.Metadata] = {}
        refused: list[PromotionRefusedError] = []

        def step(night: Night) -> NightMade:
            try:
                found = promote_place(store, night, at=dt.datetime.now(dt.UTC), by=getpass.getuser())
            except PromotionRefusedError as error:
                refused.append(error)
                return "", {}
            promoted[night.date] = metadata.of_promotion(found)
            return metadata.promoted_version(found), promoted[night.date]

        result = each_night(context, suite, step)
        if refused:
            for date, shown in promoted.items():
                context.log_event(dg.AssetMaterialization(suite.key("baseline"), metadata=shown, partition=date))
            raise refused_by_gate(refused)
        return result

    return baseline
