"""The judges of a project, as ``datasets/judges.yaml`` declares them, and when one is trusted.

Reading the file, with the line of each mistake, lives in ``storage/judges_file.py``; what makes a judge the same judge
in ``grading/judge.py``; calling one in ``clients``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from spancheck_pipeline.decision.suite import Name
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.run import ModelPrice
from spancheck_pipeline.grading.judge import Judge, prompt_named

_STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
Share = Annotated[float, Field(ge=0, le=1)]


class OpenAiClient(BaseModel):
    """Any server that speaks the chat completions protocol: a provider, a gateway, Ollama, vLLM."""

    model_config = _STRICT

    base_url: str = "https://api.openai.com/v1"
    key_env: str | None = "OPENAI_API_KEY"
    """Name of the environment variable with the key; null where the server wants none."""
    structured: bool = True
    """Whether the server takes a JSON Schema (``response_format``); false asks in words and reads tolerantly."""


class AnthropicClient(BaseModel):
    """The Messages API."""

    model_config = _STRICT

    base_url: str = "https://api.anthropic.com"
    key_env: str = "ANTHROPIC_API_KEY"


class CommandClient(BaseModel):
    """A program that reads the packet on standard input and replies on standard output."""

    model_config = _STRICT

    argv: tuple[str, ...] = Field(min_length=1)
    """Program and arguments. ``{model}``, ``{system}``, ``{schema}``, ``{temperature}``, ``{max_tokens}`` and
    ``{folder}`` (where ``judges.yaml`` lies) are filled in; the packet never is."""
    billing: Literal["api", "subscription", "none"]
    """Who pays for a call. ``api`` puts the one key of ``key_env`` into the program's environment, on purpose."""
    key_env: str | None = None
    envelope: Literal["claude", "text"] = "text"
    """``claude``: the JSON envelope of ``--output-format json``; ``text``: the reply itself."""
    grace_s: float = Field(default=5.0, gt=0, le=10)
    """Seconds between SIGTERM and SIGKILL of the whole process group."""

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if (self.billing == "api") != (self.key_env is not None):
            raise ValueError("billing: api needs key_env, and no other billing has one")
        return self


class StubClient(BaseModel):
    """Offline and deterministic: the word check's own opinion. It is marked as not a judge, and never gates."""

    model_config = _STRICT


class JudgeSettings(BaseModel):
    """One judge, or a panel of several."""

    model_config = _STRICT

    callable: str | None = None
    """``module:attribute`` of a function ``(system, user) -> str | dict``, sync or async."""
    openai: OpenAiClient | None = None
    anthropic: AnthropicClient | None = None
    command: CommandClient | None = None
    stub: StubClient | None = None
    panel: tuple[Name, ...] = ()
    """Names of other judges: a strict majority of them decides."""
    model: str | None = None
    prompt: str = "entailment_v1"
    threshold: Share = 0.6
    """Smallest score that counts as supported. A partial verdict is 0.5, so it is none by default, while two of three
    repeats are. Changing it asks nobody again."""
    runs: int = Field(default=1, ge=1, le=99)
    """How often each packet is asked; the mean of the scores decides, and disagreement is flagged."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """None: the provider's default."""
    max_tokens: int = Field(default=512, ge=16)
    """A reply that uses them up is asked for once more with four times as many."""
    concurrency: int = Field(default=4, ge=1, le=1024)
    timeout_s: float | None = Field(default=None, gt=0)
    """Seconds of one call; None: 900 for a command, 120 otherwise."""
    retries: int = Field(default=2, ge=0, le=20)
    backoff_s: float = Field(default=1.0, ge=0)
    rate_limit_per_minute: float | None = Field(default=None, gt=0)
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    """By served model; none: a call's cost is what the provider reports, or unknown."""

    @field_validator("stub", mode="before")
    @classmethod
    def _empty(cls, value: Any) -> Any:
        return {} if value is None else value

    @model_validator(mode="after")
    def _one_client(self) -> Self:
        named = [kind for kind in CLIENT_KINDS if getattr(self, kind) is not None] + (["panel"] if self.panel else [])
        if len(named) != 1:
            said = f"it names {', '.join(named)}" if named else "it names none"
            raise ValueError(f"a judge is exactly one of {', '.join(CLIENT_KINDS)} and panel; {said}")
        if self.panel and (len(self.panel) < 2 or len(set(self.panel)) != len(self.panel)):  # noqa: PLR2004 - one judge is no panel
            raise ValueError("a panel has two different judges or more")
        if self.kind in {"openai", "anthropic"} and self.model is None:
            raise ValueError(f"a judge on {self.kind} names its model")
        return self

    @property
    def kind(self) -> str:
        """Which client: ``callable``, ``openai``, ``anthropic``, ``command``, ``stub``, or ``panel``."""
        return next((kind for kind in CLIENT_KINDS if getattr(self, kind) is not None), "panel")

    @property
    def client_digest(self) -> str:
        """SHA-256 of how the client is reached: its address, program or function. Keys and waits are not in it."""
        client = getattr(self, self.kind, None)
        told = (
            client.model_dump(mode="json", exclude={"key_env", "grace_s", "billing"})
            if isinstance(client, BaseModel)
            else client
        )
        return digest({self.kind: told})

    @property
    def call_timeout_s(self) -> float:
        """Seconds that one call may take."""
        return self.timeout_s if self.timeout_s is not None else (900.0 if self.command is not None else 120.0)


CLIENT_KINDS = ("callable", "openai", "anthropic", "command", "stub")


class JudgesFile(BaseModel):
    """``datasets/judges.yaml``."""

    model_config = _STRICT

    contract: Literal[1]
    judges: dict[Name, JudgeSettings] = Field(default_factory=dict)


def judges_of(file: JudgesFile) -> dict[str, Judge]:
    """Return every judge of the file as graders know it, by name; its prompts and panels are known to be there."""
    single = {name: _judge(name, settings) for name, settings in file.judges.items() if not settings.panel}
    panels = {
        name: _judge(name, settings, tuple(single[member] for member in settings.panel))
        for name, settings in file.judges.items()
        if settings.panel
    }
    return {name: {**single, **panels}[name] for name in file.judges}


def _judge(name: str, settings: JudgeSettings, members: tuple[Judge, ...] = ()) -> Judge:
    return Judge(
        name=name,
        client=settings.kind,
        client_digest="" if settings.panel else settings.client_digest,
        model=settings.model,
        prompt=settings.prompt,
        prompt_digest=prompt_named(settings.prompt).digest,
        temperature=settings.temperature,
        threshold=settings.threshold,
        runs=settings.runs,
        members=members,
    )
