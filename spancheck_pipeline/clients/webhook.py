"""A webhook that takes ``{"text": …}``, as Slack, Mattermost and others do. What is said lives with who says it.

The URL is a secret: it comes from the environment when something is sent, and stands in no message, log or error.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_ATTEMPTS = 3
_WAIT_S = 1.0
_TIMEOUT_S = 10.0
_MAX_CHARS = 3000
"""Slack cuts longer texts into several messages."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


class Sent(NamedTuple):
    """What became of a message."""

    is_sent: bool
    why_not: str = ""
    """Without the URL: the variable, a status, the class of an error."""


def post_text(variable: str, text: str, *, wait_s: float = _WAIT_S, timeout_s: float = _TIMEOUT_S) -> Sent:
    """Post a text to the webhook that an environment variable names; where it names none, nothing is sent.

    Three attempts, with ``wait_s`` seconds and then twice that between them. A redirect is a refusal, so that what is
    said goes nowhere else. This never raises: an alert that cannot be sent must not fail what it is about.
    """
    url = os.environ.get(variable, "").strip()
    if not url:
        return Sent(is_sent=False, why_not=f"{variable} is not set")
    if not _is_web(url):
        return Sent(is_sent=False, why_not=f"{variable} holds no http:// or https:// URL with a host")
    body = json.dumps({"text": escaped(text)}, ensure_ascii=True).encode()
    why_not = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(wait_s * attempt)
        why_not = _post(url, body, timeout_s)
        if not why_not:
            return Sent(is_sent=True)
    return Sent(is_sent=False, why_not=f"the webhook of {variable} does not take it ({why_not})")


def escaped(text: str) -> str:
    r"""Return a text without what Slack takes for markup or what reorders it, and not too long.

    >>> escaped("<!channel> a & b\x1b[0m")
    '&lt;!channel&gt; a &amp; b[0m'
    """
    text = _CONTROL.sub("", text)[:_MAX_CHARS]
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return False


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _post(url: str, body: bytes, timeout_s: float) -> str:
    """Return why a message was not taken; an empty text when it was.

    Not httpx: that one writes every URL into a log.
    """
    try:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - http(s), checked
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout_s) as answer:
            return "" if 200 <= answer.status < 300 else f"status {answer.status}"  # noqa: PLR2004 - HTTP's own ranges
    except urllib.error.HTTPError as error:
        error.close()
        return f"status {error.code}"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return type(error).__name__
