"""The target that a suite names, with the readers of other tools' files at hand.

Loading and calling each kind lives in ``clients``; other tools' files in ``importers``, which ``clients`` do not know.
"""

from __future__ import annotations

from pathlib import Path

from spancheck_pipeline.clients import target
from spancheck_pipeline.clients.target import LoadedTarget
from spancheck_pipeline.decision.suite import Target


def load_target(settings: Target, *, suite_folder: Path) -> LoadedTarget:
    """Return the target that a suite's settings name, files of every format that can be imported among them.

    Raises:
        TargetError, ConfigError: as ``clients.target.load_target``.
    """
    from spancheck_pipeline.importers.recorded import RecordedElsewhere

    return target.load_target(settings, suite_folder=suite_folder, open_format=RecordedElsewhere)
