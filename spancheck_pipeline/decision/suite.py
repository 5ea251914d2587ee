"""The suite: a named set of cases with its target, graders, gate and schedule, as ``suite.yaml`` states it.

Reading the file, with the line of each mistake, lives in ``storage/datasets.py``; calling a target in ``clients``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from spancheck_pipeline.decision.cron import check_cron
from spancheck_pipeline.decision.standing import CalibrationPolicy
from spancheck_pipeline.evidence.run import ModelPrice

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,62}")
"""What a suite, grader or config may be called: the name becomes a folder and an asset key part."""

_STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def check_name(value: str) -> str:
    """Return a name that may become a folder and an asset key part, or raise ``ValueError`` saying the rule."""
    if not NAME_PATTERN.fullmatch(value):
        raise ValueError(
            f"{value[:80]!r} is not a name: a lower-case letter, then lower-case letters, digits or _, at most 63"
        )
    return value


Name = Annotated[str, BeforeValidator(lambda value: check_name(value) if isinstance(value, str) else value)]


_TAKEN = {
    "calibration": "the asset that all suites share is called so",
    "gold": "datasets/gold holds the gold sets that judges are measured on",
}


def check_suite_name(value: str) -> str:
    """Return what a suite may be called, or raise ``ValueError``: a name, and none that stands for something else."""
    if value in _TAKEN:
        raise ValueError(f"a suite cannot be called {value!r}: {_TAKEN[value]}")
    if value.endswith("__scores") or "__scores__" in value:
        raise ValueError(f"a suite cannot be called {value[:80]!r}: it would share names with another suite's scores")
    return check_name(value)


SuiteName = Annotated[str, BeforeValidator(lambda value: check_suite_name(value) if isinstance(value, str) else value)]


def check_relative_path(value: str) -> str:
    """Return a path unchanged, or raise ``ValueError``: it stays in the suite's folder or is absolute."""
    if not value.strip() or "\0" in value:
        raise ValueError("a path must not be empty or hold a NUL character")
    if ".." in re.split(r"[/\\]", value):
        raise ValueError("a path must not hold '..': it stays in the suite's folder, or is absolute")
    return value


def check_owner(value: str) -> str:
    """Return an owner unchanged, or raise ``ValueError``: an e-mail address, or ``team:`` and a name."""
    if not (_TEAM.fullmatch(value) or _EMAIL.fullmatch(value)):
        raise ValueError("an owner is an e-mail address or team:name (letters, digits, _ . -)")
    return value


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

_TEAM = re.compile(r"team:[A-Za-z0-9_.-]{1,63}")
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,7}")

FilePath = Annotated[str, AfterValidator(check_relative_path)]
GraderSettings = Annotated[dict[str, Any], WithJsonSchema({"type": ["object", "null"]})]
Share = Annotated[float, Field(ge=0, le=1)]


def _or_path(schema: dict[str, Any]) -> None:
    """Say in a published schema that a path may stand for the whole."""
    whole = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"type": "string"}, whole]


_OR_PATH = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, json_schema_extra=_or_path)


class CasesFile(BaseModel):
    """Where the cases stand, and how its columns are called where they differ."""

    model_config = _OR_PATH

    file: FilePath
    """Path relative to the suite's folder, or absolute: ``.jsonl``, ``.csv`` or ``.parquet``."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Case field → column of the file, for example ``{id: case_id}``. With a map, columns that no case has are left
    out; without one they are a mistake."""

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value


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

    model_config = _OR_PATH

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


class Regression(BaseModel):
    """When a drop against a baseline counts."""

    model_config = _STRICT

    alpha: float = Field(default=0.05, gt=0, lt=1)
    detect: float = Field(default=0.10, gt=0, lt=1)
    """Drop of a pass rate that a night should be able to see; PASS says that it would have been seen."""
    margin: float | None = Field(default=None, gt=0, lt=1)
    """Non-inferiority in its place: PASS says that a drop of this size is excluded by the interval."""


class Budget(BaseModel):
    """Bounds on what an answer may cost and how long it may take."""

    model_config = _STRICT

    mean_cost_usd: float | None = Field(default=None, ge=0)
    p95_latency_ms: float | None = Field(default=None, ge=0)


class RunBudget(BaseModel):
    """What one run may spend. It is looked at before the first call and after every answer, not by the gate."""

    model_config = _STRICT

    max_run_cost_usd: float | None = Field(default=None, gt=0)
    """USD for all answers of one captured run; None is no limit."""


class GateSettings(BaseModel):
    """Thresholds, regression tests and budgets of a suite."""

    model_config = _STRICT

    min_pass_rate: dict[str, Share] = Field(default_factory=dict)
    """Grader → lowest pass rate that is good enough. ``completion`` always gates, at 1.0 unless it stands here."""
    min_measured: int | None = Field(default=None, ge=1)
    """Cases that a threshold must rest on; None: 30, or half of the applicable cases if fewer."""
    confidence: Literal["count", "lower"] = "count"
    """Whether a threshold is decided by the count, or by the lower bound of the rate's 95 % interval."""
    max_flaky: Share | None = None
    """Largest share of flaky cases among a gating grader's measured ones."""
    max_unmeasured: Share | None = None
    """Largest share of unmeasured cases among a gating grader's applicable ones."""
    regression: Regression | None = None
    judges: CalibrationPolicy = CalibrationPolicy()
    """What a judge's calibration must show before scores that rest on it may decide."""
    budget: Budget = Budget()
    adjudicated: bool = False
    """Whether pass rates and caps are decided with people's signed-off dispositions, waivers until they expire among
    them. Otherwise these are shown and decide nothing."""
    blocking: bool = True
    """Whether a failed rule is an error (and holds back the promotion) or a warning."""


class Schedule(BaseModel):
    """When the suite runs, in the project's time zone."""

    model_config = _STRICT

    cron: Annotated[str, AfterValidator(check_cron)]
    late_after_hours: int = Field(default=6, ge=1, le=168)
    """Hours after its time at which a night that is not captured is late (the freshness policy)."""
    max_run_hours: float = Field(default=12, gt=0, le=168)
    """A run that takes longer is ended, and gone on with as ``retries`` allow; what was captured is kept."""
    retries: int = Field(default=2, ge=0, le=10)
    """How often a run whose process died is started again. It resumes the capture; a failed step is not retried."""


class Alerts(BaseModel):
    """Of what somebody is told. The alert goes into Dagster's log, and to a webhook where the environment names one."""

    model_config = _STRICT

    on: tuple[Literal["failure", "gate", "missed"], ...] = ("failure", "gate", "missed")
    """A run that could not run, a gate that does not pass, a scheduled night that was not captured."""
    webhook_from: str = Field(default="SPANCHECK_ALERT_WEBHOOK", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")
    """Environment variable that holds the webhook's URL (Slack-compatible JSON); the URL is never written anywhere."""

    @field_validator("on", mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        # A strict tuple takes a JSON array, and no list that a validator before it has handed on.
        return tuple(value) if isinstance(value, list) else value


class Suite(BaseModel):
    """One folder ``datasets/<suite>/``: what is asked, whom, how it is graded and what is good enough."""

    model_config = _STRICT

    contract: Literal[1]
    name: SuiteName
    description: str = ""
    owners: tuple[Annotated[str, AfterValidator(check_owner)], ...] = ()
    """E-mail addresses or ``team:name``; shown in Dagster."""
    cases: CasesFile = CasesFile(file="cases.jsonl")
    target: Target
    epochs: int = Field(default=1, ge=1, le=1000)
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    budget: RunBudget = RunBudget()
    graders: dict[Name, GraderSettings]
    """Grader name → settings. ``use`` names another measurement: a shipped grader, or ``module:attribute``."""
    gate: GateSettings = GateSettings()
    schedule: Schedule | None = None
    alerts: Alerts = Alerts()
    configs: dict[Name, dict[str, Any]] = Field(default_factory=dict)
    """Other configurations of the suite, each a set of changes to the keys above; they run ad hoc, never at night."""

    @field_validator("graders", mode="before")
    @classmethod
    def _empty_settings(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: {} if settings is None else settings for name, settings in value.items()}

    def with_config(self, name: str) -> Suite:
        """Return the suite with the changes of one of its ``configs`` applied, key by key.

        Raises:
            KeyError: when there is no such configuration.
        """
        base = self.model_dump(mode="json", exclude={"configs"}, exclude_unset=True)
        return Suite.model_validate(apply_changes(base, self.configs[name]))


FIXED_KEYS = ("contract", "name", "owners", "schedule", "configs")
"""What a configuration cannot change: it says which suite it is of, and does not run at night."""

_ALTERNATIVES = (("callable", "http", "command", "recorded"), ("version", "version_from"))
"""Keys of a target of which there is one: a configuration that names one takes the others' place."""


def apply_changes(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a suite with a configuration's changes: mappings key by key, everything else replaced.

    Raises:
        ValueError: for a change of what makes the suite this suite.
    """
    if fixed := [key for key in FIXED_KEYS if key in changes]:
        raise ValueError(f"a config cannot change {', '.join(fixed)}")
    base = {key: value for key, value in base.items() if key not in {"configs", "schedule"}}
    target, change = base.get("target"), changes.get("target")
    if isinstance(target, dict) and isinstance(change, dict):
        gone = {key for keys in _ALTERNATIVES if change.keys() & set(keys) for key in keys if key not in change}
        base["target"] = {key: value for key, value in target.items() if key not in gone}
    return _merged(base, changes)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, change in changes.items():
        old = merged.get(key)
        merged[key] = _merged(old, change) if isinstance(old, dict) and isinstance(change, dict) else change
    return merged
