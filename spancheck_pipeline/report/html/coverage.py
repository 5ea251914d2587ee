"""What a report rests on too little of: errors, what was not measured, priced, timed or compared, in sentences.

The page's figures live in ``overview.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from spancheck_pipeline.decision.audit import AuditHead
from spancheck_pipeline.decision.figures import Cost, GraderFigures, ScorecardDocument
from spancheck_pipeline.decision.rule import Answer
from spancheck_pipeline.report.html import wording
from spancheck_pipeline.report.html.beside import Beside
from spancheck_pipeline.report.visible import visible

Sentence = dict[str, str | None]
"""``text``, and ``link``: the filters that show the cases that it is about, None where there are none."""


def link(**filters: str) -> str:
    """Return the part of the address that shows the table of cases with some filters."""
    return urlencode({"view": "cases", **filters})


def coverage(card: ScorecardDocument, head: AuditHead, baselines: Sequence[Beside]) -> Iterator[Sentence]:
    """Yield what is missing or rests on little, each a sentence with a link to the cases where there is one."""
    if card.errors:
        errors = ", ".join(f"{visible(name)} × {n}" for name, n in card.errors.items())
        n = wording.count(sum(card.errors.values()), "call")
        yield {"text": f"{n} failed for good: {errors}.", "link": "view=cases&flag=error"}
    for name, figures in card.graders.items():
        yield from _unmeasured(name, figures)
    cost, latency = card.headline.cost, card.headline.latency
    if cost.n_unpriced:
        models = ", ".join(map(wording.model, cost.unpriced_models))
        yield _said(f"{wording.count(cost.n_unpriced, 'answer')} without a known cost; model: {models}.")
    if latency.n_unknown:
        yield _said(f"{wording.count(latency.n_unknown, 'row')} without a known time.")
    yield from _uncompared(head, baselines)


def _unmeasured(name: str, figures: GraderFigures) -> Iterator[Sentence]:
    counts = figures.counts
    if counts.n_unmeasured:
        applicable = wording.count(counts.n_applicable, "applicable case")
        text = f"{visible(name)}: {counts.n_unmeasured} of {applicable} could not be measured."
        yield {"text": text, "link": link(grader=name, outcome="u")}
    elif not counts.n_measured:
        text = f"{visible(name)}: there was nothing to measure in any case."
        yield {"text": text, "link": link(grader=name, outcome="n")}


def unpriced(cost: Cost) -> str | None:
    """Return what the card of costs says of answers without a price; None where there are none."""
    if not cost.n_unpriced:
        return None
    known = f"the others cost {wording.usd(cost.priced_total_usd)}" if cost.n_priced else "no cost is known"
    return f"{wording.count(cost.n_unpriced, 'answer')} without a known price; {known}"


def _uncompared(head: AuditHead, baselines: Sequence[Beside]) -> Iterator[Sentence]:
    for baseline in baselines:
        for reason in baseline.comparison.not_comparable:
            yield _said(f"Not compared with {baseline.label}: {visible(reason)}.")
    if not baselines:
        yield _said("There was no baseline to compare with: thresholds alone decided.")
    for rule in head.decision.rules if head.decision else ():
        # Without a p-value nothing was tested: there was no baseline, or the rule was not applied.
        if rule.answer is Answer.INCONCLUSIVE and rule.p_value is not None:
            yield _said(f"{rule.rule} could not have seen the drop that the suite asks for.")


def _said(text: str) -> Sentence:
    return {"text": text, "link": None}
