"""The stub: what the deterministic checks say of a packet, in the form of a judge's reply. It is not a judge.

It lets everything around a judge run offline. It knows no more than the word checks do, so it never gates.
"""

from __future__ import annotations

from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.grading.grounding import ground
from spancheck_pipeline.grading.judge import DEFAULT_THRESHOLD
from spancheck_pipeline.grading.judge_reply import Parsed
from spancheck_pipeline.grading.support import check_support

STUB_MODEL = "stub"
"""What a stub's verdicts call their model."""

_PARTLY = 0.5
"""Smallest share of a claim that is told where it is called partially supported."""


def stub_opinion(packet: Packet) -> Parsed:
    """Return the word check's own opinion of a packet; a claim without content is not supported.

    >>> stub_opinion(Packet("entailment", "Notice is 30 days.", ("Notice is 45 days.",))).label
    'contradicted'
    """
    if packet.kind == "faithful":
        support = check_support(packet.claim, packet.answer or "")
        return _parsed("holds" if support.supported else "does_not_hold", support.value, support.reasons)
    if packet.kind == "groundedness":
        grounding = ground(packet.claim, packet.evidence)
        if grounding is None:
            return _parsed("not_supported", 0.0, ("the sentence has no content that could be checked",))
        told = grounding.value > _PARTLY and not grounding.is_objected
        return _parsed(_label(told, grounding.is_contradicted, grounding.value), grounding.value, grounding.reasons)
    support = check_support(packet.claim, packet.evidence)
    label = _label(bool(support.supported), support.is_contradicted, support.value or 0.0)
    return _parsed(label, support.value, support.reasons)


def _label(is_supported: bool, is_contradicted: bool, value: float) -> str:
    if is_supported:
        return "supported"
    if is_contradicted:
        return "contradicted"
    return "partially_supported" if value >= _PARTLY else "not_supported"


_BOUNDS = {
    "supported": (DEFAULT_THRESHOLD, 1.0),
    "holds": (DEFAULT_THRESHOLD, 1.0),
    "partially_supported": (0.0, 0.49),
    "not_supported": (0.0, 0.49),
    "contradicted": (0.0, 0.49),
    "does_not_hold": (0.0, 0.49),
}
"""Label → where its score may lie, so that the usual threshold decides as the word check does."""


def _parsed(label: str, value: float | None, reasons: tuple[str, ...]) -> Parsed:
    low, high = _BOUNDS[label]
    reason = "; ".join(reasons) or "all of its words stand there together"
    return Parsed(label, min(max(value or 0.0, low), high), f"[stub, not a judge] {reason}.")
