"""The suite: a named set of cases with its target, graders, gate and schedule, as ``suite.yaml`` states it.

Its target lives in ``suite_target.py``, what its gate is asked to hold in ``gate_settings.py``, what it may be called
in ``names.py``; reading the file, with the line of each mistake, in ``storage/datasets.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, field_validator, model_validator

from spancheck_pipeline.decision.cron import check_cron
from spancheck_pipeline.decision.gate_settings import GateSettings
from spancheck_pipeline.decision.names import OR_PATH, FilePath, Name, SuiteName, check_owner
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.evidence.run import ModelPrice

_STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

GraderSettings = Annotated[dict[str, Any], WithJsonSchema({"type": ["object", "null"]})]


class CasesFile(BaseModel):
    """Where the cases stand, and how its columns are called where they differ."""

    model_config = OR_PATH

    file: FilePath
    """Path relative to the suite's folder, or absolute: ``.jsonl``, ``.csv`` or ``.parquet``."""
    columns: dict[str, str] = Field(default_factory=dict)
    """Case field → column of the file, for example ``{id: case_id}``. With a map, columns that no case has are left
    out; without one they are a mistake."""

    @model_validator(mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value


class RunBudget(BaseModel):
    """What one run may spend. It is looked at before the first call and after every answer, not by the gate."""

    model_config = _STRICT

    max_run_cost_usd: float | None = Field(default=None, gt=0)
    """USD for all answers of one captured run; None is no limit."""


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
