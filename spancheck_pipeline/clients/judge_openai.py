"""A judge behind the chat completions protocol: OpenAI, and what speaks as it does (Ollama, vLLM, gateways).

Written against the protocol's published reference, over plain HTTP: no SDK. Sending and its errors are
``judge_http.py``'s.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from spancheck_pipeline.clients.judge_calls import model_of, word_of
from spancheck_pipeline.clients.judge_client import Ask, Reply
from spancheck_pipeline.clients.judge_errors import InvalidReplyError
from spancheck_pipeline.clients.judge_http import Endpoint, count_of, dict_of, key_of
from spancheck_pipeline.clients.judge_secret import Secret
from spancheck_pipeline.evidence.run import Usage

if TYPE_CHECKING:
    from spancheck_pipeline.decision.judges import OpenAiClient

_OPENAI: Final = "api.openai.com"


class OpenAiJudge:
    """Asks a chat completions endpoint, by JSON Schema where it takes one."""

    abandoned = 0

    def __init__(self, settings: OpenAiClient, *, model: str, temperature: float | None = None) -> None:
        key = None if settings.key_env is None else key_of(settings.key_env)
        self.secret = Secret(key)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._endpoint = Endpoint(settings.base_url, "/chat/completions", headers)
        self._structured = settings.structured
        self._fixed: dict[str, Any] = {"model": model}
        if temperature is not None:
            self._fixed["temperature"] = temperature
        # OpenAI's own models refuse the older name, and local servers do not know the newer one.
        is_openai = urlsplit(self._endpoint.url).hostname == _OPENAI
        self._limit = "max_completion_tokens" if is_openai else "max_tokens"

    async def ask(self, ask: Ask) -> Reply:
        """Ask once.

        Raises:
            CallError: when no chat completion came.
        """
        turns = [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}]
        body = {**self._fixed, "messages": turns, self._limit: ask.max_tokens}
        if self._structured:
            wanted = {"name": "verdict", "strict": True, "schema": dict(ask.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return reply_of(await self._endpoint.post(body))

    async def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        await self._endpoint.close()


def reply_of(payload: dict[str, Any]) -> Reply:
    """Return the reply that a chat completion holds.

    Raises:
        InvalidReplyError: when it is none.
    """
    choices = payload.get("choices")
    choice = dict_of(choices[0]) if isinstance(choices, list) and choices else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        raise InvalidReplyError("a chat completion", n_bytes=len(json.dumps(payload)))
    refusal, finish_reason = message.get("refusal"), word_of(choice.get("finish_reason"))
    is_refused = isinstance(refusal, str) and bool(refusal)
    return Reply(
        text=str(refusal) if is_refused else _text(message.get("content")),
        finish_reason="refusal" if is_refused else finish_reason,
        usage=usage_of(dict_of(payload.get("usage"))),
        served_model=model_of(payload.get("model")),
    )


def usage_of(usage: dict[str, Any]) -> Usage:
    """Return what a completion's ``usage`` reports. ``prompt_tokens`` holds the cached ones, as ``Usage`` does."""
    cached = count_of(dict_of(usage.get("prompt_tokens_details")).get("cached_tokens"))
    return Usage(
        input_tokens=count_of(usage.get("prompt_tokens")),
        output_tokens=count_of(usage.get("completion_tokens")),
        cached_input_tokens=cached,
        reasoning_tokens=count_of(dict_of(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )


def _text(content: Any) -> str:
    """Return a message's text: a string, or a list of parts; nothing where it has none."""
    if isinstance(content, str):
        return content
    parts = [dict_of(part).get("text") for part in content] if isinstance(content, list) else []
    return "".join(part for part in parts if isinstance(part, str))
