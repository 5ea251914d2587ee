"""What the UI shows of a table and of a materialization: schemas, counts, rates, digests, paths; never a text."""

from typing import Any

import dagster as dg

from spancheck_pipeline.api.captured import Captured
from spancheck_pipeline.api.deciding import Decided, Summarized
from spancheck_pipeline.api.judging import JudgedPlace
from spancheck_pipeline.api.promoting import Promoted
from spancheck_pipeline.api.reporting import Reported
from spancheck_pipeline.api.rescoring import GraderChanges, OutcomeChange, Rescored
from spancheck_pipeline.api.scoring import Scored
from spancheck_pipeline.api.snapshot import Snapshot
from spancheck_pipeline.report.summary import summary_markdown
from spancheck_pipeline.storage.columns import described
from spancheck_pipeline.storage.store import Published
from spancheck_pipeline.storage.tables import Table

Metadata = dict[str, Any]


def column_schema(table: Table) -> Metadata:
    """Return the columns of a table, each with what it holds, as Dagster shows them."""
    columns = [dg.TableColumn(field.name, str(field.type), described(table, field.name)) for field in table.schema]
    return {"dagster/column_schema": dg.TableSchema(columns=columns)}


def of_file(published: Published) -> Metadata:
    """Return what is said of every file."""
    return {
        "dagster/row_count": published.n_rows,
        "revision": published.revision,
        "path": dg.MetadataValue.path(published.path),
        "content_digest": published.content_digest,
    }


def of_audit_log(published: Published, head: str) -> Metadata:
    """Return what is said of an audit log: ``chain_head`` stands here too, where a writer of the storage cannot."""
    return {**of_file(published), "chain_head": head}


def of_snapshot(snapshot: Snapshot) -> Metadata:
    """Return what is said of a cases snapshot; cases that differ today are listed by id."""
    changed = {
        "relabelled": snapshot.relabelled,
        "labels_not_taken_over": snapshot.pending_labels,
        "questions_kept_as_asked": snapshot.reworded,
        "cases_added_since": snapshot.added,
        "cases_removed_since": snapshot.removed,
    }
    return {
        **of_file(snapshot.published),
        "dataset_digest": snapshot.dataset_digest,
        "reused": snapshot.is_reused,
        **{f"n_{name}": len(ids) for name, ids in changed.items()},
        **{name: dg.MetadataValue.json(list(ids[:100])) for name, ids in changed.items() if ids},
    }


def of_capture(captured: Captured) -> Metadata:
    """Return what is said of a captured run."""
    manifest = captured.manifest
    return {
        **of_file(captured.published),
        "reused": captured.is_reused,
        "calls_made": captured.n_calls,
        "run_id": manifest.run_id,
        "target": f"{manifest.target.kind} {manifest.target.reference}",
        "target_version": manifest.target.version or "not stated",
        "n_answered": manifest.n_answered,
        "n_errors": manifest.n_errors,
        "errors": dg.MetadataValue.json(manifest.errors),
        "retries": manifest.retries,
    }


def of_scores(scored: Scored, spec: str) -> Metadata:
    """Return what is said of one grader's scores."""
    counts = {f"n_{outcome}": n for outcome, n in sorted(scored.outcomes.items())}
    if scored.n_missing_verdicts:
        counts["n_missing_verdicts"] = scored.n_missing_verdicts
    return {**of_file(scored.published), **counts, "grader_spec": dg.MetadataValue.json(_loads(spec))}


def of_verdicts(made: JudgedPlace) -> Metadata:
    """Return what is said of the verdicts of a date: counts, error classes, cost."""
    judged = made.judged
    shown: Metadata = {
        **of_file(made.published),
        "n_verdicts_needed": judged.n_wanted,
        "n_verdicts_kept": judged.n_kept,
        "judge_calls_made": judged.n_calls,
        "n_verdicts_failed": judged.n_failed,
        "failures": dg.MetadataValue.json(judged.failures),
    }
    return shown if judged.cost_usd is None else {**shown, "judge_cost_usd": judged.cost_usd}


def of_scorecard(made: Summarized) -> Metadata:
    """Return the rates of a scorecard, each as a number that the UI plots over partitions."""
    card = made.scorecard
    headline = card.headline
    headlines = {
        "citation_accuracy": headline.citation_accuracy,
        "abstention_correctness": headline.abstention_correctness,
        "hallucination_rate": headline.hallucination and headline.hallucination.rate,
    }
    rates: dict[str, float | None] = {name: rate.value for name, rate in headlines.items() if rate}
    rates |= {f"{name}_low": rate.low for name, rate in headlines.items() if rate}
    rates |= {f"{name}_high": rate.high for name, rate in headlines.items() if rate}
    rates |= {"mean_cost_usd": headline.cost.mean_usd, "p95_latency_ms": headline.latency.answer.p95_ms}
    rates |= {f"pass_rate_{name}": figures.pass_rate.value for name, figures in card.graders.items()}
    for name, judge in card.judges.items():
        rates[f"judge_{name}_raw_rate"] = judge.raw.value
        rates[f"judge_{name}_corrected_rate"] = judge.corrected.value if judge.corrected else None
    return {
        **of_file(made.published),
        **{name: rate for name, rate in rates.items() if rate is not None},
        "n_errors": sum(card.errors.values()),
        **{f"judge_{name}_standing": judge.standing.trust.value for name, judge in card.judges.items()},
        **{f"n_failed_{reason}": len(ids) for reason, ids in card.attributions.items()},
    }


def of_decision(decided: Decided) -> Metadata:
    """Return what the gate said, and per baseline which run it is and how every grader's pass rate differs from it."""
    shown = {
        **of_file(decided.comparison_file),
        "decision": decided.decision.answer.value,
        "decision_revision": decided.decision.revision or 0,
    }
    for comparison in decided.comparisons:
        kind = comparison.baseline_kind
        shown[f"{kind}_run_id"] = comparison.baseline.run_id
        shown[f"{kind}_date"] = comparison.baseline.date or ""
        shown[f"{kind}_captured_run"] = comparison.inputs["baseline/captured_run"]
        shown[f"{kind}_n_shared"] = comparison.n_shared
        if comparison.not_comparable:
            shown[f"{kind}_not_comparable"] = "; ".join(comparison.not_comparable)
        for name, figures in comparison.graders.items():
            if figures.difference.value is not None:
                shown[f"{kind}_difference_{name}"] = figures.difference.value
    return shown


def of_report(reported: Reported) -> Metadata:
    """Return where a report is, and its first screen in Markdown: figures, rules and ids."""
    page = reported.page
    return {
        "report": dg.MetadataValue.path(page.path),
        "summary": dg.MetadataValue.md(summary_markdown(reported.head)),
        "revision": page.revision,
        "n_bytes": page.n_bytes,
        "content_digest": page.content_digest,
    }


def of_promotion(promoted: Promoted) -> Metadata:
    """Return what became of a promotion."""
    shown: Metadata = {"decision": promoted.answer.value, "promoted": promoted.promotion is not None}
    if promoted.promotion is not None:
        shown |= {
            "is_new": promoted.is_new,
            "number": promoted.promotion.number,
            "run_id": promoted.promotion.run_id,
            "captured_run": promoted.promotion.captured_run,
        }
    return shown


def promoted_version(promoted: Promoted) -> str:
    """Return the data version of a promotion: the capture that is promoted."""
    return promoted.promotion.captured_run if promoted.promotion else "not promoted"


_SHOWN_IDS = 100
"""Case ids that stand in the metadata of one change; all of them are in ``spancheck rescore --json``."""


def of_changes(changes: GraderChanges) -> Metadata:
    """Return what another spec of a grader did to one night's scores: counts and case ids."""
    return {
        "n_outcomes_changed": changes.n_changed,
        "n_values_changed": changes.n_values_changed,
        "n_missing_verdicts": changes.n_missing_verdicts,
        "version_before": changes.version_before or "none",
        "outcomes_changed": dg.MetadataValue.json([_change(change) for change in changes.changes]),
    }


def of_rescore(done: Rescored) -> Metadata:
    """Return what a rescore did, over all of its nights."""
    return {
        "nights": len(done.nights),
        "score_partitions": done.n_partitions,
        "target_calls": done.target_calls,
        "problems": len(done.problems),
        "outcomes_changed": dg.MetadataValue.json(
            [
                {"suite": total.suite, "grader": total.grader, "nights": total.n_nights, **_change(total)}
                for total in done.totals()
            ]
        ),
        "decisions_changed": dg.MetadataValue.json(
            [
                {"suite": night.suite, "date": night.date, "before": night.decision_before, "after": night.decision}
                for night in done.other_decisions()
            ]
        ),
    }


def _change(change: OutcomeChange) -> Metadata:
    ids = list(change.case_ids[:_SHOWN_IDS])
    return {"before": change.before, "after": change.after, "n": change.n, "case_ids": ids}


def _loads(text: str) -> Any:
    import json

    return json.loads(text)
