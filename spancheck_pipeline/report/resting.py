"""What people signed that a decision rests on: said where the decision is, since without it the answer may be another.

What dispositions come to lives in ``decision/adjudication.py``; that they decide at all is the suite's to say
(``gate: adjudicated``).
"""

from __future__ import annotations

from spancheck_pipeline.decision.audit import AuditHead
from spancheck_pipeline.decision.figures import AdjudicatedFigures, Rate


def rests_on(head: AuditHead) -> str:
    """Return which rates a decision took as people signed them, with both rates; empty where it took none so."""
    card, decision = head.summary, head.decision
    if decision is None or card.adjudicated is None or not decision.settings.adjudicated:
        return ""
    asked = {rule.subject for rule in decision.rules if rule.kind in {"threshold", "cap"}}
    parts = [
        f"{name} {_percent(people.pass_rate)} with {signed_counts(people)}, {_percent(raw.pass_rate)} as graded"
        for name, people in card.adjudicated.graders.items()
        if name in asked and (raw := card.graders[name]).counts != people.counts
    ]
    return f"It rests on what people signed about findings: {'; '.join(parts)}." if parts else ""


def signed_counts(people: AdjudicatedFigures) -> str:
    """Return how many findings people said what about."""
    kinds = {"passes": people.n_passes, "fails": people.n_fails, "waived": people.n_waived}
    kinds |= {"confirmed": people.n_confirmed, "expired": people.n_expired, "stale": people.n_stale}
    return ", ".join(f"{n} {what}" for what, n in kinds.items() if n)


def _percent(rate: Rate) -> str:
    return "nothing measured" if rate.value is None else f"{rate.value:.1%}"
