"""A project's definitions in a code location that runs every step in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

from scenario import Project

from spancheck_pipeline.defs.home import prepare_home


def test_a_code_location_captures_with_its_own_multiprocess_executor(tmp_path, monkeypatch):
    project = Project(tmp_path, n=3)
    monkeypatch.chdir(tmp_path)
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    (project.folder / "location.py").write_text(
        "import dagster as dg\n"
        "from spancheck_pipeline import build_definitions\n"
        "own = [dg.Definitions(executor=dg.multiprocess_executor)]\n"
        "defs = dg.Definitions.merge(*own, build_definitions(['small'], namespace='team_a'))\n"
    )
    start = {"forkserver": {"preload_modules": ["spancheck_pipeline.definitions"]}}
    prepare_home(project.environment.dagster_home)

    done = subprocess.run(
        [
            *(sys.executable, "-m", "dagster", "asset", "materialize", "-f", "location.py"),
            *("--select", 'key:"team_a/small/cases" or key:"team_a/small/captured_run"'),
            *("--partition", project.environment.today()),
            *("--config-json", json.dumps({"execution": {"config": {"max_concurrent": 2, "start_method": start}}})),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert 'Executing step "team_a__small__captured_run" in subprocess' in done.stderr
    assert len(project.calls()) == 3
    assert list(Path(project.storage / "team_a" / "captured_run").rglob("*.parquet"))
