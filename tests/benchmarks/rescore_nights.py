"""Sixty captured nights of the demo suite, one grader changed: what a rescore makes again, and how long it takes.

    python tests/benchmarks/rescore_nights.py [NIGHTS] [--holes]

Prints partitions made again per asset, target calls, stale partitions left (by the files and by Dagster's code
versions), and the wall time of the run beside that of the library doing the same. With ``--holes`` every seventh night
is left out, so that the partitions are no range.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIRST = dt.date(2026, 3, 1)


def main() -> None:
    n = next((int(argument) for argument in sys.argv[1:] if argument.isdigit()), 60)
    folder = Path(tempfile.mkdtemp(prefix="rescore_nights_"))
    shutil.copytree(ROOT / "datasets", folder / "datasets")
    os.chdir(folder)
    os.environ |= {
        "SPANCHECK_DATASETS": str(folder / "datasets"),
        "SPANCHECK_STORAGE": str(folder / "storage"),
        "DAGSTER_HOME": str(folder / "home"),
    }
    import dagster as dg

    from spancheck_pipeline.api.environment import read_environment
    from spancheck_pipeline.defs.home import prepare_home

    environment = read_environment()
    prepare_home(environment.dagster_home)
    target = folder / "datasets" / "leases" / "target.py"
    log = folder / "calls.log"
    text = target.read_text(encoding="utf-8")
    assert "def answer(" in text
    target.write_text(text.replace("def answer(", "def _answer(", 1) + COUNTED.format(log=str(log)), encoding="utf-8")

    dates = [(FIRST + dt.timedelta(days=day)).isoformat() for day in range(n)]
    if "--holes" in sys.argv:
        dates = [date for number, date in enumerate(dates) if number % 7]
    capture(environment, dates)
    n_calls = len(log.read_text().splitlines())
    print(f"{len(dates)} nights captured, {n_calls} calls; changing opens_as_agreed")

    suite = folder / "datasets" / "leases" / "suite.yaml"
    yaml = suite.read_text(encoding="utf-8")
    assert 'substr: "From the documents:"' in yaml
    suite.write_text(yaml.replace('substr: "From the documents:"', 'substr: "From the document"'), encoding="utf-8")
    target.write_text("raise RuntimeError('the target must not even be loaded')\n", encoding="utf-8")

    alone, chain = library_alone(environment, dates, folder)
    with dg.DagsterInstance.get() as instance:
        before = {run.run_id for run in instance.get_runs()}
        print(f"stale by Dagster's code versions: {dict(stale_by_dagster(instance, environment))}")
    started = time.perf_counter()
    from spancheck_pipeline.definitions import build
    from spancheck_pipeline.defs.run import run_rescore

    done = run_rescore(build(environment), environment, {})
    whole = time.perf_counter() - started
    with dg.DagsterInstance.get() as instance:
        runs = [run.run_id for run in instance.get_runs() if run.run_id not in before]
        made = Counter(
            event.asset_key.to_user_string()
            for run in runs
            for event in (record.dagster_event for record in instance.all_logs(run))
            if event and event.event_type == dg.DagsterEventType.ASSET_MATERIALIZATION
        )
        print(f"runs: {len(runs)}; materializations: {dict(made)}")
        print(f"stale by Dagster's code versions: {dict(stale_by_dagster(instance, environment))}")
    print(f"target calls: {len(log.read_text().splitlines()) - n_calls}; problems: {len(done.problems)}")
    print(f"stale by the files now: {len(run_rescore(build(environment), environment, {'dry_run': True}).nights)}")
    print(
        f"library alone: scores {alone:.2f} s, with scorecards, comparisons, decisions and records {chain:.2f} s; "
        f"the run {whole:.2f} s: {whole / chain:.2f} times the same work, {whole / alone:.1f} times the scores alone"
    )
    shutil.rmtree(folder)


COUNTED = """

def answer(question, history):
    with open({log!r}, "a") as log:
        log.write("call\\n")
    return _answer(question, history)
"""


def capture(environment, dates) -> None:
    from spancheck_pipeline.definitions import build
    from spancheck_pipeline.defs.run import run_nightly
    from spancheck_pipeline.storage.store import Night

    definitions = build(environment, suites=["leases"])
    for date in dates:
        run_nightly(definitions, environment, Night("leases", date), {"captured_run": {"allow_past": True}})


def library_alone(environment, dates, folder: Path) -> tuple[float, float]:
    """Return the seconds that the library alone needs on a copy of the storage: for the scores, and for everything."""
    from spancheck_pipeline.api.deciding import decide_place, summarize_place
    from spancheck_pipeline.api.recording import record_place
    from spancheck_pipeline.api.scoring import score_place
    from spancheck_pipeline.clients.attribute import load_attribute
    from spancheck_pipeline.storage.datasets import load_suite
    from spancheck_pipeline.storage.store import Night, Store

    shutil.copytree(environment.storage, folder / "copy")
    store = Store(folder / "copy")
    graders = load_suite(environment.datasets, "leases", load_attribute).graders
    [grader] = [grader for grader in graders if grader.name == "opens_as_agreed"]
    started = time.perf_counter()
    for date in dates:
        score_place(store, Night("leases", date), grader)
    scored = time.perf_counter() - started
    suite = load_suite(environment.datasets, "leases", load_attribute).suite
    names, now = [grader.name for grader in graders], dt.datetime.now(dt.UTC)
    for date in dates:
        night = Night("leases", date)
        summarize_place(store, night, suite, names, judging=graders)
        decide_place(store, night, suite, graders, decided_at=now, decided_by="me")
        record_place(store, night, suite, names, created_at=now)
    return scored, time.perf_counter() - started


def stale_by_dagster(instance, environment) -> Counter[str]:
    """Count partitions that Dagster itself calls stale, by asset."""
    from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
    from dagster._core.loader import LoadingContextForTest

    from spancheck_pipeline.definitions import build

    definitions = build(environment)
    graph = definitions.resolve_asset_graph()
    found: Counter[str] = Counter()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    for key in graph.get_all_asset_keys():
        for partition in instance.get_materialized_partitions(key):
            if resolver.get_status(key, partition) == StaleStatus.STALE:
                found[key.to_user_string()] += 1
                if os.environ.get("CAUSES"):
                    print(key, partition, resolver.get_stale_root_causes(key, partition)[:3])
    return found


if __name__ == "__main__":
    main()
