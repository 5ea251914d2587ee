"""Everything that is read from environment variables, in one place, for the CLI and for Dagster alike.

Keys of targets and judges are read by what uses them; a ``.env`` file in the working folder gives all of these to the
process and never overrides what is set already.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import fsspec
from dotenv import load_dotenv

from spancheck_pipeline.decision.names import check_name
from spancheck_pipeline.errors import UsageError
from spancheck_pipeline.storage.object_journal import Flush
from spancheck_pipeline.storage.object_lease import LEASE_S
from spancheck_pipeline.storage.tables import TABLES

FIRST_PARTITION = "2026-01-01"
"""First date of every suite unless ``SPANCHECK_START_DATE`` says another: fixed, so that partitions never move."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_FOLDERS = {*TABLES} | {"runs", "baselines", "report", "seals"}
"""What stands at the root of a storage without a namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where suites are read and files are written, and which day it is."""

    datasets: Path
    storage: str
    """A local path, absolute, or a URL that fsspec knows."""
    namespace: str | None
    timezone: str
    """IANA name; partitions and schedules are in it."""
    start_date: str
    """YYYY-MM-DD."""
    dagster_home: Path

    def today(self, now: dt.datetime | None = None) -> str:
        """Return the project's date of an instant (aware; default: now) as YYYY-MM-DD."""
        instant = now or dt.datetime.now(dt.UTC)
        return instant.astimezone(zoneinfo.ZoneInfo(self.timezone)).date().isoformat()


def read_environment(environ: Mapping[str, str] | None = None, *, folder: Path | None = None) -> Environment:
    """Return the settings that the environment gives, with the defaults of each.

    Without ``environ``, a ``.env`` in the working folder is read into ``os.environ`` first. Relative paths are relative
    to ``folder`` (default: the working folder).

    Raises:
        UsageError: for a storage, time zone, date or namespace that cannot be.
    """
    folder = folder or Path.cwd()
    if environ is None:
        load_dotenv(folder / ".env", override=False)
        environ = os.environ
    storage = _storage(environ.get("SPANCHECK_STORAGE") or "storage")
    home = environ.get("DAGSTER_HOME") or ".spancheck/dagster_home"
    return Environment(
        datasets=folder / Path(environ.get("SPANCHECK_DATASETS") or "datasets").expanduser(),
        storage=storage if "://" in storage else str(folder / Path(storage).expanduser()),
        namespace=_namespace(environ.get("SPANCHECK_NAMESPACE")),
        timezone=_timezone(environ.get("SPANCHECK_TIMEZONE") or "UTC"),
        start_date=_date(environ.get("SPANCHECK_START_DATE") or FIRST_PARTITION),
        dagster_home=folder / Path(home).expanduser(),
    )


def given_environment(*, folder: Path | None = None, **given: str | Path | None) -> Environment:
    """Return the settings that are given, and of those that are None what the environment gives.

    ``datasets``, ``storage``, ``namespace``, ``timezone`` and ``start_date`` may be given.

    Raises:
        UsageError: as ``read_environment``, in the words of what was given.
    """
    folder = folder or Path.cwd()
    load_dotenv(folder / ".env", override=False)
    named = {f"SPANCHECK_{name.upper()}": str(value) for name, value in given.items() if value is not None}
    try:
        return read_environment({**os.environ, **named}, folder=folder)
    except UsageError as error:
        variable, _, rest = str(error).partition(":")
        if variable not in named:
            raise
        raise UsageError(f"{variable.removeprefix('SPANCHECK_').lower()}:{rest}") from None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SigningKey:
    """Where the key is that audit logs are sealed with. It has no ``repr``: the passphrase stands in no message."""

    path: Path
    passphrase: str | None


def signing_key(environ: Mapping[str, str] | None = None) -> SigningKey | None:
    """Return the private key's file that ``SPANCHECK_SIGNING_KEY_FILE`` names, or None where seals are not signed.

    ``SPANCHECK_SIGNING_KEY_PASSPHRASE`` is its passphrase, where it has one.
    """
    environ = os.environ if environ is None else environ
    path = environ.get("SPANCHECK_SIGNING_KEY_FILE")
    if not path:
        return None
    return SigningKey(path=Path(path).expanduser(), passphrase=environ.get("SPANCHECK_SIGNING_KEY_PASSPHRASE") or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Durability:
    """How a running capture is kept on object storage."""

    flush: Flush
    """When finished calls are stored: what a kill may lose."""
    lease_s: float
    """Seconds after its last sign of life that a capture's place can be taken over."""


def durability(environ: Mapping[str, str] | None = None) -> Durability:
    """Return what ``SPANCHECK_JOURNAL_CALLS``, ``SPANCHECK_JOURNAL_SECONDS`` and ``SPANCHECK_LEASE_SECONDS`` say.

    Raises:
        UsageError: for a value that is no number in its range.
    """
    environ = os.environ if environ is None else environ
    default = Flush()
    return Durability(
        flush=Flush(
            calls=int(_number(environ, "SPANCHECK_JOURNAL_CALLS", default.calls, low=1, high=10_000)),
            seconds=_number(environ, "SPANCHECK_JOURNAL_SECONDS", default.seconds, low=0, high=600),
        ),
        lease_s=_number(environ, "SPANCHECK_LEASE_SECONDS", LEASE_S, low=2, high=3600),
    )


def _number(environ: Mapping[str, str], name: str, default: float, *, low: float, high: float) -> float:
    text = environ.get(name)
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise UsageError(f"{name}: {text[:40]!r} is not a number from {low:g} to {high:g}")
    return number


def _storage(value: str) -> str:
    """Return a folder or URL; a URL that is none would be taken for a folder of that name, and written to."""
    kind, colon, rest = value.rpartition("::")[2].partition(":")  # the last of a chain of filesystems
    is_scheme = bool(colon and len(kind) > 1 and _SCHEME.fullmatch(kind))  # one letter is a drive
    if not is_scheme:
        return value
    is_known = kind in fsspec.available_protocols()
    if rest.startswith("//") and not is_known:
        raise UsageError(
            f"SPANCHECK_STORAGE: {kind[:20]!r} is no kind of storage that is known here; write a folder, or for "
            "example s3://bucket/place, gs://… or abfs://…"
        )
    if not rest.startswith("//") and (is_known or rest.startswith("/")):
        raise UsageError(f"SPANCHECK_STORAGE: a URL has two slashes after its colon: {kind[:20]}://…")
    return value


def _namespace(value: str | None) -> str | None:
    if not value:
        return None
    if value in _FOLDERS:
        raise UsageError(f"SPANCHECK_NAMESPACE: {value!r} is a table's folder in a storage; call it otherwise")
    try:
        return check_name(value)
    except ValueError as error:
        raise UsageError(f"SPANCHECK_NAMESPACE: {error}") from None


def _timezone(value: str) -> str:
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"SPANCHECK_TIMEZONE: {value[:60]!r} is not a time zone; use an IANA name such as UTC or Europe/Berlin"
        ) from None
    return value


def _date(value: str) -> str:
    try:
        return dt.date.fromisoformat(value).isoformat()
    except ValueError:
        raise UsageError(f"SPANCHECK_START_DATE: {value[:40]!r} is not a date; write it as YYYY-MM-DD") from None
