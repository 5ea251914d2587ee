"""Dagster's UI on a captured night, as somebody who opens it sees it."""

import re
import signal
import sys

import pytest
from ui.dagster_ui import CHROMIUM, REPOSITORY, SPANCHECK, Home, serving, window

from spancheck_pipeline.api.deciding import read_decision
from spancheck_pipeline.api.environment import read_environment
from spancheck_pipeline.definitions import build
from spancheck_pipeline.storage.store import Night, Store

pytest.importorskip("playwright.sync_api", reason="the Python package playwright is missing (the extra `dev` has it)")
pytestmark = [
    pytest.mark.ui,
    pytest.mark.skipif(CHROMIUM is None, reason="a Chromium is missing (Debian: apt-get install chromium)"),
]
GROUP = "/locations/__repository__@spancheck_pipeline.definitions/asset-groups/leases"
SCORECARD = "/assets/leases/scorecard"
COMPARISON = "/assets/leases/comparison"


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """One captured night of the shipped suite, on which one rule of the gate fails and the others pass."""
    home = Home.make(tmp_path_factory.mktemp("ui") / "project")
    home.change_suite("gate", min_pass_rate={"groundedness": 1.0, "abstention_correct": 0.5, "no_pii": 0.5})
    result = home.spancheck("nightly", "leases")
    assert result.returncode == 1, result.stderr
    return home


@pytest.fixture(scope="module")
def served(home):
    with serving(home, [*SPANCHECK, "ui"]) as server:
        server.locations()
        yield server
        assert server.end(signal.SIGHUP) == [], "a terminal was closed, and servers went on without it"


@pytest.fixture(scope="module")
def seen():
    # Dagster draws only the assets that are in view: the window is narrow, which makes them small, and high.
    with window(1200, 2600) as seen:
        yield seen
    assert seen.foreign == [], "the UI asked for an address outside this machine"
    assert seen.errors == []


def asset_names(home: Home) -> list[str]:
    graph = build(read_environment({}, folder=home.folder)).resolve_asset_graph()
    return [key.path[-1] for key in graph.get_all_asset_keys() if key.path[0] == "leases"]


def decided(home: Home):
    environment = read_environment({}, folder=home.folder)
    night = Night("leases", environment.today())
    return night.date, read_decision(Store(environment.storage), night)


def test_the_group_page_shows_every_asset_of_the_suite_and_nothing_in_front_of_it(home, served, seen):
    names = asset_names(home)

    text = seen.show(served.url + GROUP, *names)

    assert len(names) >= 15
    assert {"cases", "captured_run", "citation_accuracy", "scorecard"} <= set(text.split())
    assert {"comparison", "audit_log", "baseline"} <= set(text.split())
    assert seen.page.get_by_role("dialog").count() == 0


def test_the_checks_page_lists_each_rule_of_the_gate_with_its_result_for_the_date(home, served, seen):
    date, decision = decided(home)
    failed = [rule for rule in decision.rules if not rule.answer.is_ok]
    assert [rule.rule for rule in failed] == ["min_pass_rate_groundedness"]

    for shown in (failed[0], decision.rules[0]):
        address = f"{served.url}{COMPARISON}?view=checks&checkDetail={shown.rule}"
        text = seen.show(address, *(rule.rule for rule in decision.rules), shown.reason, date)

        badges = dict(re.findall(r"^(\w+)\n(Succeeded|Failed)", text, re.MULTILINE))
        assert badges == {rule.rule: "Succeeded" if rule.answer.is_ok else "Failed" for rule in decision.rules}
        assert re.search(rf"Evaluation result\n{'Passed' if shown.answer.is_ok else 'Failed'}\n", text)


def test_the_partitions_page_shows_the_date_as_materialized_with_its_rates(home, served, seen):
    date, _ = decided(home)

    text = seen.show(
        f"{served.url}{SCORECARD}?view=partitions&partition={date}", "Materialized (1)", "hallucination_rate"
    )

    assert re.search(rf"{date}\nMaterialized\nLatest materialization", text)
    assert "Failed (0)" in text
    assert re.search(r"citation_accuracy\s+0\.\d+", text)


def test_dagster_dev_with_the_workspace_file_loads_the_project_and_shows_the_graph(home, seen):
    command = [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml"]
    environment = read_environment({}, folder=home.folder)
    places = {
        "DAGSTER_HOME": str(home.dagster),
        "SPANCHECK_DATASETS": str(environment.datasets),
        "SPANCHECK_STORAGE": environment.storage,
    }
    names = asset_names(home)
    with serving(home, command, folder=REPOSITORY, **places) as server:
        entries = server.locations()
        assert [entry["name"] for entry in entries] == ["spancheck_pipeline.definitions"]
        assert [entry["locationOrLoadError"]["__typename"] for entry in entries] == ["RepositoryLocation"]
        seen.show(server.url + GROUP, *names)
        assert seen.page.get_by_role("dialog").count() == 0
    assert "Traceback" not in server.log.read_text()
    assert_no_telemetry(home)


def test_spancheck_ui_in_a_new_folder_ends_at_ctrl_c_and_leaves_no_process_and_no_telemetry(tmp_path):
    home = Home.make(tmp_path / "project")
    with serving(home, [*SPANCHECK, "ui"]) as server:
        server.locations()

        assert server.end(signal.SIGINT) == []

    assert server.process.returncode == 0
    assert_no_telemetry(home)


def assert_no_telemetry(home: Home) -> None:
    assert not (home.user / ".dagster").exists()
    assert not (home.dagster / ".telemetry").exists()
    files = [file for name in ("logs", ".logs_queue") for file in (home.dagster / name).glob("**/*")]
    assert files == []
