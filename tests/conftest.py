"""Settings that every test shares, and a project in an empty folder."""

import os

import pytest
from hypothesis import settings
from scenario import Project

# A busy machine is no failure: what must be fast is guarded by growth ratios, not by deadlines.
# Fifty examples a property keep the test command within five minutes; `--hypothesis-profile thorough` takes its time.
settings.register_profile("spancheck", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("spancheck")


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    """Return a project in an empty folder, with an environment that names it and nothing else."""
    project = Project(tmp_path)
    for name in list(os.environ):
        if name.startswith("SPANCHECK_"):
            monkeypatch.delenv(name)
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return project
