"""What a judge program wrote, as a reply: plain text, or the JSON envelope of ``claude -p --output-format json``.

Running the program lives in ``judge_command.py``.
"""

from __future__ import annotations

import json
from typing import Any, Final

from spancheck_pipeline.clients.answer import json_object
from spancheck_pipeline.clients.call_errors import CallError, HttpStatusError
from spancheck_pipeline.clients.judge_anthropic import usage_of
from spancheck_pipeline.clients.judge_calls import model_of, word_of
from spancheck_pipeline.clients.judge_client import Reply
from spancheck_pipeline.clients.judge_errors import InvalidReplyError, JudgeReportedError
from spancheck_pipeline.clients.judge_http import count_of, dict_of, status_of

_SUBTYPES: Final = {
    "success": True,
    "error_during_execution": True,
    "error_max_turns": False,
    "error_max_budget_usd": False,
    "error_max_structured_output_retries": False,
}
"""What an envelope that says ``is_error`` may call itself, and whether another attempt may help."""
_STOPPED: Final = frozenset({"refusal", "max_tokens"})
"""Words under which the model itself stopped: its reply is looked at, error or not."""


def text_reply(written: bytes) -> Reply:
    """Return what a program wrote as the reply itself."""
    return Reply(text=written.decode("utf-8", "replace").strip())


def claude_reply(written: bytes) -> Reply:
    """Return the reply that the envelope holds. Its cost is what the program reckons, also where nobody is charged.

    Raises:
        CallError: when it is no envelope, or says that it failed.
    """
    envelope = json_object(written)
    if envelope is None or not ("result" in envelope or "is_error" in envelope):
        raise InvalidReplyError("the JSON envelope of claude -p", n_bytes=len(written))
    structured, finish_reason = envelope.get("structured_output"), word_of(envelope.get("stop_reason"))
    if envelope.get("is_error") is not False and finish_reason not in _STOPPED:
        raise reported(envelope, len(written))
    structured, text = structured if isinstance(structured, dict) else None, envelope.get("result")
    return Reply(
        # Where there is only a structured reply, that is what came.
        text=text if isinstance(text, str) and text else ("" if structured is None else json.dumps(structured)),
        structured=structured,
        finish_reason=finish_reason,
        usage=usage_of(dict_of(envelope.get("usage"))).model_copy(update={"cost_usd": _usd(envelope)}),
        served_model=_served_model(dict_of(envelope.get("modelUsage"))),
        api_ms=_number(envelope.get("duration_api_ms")),
    )


def reported(envelope: dict[str, Any], n_bytes: int) -> CallError:
    """Return the error that an envelope tells of: the provider's status where it has one, else its own word."""
    status = status_of(envelope.get("api_error_status"))
    if status is not None:
        return HttpStatusError(status, body=f"{n_bytes} bytes")
    subtype = envelope.get("subtype")
    known = subtype if isinstance(subtype, str) and subtype in _SUBTYPES else "unknown"
    return JudgeReportedError(known, n_bytes=n_bytes, retryable=_SUBTYPES.get(known, False))


def _served_model(by_model: dict[str, Any]) -> str | None:
    """Return the model that wrote most: small ones are used beside it for chores."""
    written = {name: count_of(dict_of(used).get("outputTokens")) or 0 for name, used in by_model.items()}
    return model_of(max(written, key=lambda name: (written[name], name))) if written else None


def _usd(envelope: dict[str, Any]) -> float | None:
    return _number(envelope.get("total_cost_usd"))


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 2**53 else None
