"""From what a target sent back to an ``Output``: size limit, JSON, paths into a response, whose payload it is.

Which names and types an output understands is decided in ``evidence/run.py`` (``normalize``), what the fields of a
producer's payload mean in ``evidence/payloads``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from spancheck_pipeline.clients.call_errors import (
    AmbiguousOutputError,
    InvalidOutputError,
    OutputTooLargeError,
    text_of,
)
from spancheck_pipeline.decision.suite_target import Citations
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.evidence.complaints import dotted, worded
from spancheck_pipeline.evidence.payloads import AmbiguousPayloadError, read_payload
from spancheck_pipeline.evidence.run import Output, normalize

MAX_OUTPUT_BYTES: Final = 16 * 1024 * 1024
"""Largest output, as UTF-8 JSON."""

OUTPUT_NAMES: Final = (*Output.model_fields, "sources", "text", "model", "response")
"""Names under which ``normalize`` looks for the parts of an output, and ``read_payload`` for a producer's payload."""


def output_of(value: Any, *, citations: Citations) -> Output:
    """Return what a target sent back as an output that can be stored.

    ``citations`` names the producer of the payload; ``auto`` tells it by its fields, and reads an output in canonical
    form as it stands; ``none`` drops the citations of either.

    Raises:
        AmbiguousOutputError: when ``auto`` finds the fields of several producers.
        InvalidOutputError: when it is none: another type, a wrong field, NaN, something that JSON cannot hold.
        OutputTooLargeError: when its JSON is larger than 16 MiB.
    """
    if isinstance(value, str | bytes) and len(value) > MAX_OUTPUT_BYTES:
        raise OutputTooLargeError(MAX_OUTPUT_BYTES)
    try:
        output = read_payload(value, "auto" if citations == "none" else citations) or normalize(value)
        if citations == "none":
            output = output.model_copy(update={"citations": ()})
        size = len(output.model_dump_json().encode("utf-8"))
    except AmbiguousPayloadError as error:
        raise AmbiguousOutputError(str(error)) from None
    except Exception as error:  # noqa: BLE001 - a foreign object may raise anything while it is read
        # Whatever the cause (too deep, a number that JSON cannot hold, a foreign object's own code): it is no output.
        raise InvalidOutputError(_said(error)) from None
    if size > MAX_OUTPUT_BYTES:
        raise OutputTooLargeError(MAX_OUTPUT_BYTES)
    return output


_SHAPES: Final = {
    "contexts": "a list of passages, each {source_id, text}",
    "citations": "a list, each {quote, source_id, claim}",
    "usage": "{input_tokens, output_tokens}, whole numbers",
}
"""Part of an output that has parts → what it is."""
_SHOWN: Final = 3
"""Problems of one output that its error names."""


def _said(error: Exception) -> str:
    """Return what is wrong with an output, in plain words and without its values where that can be told."""
    if isinstance(error, RecursionError):
        return "the output is nested too deeply, or holds itself; return plain texts, numbers, lists and dicts"
    if not isinstance(error, ValidationError):
        return text_of(error)
    details = error.errors(include_url=False, include_input=False, include_context=False)
    problems = []
    for detail in details[:_SHOWN]:
        top = str(detail["loc"][0]) if detail["loc"] else ""
        meant = f" ({top}: {_SHAPES[top]})" if top in _SHAPES else ""
        problems.append(f"{dotted(detail['loc'])} {worded(detail)}{meant}")
    more = f"; and {len(details) - _SHOWN} more" if len(details) > _SHOWN else ""
    return f"what was returned is no output: {'; '.join(problems)}{more}"


def parse_json(data: bytes | str) -> Any:
    """Return the value of a JSON text.

    Raises:
        InvalidOutputError: when it is not JSON.
    """
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidOutputError("the target did not send JSON") from None


def json_object(data: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a text is, or None when it is anything else."""
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def check_output_names(names: Iterable[str], *, where: str) -> None:
    """Refuse a mapping into a field that no output has.

    Raises:
        TargetError: naming the field and the nearest valid one.
    """
    for name in names:
        if name not in OUTPUT_NAMES:
            near = get_close_matches(name, OUTPUT_NAMES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(Output.model_fields)}"
            raise TargetError(f"{where}: an output has no field {name[:80]!r}; {hint}")


def pick(document: Any, paths: Mapping[str, str]) -> dict[str, Any]:
    """Return ``{field: the value at its dotted path}``; a field whose path leads nowhere is left out.

    >>> pick({"data": {"docs": [{"t": "a"}]}}, {"answer": "data.docs.0.t", "model": "data.m"})
    {'answer': 'a'}
    """
    found = {}
    for field, path in paths.items():
        try:
            found[field] = _at(document, path)
        except (LookupError, ValueError):
            continue
    return found


def _at(value: Any, path: str) -> Any:
    if isinstance(value, Mapping) and path in value:  # a key that itself holds dots
        return value[path]
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)]
        elif isinstance(value, Mapping):
            value = value[part]
        else:
            raise LookupError(part)  # noqa: TRY004 - the path leads nowhere
    return value
