"""What a suite, a grader, an owner and a file may be called: names become folders, asset keys and paths.

What stands under these names in ``suite.yaml`` lives in ``suite.py``.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,62}")
"""What a suite, grader or config may be called: the name becomes a folder and an asset key part."""


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


_TEAM = re.compile(r"team:[A-Za-z0-9_.-]{1,63}")

_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,7}")

FilePath = Annotated[str, AfterValidator(check_relative_path)]


def _or_path(schema: dict[str, Any]) -> None:
    """Say in a published schema that a path may stand for the whole."""
    whole = dict(schema)
    schema.clear()
    schema["anyOf"] = [{"type": "string"}, whole]


OR_PATH = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, json_schema_extra=_or_path)
"""Of a model that a path may stand for."""
