"""A judge behind Anthropic's Messages API.

Written against its published reference, over plain HTTP: no SDK. The reply is held to its schema by
``output_config.format``, which all current models have; a forced tool is refused by those that always think. Sending
and its errors are ``judge_http.py``'s.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from spancheck_pipeline.clients.judge_calls import model_of, word_of
from spancheck_pipeline.clients.judge_client import Ask, Reply
from spancheck_pipeline.clients.judge_errors import InvalidReplyError
from spancheck_pipeline.clients.judge_http import Endpoint, count_of, dict_of, key_of
from spancheck_pipeline.clients.judge_secret import Secret
from spancheck_pipeline.evidence.run import Usage

if TYPE_CHECKING:
    from spancheck_pipeline.decision.judges import AnthropicClient

API_VERSION: Final = "2023-06-01"


class AnthropicJudge:
    """Asks the Messages API."""

    abandoned = 0

    def __init__(self, settings: AnthropicClient, *, model: str, temperature: float | None = None) -> None:
        key = key_of(settings.key_env)
        self.secret = Secret(key)
        headers = {"x-api-key": key, "anthropic-version": API_VERSION}
        self._endpoint = Endpoint(settings.base_url, "/v1/messages", headers)
        self._fixed: dict[str, Any] = {"model": model}
        if temperature is not None:
            self._fixed["temperature"] = temperature

    async def ask(self, ask: Ask) -> Reply:
        """Ask once.

        Raises:
            CallError: when no message came.
        """
        body = {
            **self._fixed,
            "max_tokens": ask.max_tokens,
            "system": ask.system,
            "messages": [{"role": "user", "content": ask.user}],
            "output_config": {"format": {"type": "json_schema", "schema": dict(ask.schema)}},
        }
        return reply_of(await self._endpoint.post(body))

    async def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        await self._endpoint.close()


def reply_of(payload: dict[str, Any]) -> Reply:
    """Return the reply that a message holds: its text blocks; a model's thinking is none of it.

    Raises:
        InvalidReplyError: when it is no message.
    """
    content = payload.get("content")
    if not isinstance(content, list):
        raise InvalidReplyError("a message", n_bytes=len(json.dumps(payload)))
    blocks = [dict_of(block) for block in content]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return Reply(
        text="".join(text for text in texts if isinstance(text, str)),
        finish_reason=word_of(payload.get("stop_reason")),
        usage=usage_of(dict_of(payload.get("usage"))),
        served_model=model_of(payload.get("model")),
    )


def usage_of(usage: dict[str, Any]) -> Usage:
    """Return what a message's ``usage`` reports. Its ``input_tokens`` leave out what the cache read or wrote."""
    fresh = count_of(usage.get("input_tokens"))
    read = count_of(usage.get("cache_read_input_tokens"))
    written = count_of(usage.get("cache_creation_input_tokens"))
    return Usage(
        input_tokens=None if fresh is None else count_of(fresh + (read or 0) + (written or 0)),
        output_tokens=count_of(usage.get("output_tokens")),
        cached_input_tokens=read,
    )
