"""Whether a judge is trusted: by the calibration of exactly this judge, held against the suite's policy.

What is asked for and what is said are models in ``standing.py``; the gate ignores a grader that rests on a judge which
may not gate (``gate.py``). A grader never asks here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from spancheck_pipeline.decision.facts import safe_name
from spancheck_pipeline.decision.judged_figures import CalibrationDocument, ErrorRate, Subject
from spancheck_pipeline.decision.standing import CalibrationPolicy, Standing, Trust
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.grading.judge import Judge

NOT_REPORTED: Final = "(not reported)"
"""Stands for the model of an answer that names none."""


def model_name(name: str | None) -> str:
    """Return a served model's name where it looks like one, else words for it that tell two such names apart.

    It comes from the provider, and a summary holds no text.

    >>> model_name("claude-sonnet-5"), model_name(None)
    ('claude-sonnet-5', '(not reported)')
    """
    if not name:
        return NOT_REPORTED
    return name if _WORDED.fullmatch(name) else safe_name(name, other=f"(unreadable name {digest(name)[:8]})")


_WORDED = re.compile(r"\(not reported\)|\(unreadable name [0-9a-f]{8}\)")


def subject_of(judge: Judge) -> Subject:
    """Return what must be equal for a calibration to be one of exactly this judge."""
    return Subject(
        name=judge.name,
        kind="panel" if judge.members else "judge",
        identity=judge.identity,
        client=judge.client,
        model=judge.model,
        prompt=judge.prompt,
        prompt_digest=judge.prompt_digest or None,
        threshold=judge.threshold,
        runs=judge.runs,
        members=tuple(map(subject_of, judge.members)),
    )


def calibration_of(
    subject: Subject,
    served_models: Mapping[str, Collection[str]],
    calibrations: Sequence[CalibrationDocument],
    domain: str,
) -> tuple[CalibrationDocument | None, str]:
    """Return the calibration of exactly this judge, of the domain if there is one, and else why there is none."""
    own = [doc for doc in calibrations if doc.subject.name == subject.name and doc.subject.kind != "grader"]
    if not own:
        return None, "it has no calibration"
    exact = [doc for doc in own if doc.subject == subject]
    if not exact:
        differing = " and ".join(dict.fromkeys(what for doc in own for what in _differences(doc.subject, subject)))
        return None, f"it is calibrated with another {differing}"
    served = [doc for doc in exact if not _foreign_models(doc, served_models)]
    if not served:
        foreign = sorted({model for doc in exact for model in _foreign_models(doc, served_models)})
        return None, f"{', '.join(foreign)} answered here, and not when it was calibrated"
    # The domain's own first; of several others the one with the most items, then by name, so that no order matters.
    return min(served, key=lambda doc: (doc.gold.domain != domain, -doc.figures.n_measured, doc.gold.domain)), ""


def standing(
    judge: Judge | Subject,
    served_models: Mapping[str, Collection[str]],
    calibrations: Sequence[CalibrationDocument],
    policy: CalibrationPolicy,
    *,
    domain: str = "",
) -> Standing:
    """Return where a judge stands.

    ``served_models`` are the models that answered, by the name of the judge that was asked (of a panel, its members);
    ``domain`` is the suite's own, where the policy names none.
    """
    subject = judge if isinstance(judge, Subject) else subject_of(judge)
    domain = policy.domain or domain
    found, why_not = calibration_of(subject, served_models, calibrations, domain)
    known = {"calibration": found.digest, "domain": found.gold.domain} if found else {}
    if subject.is_stub:
        reason = "the stub is no judge: it checks words, offline"
        return Standing(trust=Trust.NOT_A_JUDGE, gates=False, reason=reason, **known)
    if found is None:
        reason = f"{why_not}; run `spancheck calibrate {subject.name} --gold FILE`"
        return Standing(trust=Trust.UNCALIBRATED, gates=False, reason=reason)
    is_borrowed = found.gold.domain != domain
    if is_borrowed and not policy.allow_borrowed:
        reason = (
            f"its calibration is of the domain {found.gold.domain}, and the answers are of {domain}; calibrate it on a "
            "gold set of these, or set gate.judges.allow_borrowed"
        )
        return Standing(trust=Trust.BORROWED, gates=False, reason=reason, **known)
    if shortcomings := list(_shortcomings(found, policy)):
        return Standing(trust=Trust.UNTRUSTED, gates=False, reason="; ".join(shortcomings), **known)
    trust = Trust.BORROWED if is_borrowed else Trust.TRUSTED
    return Standing(trust=trust, gates=True, reason=_shown(found), **known)


def _differences(theirs: Subject, ours: Subject) -> Iterator[str]:
    """Yield in words what two judges of one name differ in."""
    words = {
        "client": "client",
        "model": "model",
        "prompt": "prompt",
        "threshold": "threshold",
        "runs": "number of runs",
    }
    found = [word for name, word in words.items() if getattr(theirs, name) != getattr(ours, name)]
    if theirs.prompt == ours.prompt and theirs.prompt_digest != ours.prompt_digest:
        found.append("text of its prompt")
    if theirs.members != ours.members:
        found.append("panel")
    yield from found or ["temperature, address, program, function or version of it"]


def _foreign_models(doc: CalibrationDocument, served_models: Mapping[str, Collection[str]]) -> set[str]:
    """Return the models that a calibration does not speak for; one over several models speaks for none of them."""
    foreign: set[str] = set()
    for name, models in served_models.items():
        measured = doc.served_models.get(name, ())
        foreign |= set(models) - (set(measured) if len(measured) == 1 else set())
    return foreign


def _shortcomings(doc: CalibrationDocument, policy: CalibrationPolicy) -> Iterator[str]:
    figures = doc.figures
    if figures.n_measured < policy.min_gold:
        yield f"{figures.n_measured} gold items are measured, and {policy.min_gold} are asked for"
    if figures.specificity.n < policy.min_negatives:
        yield f"{figures.specificity.n} of them are failures, and {policy.min_negatives} are asked for"
    yield from _below("sensitivity", figures.sensitivity, policy.min_sensitivity)
    yield from _below("specificity", figures.specificity, policy.min_specificity)


def _below(name: str, rate: ErrorRate, wanted: float) -> Iterator[str]:
    if rate.value is None or rate.low_at_worst is None:
        yield f"its {name} is not measured, and {wanted:g} is asked for"
    elif rate.low_at_worst < wanted:
        unmeasured = f", {rate.n_unmeasured} unmeasured taken as errors" if rate.n_unmeasured else ""
        yield (
            f"its {name} is {rate.value:.3f} with the lower bound {rate.low_at_worst:.3f}{unmeasured}, and {wanted:g} "
            "is asked for"
        )


def _shown(doc: CalibrationDocument) -> str:
    figures = doc.figures
    sides = {"sensitivity": figures.sensitivity, "specificity": figures.specificity}
    bounds = " and ".join(f"{name} of at least {rate.low_at_worst or 0:.3f}" for name, rate in sides.items())
    return f"{figures.n_measured} gold items of the domain {doc.gold.domain} show a {bounds}"


__all__ = [
    "NOT_REPORTED",
    "CalibrationPolicy",
    "Standing",
    "Trust",
    "calibration_of",
    "model_name",
    "standing",
    "subject_of",
]
