"""``spancheck gate``: whether a date or an audit log is good enough, by the suite's rules or by thresholds given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import (
    as_decided_option,
    compared,
    date_option,
    file_option,
    is_file_name,
    json_option,
    load_run,
    note_other_suite,
    open_project,
    place_of,
    regrade_option,
    regraded,
    strict_option,
    suite_now,
    thresholds_of,
)
from spancheck_pipeline.report.visible import visible

if TYPE_CHECKING:
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.api.run import Run
    from spancheck_pipeline.decision.comparison import ComparisonDocument
    from spancheck_pipeline.decision.gate import GateDecision
    from spancheck_pipeline.storage.store import Store

    Said = tuple[GateDecision, tuple[ComparisonDocument, ...]]


@click.command()
@click.argument("what", metavar="SUITE|run:ID|AUDIT_LOG")
@click.argument("thresholds", nargs=-1, metavar="[GRADER=RATE]...")
@date_option
@as_decided_option
@click.option("--baseline", metavar="SUITE@DATE|run:ID|AUDIT_LOG", help="Also ask whether it is worse than this run.")
@click.option(
    "--max-regression",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Drop of a pass rate against the baseline that is tolerated.",
)
@strict_option
@regrade_option
@json_option
@file_option("junit", "the rules as JUnit XML")
@file_option("markdown", "rules and comparisons as Markdown (a step summary, a comment)")
def gate(
    what: str,
    thresholds: tuple[str, ...],
    *,
    date: str | None,
    as_decided: int | None,
    baseline: str | None,
    max_regression: float,
    strict: bool,
    regrade: bool,
    as_json: bool,
    junit_file: Path | None,
    markdown_file: Path | None,
) -> int:
    """Say whether SUITE on a date, an ad-hoc run (run:ID), or an AUDIT_LOG file, is good enough.

    A suite's stored decision is shown. With thresholds, a baseline or --regrade it is decided anew and not stored, by
    the thresholds given, or else by the rules that it was decided by before. Exit code 0: passed, or inconclusive
    without --strict; 1: failed or not measured; 3: the baseline is not comparable.
    """
    from spancheck_pipeline.cli import show, show_difference, terminal
    from spancheck_pipeline.errors import UsageError

    if max_regression and not baseline:
        raise UsageError("--max-regression asks for a comparison; give the --baseline too")
    environment, store = open_project()
    if thresholds or baseline or regrade or is_file_name(what):
        decision, comparisons = _anew(
            environment,
            store,
            what,
            thresholds,
            date=date,
            as_decided=as_decided,
            baseline=baseline,
            max_regression=max_regression,
            regrade=regrade,
            as_json=as_json,
        )
    else:
        decision, comparisons = _stored(environment, store, what, date, as_decided)
    decision = decision.model_copy(update={"is_strict": strict})
    _write(decision, comparisons, junit_file, markdown_file)
    if as_json:
        terminal.print_json(decision.model_dump(mode="json"))
    else:
        show_difference.print_comparisons(comparisons)
        show.print_decision(decision)
    show.warn_inconclusive(decision)
    return show.exit_code(decision)


def _stored(environment: Environment, store: Store, what: str, date: str | None, as_decided: int | None) -> Said:
    from spancheck_pipeline.api.audit_logs import open_audit_log, read_head
    from spancheck_pipeline.errors import MissingDataError

    head = read_head(open_audit_log(store, place_of(environment, what, date), as_decided=as_decided))
    if head.decision is None:
        raise MissingDataError(f"{what}: no decision is recorded")
    if as_decided is None:
        _note_other_gate(environment, what, head.decision)
    return head.decision, head.comparisons


def _anew(
    environment: Environment,
    store: Store,
    what: str,
    thresholds: tuple[str, ...],
    *,
    date: str | None,
    as_decided: int | None,
    baseline: str | None,
    max_regression: float,
    regrade: bool,
    as_json: bool,
) -> Said:
    from spancheck_pipeline.api.comparing import settings_of

    run = load_run(environment, store, what, date, as_decided)
    other = load_run(environment, store, baseline, None) if baseline else None
    if other:
        note_other_suite(run, other)
    if regrade:
        run, *others = regraded(environment, what, run, *([other] if other else []))
        other = others[0] if others else None
    _check_graded(environment, what, run, thresholds_of(thresholds))
    settings = settings_of(thresholds_of(thresholds), max_regression if other else None)
    comparisons: tuple[ComparisonDocument, ...] = ()
    if other:
        comparisons = (compared(environment, what, other, run, as_json=as_json),)
    before = None if thresholds else _recorded(environment, store, what, date, as_decided)
    if before is not None:
        decision, seen = before
        regression = settings.regression
        if not (other or regrade):
            regression, comparisons = decision.settings.regression, seen
        elif regression is not None and not max_regression:
            regression = decision.settings.regression or regression
        settings = decision.settings.model_copy(update={"regression": regression})
    return run.decide(settings, comparisons=comparisons), comparisons


def _check_graded(environment: Environment, what: str, run: Run, thresholds: dict[str, float]) -> None:
    """Refuse a threshold on a grader that the suite has now and that did not grade the run, with what helps."""
    from spancheck_pipeline.errors import UsageError

    missing = thresholds.keys() - {*run.spec_digests(), "completion"}
    loaded = suite_now(environment, what, run.suite) if missing else None
    added = sorted(missing & {grader.name for grader in loaded.graders}) if loaded else []
    if added:
        raise UsageError(
            f"{', '.join(added)}: the suite has it now, and the run was not graded with it; "
            "ask with --regrade, which grades the run with today's graders first"
        )


def _note_other_gate(environment: Environment, what: str, decision: GateDecision) -> None:
    """Say on stderr where the suite's gate is another one now than the run was decided by."""
    loaded = suite_now(environment, what, decision.suite, decision.config)
    if loaded is None:
        return
    then, now = (settings.model_dump() for settings in (decision.settings, loaded.suite.gate))
    rates = [set(settings.pop("min_pass_rate").items()) for settings in (then, now)]
    other = [f"min_pass_rate.{name}" for name in sorted({name for name, _ in rates[0] ^ rates[1]})]
    other += [name for name in then if then[name] != now[name]]
    if other:
        click.echo(
            f"note: these are the rules that the run was decided by; the suite's gate is another one now "
            f"({visible(', '.join(other))}). spancheck score --regrade decides a date by it",
            err=True,
        )


def _recorded(
    environment: Environment, store: Store, what: str, date: str | None, as_decided: int | None
) -> Said | None:
    """Return the decision and the comparisons that stand in the record of a date or in an audit log; None without."""
    from pydantic import ValidationError

    from spancheck_pipeline.api.run_document import read_document
    from spancheck_pipeline.decision.comparison import ComparisonDocument
    from spancheck_pipeline.decision.gate import GateDecision

    if not is_file_name(what):
        return _stored(environment, store, what, date, as_decided)
    document = read_document(Path(what))
    if not document.get("decision"):
        return None
    try:
        comparisons = tuple(ComparisonDocument.model_validate(item) for item in document.get("comparisons", ()))
        return GateDecision.model_validate(document["decision"]), comparisons
    except ValidationError:
        return None


def _write(
    decision: GateDecision,
    comparisons: tuple[ComparisonDocument, ...],
    junit_file: Path | None,
    markdown_file: Path | None,
) -> None:
    from spancheck_pipeline.report.junit import junit_of
    from spancheck_pipeline.report.markdown import decision_markdown
    from spancheck_pipeline.storage.documents import write_text

    if junit_file:
        write_text(junit_file, junit_of(decision))
    if markdown_file:
        write_text(markdown_file, decision_markdown(decision, comparisons))
