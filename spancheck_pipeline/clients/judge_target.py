"""A judge as a target: packets go in as cases, verdicts come out as outputs, so that the capture's machinery runs it.

Each client lives in a module of its own (``judge_client.py``); the question and the reply are ``grading/judge.py``'s;
concurrency, retries, time limits and the journal are ``capture``'s, which packets are asked about ``api/judging.py``'s.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spancheck_pipeline.clients.call_errors import OutputTooLargeError, failure_of
from spancheck_pipeline.clients.judge_calls import UNREPORTED, CallRecord, CallSink
from spancheck_pipeline.clients.judge_client import MAX_REPLY_BYTES, Ask, JudgeClient, Reply
from spancheck_pipeline.clients.judge_errors import (
    NoVerdictError,
    RefusedVerdictError,
    TruncatedVerdictError,
    UnreadableVerdictError,
)
from spancheck_pipeline.clients.judge_kinds import load_judge_client
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.packet import Packet
from spancheck_pipeline.evidence.run import Output, TargetFacts, Usage, storable
from spancheck_pipeline.grading import judge_reply
from spancheck_pipeline.grading.judge import Judge, Parsed, Prompt, parse_reply, prompt_named, render, schema_of

if TYPE_CHECKING:
    from pathlib import Path

    from spancheck_pipeline.clients.judge_secret import Secret
    from spancheck_pipeline.decision.judges import JudgeSettings
    from spancheck_pipeline.evidence.case import Case

MORE_TOKENS: Final = 4
"""How many times the tokens a judge gets that used up its own."""

_TRUNCATED: Final = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
_REFUSED: Final = frozenset({"refusal", "content_filter"})
"""The providers' words for a reply that is no verdict."""
_NEARLY: Final = 0.99
"""Share of a call's time after which a cancelled one is taken to have run out of it."""


def load_judge_target(
    judge: Judge, settings: JudgeSettings, *, folder: Path, calls: CallSink | None = None
) -> JudgeTarget:
    """Return a judge, ready to be asked about packets. Nobody is asked yet.

    ``folder`` is where ``judges.yaml`` lies; ``calls`` takes one record of every call that is made.

    Raises:
        TargetError: when its client cannot be loaded, naming the judge.
    """
    try:
        client = load_judge_client(settings, folder=folder)
    except TargetError as error:
        raise TargetError(f"judge {judge.name}: {error}") from None
    return JudgeTarget(judge, settings, client, calls=calls)


class JudgeTarget:
    """Asks one judge. A case's input is ``Packet.as_dict()``, its id the packet's digest; the epoch is the repeat."""

    def __init__(
        self,
        judge: Judge,
        settings: JudgeSettings,
        client: JudgeClient,
        *,
        calls: CallSink | None = None,
        mark: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self.facts = TargetFacts(
            kind="judge",
            reference=judge.name,
            version=judge.identity,
            settings_digest=digest(settings.model_dump(mode="json")),
        )
        self._judge = judge
        self._settings = settings
        self._client = client
        self._calls = calls
        self._mark = mark
        self._prompt: Prompt = prompt_named(judge.prompt)
        self._attempts: Counter[tuple[str, int]] = Counter()

    @property
    def abandoned(self) -> int:
        """Timed-out calls that cannot be stopped and are still running."""
        return self._client.abandoned

    async def call(self, case: Case, epoch: int) -> Output:
        """Ask about one packet; a reply that used up its tokens is asked for once more, with four times as many.

        Returns:
            An output whose answer is the reply's text and whose ``raw`` is ``{"label", "score", "reason"}``.

        Raises:
            CallError: when there is no reply, or no verdict in it.
        """
        packet = packet_of(case.input)
        rendered = render(self._prompt, packet, nonce=self._mark())
        ask = Ask(
            system=rendered.system,
            user=rendered.user,
            schema=schema_of(self._prompt),
            max_tokens=self._settings.max_tokens,
            packet=packet,
        )
        call = _Call(packet, epoch, time.monotonic())
        try:
            reply, parsed = await self._ask(ask, call)
        except TruncatedVerdictError as truncated:
            reply, parsed = await self._ask(replace(ask, max_tokens=MORE_TOKENS * ask.max_tokens), call)
            reply = replace(reply, usage=_sum(truncated.usage, reply.usage))
        return Output(
            answer=storable(reply.text),
            raw={"label": parsed.label, "score": parsed.score, "reason": parsed.reason},
            usage=reply.usage,
            finish_reason=reply.finish_reason,
            served_model=reply.served_model,
            latency_ms=reply.api_ms,
        )

    async def close(self) -> None:
        """Let go of the client's connections and processes. A later call opens them again."""
        await self._client.close()

    async def _ask(self, ask: Ask, call: _Call) -> tuple[Reply, Parsed]:
        """Ask once, and record the call however it ends."""
        begun = time.monotonic()
        reply: Reply | None = None
        try:
            reply = _without(self._client.secret, await self._client.ask(ask))
            parsed = self._read(reply, ask, call.packet)
        except BaseException as error:
            self._record(ask, call, begun, reply, error)
            raise
        self._record(ask, call, begun, reply, None)
        return reply, parsed

    def _read(self, reply: Reply, ask: Ask, packet: Packet) -> Parsed:
        size = _size(reply.text)
        if size > MAX_REPLY_BYTES:
            raise OutputTooLargeError(MAX_REPLY_BYTES)
        if reply.finish_reason in _REFUSED:
            raise RefusedVerdictError(n_bytes=size)
        if reply.finish_reason in _TRUNCATED:
            raise TruncatedVerdictError(ask.max_tokens, n_bytes=size, usage=reply.usage)
        try:
            return parse_reply(self._prompt, reply.text, reply.structured, packet=packet)
        except judge_reply.UnreadableVerdictError as error:
            raise UnreadableVerdictError(str(error), error.code, n_bytes=size) from None

    def _record(self, ask: Ask, call: _Call, begun: float, reply: Reply | None, error: BaseException | None) -> None:
        key = (call.packet.digest, call.repeat)
        self._attempts[key] += 1
        if self._calls is None:
            return
        finish_reason, error_class = self._ending(call, reply, error)
        usage = reply.usage if reply else Usage()
        self._calls(
            CallRecord(
                judge=self._judge.name,
                client=self._judge.client,
                prompt=self._judge.prompt,
                packet_digest=call.packet.digest,
                repeat=call.repeat,
                attempt=self._attempts[key],
                max_tokens=ask.max_tokens,
                finish_reason=finish_reason,
                error_class=error_class,
                latency_ms=(time.monotonic() - begun) * 1000,
                api_ms=reply.api_ms if reply else None,
                n_sent_bytes=_size(ask.system) + _size(ask.user),
                n_reply_bytes=_size(reply.text) if reply else None,
                served_model=reply.served_model if reply else None,
                **usage.model_dump(),
            )
        )

    def _ending(self, call: _Call, reply: Reply | None, error: BaseException | None) -> tuple[str, str | None]:
        """Return how a call ended: the provider's word or ours, and the class of its error."""
        if isinstance(error, asyncio.CancelledError):  # the capture's time limit, or an interrupt
            is_late = time.monotonic() - call.begun >= _NEARLY * self._settings.call_timeout_s
            return ("timeout", "TimeoutError") if is_late else ("error", "CancelledError")
        error_class = failure_of(error).error_class if error else None
        if reply is not None and (error is None or isinstance(error, NoVerdictError)):
            return reply.finish_reason, error_class
        return ("timeout" if isinstance(error, TimeoutError) else "error"), error_class


class _Call(NamedTuple):
    """What a call, its second question included, is about."""

    packet: Packet
    repeat: int
    begun: float
    """Monotonic seconds."""


def _without(secret: Secret, reply: Reply) -> Reply:
    """Return a reply in which the key that it was asked with is masked, wherever it repeats it."""
    structured = reply.structured
    if structured is not None:
        structured = {
            secret.masked(name): secret.masked(value) if isinstance(value, str) else value
            for name, value in structured.items()
        }
    return replace(
        reply,
        text=secret.masked(reply.text),
        structured=structured,
        finish_reason=UNREPORTED if secret.is_in(reply.finish_reason) else reply.finish_reason,
        served_model=None if secret.is_in(reply.served_model) else reply.served_model,
    )


def packet_of(value: Any) -> Packet:
    """Return the packet that a case's input is.

    Raises:
        ValueError: when it is none.
    """
    if not isinstance(value, Mapping):
        raise ValueError("a judge is asked about packets")  # noqa: TRY004 - one error for whatever is no packet
    fields = dict(value)
    return Packet(**{**fields, "evidence": tuple(fields["evidence"])})


def _sum(first: Usage, second: Usage) -> Usage:
    """Return what two questions used together; what is not known of one is not known of both."""
    pairs = {name: (getattr(first, name), getattr(second, name)) for name in Usage.model_fields}
    return Usage(**{name: None if None in pair else sum(pair) for name, pair in pairs.items()})


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
