"""An HTTP endpoint as a target: one request per question.

When a failed request is sent again is decided in ``capture/engine.py``; paths into a response are ``answer.py``'s.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from spancheck_pipeline.clients.answer import (
    MAX_OUTPUT_BYTES,
    check_output_names,
    json_object,
    output_of,
    parse_json,
    pick,
)
from spancheck_pipeline.clients.call_errors import (
    MAX_RETRY_AFTER_S,
    ConnectionFailedError,
    HttpStatusError,
    OutputTooLargeError,
)
from spancheck_pipeline.errors import TargetError

if TYPE_CHECKING:
    import httpx

    from spancheck_pipeline.decision.suite_target import Citations, HttpTarget
    from spancheck_pipeline.evidence.case import Case
    from spancheck_pipeline.evidence.run import Output, TargetFacts

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACEHOLDER = re.compile(r"\{(input|history)\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_QUOTED = 500
"""Characters of a refusal's body that a row's error text quotes."""

_DEFAULT_BODY = {"input": "{input}", "history": "{history}"}


class HttpCaller:
    """Sends each question to an HTTP endpoint."""

    abandoned = 0

    def __init__(self, settings: HttpTarget, *, facts: TargetFacts, citations: Citations = "auto") -> None:
        self.facts = facts
        self._settings = settings
        self._citations = citations
        self._body = _DEFAULT_BODY if settings.body is None else settings.body
        self._headers, self._secrets = resolve_headers(settings.headers)
        self._client: httpx.AsyncClient | None = None
        check_output_names(settings.fields, where="target.http.fields")
        checked_url(settings.url)

    async def call(self, case: Case, epoch: int) -> Output:
        """Send one question and read the answer.

        Raises:
            CallError: for another status than 2xx, no connection, or a response that is no output.
        """
        del epoch  # the system is not told which repetition it answers
        import httpx

        if self._client is None:
            # The capture bounds the time of an attempt. Redirects are not followed: headers may hold a key.
            self._client = httpx.AsyncClient(
                timeout=None,  # noqa: S113 - bounded per attempt by the capture
                headers=self._headers,
                limits=httpx.Limits(max_connections=None),
            )
        try:
            async with self._client.stream(
                self._settings.method, self._settings.url, **self._question(case)
            ) as response:
                body = await read_body(response)
        except (httpx.TransportError, httpx.DecodingError, httpx.TooManyRedirects) as error:
            raise ConnectionFailedError(error) from None
        if not response.is_success:
            raise HttpStatusError(
                response.status_code, body=self._quoted(body), retry_after_s=retry_after_s(response.headers)
            )
        return output_of(self._payload(body, response.headers.get("content-type", "")), citations=self._citations)

    async def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _question(self, case: Case) -> dict[str, Any]:
        filled = fill(self._body, question=case.input, history=[turn.model_dump() for turn in case.history])
        if self._settings.method != "GET":
            return {"json": filled}
        if not isinstance(filled, dict):
            return {"params": {"input": _as_text(filled)}}
        return {"params": {key: _as_text(value) for key, value in filled.items()}}

    def _payload(self, body: bytes, content_type: str) -> Any:
        if self._settings.fields:
            return pick(parse_json(body), self._settings.fields)
        if "json" in content_type.lower():
            return parse_json(body)
        if not content_type and (value := json_object(body)) is not None:
            return value
        return body.decode("utf-8", "replace")

    def _quoted(self, body: bytes) -> str:
        text = body[: 4 * _QUOTED].decode("utf-8", "replace")
        for secret in self._secrets:  # some servers echo the headers that they refuse
            text = text.replace(secret, "***")
        return text[:_QUOTED]


async def read_body(response: httpx.Response) -> bytes:
    """Return all of a response.

    Raises:
        OutputTooLargeError: when it is larger than an output may be.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_OUTPUT_BYTES:
            raise OutputTooLargeError(MAX_OUTPUT_BYTES)
    return bytes(body)


def checked_url(url: str) -> str:
    """Return a URL without user, password, query and fragment: how it may be recorded.

    Raises:
        TargetError: when it is no http or https URL.

    >>> checked_url("https://me:secret@example.org:8443/ask?key=1")
    'https://example.org:8443/ask'
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in {"http", "https"}:
        raise TargetError("target.http.url must be a http:// or https:// URL with a host")
    place = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{place}:{port}" if port else place, parts.path, "", ""))


def resolve_headers(headers: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return headers with every ``${NAME}`` read from the environment, and the values that were read.

    Raises:
        TargetError: naming the variables that are not set, or a header that HTTP cannot carry; never a value.
    """
    names = sorted({name for value in headers.values() for name in _VARIABLE.findall(value)})
    if missing := [name for name in names if not os.environ.get(name)]:
        raise TargetError(
            f"target.http.headers needs {', '.join(missing)}, which the environment does not have; "
            "set it, or write it into the .env file of the working folder"
        )
    resolved = {key: _VARIABLE.sub(lambda match: os.environ[match[1]], value) for key, value in headers.items()}
    for key, value in resolved.items():
        if not _HEADER_NAME.fullmatch(key) or not HEADER_VALUE.fullmatch(value):
            raise TargetError(
                f"target.http.headers: {key[:80]!r} holds a line break or a character that HTTP headers cannot carry"
            )
    return resolved, tuple(os.environ[name] for name in names)


def fill(template: Any, *, question: Any, history: list[dict[str, str]]) -> Any:
    """Return a body with ``{input}`` and ``{history}`` filled in.

    A string that is exactly a placeholder becomes the JSON value; inside a longer string it becomes text.

    >>> fill({"q": "{input}", "p": ["Answer: {input}"]}, question={"a": 1}, history=[])
    {'q': {'a': 1}, 'p': ['Answer: {"a": 1}']}
    """
    values = {"input": question, "history": history}
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        return values[whole[1]] if whole else _PLACEHOLDER.sub(lambda match: _as_text(values[match[1]]), template)
    if isinstance(template, dict):
        return {key: fill(item, question=question, history=history) for key, item in template.items()}
    if isinstance(template, list):
        return [fill(item, question=question, history=history) for item in template]
    return template


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def retry_after_s(headers: httpx.Headers) -> float | None:
    """Return the seconds that a server asks to wait (``Retry-After``, RFC 9110 §10.2.3), at most two minutes.

    A date is read against the server's own ``Date`` where it sends one, so that a clock that is off does not matter.
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", value):
        return min(float(value), MAX_RETRY_AFTER_S)
    until = _http_date(value)
    if until is None:
        return None
    now = _http_date(headers.get("date", "")) or datetime.now(UTC)
    return min(max((until - now).total_seconds(), 0.0), MAX_RETRY_AFTER_S)


def _http_date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
