"""A judge that is any function ``prompt -> reply``: the earlier library's way to ask one, without a file or a storage.

A grader does not call it: ``evaluate`` asks before it grades, and a grader that is called by hand asks first. A
project's judges are declared in ``judges.yaml`` and called by ``clients``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypedDict

from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.evidence.packet import Packet, entailment_packet
from spancheck_pipeline.evidence.verdict import Verdict, VerdictBook
from spancheck_pipeline.grading.judge import DEFAULT_THRESHOLD, Judge, nonce_of, parse_reply, prompt_named, render
from spancheck_pipeline.grading.judge_reply import Parsed, UnreadableVerdictError
from spancheck_pipeline.grading.judge_stub import STUB_MODEL, stub_opinion

Provider = Callable[[str], str]
"""Takes the whole question, returns the reply's text. Its attribute ``model`` names the model, where it has one."""


class Entailment(TypedDict):
    """What a judge says of one claim and one evidence."""

    score: float | None
    """In [0, 1]; None where the judge gave no verdict."""
    reason: str
    prompt_version: str
    model: str
    label: str | None


def judge_entailment(
    claim: Any,
    span: Any,
    provider: Provider | None = None,
    prompt_version: str = "entailment_v1",
    model: str | None = None,
) -> Entailment:
    """Return how far an evidence carries a claim, as a judge sees it.

    Without a provider the stub answers: the word check, which is not a judge. A provider that raises, or whose reply
    holds no verdict, gives None for the score, never 0.

    >>> judge_entailment("Notice is 30 days.", "The notice is 30 days.")["label"]
    'supported'
    """
    judge = judge_of_provider("judge_entailment", provider, prompt_version, model)
    verdict = ask_provider(judge, entailment_packet(str(claim), str(span)), provider)
    return {
        "score": verdict.score,
        "reason": verdict.reason or f"no verdict ({verdict.error_class})",
        "prompt_version": prompt_version,
        "model": judge.model or STUB_MODEL,
        "label": verdict.label,
    }


def judge_support(
    provider: Provider | None = None,
    prompt_version: str = "entailment_v1",
    threshold: float = DEFAULT_THRESHOLD,
    model: str | None = None,
) -> Callable[[str, str], tuple[bool | None, float | None]]:
    """Return a ``support_fn`` for ``citation_accuracy`` and ``verify_citation`` that asks a judge about each citation.

    It is called while grading, so that its verdicts are nowhere recorded: in a suite use ``support: judge:NAME``.

    Raises:
        UsageError: for a provider that cannot be called, a prompt that there is not, or a threshold out of (0, 1].
    """
    judge_of_provider("judge_support", provider, prompt_version, model, threshold)

    def support_fn(claim: str, span: str) -> tuple[bool | None, float | None]:
        said = judge_entailment(claim, span, provider, prompt_version, model)
        return (None, None) if said["score"] is None else (said["score"] >= threshold, said["score"])

    return support_fn


def judge_of_provider(
    name: str,
    provider: Provider | None,
    prompt_version: str,
    model: str | None,
    threshold: float = DEFAULT_THRESHOLD,
) -> Judge:
    """Return a provider as a judge; without one, the stub.

    Raises:
        UsageError: for a provider that cannot be called, a prompt that there is not, or a threshold out of (0, 1].
    """
    if provider is not None and not callable(provider):
        raise UsageError(
            f"a provider is a function of the question that returns the reply, not of type {type(provider).__name__}; "
            "a judge of judges.yaml is named in a suite"
        )
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= 1:
        raise UsageError("the threshold of a judge is a number above 0 and at most 1")
    client = "stub" if provider is None else "provider"
    called = model or (STUB_MODEL if provider is None else str(getattr(provider, "model", "unknown")))
    return Judge(name=name, client=client, model=called, prompt=prompt_version, threshold=threshold)


def ask_provider(judge: Judge, packet: Packet, provider: Provider | None, *, repeat: int = 0) -> Verdict:
    """Ask a provider, or the stub, about one packet. What goes wrong is told by the verdict's error class."""
    try:
        said = stub_opinion(packet) if provider is None else _said(judge, packet, provider)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything; it is one call, captured
        told = error.error_class if isinstance(error, UnreadableVerdictError) else type(error).__name__
        return _verdict(judge, packet, repeat, None, told)
    return _verdict(judge, packet, repeat, said, None)


def answered(
    wanted: Iterable[tuple[Judge, Packet]], provider: Provider | None, *, book: VerdictBook | None = None
) -> VerdictBook:
    """Return the verdicts of a provider about packets: those that a book has, and the others asked for, once each."""
    book = VerdictBook() if book is None else book
    for judge, packet in wanted:
        for _, _, repeat in judge.keys(packet):
            known = book.get((judge.identity, packet.digest, repeat))
            if known is None or not known.is_answer:
                book.add(ask_provider(judge, packet, provider, repeat=repeat))
    return book


def _said(judge: Judge, packet: Packet, provider: Provider) -> Parsed:
    prompt = prompt_named(judge.prompt)
    system, user = render(prompt, packet, nonce=nonce_of(packet))
    return parse_reply(prompt, provider(f"{system}\n\n{user}"), packet=packet)


def _verdict(judge: Judge, packet: Packet, repeat: int, said: Parsed | None, error_class: str | None) -> Verdict:
    return Verdict(
        judge=judge.name,
        identity=judge.identity,
        prompt=judge.prompt,
        prompt_digest=judge.prompt_digest,
        packet_kind=packet.kind,
        packet_version=packet.version,
        packet_digest=packet.digest,
        repeat=repeat,
        model=judge.model,
        label=said.label if said else None,
        score=said.score if said else None,
        reason=said.reason if said else None,
        finish_reason="unreported" if said else "error",
        error_class=error_class,
    )
