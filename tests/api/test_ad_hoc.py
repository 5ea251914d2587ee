"""An ad-hoc run that is named again: gone on with as it is, and never under other terms."""

from __future__ import annotations

import pytest
from scenario import Project

from spancheck_pipeline.api.manifest import read_manifest
from spancheck_pipeline.api.stored import run_place
from spancheck_pipeline.clients.attribute import load_attribute
from spancheck_pipeline.clients.target import load_target
from spancheck_pipeline.errors import CaptureRefusedError
from spancheck_pipeline.storage.datasets import load_cases, load_suite
from spancheck_pipeline.storage.store import AdHoc, Store

PLACE = AdHoc("small", "run-1")


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path)


def run(project: Project, config: str | None = None) -> Store:
    loaded = load_suite(project.folder / "datasets", project.name, load_attribute)
    loaded = loaded.with_config(config) if config else loaded
    store = Store(project.storage)
    run_place(
        store,
        PLACE,
        loaded.suite,
        load_cases(loaded.folder, loaded.suite.cases),
        graders=loaded.graders,
        load_target=lambda: load_target(loaded.suite.target, suite_folder=loaded.folder),
        decided_by="x",
        config=config,
    )
    return store


def test_a_run_that_is_named_again_is_graded_again_and_calls_nothing(project):
    run(project)
    run(project)

    assert len(project.calls()) == 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("epochs: 2", "epochs 1 there, 2 now"),
        ('target: {version: "9"}', "target version '1' there, '9' now"),
        ("gate: {min_measured: 1}", "config None there, 'other' now"),
    ],
)
def test_an_ad_hoc_run_is_not_gone_on_with_under_other_terms(project, changes, message):
    project.write_suite(more=f"configs: {{other: {{{changes}}}}}\n")
    store = run(project)
    before = read_manifest(store, PLACE)

    with pytest.raises(
        CaptureRefusedError, match=f"the run run-1 is captured already, and is another one: .*{message}"
    ):
        run(project, "other")

    assert len(project.calls()) == 12
    assert read_manifest(store, PLACE) == before
