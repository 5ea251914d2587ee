"""A webhook that takes ``{"text": …}``, as Slack, Mattermost and others do. What is said lives with who says it.

The URL is a secret: it comes from the environment when something is sent, and stands in no message, log or error.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import threading
import time
import urllib.error
import urllib.request
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

_ATTEMPTS = 3
_WAIT_S = 0.5
_TIMEOUT_S = 5.0
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

    All of it takes ``timeout_s`` seconds at most: whoever waits for it (a sensor's tick) has a minute in all. Within
    them, what fails at once and may pass (no connection, a 5xx or 429) is tried up to three times, ``wait_s`` seconds
    and then twice that apart. A receiver that does not answer in time is not asked again: it may have taken the
    message. A redirect is a refusal, so that what is said goes nowhere else. This never raises: an alert that cannot be
    sent must not fail what it is about.
    """
    url = os.environ.get(variable, "").strip()
    if not url:
        return Sent(is_sent=False, why_not=f"{variable} is not set")
    address = _address(url)
    if address is None:
        return Sent(is_sent=False, why_not=f"{variable} holds no http:// or https:// URL with a host")
    body = json.dumps({"text": escaped(text)}, ensure_ascii=True).encode()
    deadline = time.monotonic() + timeout_s
    answer = _Answer()
    for attempt in range(_ATTEMPTS):
        if attempt:
            if time.monotonic() + wait_s * attempt >= deadline:
                break
            time.sleep(wait_s * attempt)
        answer = _post_within(address, body, deadline - time.monotonic())
        if not answer.why_not:
            return Sent(is_sent=True)
        if not answer.may_pass:
            break
    return Sent(is_sent=False, why_not=f"the webhook of {variable} does not take it ({answer.why_not})")


def escaped(text: str) -> str:
    r"""Return a text without what Slack takes for markup or what reorders it, and not too long.

    >>> escaped("<!channel> a & b\x1b[0m")
    '&lt;!channel&gt; a &amp; b[0m'
    """
    text = _CONTROL.sub("", text)[:_MAX_CHARS]
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class _Address(NamedTuple):
    url: str
    """Without user and password, which urllib does not take there."""
    headers: dict[str, str]


def _address(text: str) -> _Address | None:
    """Return where to post, or None for what is no URL of the web."""
    try:
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            return None
        headers = {"Content-Type": "application/json"}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers["Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
        return _Address(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="")), headers)
    except ValueError:
        return None


class _Answer(NamedTuple):
    why_not: str = ""
    """Why a message was not taken; an empty text when it was."""
    may_pass: bool = False
    """Whether the next moment may bring another answer."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _post_within(address: _Address, body: bytes, seconds: float) -> _Answer:
    """Return what came of a post, or that it took too long: a socket's own limit is one a read, and not one in all."""
    found: list[_Answer] = []
    thread = threading.Thread(target=lambda: found.append(_post(address, body, seconds)), daemon=True)
    thread.start()
    thread.join(max(0.0, seconds))
    return found[0] if found else _Answer("no answer in time")


def _post(address: _Address, body: bytes, timeout_s: float) -> _Answer:
    """Post once. Not httpx: that one writes every URL into a log."""
    try:
        request = urllib.request.Request(address.url, body, address.headers)  # noqa: S310 - http(s), checked
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=timeout_s) as answer:
            taken = 200 <= answer.status < 300  # noqa: PLR2004 - HTTP's own ranges
            return _Answer() if taken else _Answer(f"status {answer.status}")
    except urllib.error.HTTPError as error:
        error.close()
        return _Answer(f"status {error.code}", error.code >= 500 or error.code == 429)  # noqa: PLR2004 - HTTP's own
    except TimeoutError:
        return _Answer("no answer in time")
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            return _Answer("no answer in time")
        return _Answer(type(error).__name__, may_pass=True)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return _Answer(type(error).__name__, isinstance(error, OSError))
