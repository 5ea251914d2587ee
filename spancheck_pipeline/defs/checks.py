"""The gate in the UI: one partitioned asset check a rule, on the comparison, saying what the core decided."""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import dagster as dg

from spancheck_pipeline.api.deciding import read_decision
from spancheck_pipeline.decision.demands import demands
from spancheck_pipeline.decision.gate import GateDecision, RuleResult
from spancheck_pipeline.defs.guard import guarded
from spancheck_pipeline.defs.resources import StoreResource, takes_store
from spancheck_pipeline.defs.suite_defs import SuiteDefs
from spancheck_pipeline.storage.store import Night, Store


def suite_checks(suite: SuiteDefs) -> dg.AssetChecksDefinition:
    """Return the checks of one suite, all evaluated together from the stored decision.

    They never block other assets: the audit log of a failed night is the one that is needed most.
    """
    asset = suite.key("comparison")
    demanded = demands(suite.loaded.suite.gate, suite.grader_names)
    names = list(demanded)
    specs = [
        dg.AssetCheckSpec(name, asset=asset, partitions_def=suite.partitions, description=sentence)
        for name, sentence in demanded.items()
    ]

    @dg.multi_asset_check(name="__".join([*asset.path[:-1], "gate"]), specs=specs)
    @takes_store(suite.environment.namespace)
    def gate(
        context: dg.AssetCheckExecutionContext, spancheck_store: dg.ResourceParam[StoreResource]
    ) -> Iterator[dg.AssetCheckResult]:
        store = spancheck_store.store()
        dates = sorted(context.partition_keys)
        readers = {date: partial(read_decision, store, Night(suite.name, date)) for date in dates}
        decisions = {date: guarded(read, is_debug=suite.is_debug) for date, read in readers.items()}
        if len(dates) == 1:
            for rule in decisions[dates[0]].rules:
                yield _result(asset, rule)
            return
        # A range run has one evaluation without a partition; each date gets its own beside it.
        for date, decision in decisions.items():
            for rule in decision.rules:
                log_evaluation(context.op_execution_context, _evaluation(asset, rule, date))
        for name in names:
            yield _over_range(asset, name, decisions)

    return gate


def evaluations(suite: SuiteDefs, store: Store, night: Night) -> list[dg.AssetCheckEvaluation]:
    """Return what each rule said about one stored night, as evaluations of its partition."""
    return [_evaluation(suite.key("comparison"), rule, night.date) for rule in read_decision(store, night).rules]


def log_evaluation(context: dg.OpExecutionContext, evaluation: dg.AssetCheckEvaluation) -> None:
    """Put the evaluation of one partition into the run's events.

    An evaluation without a run (``report_runless_asset_event``) can be stored once per check and partition, and never
    again.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Dagster's own, of Python 3.12's datetime
        context.log_event(evaluation)  # type: ignore[arg-type]  # it is taken, and left out of the annotation


def _result(asset: dg.AssetKey, rule: RuleResult) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=rule.rule,
        passed=rule.answer.is_ok,
        severity=dg.AssetCheckSeverity.ERROR if rule.is_blocking else dg.AssetCheckSeverity.WARN,
        description=rule.reason,
        metadata=_shown(rule),
    )


def _evaluation(asset: dg.AssetKey, rule: RuleResult, date: str) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=asset,
        check_name=rule.rule,
        passed=rule.answer.is_ok,
        severity=dg.AssetCheckSeverity.ERROR if rule.is_blocking else dg.AssetCheckSeverity.WARN,
        description=rule.reason,
        metadata=_shown(rule),
        partition=date,
    )


def _over_range(asset: dg.AssetKey, name: str, decisions: dict[str, GateDecision]) -> dg.AssetCheckResult:
    rules = [rule for decision in decisions.values() for rule in decision.rules if rule.rule == name]
    failed = [rule for rule in rules if not rule.answer.is_ok]
    is_blocking = any(rule.is_blocking for rule in rules)
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=name,
        passed=not failed,
        severity=dg.AssetCheckSeverity.ERROR if is_blocking else dg.AssetCheckSeverity.WARN,
        description=f"{len(failed)} of {len(rules)} dates of this range do not pass; each date has its own evaluation",
    )


def _shown(rule: RuleResult) -> dict[str, Any]:
    shown: dict[str, Any] = {"answer": rule.answer.value}
    if rule.threshold is not None:
        shown["threshold"] = rule.threshold
    if rule.observed is not None:
        shown["observed"] = rule.observed
    for name in ("p_value", "detectable_drop", "cases_needed", "clusters_needed"):
        if (number := getattr(rule, name)) is not None:
            shown[name] = number
    if rule.counts is not None:
        shown |= dict(rule.counts.model_dump())
    return shown
