"""What the HTTP judges share: one POST of JSON with a key from the environment, and reading what comes back warily.

What is sent and how the reply is read lives with each protocol (``judge_openai.py``, ``judge_anthropic.py``).
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from spancheck_pipeline.clients.call_errors import HttpStatusError
from spancheck_pipeline.clients.http_target import HEADER_VALUE, checked_url, read_body, retry_after_s
from spancheck_pipeline.clients.judge_errors import InvalidReplyError, NoReplyError
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

MOST_TOKENS: Final = 2**53
_BAD_GATEWAY: Final = 502
_USUAL_NAME: Final = re.compile(r"(?=.{1,40}\Z)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")

_ERROR_CODES: Final = frozenset(
    {
        "api_error", "authentication_error", "billing_error", "context_length_exceeded", "insufficient_quota",
        "invalid_api_key", "invalid_request_error", "model_not_found", "not_found_error", "overloaded_error",
        "permission_error", "rate_limit_error", "rate_limit_exceeded", "request_too_large", "server_error",
        "timeout_error", "unsupported_parameter", "unsupported_value",
    }
)  # fmt: skip
"""Codes that the providers document. Another one could be any text, so it is not told."""


class Endpoint:
    """One address that is asked by POST. Redirects are not followed: the headers hold a key."""

    def __init__(self, base_url: str, path: str, headers: Mapping[str, str]) -> None:
        self.url = joined(base_url, path)
        self._headers = dict(headers)
        self._client: httpx.AsyncClient | None = None

    async def post(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a JSON body and return the JSON object that is answered.

        Raises:
            CallError: for another status than 2xx, no whole reply, one that is too large or is no JSON object.
        """
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(
                timeout=None,  # noqa: S113 - bounded per attempt by the capture
                headers=self._headers,
                limits=httpx.Limits(max_connections=None),
            )
        try:
            async with self._client.stream("POST", self.url, json=body) as response:
                content = await read_body(response)
        except (httpx.TransportError, httpx.DecodingError, httpx.TooManyRedirects) as error:
            raise NoReplyError(error) from None
        value = _json_of(content)
        if not response.is_success:
            raise status_error(response.status_code, value, len(content), retry_after_s(response.headers))
        if not isinstance(value, dict):
            raise InvalidReplyError("a JSON object", n_bytes=len(content))
        if isinstance(value.get("error"), dict | str):  # some gateways answer 200 and say what went wrong within
            status = status_of(dict_of(value["error"]).get("code")) or _BAD_GATEWAY
            raise status_error(status, value, len(content), retry_after_s(response.headers))
        return value

    async def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def status_error(status: int, value: Any, n_bytes: int, wish_s: float | None) -> HttpStatusError:
    """Return the error that a status is, told by its documented code where the body has one, and the body's size."""
    error = value.get("error") if isinstance(value, dict) else None
    said = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    codes = [code for code in said if isinstance(code, str) and code in _ERROR_CODES]
    return HttpStatusError(status, body=", ".join([*codes[:1], f"{n_bytes} bytes"]), retry_after_s=wish_s)


def status_of(value: Any) -> int | None:
    """Return a number as the HTTP status of an error, or None where it is none."""
    return value if type(value) is int and 400 <= value <= 599 else None  # noqa: PLR2004 - HTTP's own numbers


def joined(base_url: str, path: str) -> str:
    """Return an address below a base, whose query stays.

    Raises:
        TargetError: for a base that is no http or https URL, or that holds a user or a password.

    >>> joined("http://localhost:11434/v1/", "/chat/completions")
    'http://localhost:11434/v1/chat/completions'
    """
    try:
        checked_url(base_url)
    except TargetError:
        raise TargetError("base_url must be a http:// or https:// URL with a host") from None
    parts = urlsplit(base_url)
    if parts.username is not None or parts.password is not None:
        raise TargetError("base_url must hold no user and no password; name the key's variable in key_env")
    return parts._replace(path=parts.path.rstrip("/") + path, fragment="").geturl()


def key_of(name: str) -> str:
    """Return a key from the environment.

    Raises:
        TargetError: naming the variable when it is not set, or holds what a header cannot; never its value.
    """
    value = os.environ.get(name, "").strip()
    # A key that was written in the place of its name may look like a name too.
    told = name if _USUAL_NAME.fullmatch(name) else "the variable that it names"
    if not value:
        raise TargetError(
            f"key_env: {told} is not in the environment; set it, or write it into the .env file of the working folder"
        )
    if not HEADER_VALUE.fullmatch(value):
        raise TargetError(f"key_env: {told} holds a character that HTTP headers cannot carry")
    return value


def count_of(value: Any) -> int | None:
    """Return a number of tokens as a provider reports it, or None where it is none."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def dict_of(value: Any) -> dict[str, Any]:
    """Return an object of a foreign payload; an empty one where something else stands there."""
    return value if isinstance(value, dict) else {}


def _json_of(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
