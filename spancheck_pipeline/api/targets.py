"""The target that a suite names, with the readers of other tools' files at hand.

Loading and calling each kind lives in ``clients``; other tools' files in ``importers``, which ``clients`` do not know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from spancheck_pipeline.clients import target
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.suite_target import Target
from spancheck_pipeline.errors import TargetError
from spancheck_pipeline.storage.datasets import SUITE_FILE

ADDRESS_TO_COME: Final = "PUT-YOUR-ADDRESS-HERE"
"""What stands in the place of an endpoint's address in a new project."""


def load_target(settings: Target, *, suite_folder: Path) -> LoadedTarget:
    """Return the target that a suite's settings name, files of every format that can be imported among them.

    Raises:
        TargetError, ConfigError: as ``clients.target.load_target``; about an address with the file that holds it.
    """
    from spancheck_pipeline.importers.recorded import RecordedElsewhere

    try:
        return target.load_target(settings, suite_folder=suite_folder, open_format=RecordedElsewhere)
    except TargetError as error:
        if settings.http is None:
            raise
        is_unfilled = settings.http.url == ADDRESS_TO_COME
        still = (
            f"; {ADDRESS_TO_COME} still stands there: put your endpoint's address in its place" if is_unfilled else ""
        )
        problem = f"{suite_folder / SUITE_FILE}: {error}{still}"
    raise TargetError(problem)
