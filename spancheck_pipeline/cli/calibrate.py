"""``spancheck calibrate``: a judge or a deterministic grader measured against people's labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spancheck_pipeline.cli.options import file_option, json_option, open_project

if TYPE_CHECKING:
    from spancheck_pipeline.api.calibrating import CalibratedSubject
    from spancheck_pipeline.decision.figures import Rate
    from spancheck_pipeline.decision.judged_figures import CalibrationDocument, People
    from spancheck_pipeline.decision.standing import Standing
    from spancheck_pipeline.evidence.gold import Sampling

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("judge")
@click.option("--gold", type=_FILE, required=True, metavar="FILE", help="Labelled claims, .jsonl.")
@click.option("--policy", type=_FILE, metavar="FILE", help="The text that people labelled by; it enters the digest.")
@click.option("--domain", metavar="NAME", help="What the items are about; a suite's name makes them that suite's own.")
@click.option(
    "--sampling",
    type=click.Choice(["stress", "slice"]),
    help="slice: a random slice of the suite's own judged answers. Default: as the file says, else stress.",
)
@click.option("--replace", is_flag=True, help="Take the place of a calibration on another gold set of the domain.")
@json_option
@file_option("markdown", "the figures as Markdown")
@file_option("svg", "the reliability diagram as an SVG picture")
@file_option("matrix", "the confusion matrix as an SVG picture")
def calibrate(  # noqa: PLR0917 - one parameter an option
    judge: str,
    gold: Path,
    policy: Path | None,
    domain: str | None,
    sampling: Sampling | None,
    replace: bool,
    as_json: bool,
    markdown_file: Path | None,
    svg_file: Path | None,
    matrix_file: Path | None,
) -> int:
    """Measure JUDGE against people's labels, and keep what came of it.

    JUDGE is a judge or panel of judges.yaml, or a deterministic grader: citation_accuracy, groundedness. Only verdicts
    that nobody has asked for are asked for. Exit code 1: not a single item got an answer.
    """
    import getpass

    from spancheck_pipeline.api.calibrating import calibrate_subject
    from spancheck_pipeline.capture.containment import contained
    from spancheck_pipeline.cli.progress import progress_bar
    from spancheck_pipeline.cli.terminal import print_json, say
    from spancheck_pipeline.decision.standing import CalibrationPolicy
    from spancheck_pipeline.decision.trust import standing
    from spancheck_pipeline.report.calibration_markdown import calibration_markdown
    from spancheck_pipeline.report.calibration_plots import confusion_svg, reliability_svg
    from spancheck_pipeline.storage.documents import write_text
    from spancheck_pipeline.storage.gold_files import read_gold
    from spancheck_pipeline.storage.judges_file import load_judges

    environment, store = open_project()
    items = read_gold(gold, domain=domain, sampling=sampling, policy=_text(policy) if policy else None)
    declared = load_judges(environment.datasets)
    with progress_bar(f"calibrating {judge[:80]}") as report:
        made = calibrate_subject(
            store,
            declared,
            judge,
            items,
            by=getpass.getuser(),
            contain=contained,
            on_progress=report,
            replace=replace,
        )
    document = made.document
    stands = None
    if document.subject.kind != "grader":
        stands = standing(document.subject, document.served_models, [document], CalibrationPolicy(domain=items.domain))
    for warning in made.judged.warnings if made.judged else ():
        say(f"warning: {warning}")
    for path, written in (
        (markdown_file, calibration_markdown(document, stands)),
        (svg_file, reliability_svg(document)),
        (matrix_file, confusion_svg(document)),
    ):
        if path:
            write_text(path, written)
    if as_json:
        asked = {"n_calls": made.judged.n_calls, "n_kept": made.judged.n_kept} if made.judged else None
        print_json(
            {
                "calibration": document.model_dump(mode="json"),
                "standing": stands.model_dump(mode="json") if stands else None,
                "asked": asked,
                "path": made.published.path,
            }
        )
    else:
        _print(made, stands)
    return 0 if document.figures.n_measured else 1


def _text(path: Path) -> str:
    from spancheck_pipeline.errors import ConfigError, Problem

    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = f"the labelling policy cannot be read as UTF-8 text ({type(error).__name__})"
        raise ConfigError(str(path), [Problem(what=what)]) from None


def _print(made: CalibratedSubject, stands: Standing | None) -> None:
    from rich.markup import escape

    from spancheck_pipeline.cli.terminal import console
    from spancheck_pipeline.report.visible import visible

    document, out = made.document, console()
    subject, gold = document.subject, document.gold
    out.print(f"[bold]{escape(visible(subject.name))}[/bold] · {_described(document)}")
    out.print(f"  {escape(visible(gold.name))} · {gold.n_items} items · domain {gold.domain} · {gold.sampling}")
    if made.judged:
        out.print(f"  {made.judged.n_calls} calls made, {made.judged.n_kept} verdicts were there already")
    if document.failures:
        failed = ", ".join(f"{code} × {n}" for code, n in document.failures.items())
        out.print(f"  [bold]without an answer[/bold] {escape(visible(failed))}")
    out.print()
    _print_figures(document)
    _print_strata(document)
    if document.consistency is not None:
        out.print(f"\n  asked again, the same     {_shown(document.consistency.stable)}")
    if document.people is not None:
        _print_people(document.people)
    if stands is not None:
        out.print(
            f"\n[bold]{stands.trust.replace('_', ' ')}[/bold] by the default policy: {escape(visible(stands.reason))}"
        )
    out.print(f"\nkept: {escape(visible(made.published.path))} (revision {made.published.revision})")


def _print_people(people: People) -> None:
    from spancheck_pipeline.cli.terminal import console

    out = console()
    out.print(f"\n  {'two people agree':<24} {people.agreement:.1%} over {people.n_items} items")
    if people.balanced_accuracy is not None:
        kappa = "" if people.kappa is None else f", kappa {people.kappa:.3f}"
        out.print(f"  {'one against the others':<24} {people.balanced_accuracy:.1%} balanced accuracy{kappa} (ceiling)")


def _described(document: CalibrationDocument) -> str:
    from rich.markup import escape

    from spancheck_pipeline.report.visible import visible

    subject = document.subject
    if subject.kind == "grader":
        return f"deterministic grader, threshold {subject.threshold:g}"
    models = sorted({model for found in document.served_models.values() for model in found})
    parts = (subject.client, ", ".join(models), subject.prompt, f"threshold {subject.threshold:g}")
    return escape(visible(", ".join(dict.fromkeys(part for part in parts if part))))


def _print_figures(document: CalibrationDocument) -> None:
    from spancheck_pipeline.cli.terminal import console

    out, figures = console(), document.figures
    if figures.prevalence is not None:
        out.print(f"  {'passed by people':<24} {figures.prevalence:.1%}")
    for name in ("agreement", "balanced_accuracy", "sensitivity", "specificity"):
        out.print(f"  {name.replace('_', ' '):<24} {_shown(getattr(figures, name))}")
    if figures.kappa is not None:
        kappa = figures.kappa
        out.print(
            f"  {'Cohen' + chr(39) + 's kappa':<24} {kappa.value:.3f}  [{kappa.low:.3f}, {kappa.high:.3f}]",
            markup=False,
        )
    if figures.mcc is not None:
        out.print(f"  {'Matthews' + chr(39) + ' correlation':<24} {figures.mcc:.3f}")
    if document.graded is not None:
        out.print(f"  {'Brier score':<24} {document.graded.brier:.3f}")
        if (held_out := document.graded.held_out) is not None:
            out.print(f"  {'best threshold':<24} {held_out.threshold:.2f}, chosen on one half; on the other half")
            out.print(f"  {'  balanced accuracy':<24} {_shown(held_out.best.balanced_accuracy)}")
            out.print(f"  {'  as it answers now':<24} {_shown(held_out.present.balanced_accuracy)}")
    table = figures.table
    passes, fails = (table.n_true_pass, table.n_false_fail), (table.n_false_pass, table.n_true_fail)
    out.print(f"  {'of what people pass':<24} it passes {passes[0]} and fails {passes[1]}")
    out.print(f"  {'of what people fail':<24} it passes {fails[0]} and fails {fails[1]}")


def _print_strata(document: CalibrationDocument) -> None:
    from rich.markup import escape
    from rich.table import Table

    from spancheck_pipeline.cli.terminal import console
    from spancheck_pipeline.report.visible import visible

    if not document.by_stratum:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("  stratum")
    for column in ("items", "agreement", "95 %", "sensitivity", "specificity"):
        table.add_column(column, justify="right")
    for name, figures in document.by_stratum.items():
        rate = figures.agreement
        bounds = "–" if rate.low is None or rate.high is None else f"{rate.low:.1%} – {rate.high:.1%}"
        shares = (figures.agreement.value, figures.sensitivity.value, figures.specificity.value)
        agreement, *sides = ("–" if value is None else f"{value:.1%}" for value in shares)
        table.add_row(f"  {escape(visible(name))}", str(figures.n_items), agreement, bounds, *sides)
    console().print()
    console().print(table)


def _shown(rate: Rate) -> str:
    if rate.value is None or rate.low is None or rate.high is None:
        return "not measured"
    few = ", few groups" if rate.few_clusters else ""
    return f"{rate.value:.1%}  \\[{rate.low:.1%}, {rate.high:.1%}] of {rate.n}{few}"
