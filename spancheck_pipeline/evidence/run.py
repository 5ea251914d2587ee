"""What one call returned, in canonical form, and the manifest of all the calls of a run.

How a producer's payload becomes an ``Output`` lives in ``payloads/`` and ``normalize``; calling and journaling live in
``capture``; the columns of a captured run live in ``storage/tables.py``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from spancheck_pipeline.evidence.canonical import CONTRACT
from spancheck_pipeline.evidence.citation import Citation

_FROZEN = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
_MOST_TOKENS = 2**53
_MOST_PAGES = 2**31 - 1
"""What a system may report: beyond these a number is nonsense, and a table's column could not hold it."""


class Context(BaseModel):
    """One retrieved passage."""

    model_config = _FROZEN

    source_id: str | None = None
    """The producer's id of the source; None where it gave none (the passage's place in the list is its name then)."""
    text: str | None = None
    """The passage; None where the producer gave a link and no text."""
    uri: str | None = None
    title: str | None = None
    page: int | None = Field(default=None, le=_MOST_PAGES)
    """1-based page in the source."""
    rank: int | None = Field(default=None, le=_MOST_PAGES)
    """1-based place in the retrieval's order."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"text": value}
        if not isinstance(value, Mapping):
            return value
        names = {"url": "uri", "id": "source_id", "content": "text"}
        renamed = {names.get(key, key) if names.get(key) not in value else key: item for key, item in value.items()}
        known = {key: item for key, item in renamed.items() if key in cls.model_fields}
        if isinstance(known.get("source_id"), int):
            known["source_id"] = str(known["source_id"])
        return known


class Usage(BaseModel):
    """Tokens and cost that the producer reported for one call. None is unknown; 0 is none."""

    model_config = _FROZEN

    input_tokens: int | None = Field(default=None, ge=0, le=_MOST_TOKENS)
    """All tokens read, the cached ones included."""
    output_tokens: int | None = Field(default=None, ge=0, le=_MOST_TOKENS)
    """All tokens written, the reasoning ones included."""
    cached_input_tokens: int | None = Field(default=None, ge=0, le=_MOST_TOKENS)
    reasoning_tokens: int | None = Field(default=None, ge=0, le=_MOST_TOKENS)
    cost_usd: float | None = Field(default=None, ge=0)
    """What the producer itself says that the call cost."""

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, value: Any) -> Any:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            return value
        names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
        renamed = {names.get(key, key) if names.get(key) not in value else key: item for key, item in value.items()}
        return {key: item for key, item in renamed.items() if key in cls.model_fields}


class Output(BaseModel):
    """What one call of the system under test returned, in canonical form."""

    model_config = _FROZEN

    answer: str = ""
    contexts: tuple[Context, ...] = ()
    """Retrieved passages, in the retrieval's order."""
    citations: tuple[Citation, ...] = ()
    usage: Usage = Usage()
    latency_ms: float | None = Field(default=None, ge=0)
    """Time that the system itself reports for the call; the capture measures its own (``CapturedRow.latency_ms``)."""
    abstained: bool | None = None
    """Whether the system itself says that it declined; None where it does not say."""
    finish_reason: str | None = None
    """The provider's word: ``stop``, ``max_tokens``, ``refusal`` …"""
    served_model: str | None = None
    """The model that really answered, as the producer reports it."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions that the target reports of its parts: ``{"prompt": "7", "index": "2026-11-02"}``."""
    raw: JsonValue = None
    """The payload as it came, where the target keeps it."""

    @model_validator(mode="before")
    @classmethod
    def _sources_into_contexts(cls, value: Any) -> Any:
        """Read ``sources: {source_id: text}``, the earlier library's second place for passages, as contexts.

        A passage without an id whose text a source has takes that id; a source that no passage holds is added.
        """
        if not isinstance(value, Mapping) or not isinstance(value.get("sources"), Mapping):
            return value
        fields = {key: item for key, item in value.items() if key != "sources"}
        contexts = [Context.model_validate(item) for item in fields.get("contexts") or ()]
        named = {context.source_id for context in contexts}
        for source_id, text in value["sources"].items():
            if source_id in named:
                continue
            same = [i for i, context in enumerate(contexts) if context.source_id is None and context.text == text]
            if same:
                contexts[same[0]] = contexts[same[0]].model_copy(update={"source_id": str(source_id)})
            else:
                contexts.append(Context(source_id=str(source_id), text=text))
        return {**fields, "contexts": contexts}

    @property
    def sources(self) -> dict[str, str | None]:
        """Texts of the retrieved passages that carry a source id, by that id; the first passage of a source wins."""
        texts: dict[str, str | None] = {}
        for context in self.contexts:
            if context.source_id is not None:
                texts.setdefault(context.source_id, context.text)
        return texts

    def to_dict(self) -> dict[str, Any]:
        """Return the output as JSON-ready values."""
        return self.model_dump(mode="json")


def normalize(value: Any) -> Output:
    """Return what a system returned as an ``Output``: a text, a mapping with an ``answer``, or an ``Output``.

    Strings are made storable: a lone surrogate, which UTF-8 does not have, becomes U+FFFD. Keys of a mapping that an
    output does not have are kept under ``raw``.

    Raises:
        TypeError: for any other type (None included), without its text.
        ValueError: (pydantic's) for a field of the wrong type or a NaN.
    """
    if isinstance(value, Output):
        return Output.model_validate(storable(value.model_dump()))
    if isinstance(value, str):
        return Output(answer=storable(value))
    if isinstance(value, Mapping):
        return _from_mapping(storable(dict(value)))
    dumped = getattr(value, "model_dump", None)
    if callable(dumped) and not isinstance(value, type):
        return _from_mapping(storable(dict(dumped())))
    raise TypeError(f"a target must return str, dict or Output, not {type(value).__name__}")


def _from_mapping(value: dict[str, Any]) -> Output:
    names = {"text": "answer", "model": "served_model"}
    renamed = {names.get(key, key) if names.get(key) not in value else key: item for key, item in value.items()}
    if "answer" not in renamed:
        raise TypeError("a target's dict must have the key 'answer'")
    if isinstance(renamed["answer"], Mapping):  # an answer that is an object is kept as the JSON that it is
        renamed["answer"] = json.dumps(_jsonable(renamed["answer"]), ensure_ascii=False)
    known = {key: item for key, item in renamed.items() if key in Output.model_fields or key == "sources"}
    known = {key: item for key, item in known.items() if item is not None or key == "raw"}
    extra = {key: item for key, item in renamed.items() if key not in known and item is not None}
    if extra and known.get("raw") is None:
        known["raw"] = _jsonable(extra)
    elif "raw" in known:
        known["raw"] = _jsonable(known["raw"])
    return Output.model_validate(known)


def storable(value: Any) -> Any:
    r"""Return a value with every lone surrogate in its strings replaced by U+FFFD, so that UTF-8 can hold it.

    >>> storable({"a": ["x\ud800"]})
    {'a': ['x�']}
    """
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, Mapping):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return value


def _jsonable(value: Any, depth: int = 0) -> JsonValue:
    """Return a foreign value as JSON has it; what JSON lacks becomes its type's name, so that no object is run."""
    if depth > 50:  # noqa: PLR2004 - deeper than any payload; the bound keeps recursion finite
        return "<nested too deeply>"
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item, depth + 1) for item in value]
    return f"<{type(value).__name__}>"


def adapter(fn: Callable[..., Any], *, capture_time: bool = True) -> Callable[..., Output]:
    """Wrap a system so that it returns an ``Output``, whatever it returns.

    ``capture_time`` is kept from an earlier signature: the capture measures every call, so it changes nothing here.
    """
    del capture_time

    def system(*args: Any, **kwargs: Any) -> Output:
        return normalize(fn(*args, **kwargs))

    return system


class CapturedRow(BaseModel):
    """One case × epoch of a captured run: the output, or the class of the error that the call ended with."""

    model_config = _FROZEN

    case_id: str
    question_digest: str
    epoch: int = Field(default=0, ge=0)
    """0-based."""
    output: Output | None = None
    """None when the call failed for good."""
    error_class: str | None = None
    """Class name of the last error, for example ``TimeoutError``; None when the call answered."""
    error_message: str | None = None
    """The error's text. It may quote anything, so it stays in record files."""
    latency_ms: float | None = Field(default=None, ge=0)
    """Time of the attempt that answered, or that failed last; None where it is not known (recorded answers)."""
    latency_total_ms: float | None = Field(default=None, ge=0)
    """Time of all attempts and the waits between them."""
    attempts: int = Field(default=1, ge=0)
    """Calls that were made for this row, in all passes of the night; 0 for a recorded answer."""
    started_at: datetime | None = None
    """UTC."""
    finished_at: datetime | None = None
    """UTC; never before ``started_at``, also when the clock was set back."""

    @model_validator(mode="after")
    def _answer_or_error(self) -> Self:
        if (self.output is None) == (self.error_class is None):
            raise ValueError("a captured row has either an output or an error class")
        return self

    @property
    def key(self) -> tuple[str, int]:
        """Case id and epoch: what is unique in a captured run."""
        return (self.case_id, self.epoch)

    @property
    def answered(self) -> bool:
        """Whether the call returned."""
        return self.output is not None


class ModelPrice(BaseModel):
    """Price of one model, in USD per million tokens."""

    model_config = _FROZEN

    input_usd_per_mtok: float = Field(ge=0)
    output_usd_per_mtok: float = Field(ge=0)
    cached_input_usd_per_mtok: float | None = Field(default=None, ge=0)
    """None: cached tokens cost what other input tokens cost."""
    reasoning_usd_per_mtok: float | None = Field(default=None, ge=0)
    """None: reasoning tokens cost what other output tokens cost."""


Prices = Mapping[str, ModelPrice]


def cost_usd(output: Output, prices: Prices) -> float | None:
    """Return what one answer cost, or None where that is not known.

    The producer's own figure is believed first. Otherwise the tokens are priced by the served model; an answer whose
    model has no price, or whose tokens were not reported, costs None, never 0.
    """
    usage = output.usage
    if usage.cost_usd is not None:
        return usage.cost_usd
    price = prices.get(output.served_model or "")
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = min(usage.cached_input_tokens or 0, usage.input_tokens)
    reasoning = min(usage.reasoning_tokens or 0, usage.output_tokens)
    cached_price = price.cached_input_usd_per_mtok
    reasoning_price = price.reasoning_usd_per_mtok
    total = (
        (usage.input_tokens - cached) * price.input_usd_per_mtok
        + cached * (price.input_usd_per_mtok if cached_price is None else cached_price)
        + (usage.output_tokens - reasoning) * price.output_usd_per_mtok
        + reasoning * (price.output_usd_per_mtok if reasoning_price is None else reasoning_price)
    )
    return total / 1_000_000


class TargetFacts(BaseModel):
    """What is known of the target of a captured run, without its secrets."""

    model_config = _FROZEN

    kind: Literal["callable", "http", "command", "recorded", "judge"]
    reference: str
    """What the suite names: ``myapp.rag:answer``, a URL without its query, a program's name, a file's name."""
    version: str | None = None
    """The suite's own statement, or what ``version_from`` says; None where neither is given."""
    settings_digest: str
    """SHA-256 of all target settings as configured (before secrets enter)."""


class Manifest(BaseModel):
    """Provenance of a captured run: digests, versions, settings, counts, prices. It holds no text of cases."""

    model_config = _FROZEN

    contract: Literal[1] = CONTRACT
    run_id: str
    suite: str
    date: str | None = None
    """The partition's date, YYYY-MM-DD; None for an ad-hoc run."""
    config: str | None = None
    """Name of the suite's other configuration that ran; None for the main one."""
    dataset_digest: str
    n_cases: int
    criteria: dict[str, int] = Field(default_factory=dict)
    """Criterion id → cases that have one of that id."""
    epochs: int
    target: TargetFacts
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Concurrency, timeout, retries, rate limit."""
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    started_at: datetime
    finished_at: datetime
    package_version: str
    python_version: str
    git_commit: str | None = None
    n_rows: int
    n_answered: int
    errors: dict[str, int] = Field(default_factory=dict)
    """Rows that failed for good, by error class."""
    finish_reasons: dict[str, int] = Field(default_factory=dict)
    attempts: int
    """Calls made in all."""
    retries: int
    """Calls beyond the first of each row."""
    tokens: dict[str, int] = Field(default_factory=dict)
    """Sums of what was reported, by kind; a kind that nobody reported is missing."""
    served_models: dict[str, int] = Field(default_factory=dict)
    versions: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Every version that the target reported of its parts."""
    cost_usd: float | None = None
    """What all answers cost by ``prices``; None where the cost of one is not known, or nothing was answered."""
    n_unpriced: int = 0
    """Answers whose cost is not known."""
    graders: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    """Grader → its whole spec, as the suite had it at the capture. Scores carry the spec that really made them."""

    @property
    def n_errors(self) -> int:
        """Rows that failed for good."""
        return self.n_rows - self.n_answered
