"""The judges of a project, as ``datasets/judges.yaml`` declares them, and when one is trusted.

Reading the file, with the line of each mistake, lives in ``storage/judges_file.py``; what makes a judge the same judge
in ``grading/judge.py``; calling one in ``clients``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from spancheck_pipeline.decision.names import Name
from spancheck_pipeline.evidence.canonical import digest
from spancheck_pipeline.evidence.run import ModelPrice
from spancheck_pipeline.grading.judge import DEFAULT_THRESHOLD, Judge, prompt_named

# What was given may be a key in the wrong place, so that no error repeats it.
_STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

GRADERS_CALIBRATED: Final = ("citation_accuracy", "groundedness")
"""Deterministic graders that are calibrated as judges are, under these names; so no judge is called so."""

PLACEHOLDERS: Final = ("system", "model", "schema", "temperature", "max_tokens", "folder")
"""What may stand in braces in a command's arguments."""

_BRACED = re.compile(r"\{([A-Za-z_]\w*)\}")


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", name):
        # It may be the key itself, so it is not repeated.
        raise ValueError("this is the name of an environment variable (letters, digits and _), never the key itself")
    return name


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in {"http", "https"}:
        raise ValueError("this must be a http:// or https:// URL with a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("this must hold no user and no password; name the key's variable in key_env")
    return url


Variable = Annotated[str, AfterValidator(_variable)]
Address = Annotated[str, AfterValidator(_address)]


class OpenAiClient(BaseModel):
    """Any server that speaks the chat completions protocol: a provider, a gateway, Ollama, vLLM."""

    model_config = _STRICT

    base_url: Address = "https://api.openai.com/v1"
    key_env: Variable | None = "OPENAI_API_KEY"
    """Name of the environment variable with the key; null where the server wants none."""
    structured: bool = True
    """Whether the server takes a JSON Schema (``response_format``); false asks in words and reads tolerantly."""


class AnthropicClient(BaseModel):
    """The Messages API."""

    model_config = _STRICT

    base_url: Address = "https://api.anthropic.com"
    key_env: Variable = "ANTHROPIC_API_KEY"


class CommandClient(BaseModel):
    """A program that reads the packet on standard input and replies on standard output."""

    model_config = _STRICT

    argv: tuple[str, ...] = Field(min_length=1)
    """Program and arguments. ``{model}``, ``{system}``, ``{schema}``, ``{temperature}``, ``{max_tokens}`` and
    ``{folder}`` (where ``judges.yaml`` lies) are filled in; the packet never is."""
    billing: Literal["api", "subscription", "none"]
    """Who pays for a call. ``api`` puts the one key of ``key_env`` into the program's environment, on purpose."""
    key_env: Variable | None = None
    envelope: Literal["claude", "text"] = "text"
    """``claude``: the JSON envelope of ``--output-format json``; ``text``: the reply itself."""
    grace_s: float = Field(default=5.0, gt=0, le=10)
    """Seconds between SIGTERM and SIGKILL of the whole process group."""

    @field_validator("argv")
    @classmethod
    def _filled_in(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        named = {name for argument in argv for name in _BRACED.findall(argument)}
        for name in sorted(named - set(PLACEHOLDERS)):
            near = difflib.get_close_matches(name[:80], PLACEHOLDERS, n=1, cutoff=0.5)
            fix = f"did you mean {{{near[0]}}}?" if near else f"there are {', '.join(f'{{{p}}}' for p in PLACEHOLDERS)}"
            raise ValueError(f"there is no placeholder {{{name[:80]}}}; {fix}")
        if "system" not in named:
            raise ValueError(
                "it has no {system}: the prompt's instructions need a place of their own, "
                "for example --system-prompt {system}"
            )
        return argv

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
    """Names of other judges: a strict majority of them decides. Nothing else is said of a panel: what it is asked, and
    from which score on its members say yes, are theirs."""
    version: str | None = Field(default=None, min_length=1, max_length=100)
    """Of what lies behind the client and cannot be seen from here; another one is another judge, asked anew."""
    model: str | None = None
    prompt: str = "entailment_v1"
    threshold: float = Field(default=DEFAULT_THRESHOLD, gt=0, le=1)
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

    @field_validator("callable")
    @classmethod
    def _reference(cls, value: str | None) -> str | None:
        place, _, attribute = (value or "").rpartition(":")
        if value is not None and not (place and attribute):
            raise ValueError("this must be 'file.py:attribute' or 'module:attribute'")
        return value

    @model_validator(mode="after")
    def _command_fits(self) -> Self:
        if self.command is not None:
            named = {name for argument in self.command.argv for name in _BRACED.findall(argument)}
            for name in ("model", "temperature"):
                if (name in named) != (getattr(self, name) is not None):
                    fix = f"set {name} for the judge" if name in named else f"give it its place in argv, as {{{name}}}"
                    raise ValueError(f"command.argv and the judge's {name} do not fit: {fix}, or leave out both")
        return self

    @model_validator(mode="after")
    def _one_client(self) -> Self:
        is_panel = "panel" in self.model_fields_set
        named = [kind for kind in CLIENT_KINDS if getattr(self, kind) is not None] + (["panel"] if is_panel else [])
        if len(named) != 1:
            said = f"it names {', '.join(named)}" if named else "it names none"
            raise ValueError(f"a judge is exactly one of {', '.join(CLIENT_KINDS)} and panel; {said}")
        if is_panel and (len(self.panel) < 2 or len(set(self.panel)) != len(self.panel)):  # noqa: PLR2004 - one judge is no panel
            raise ValueError(f"a panel has two different judges or more; this one has {len(set(self.panel))}")
        if is_panel and (more := sorted(self.model_fields_set - {"panel"})):
            raise ValueError(f"a panel takes only panel; {', '.join(more)} has no effect: set it for its members")
        if self.kind in {"openai", "anthropic"} and self.model is None:
            raise ValueError(f"a judge on {self.kind} names its model")
        return self

    @property
    def kind(self) -> str:
        """Which client: ``callable``, ``openai``, ``anthropic``, ``command``, ``stub``, or ``panel``."""
        return next((kind for kind in CLIENT_KINDS if getattr(self, kind) is not None), "panel")

    def client_digest(self, code: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the SHA-256 of how the client is reached: address, program or function, its code, and its version.

        ``code`` are the digests of the files behind it, by the name that the settings give them. Keys and waits are not
        in it.
        """
        client = getattr(self, self.kind, None)
        told = (
            client.model_dump(mode="json", exclude={"key_env", "grace_s", "billing"})
            if isinstance(client, BaseModel)
            else client
        )
        of_code = {"code": dict(code)} if code else {}
        return digest({self.kind: told, **of_code, **({} if self.version is None else {"version": self.version})})

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


def judges_of(file: JudgesFile, code: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> dict[str, Judge]:
    """Return every judge of the file as graders know it, by name; its prompts and panels are known to be there.

    ``code`` are, by judge, the digests of the files behind it (``storage/judge_code.py``).
    """
    single = {
        name: _judge(name, settings, code.get(name, {})) for name, settings in file.judges.items() if not settings.panel
    }
    panels = {
        name: _panel(name, tuple(single[member] for member in settings.panel))
        for name, settings in file.judges.items()
        if settings.panel
    }
    return {name: {**single, **panels}[name] for name in file.judges}


def _judge(name: str, settings: JudgeSettings, code: Mapping[str, str]) -> Judge:
    return Judge(
        name=name,
        client=settings.kind,
        client_digest=settings.client_digest(code),
        model=settings.model,
        prompt=settings.prompt,
        prompt_digest=prompt_named(settings.prompt).digest,
        temperature=settings.temperature,
        threshold=settings.threshold,
        runs=settings.runs,
    )


def _panel(name: str, members: tuple[Judge, ...]) -> Judge:
    first = members[0]
    return Judge(name=name, client="panel", prompt=first.prompt, prompt_digest=first.prompt_digest, members=members)
