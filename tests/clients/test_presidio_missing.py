"""What is said where the extra ``presidio`` is named and not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from scenario import Project

from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.errors import ConfigError
from spancheck_pipeline.storage.datasets import load_suite


@pytest.mark.skipif(find_spec("presidio_analyzer") is not None, reason="the extra 'presidio' is installed here")
def test_a_suite_that_names_presidio_is_refused_with_the_command_that_installs_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write_suite(graders=", private: {use: no_pii, detector: presidio}")
    with pytest.raises(ConfigError, match=r"suite\.yaml:\d+: .*pip install 'spancheck-pipeline\[presidio\]'"):
        load_suite(tmp_path / "datasets", "small", load_attribute)
