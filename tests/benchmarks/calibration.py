"""The deterministic support and groundedness graders, measured as judges are, on human labels.

    python tests/benchmarks/calibration.py DATA

DATA holds support_gold*.jsonl and hallucination_gold*.jsonl, which are not part of this project; the project's own gold
set is measured beside them. A partly supported claim counts as not supported. The tables are those of
docs/calibration.md; intervals are over groups.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from spancheck_pipeline.api.calibrating import GRADERS, answers_of_grader
from spancheck_pipeline.decision.calibration import calibrate
from spancheck_pipeline.decision.figures import Rate
from spancheck_pipeline.decision.judged_figures import CalibrationDocument, JudgedFigures, Subject
from spancheck_pipeline.evidence.gold import GoldItem, GoldSet
from spancheck_pipeline.grading.grader import spec_of
from spancheck_pipeline.storage.gold_files import read_gold

SHIPPED = Path(__file__).parents[2] / "datasets" / "gold" / "support.jsonl"


def rows(paths: Iterable[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(paths) for line in path.read_text("utf-8").splitlines()]


def support_gold(data: Path) -> GoldSet:
    items = [
        GoldItem(
            id=row["id"],
            claim=row["claim"],
            evidence=tuple(row["evidence"]),
            label=row["label"] == "supported",
            stratum=row["source"],
            group=row["group"],
        )
        for row in rows(data.glob("support_gold*.jsonl"))
        if row["claim"].strip()
    ]
    return GoldSet(name="support_gold", domain="human_labels", items=tuple(items))


def hallucination_gold(data: Path) -> GoldSet:
    items = [
        GoldItem(
            id=row["id"],
            claim=row["answer"],
            evidence=(row["source_text"],),
            label=row["label"] == "faithful",
            stratum=row["source"],
            group=row["group"],
            labellers=tuple(rating >= 3 for rating in row["ratings"] or ()),
        )
        for row in rows(data.glob("hallucination_gold*.jsonl"))
    ]
    return GoldSet(name="hallucination_gold", domain="human_labels", items=tuple(items))


def measured(name: str, gold: GoldSet) -> CalibrationDocument:
    grader: Any = GRADERS[name]
    threshold = grader.support_threshold if name == "citation_accuracy" else grader.threshold
    subject = Subject(name=name, kind="grader", identity=spec_of(grader).digest, threshold=threshold)
    return calibrate(gold, answers_of_grader(name, gold), subject)


def shown(rate: Rate) -> str:
    return "–" if rate.value is None else f"{rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}]"


def line(name: str, figures: JudgedFigures) -> str:
    kappa = "–" if figures.kappa is None else f"{figures.kappa.value:.2f}"
    unmeasured = figures.n_items - figures.n_measured
    share = "–" if figures.prevalence is None else f"{figures.prevalence:.2f}"
    cells = [name, figures.n_items, unmeasured, share]
    cells += [shown(rate) for rate in (figures.balanced_accuracy, figures.sensitivity, figures.specificity)]
    return "| " + " | ".join(map(str, [*cells, kappa])) + " |"


def table(documents: Sequence[tuple[str, CalibrationDocument]], *, strata: bool) -> None:
    print("| | items | unmeasured | passed | balanced accuracy | sensitivity | specificity | kappa |")
    print("|---|--:|--:|--:|---|---|---|--:|")
    for name, document in documents:
        print(line(f"**{name}**", document.figures))
        for stratum, figures in document.by_stratum.items() if strata else ():
            print(line(stratum, figures))
    print()


def more(name: str, document: CalibrationDocument) -> None:
    graded = document.graded
    if graded is None:
        return
    print(f"{name}: Brier {graded.brier:.3f}, calibration error {graded.calibration_error:.3f}, {document.failures}")
    if graded.held_out is not None:
        best, present = (shown(f.balanced_accuracy) for f in (graded.held_out.best, graded.held_out.present))
        print(
            f"  best threshold {graded.held_out.threshold:.2f}: {best} on the other half, as it answers now {present}"
        )
    for part in graded.bins:
        print(f"  {part.low:.1f}: mean score {part.mean_score:.2f}, passed {shown(part.positive)} of {part.n}")
    if document.people is not None:
        people = document.people
        print(f"  people: {people.n_items} items, agreement {people.agreement:.3f}, BA {people.balanced_accuracy}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    support, answers, own = support_gold(data), hallucination_gold(data), read_gold(SHIPPED)
    found = [
        ("citation_accuracy, support_gold", measured("citation_accuracy", support)),
        ("groundedness, hallucination_gold", measured("groundedness", answers)),
        ("groundedness, support_gold", measured("groundedness", support)),
        ("citation_accuracy, shipped gold", measured("citation_accuracy", own)),
        ("groundedness, shipped gold", measured("groundedness", own)),
    ]
    table(found, strata=False)
    for name, document in found:
        print(f"### {name}\n")
        table([(name, document)], strata=True)
        more(name, document)
        print()


if __name__ == "__main__":
    main()
