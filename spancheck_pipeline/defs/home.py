"""DAGSTER_HOME: a local folder with the instance's settings, created once, telemetry off."""

import os
from pathlib import Path

import dagster as dg
from filelock import FileLock

from spancheck_pipeline.errors import StorageError

INSTANCE_SETTINGS = """\
# Settings of this project's Dagster instance. This file is written once and is yours to change.
telemetry:
  enabled: false
nux:
  enabled: false  # no dialog that asks for an e-mail address
run_monitoring:
  enabled: true
  start_timeout_seconds: 180
  max_runtime_seconds: 43200  # 12 h for a run that does not say otherwise (suite.yaml: schedule.max_run_hours)
  free_slots_after_run_end_seconds: 60
run_retries:
  enabled: true
  max_retries: 0  # nightly runs say how often they are started again (suite.yaml: schedule.retries)
  retry_on_asset_or_op_failure: false
concurrency:
  pools:
    default_limit: 1  # one run at a time captures from a target
    granularity: run  # held by the daemon's queue: a killed run leaves no slot behind
freshness:
  enabled: true
"""


def prepare_home(home: Path) -> Path:
    """Create a Dagster home where there is none, point ``DAGSTER_HOME`` at it, and return it.

    An existing ``dagster.yaml`` is left as it is. Two processes that start at once agree: the first file stands.

    Raises:
        StorageError: when the folder cannot be made.
    """
    home = home.absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with (home / "dagster.yaml").open("x", encoding="utf-8") as file:
            file.write(INSTANCE_SETTINGS)
    except FileExistsError:
        if not home.is_dir():
            raise StorageError(f"{home}: DAGSTER_HOME must be a folder, and a file stands there") from None
    except OSError as error:
        raise StorageError(f"{home}: DAGSTER_HOME cannot be made ({os.strerror(error.errno or 0)})") from None
    os.environ["DAGSTER_HOME"] = str(home)
    # Dagster uploads nothing then, whatever an older dagster.yaml says.
    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "yes")
    _create_databases(home)
    return home


def _create_databases(home: Path) -> None:
    """Let one process at a time create Dagster's databases: two that create them at once make one of them fail."""
    done = home / ".databases_created"
    if done.exists():
        return
    try:
        with FileLock(home / ".databases.lock"):
            if not done.exists():
                with dg.DagsterInstance.get():
                    done.touch()
    except OSError as error:
        raise StorageError(f"{home}: DAGSTER_HOME cannot be written ({os.strerror(error.errno or 0)})") from None
