"""Citation payloads of real systems: which producer's a payload is, and the canonical output that it holds.

One module a producer says what its fields mean. Offsets are converted in ``offsets.py``; the target's setting
``citations``, and what becomes of a payload that cannot be read, live in ``clients/answer.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spancheck_pipeline.evidence.payloads import (
    anthropic,
    azure,
    bedrock,
    cohere,
    gemini,
    inline,
    langchain,
    llamaindex,
    openai,
    perplexity,
)
from spancheck_pipeline.evidence.payloads.draft import Draft, given_contexts
from spancheck_pipeline.evidence.payloads.reading import PayloadError, plain
from spancheck_pipeline.evidence.run import Output


@dataclass(frozen=True, slots=True)
class Producer:
    """One kind of payload."""

    fits: Callable[[Any], bool]
    """Whether a payload has the fields that only this producer has."""
    read: Callable[[Any, Draft], Output]


PRODUCERS: Final[Mapping[str, Producer]] = {
    "anthropic": Producer(anthropic.fits, anthropic.read),
    "openai_responses": Producer(openai.fits_responses, openai.read_responses),
    "openai_chat": Producer(openai.fits_chat, openai.read_chat),
    "openai_assistants": Producer(openai.fits_assistants, openai.read_assistants),
    "cohere": Producer(cohere.fits, cohere.read),
    "gemini": Producer(gemini.fits, gemini.read),
    "bedrock_rag": Producer(bedrock.fits_rag, bedrock.read_rag),
    "bedrock_converse": Producer(bedrock.fits_converse, bedrock.read_converse),
    "azure_on_your_data": Producer(azure.fits, azure.read),
    "perplexity": Producer(perplexity.fits, perplexity.read),
    "langchain": Producer(langchain.fits, langchain.read),
    "llamaindex": Producer(llamaindex.fits, llamaindex.read),
}

NOTE: Final = "citation_payload"
"""Key of an output's ``versions`` under which stands what its payload was read as; the manifest counts it."""

_MARKER_BASES: Final = {"markers": 1, "markers_from_zero": 0}
_BESIDE: Final = ("latency_ms", "abstained", "served_model", "versions")


class AmbiguousPayloadError(PayloadError):
    """A payload that has the fields of several producers."""

    def __init__(self, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(f"the payload reads as {' or '.join(candidates)}: say which with target.citations")


def detect(payload: Any) -> str | None:
    """Return the producer whose fields a plain payload has, or None where it is nobody's.

    Raises:
        AmbiguousPayloadError: when it has the fields of several.
    """
    found = tuple(name for name, producer in PRODUCERS.items() if producer.fits(payload))
    if len(found) > 1:
        raise AmbiguousPayloadError(found)
    return found[0] if found else None


def read_payload(value: Any, producer: str = "auto") -> Output | None:
    """Return the canonical output of a producer's payload; with ``auto`` None where it is none that is known.

    The value is a payload (a dict, a list of blocks, the SDK's object), or ``{"response": payload, "contexts": […]}``
    with the passages that the system gave to the producer, which most responses do not repeat. What it was read as
    stands in the output's ``versions`` under ``citation_payload``.

    Raises:
        AmbiguousPayloadError: when ``auto`` finds several producers' fields.
        PayloadError: when it is not the payload of the producer that was named.
    """
    if producer in _MARKER_BASES:
        payload, beside = _envelope(value if isinstance(value, str) else plain(value))
        contexts = given_contexts(beside.get("contexts"))
        return _noted(inline.read(payload, contexts, base=_MARKER_BASES[producer]), producer, beside)
    if value is None or isinstance(value, str | bytes | Output) or is_canonical(value):
        if producer == "auto":
            return None
        raise PayloadError(f"an output in canonical form came, and no {producer} payload: set citations: auto")
    payload, beside = _envelope(plain(value))
    if is_canonical(payload) and producer == "auto":
        return None
    name = detect(payload) if producer == "auto" else producer
    if name is None:
        return None
    if producer != "auto" and not PRODUCERS[name].fits(payload):
        raise PayloadError(f"this is no {name} payload: its fields are others")
    draft = Draft(given_contexts(beside.get("contexts")))
    return _noted(PRODUCERS[name].read(payload, draft), name, beside)


def is_canonical(value: Any) -> bool:
    """Say whether a value is an output in canonical form already: it has an ``answer``, or a ``text`` in its place.

    Two producers have one of these names in their own form, beside fields that only they have.
    """
    if not isinstance(value, Mapping) or not ("answer" in value or isinstance(value.get("text"), str)):
        return False
    return not (cohere.fits_v1(value) or langchain.fits_chain(value))


def _envelope(value: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return the payload, and what the caller put beside it."""
    if isinstance(value, Mapping) and isinstance(value.get("response"), Mapping | list):
        return value["response"], value
    return value, {}


def _noted(output: Output, name: str, beside: Mapping[str, Any]) -> Output:
    stated = {key: beside[key] for key in _BESIDE if beside.get(key) is not None}
    versions = {**output.versions, **stated.pop("versions", {}), NOTE: name}
    return Output.model_validate({**output.model_dump(), **stated, "versions": versions})


__all__ = ["NOTE", "PRODUCERS", "AmbiguousPayloadError", "PayloadError", "Producer", "detect", "read_payload"]
