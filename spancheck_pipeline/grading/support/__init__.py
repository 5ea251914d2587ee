"""Support: does the evidence carry the claim? Deterministic, in any script, and with the token that decides.

What a text says in words, numbers, dates, names and polarity is read in the modules beside this one; provenance (is the
quote really there) lives in ``grading/provenance.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spancheck_pipeline.grading.support.reading import ask, read

DEFAULT_THRESHOLD = 0.6
"""Smallest value that counts as supported."""


@dataclass(frozen=True, slots=True)
class Support:
    """Whether evidence carries a claim."""

    supported: bool | None
    """None where the claim has no content, so that nothing could be checked."""
    value: float | None
    """In [0, 1]; None where nothing could be checked."""
    reasons: tuple[str, ...] = ()
    """What decides, each naming its token. They quote, so they stay in record files."""
    best: int | None = None
    """Index of the passage that carries most of the claim; None where nothing could be checked."""


def check_support(claim: str, evidence: str | Sequence[str], *, threshold: float = DEFAULT_THRESHOLD) -> Support:
    """Return whether the evidence, one passage or several, carries the claim.

    Each passage is read once and kept, so that many claims against the same passages are cheap.
    """
    passages = (evidence,) if isinstance(evidence, str) else tuple(evidence)
    asked = ask(claim)
    if asked.is_empty:
        return Support(None, None, ("the claim has no content words",))
    shares = [len(asked.stems & read(passage).places.keys()) / max(1, len(asked.stems)) for passage in passages]
    if not shares:
        return Support(None, None, ("there is no evidence text",))
    best = max(range(len(shares)), key=lambda index: (shares[index], -index))
    return Support(shares[best] >= threshold, shares[best], (), best)


def says_something(text: str) -> bool:
    """Say whether a text has content that support could be checked for."""
    return not ask(text).is_empty
