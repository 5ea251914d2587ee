"""The components in a `defs` folder: what `defs.yaml` may say, and what a mistake in it or in the suite looks like."""

import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster.components.core.package_entry import DG_PLUGIN_ENTRY_POINT_GROUP, get_package_objects_in_module
from dagster.components.testing import create_defs_folder_sandbox
from scenario import Project

import spancheck_pipeline
from spancheck_pipeline import EvaluationSuite, JudgeCalibration

TYPE = "spancheck_pipeline.EvaluationSuite"

# Dagster's own call, whenever it reads a defs.yaml.
pytestmark = pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated")


@pytest.fixture(autouse=True)
def clean(monkeypatch) -> None:
    for name in [name for name in os.environ if name.startswith("SPANCHECK_")]:
        monkeypatch.delenv(name)


@contextmanager
def defs_folder(**components: dict):
    """Yield a project with a suite ``small`` and a folder ``defs`` with components in it: name → defs.yaml."""
    with create_defs_folder_sandbox() as sandbox:
        project = Project(sandbox.project_root, n=3)
        for name, contents in components.items():
            (sandbox.defs_folder_path / name).mkdir()
            (sandbox.defs_folder_path / name / "defs.yaml").write_text(yaml.safe_dump(contents), encoding="utf-8")
        yield sandbox, project


def suite(**attributes: str) -> dict:
    return {"type": TYPE, "attributes": {"suite": "small", **attributes}}


def test_a_component_is_one_suite_with_everything_that_belongs_to_it():
    with defs_folder(small=suite()) as (sandbox, project), sandbox.build_all_defs() as definitions:
        dg.Definitions.validate_loadable(definitions)
        repository = definitions.get_repository_def()
        repository.load_all_definitions()

        assert definitions.executor is None
        assert dg.AssetKey(["small", "scores", "no_pii"]) in repository.asset_graph.get_all_asset_keys()
        assert {sensor.name for sensor in repository.sensor_defs} == {
            "small_rescore_stale_sensor", "small_alert_on_failed_night", "small_alert_on_failed_gate",
        }  # fmt: skip
        # The project's root is what paths are relative to, wherever Dagster was started.
        assert definitions.resources["spancheck_store"].root == str(project.storage)


def test_several_components_of_one_project_stand_beside_each_other():
    with defs_folder(
        small=suite(), other=suite(suite="second"), judges={"type": "spancheck_pipeline.JudgeCalibration"}
    ) as (
        sandbox,
        project,
    ):
        second = Project(project.folder / "elsewhere", name="second")
        second.suite_folder.rename(project.folder / "datasets" / "second")
        with sandbox.build_all_defs() as definitions:
            repository = definitions.get_repository_def()
            repository.load_all_definitions()

            keys = {key.to_user_string() for key in repository.asset_graph.get_all_asset_keys()}
            assert {"small/captured_run", "second/captured_run", "calibration"} <= keys


def test_the_same_suite_stands_twice_under_two_namespaces():
    with (
        defs_folder(a=suite(namespace="team_a"), b=suite(namespace="team_b")) as (sandbox, _),
        sandbox.build_all_defs() as definitions,
    ):
        repository = definitions.get_repository_def()
        repository.load_all_definitions()

        assert {key.path[0] for key in repository.asset_graph.get_all_asset_keys()} == {"team_a", "team_b"}


def test_a_setting_may_be_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("TEAM", "team_c")
    with (
        defs_folder(small=suite(namespace="{{ env.TEAM }}", timezone="Europe/Berlin")) as (sandbox, _),
        sandbox.build_all_defs() as definitions,
    ):
        assert all(asset.key.path[0] == "team_c" for asset in definitions.assets)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"suit": "x"}, "suit"),
        ({"namespace": 5}, "namespace"),
        ({"suite": "smal"}, "there is no suite 'smal' in .*datasets; did you mean 'small'"),
        ({"timezone": "Mars"}, "timezone: 'Mars' is not a time zone"),
    ],
)
def test_a_mistake_in_defs_yaml_is_named(attributes, message):
    with (
        defs_folder(small=suite(**attributes)) as (sandbox, _),
        pytest.raises(Exception, match=r"(?s)defs\.yaml|small") as caught,
        sandbox.build_all_defs(),
    ):
        pass

    told = caught.getrepr(chain=True)
    assert re.search(message, str(told))


def test_a_mistake_in_the_suite_is_named_with_file_and_line():
    with defs_folder(small=suite()) as (sandbox, project):
        file = project.suite_folder / "suite.yaml"
        file.write_text(file.read_text().replace("no_pii: {}", "no_pi: {}"), encoding="utf-8")
        line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "no_pi: {}" in text)
        with pytest.raises(Exception, match="small") as caught, sandbox.build_all_defs():
            pass

    assert f"{file}:{line}: graders.no_pi: there is no measurement 'no_pi'; did you mean 'no_pii'" in str(
        caught.getrepr(chain=True)
    )


def test_tools_find_the_components_by_the_entry_point():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [module] = project["entry-points"][DG_PLUGIN_ENTRY_POINT_GROUP].values()

    found = dict(get_package_objects_in_module(importlib.import_module(module)))

    assert found == {"EvaluationSuite": EvaluationSuite, "JudgeCalibration": JudgeCalibration}
    assert f"{module}.EvaluationSuite" == TYPE


@pytest.mark.parametrize("component", [EvaluationSuite, JudgeCalibration])
def test_every_setting_is_described_and_nothing_else_is_taken(component):
    schema = component.get_model_cls().model_json_schema()

    assert schema["additionalProperties"] is False
    assert all(item.get("description") for item in schema["properties"].values())
    assert schema.get("required", []) == (["suite"] if component is EvaluationSuite else [])
    assert component.get_spec().description
    assert inspect.getdoc(component)


def test_the_library_names_them_and_a_star_import_leaves_dagster_out():
    names = {"EvaluationSuite", "JudgeCalibration", "build_definitions"}
    assert names <= set(dir(spancheck_pipeline))
    assert not names & set(spancheck_pipeline.__all__)

    code = "import sys; from spancheck_pipeline import *; print('dagster' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)

    assert done.stdout == "False\n"


def test_scaffolding_names_the_suite_after_its_folder_or_as_asked():
    with create_defs_folder_sandbox() as sandbox:
        plain = sandbox.scaffold_component(component_cls=EvaluationSuite, defs_path="small")
        named = sandbox.scaffold_component(
            component_cls=EvaluationSuite, defs_path="nightly", scaffold_params={"suite": "forms"}
        )

        assert yaml.safe_load((plain / "defs.yaml").read_text())["attributes"] == {"suite": "small"}
        assert yaml.safe_load((named / "defs.yaml").read_text())["attributes"] == {"suite": "forms"}


@pytest.mark.skipif(shutil.which("dg", path=Path(sys.executable).parent) is None, reason="needs dagster-dg-cli")
def test_dg_checks_a_project_and_shows_the_line_of_a_mistake(tmp_path):
    package = tmp_path / "src" / "mine"
    (package / "defs" / "small").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "defs" / "small" / "defs.yaml").write_text(f"type: {TYPE}\nattributes:\n  suite: small\n")
    (tmp_path / "dg.toml").write_text('directory_type = "project"\n[project]\nroot_module = "mine"\n')
    Project(tmp_path, n=3)

    def check() -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("dg")), "check", "yaml"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    assert check().returncode == 0
    (package / "defs" / "small" / "defs.yaml").write_text(f"type: {TYPE}\nattributes:\n  suit: small\n")
    failed = check()
    assert failed.returncode != 0
    assert "defs.yaml:3" in failed.stdout + failed.stderr
