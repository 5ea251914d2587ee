"""A project in an empty folder, with an environment that names it and nothing else."""

import os

import pytest
from scenario import Project


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    project = Project(tmp_path)
    for name in list(os.environ):
        if name.startswith("SPANCHECK_"):
            monkeypatch.delenv(name)
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return project
