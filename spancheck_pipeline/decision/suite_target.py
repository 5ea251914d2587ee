"""The target of a suite: the system under test, how it is reached and how hard it may be called.

Loading and calling one lives in ``clients``; the suite that names it in ``suite.py``.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from spancheck_pipeline.decision.names import OR_PATH, FilePath, Name

_STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

Citations = Literal[
    "auto",
    "anthropic",
    "openai_responses",
    "openai_chat",
    "openai_assistants",
    "cohere",
    "gemini",
    "bedrock_rag",
    "bedrock_converse",
    "azure_on_your_data",
    "perplexity",
    "langchain",
    "llamaindex",
    "markers",
    "markers_from_zero",
    "none",
]
"""Producers of citation payloads (``evidence/payloads``), and what else ``target.citations`` may say."""


class HttpTarget(BaseModel):
    """An HTTP endpoint that answers one question per request."""

    model_config = _STRICT

    url: str
    method: Literal["POST", "PUT", "GET"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    """``${NAME}`` in a value is read from the environment when the call is made, and never recorded."""
    body: JsonValue = None
    """Request body with ``{input}`` and ``{history}`` where they go; None sends ``{"input": …, "history": […]}``."""
    fields: dict[str, str] = Field(default_factory=dict)
    """Output field → dotted path in the response, for example ``{answer: data.text, contexts: data.docs}``."""


RecordedFormat = Literal[
    "jsonl",
    "csv",
    "parquet",
    "spancheck",
    "ragas",
    "deepeval",
    "promptfoo",
    "inspect_ai",
    "langfuse",
    "openinference",
    "otel_genai",
]
"""Files of other tools (``importers/formats.py``) that ``target.recorded.format`` may name."""


class RecordedTarget(BaseModel):
    """A file of answers that another tool recorded: JSONL, one answer a line, matched by case id."""

    model_config = OR_PATH

    file: FilePath
    columns: dict[str, str] = Field(default_factory=dict)
    """Output field → column of the file; ``case_id`` names the column with the case's id. With a ``format`` it is a
    dotted path into the file's items."""
    format: RecordedFormat | None = None
    """Whose file it is; None: a plain file of answers. Its items are matched by case id, else by question."""
    only: str | None = None
    """Of a file with several systems' answers (promptfoo), the system that is meant."""

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _only_of_several(self) -> Self:
        if self.only is not None and self.format != "promptfoo":
            raise ValueError("only: has a meaning for format: promptfoo, whose files hold several systems' answers")
        return self


class JournalSettings(BaseModel):
    """When finished calls are put into a segment of the journal on object storage: whichever comes first."""

    model_config = _STRICT

    calls: int = Field(default=20, ge=1, le=10_000)
    """Calls that a kill may lose, besides those in flight."""
    seconds: float = Field(default=1.0, ge=0, le=600)
    """Seconds that a finished call may wait to be stored."""


class Target(BaseModel):
    """The system under test: exactly one of ``callable``, ``http``, ``command`` and ``recorded``."""

    model_config = _STRICT

    callable: str | None = None
    """``module:attribute`` from the working folder, or ``file.py:attribute`` in the suite's folder."""
    http: HttpTarget | None = None
    command: tuple[str, ...] | None = None
    """Program and arguments; the question arrives as JSON on standard input."""
    recorded: RecordedTarget | None = None
    version: str | None = None
    version_from: str | None = None
    """``module:attribute`` (or ``file.py:attribute``) of a string, or of a function that returns one."""
    citations: Citations = "auto"
    """Whose payload the target returns. ``auto`` tells it by its fields, and reads citations of an output in canonical
    form as they stand; ``markers`` reads inline markers such as ``[1]``; ``none`` drops all citations."""
    concurrency: int = Field(default=8, ge=1, le=512)
    timeout_s: float = Field(default=60.0, gt=0)
    """Seconds that one attempt may take."""
    retries: int = Field(default=2, ge=0, le=100)
    """Attempts after the first, per pass."""
    backoff_s: float = Field(default=1.0, ge=0)
    """First wait before a retry; it doubles each time, with jitter, up to 60 s."""
    rate_limit_per_minute: float | None = Field(default=None, gt=0)
    """Attempts started per minute, retries included; None is no limit."""
    pool: Name | None = None
    """Runs that share a pool do not capture at the same time; None: a pool of the suite's own."""
    shards: int = Field(default=1, ge=1, le=64)
    """Parts that a capture is made in, each a step of its own that an executor may run elsewhere."""
    journal: JournalSettings | None = None
    """How often the journal is stored on object storage; None: as the environment says."""

    @field_validator("command", mode="before")
    @classmethod
    def _argv(cls, value: Any) -> Any:
        if isinstance(value, str):
            raise ValueError("command is a list of the program and its arguments, not one string")  # noqa: TRY004 - pydantic wants ValueError
        # A strict tuple takes a JSON array, and no list that a validator before it has handed on.
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        kinds = [kind for kind in ("callable", "http", "command", "recorded") if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError(
                "a target is exactly one of callable, http, command, recorded" + (f"; got {kinds}" if kinds else "")
            )
        if self.command is not None and not self.command:
            raise ValueError("command is empty")
        if self.version is not None and self.version_from is not None:
            raise ValueError("give version or version_from, not both")
        return self

    @property
    def kind(self) -> Literal["callable", "http", "command", "recorded"]:
        """Which of the four it is."""
        if self.callable is not None:
            return "callable"
        if self.http is not None:
            return "http"
        return "command" if self.command is not None else "recorded"
