"""DAGSTER_HOME: a local folder with the instance's settings, created once, telemetry off."""

import os
from pathlib import Path

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
  free_slots_after_run_end_seconds: 60
run_retries:
  enabled: true
  retry_on_asset_or_op_failure: false
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
    return home
