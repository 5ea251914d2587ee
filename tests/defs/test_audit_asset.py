"""The audit log as an asset: the head of its chain stands in Dagster, where a writer of the storage cannot go."""

import dagster as dg
import pytest
from scenario import Project

from spancheck_pipeline.api.auditing_place import verify_place
from spancheck_pipeline.definitions import build
from spancheck_pipeline.defs.home import prepare_home
from spancheck_pipeline.defs.run import run_nightly
from spancheck_pipeline.storage.store import Night, Store


@pytest.fixture
def project(tmp_path, monkeypatch) -> Project:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster_home"))
    project = Project(tmp_path)
    prepare_home(project.environment.dagster_home)
    return project


def materialized(project: Project) -> dg.AssetMaterialization:
    environment = project.environment
    place = Night(project.name, environment.today())
    run_nightly(build(environment, suites=[project.name]), environment, place, {})
    with dg.DagsterInstance.get() as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey(["small", "audit_log"]))
        return event.asset_materialization


def test_the_head_that_dagster_shows_verifies_the_stored_log(project):
    head = materialized(project).metadata["chain_head"].value
    place = Night(project.name, project.environment.today())
    found = verify_place(Store(project.storage), place, head=head)

    assert found.ok, found.faults
    assert found.seal.head == head
