"""A calibration as Markdown, for a page of a project's docs or a step summary: its figures as tables, no item's text.

The pictures beside it are ``calibration_plots.py``'s; what each figure means stands in the project's docs.
"""

from __future__ import annotations

from collections.abc import Iterator

from spancheck_pipeline.decision.figures import Rate
from spancheck_pipeline.decision.judged_figures import CalibrationDocument, Coefficient, JudgedFigures
from spancheck_pipeline.decision.standing import Standing
from spancheck_pipeline.report.markdown import code as name_of
from spancheck_pipeline.report.markdown import text


def calibration_markdown(document: CalibrationDocument, standing: Standing | None = None) -> str:
    """Return the figures of a calibration as Markdown, with where the judge stands, if that is known."""
    lines = [f"## {name_of(document.subject.name)} against {name_of(document.gold.name)}", "", *_about(document)]
    if standing is not None:
        lines += ["", f"**{text(standing.trust.replace('_', ' '))}**: {text(standing.reason)}."]
    lines += ["", *_figures(document), "", *_matrix(document)]
    for part in (_graded(document), _strata(document), _again(document)):
        rows = list(part)
        if rows:
            lines += ["", *rows]
    return "\n".join(lines) + "\n"


def _about(document: CalibrationDocument) -> Iterator[str]:
    subject, gold = document.subject, document.gold
    yield "| | |"
    yield "|---|---|"
    facts = {
        "measured": subject.kind if subject.client in {None, "panel"} else f"{subject.kind} ({subject.client})",
        "model": subject.model,
        "served model": ", ".join(sorted({model for models in document.served_models.values() for model in models})),
        "prompt": subject.prompt if subject.kind != "grader" else None,
        "threshold": f"{subject.threshold:g}",
        "asked": f"{subject.runs} times each" if subject.runs > 1 else None,
        "members": ", ".join(member.name for member in subject.members),
        "gold set": f"{gold.n_items} items, domain {gold.domain}, {gold.sampling}, digest {gold.digest[:12]}",
    }
    for what, said in facts.items():
        if said:
            yield f"| {what} | {text(said)} |"
    failures = ", ".join(f"{text(code)} × {n}" for code, n in document.failures.items())
    yield f"| without an answer | {failures or 'none'} |"


def _figures(document: CalibrationDocument) -> Iterator[str]:
    figures = document.figures
    yield "| figure | value | 95 % | items |"
    yield "|---|--:|--:|--:|"
    yield f"| passed by people | {_percent(figures.prevalence)} | – | {figures.n_measured} |"
    for name in ("agreement", "balanced_accuracy", "sensitivity", "specificity"):
        rate: Rate = getattr(figures, name)
        few = " (few groups)" if rate.few_clusters else ""
        yield f"| {name.replace('_', ' ')} | {_percent(rate.value)} | {_interval(rate)}{few} | {rate.n} |"
    yield f"| Cohen's kappa | {_coefficient(figures.kappa)} | {figures.n_measured} |"
    mcc = "–" if figures.mcc is None else f"{figures.mcc:.3f}"
    yield f"| Matthews' correlation | {mcc} | – | {figures.n_measured} |"
    if document.graded is not None:
        yield f"| Brier score | {document.graded.brier:.3f} | – | {document.graded.n} |"
        yield f"| calibration error | {document.graded.calibration_error:.3f} | – | {document.graded.n} |"


def _matrix(document: CalibrationDocument) -> Iterator[str]:
    table = document.figures.table
    yield "| | it passes | it fails |"
    yield "|---|--:|--:|"
    yield f"| people pass | {table.n_true_pass} | {table.n_false_fail} |"
    yield f"| people fail | {table.n_false_pass} | {table.n_true_fail} |"


def _graded(document: CalibrationDocument) -> Iterator[str]:
    if document.graded is None:
        return
    yield "| score | mean score | passed by people | 95 % | items |"
    yield "|---|--:|--:|--:|--:|"
    for part in document.graded.bins:
        rate = part.positive
        stretch = f"{part.low:.1f} – {part.high:.1f}"
        yield f"| {stretch} | {part.mean_score:.2f} | {_percent(rate.value)} | {_interval(rate)} | {part.n} |"
    held_out = document.graded.held_out
    if held_out is not None:
        best, present = held_out.best.balanced_accuracy, held_out.present.balanced_accuracy
        yield ""
        yield (
            f"The best threshold on one half ({held_out.n_chosen_on} items) is {held_out.threshold:.2f}. On the other "
            f"half it has a balanced accuracy of {_percent(best.value)} ({_interval(best)}), and as it answers now "
            f"{_percent(present.value)} ({_interval(present)})."
        )


def _strata(document: CalibrationDocument) -> Iterator[str]:
    if not document.by_stratum:
        return
    yield "| stratum | items | unmeasured | agreement | 95 % | sensitivity | specificity |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, figures in document.by_stratum.items():
        yield f"| {text(name)} | {_stratum(figures)} |"


def _stratum(figures: JudgedFigures) -> str:
    cells = (
        str(figures.n_items),
        str(figures.n_items - figures.n_measured),
        _percent(figures.agreement.value),
        _interval(figures.agreement),
        _percent(figures.sensitivity.value),
        _percent(figures.specificity.value),
    )
    return " | ".join(cells)


def _again(document: CalibrationDocument) -> Iterator[str]:
    if document.consistency is not None:
        stable = document.consistency.stable
        yield (
            f"Asked again, it says the same on {_percent(stable.value)} ({_interval(stable)}) of "
            f"{document.consistency.n_items} items."
        )
    if document.people is not None:
        people = document.people
        yield (
            f"Two people agree with a chance of {_percent(people.agreement)} on an item ({people.n_items} items with "
            f"several labels); one of them against the others has a balanced accuracy of "
            f"{_percent(people.balanced_accuracy)}. No judge can be asked for more."
        )


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _interval(rate: Rate) -> str:
    return "–" if rate.low is None or rate.high is None else f"{rate.low:.1%} – {rate.high:.1%}"


def _coefficient(found: Coefficient | None) -> str:
    return "– | –" if found is None else f"{found.value:.3f} | {found.low:.3f} – {found.high:.3f}"
