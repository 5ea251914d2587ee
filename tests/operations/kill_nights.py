"""Nights during which run worker, daemon and webserver are killed at random instants: nothing lost, nothing doubled.

    python tests/operations/kill_nights.py [NIGHTS [SEED]] [--capturing]

Each night is launched over GraphQL; at a seeded instant one of the three is ended with ``kill -9``, and a server that
was killed is started again. The instants lie within the time that a night takes; with ``--capturing`` those of run
workers lie within its capture. A night is over when its date has a run that ended well. Then every file of every night
is counted. ``test_kill_nights.py`` runs a short version.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import date as day
from datetime import timedelta
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

import dagster as dg  # noqa: E402 - a script finds the project by its own place
from operations.services import Services, wait_for  # noqa: E402 - a script finds the project by its own place
from scenario import Project, cases_of  # noqa: E402 - a script finds the project by its own place

from spancheck_pipeline.api.promoting import all_promotions  # noqa: E402 - a script finds the project by its own place
from spancheck_pipeline.storage.store import Night, Store  # noqa: E402 - a script finds the project by its own place
from spancheck_pipeline.storage.tables import AUDIT_LOG, CAPTURED_RUN, CASES, COMPARISON, GATE, SCORECARD, SCORES  # noqa: E402 - a script finds the project by its own place

CONCURRENCY = 2
CAPTURE_S, NIGHT_S = 1.5, 6.0
"""What 12 calls of a quarter of a second take, two at a time, and about what a whole run takes."""
VICTIMS = ("worker", "worker", "daemon", "webserver")
"""The run's own process is the one with something to lose."""
TARGET = """
    import pathlib
    import time

    VERSION = "1"
    LOG = pathlib.Path(__file__).with_name("calls.log")


    def answer(question):
        with LOG.open("a") as log:
            log.write(question + "\\n")
        time.sleep(0.25)
        if "president" in question:
            return {"answer": "I don't know; the documents do not say.", "contexts": [PASSAGE]}
        return {
            "answer": PASSAGE,
            "contexts": [{"source_id": "lease", "text": PASSAGE}],
            "citations": [{"quote": "end the lease with 30 days written notice", "source_id": "lease"}],
        }


    PASSAGE = "Either party may end the lease with 30 days written notice."
"""


@dataclass(kw_only=True)
class Tally:
    """What the nights went through. Counts."""

    nights: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    resumed: int = 0
    """Nights that needed more than one run."""
    repeated_calls: int = 0
    """Calls beyond one a case and night: those that were in flight when their process was killed."""
    faults: list[str] = field(default_factory=list)


def main() -> None:
    numbers = [int(argument) for argument in sys.argv[1:] if argument.isdigit()]
    n, seed = [*numbers, *(50, 7)[len(numbers) :]][:2]
    with tempfile.TemporaryDirectory(prefix="kill_nights_") as folder:
        started = time.perf_counter()
        tally = run_nights(Path(folder) / "project", n=n, seed=seed, is_capturing="--capturing" in sys.argv)
        took = time.perf_counter() - started
        print(f"{tally.nights} nights in {took:.0f} s, kills {dict(tally.kills)}, {tally.resumed} needed another run")
        print(f"{tally.repeated_calls} calls in flight were repeated; faults: {tally.faults or 'none'}")
        sys.exit(1 if tally.faults else 0)


def run_nights(folder: Path, *, n: int, seed: int, is_capturing: bool = False) -> Tally:
    """Run nights with one kill each, and return what became of them."""
    instants = random.Random(seed)
    project = Project(folder, target=TARGET)
    project.write_suite(
        target=f", concurrency: {CONCURRENCY}", more='schedule: {cron: "0 2 * * *", retries: 5, max_run_hours: 0.05}\n'
    )
    tally = Tally()
    first = day(2026, 3, 1)
    dates = [(first + timedelta(days=number)).isoformat() for number in range(n)]
    with Services(project=project) as services:
        for date in dates:
            one_night(services, date, instants, tally, is_capturing=is_capturing)
    check_files(project, dates, tally)
    return tally


def one_night(services: Services, date: str, instants: random.Random, tally: Tally, *, is_capturing: bool) -> None:
    calls_before = len(services.project.calls())
    victim, share = instants.choice(VICTIMS), instants.random()
    tags = {"dagster/partition": date, "dagster/max_retries": "5", "dagster/max_runtime": "180"}
    config = {"ops": {"small__captured_run": {"config": {"allow_past": True}}}}
    services.launch("small_nightly", tags, config)
    if victim == "worker":
        wait_for("run worker", services.workers)
    if victim == "worker" and is_capturing:
        wait_for("call", lambda: len(services.project.calls()) > calls_before)
        time.sleep(share * CAPTURE_S)
    else:
        time.sleep(share * NIGHT_S)
    if services.kill(victim):
        tally.kills[victim] += 1
        if victim != "worker":
            services.start(victim)
    n_runs = wait_for(f"end of {date}", lambda: finished(services, date), patience_s=240)
    tally.nights += 1
    tally.resumed += n_runs > 1
    calls = Counter(services.project.calls()[calls_before:])
    if set(calls) != {case["input"] for case in cases_of(12)}:
        tally.faults.append(f"{date}: {len(calls)} of 12 cases were asked")
    extra = sum(calls.values()) - len(calls)
    tally.repeated_calls += extra
    if extra > (CONCURRENCY if victim == "worker" else 0):
        tally.faults.append(f"{date}: {extra} calls more than were in flight when {victim} was killed")


def finished(services: Services, date: str) -> int | None:
    """Return how many runs a date needed, once one of them has ended well and none goes on."""
    with services.instance() as instance:
        runs = instance.get_runs(dg.RunsFilter(tags={"dagster/partition": date}))
    if any(not run.is_finished for run in runs):
        return None
    return len(runs) if any(run.status == dg.DagsterRunStatus.SUCCESS for run in runs) else None


def check_files(project: Project, dates: list[str], tally: Tally) -> None:
    """Count what stands there: one of everything a night, each whole, nothing superseded, nothing left over."""
    store = Store(project.environment.storage)
    graders = ["completion", "citation_accuracy", "abstention_correct", "groundedness", "no_pii"]
    tables = [(table, None) for table in (CASES, CAPTURED_RUN, SCORECARD, COMPARISON, GATE, AUDIT_LOG)]
    for date in dates:
        night = Night("small", date)
        for table, grader in [*tables, *((SCORES, name) for name in graders)]:
            files = store.revisions(night, table, grader)
            if [file.revision for file in files] != [1]:
                tally.faults.append(f"{date}: {table.name} has {len(files)} revisions")
                continue
            rows = list(files[0].rows())
            if table in (CASES, CAPTURED_RUN, AUDIT_LOG, SCORES) and len(rows) != 12:
                tally.faults.append(f"{date}: {table.name} has {len(rows)} rows")
        if store.unfinished(night):
            tally.faults.append(f"{date}: a journal was left over")
    promoted = Counter(item.date for item in all_promotions(store, "small", "last_good"))
    if promoted != Counter(dates):
        tally.faults.append(f"promotions: {promoted}")
    with dg.DagsterInstance.from_config(str(project.environment.dagster_home)) as instance:
        made = instance.get_materialized_partitions(dg.AssetKey(["small", "audit_log"]))
    if made != set(dates):
        tally.faults.append(f"Dagster knows {len(made)} of {len(dates)} audit logs")


if __name__ == "__main__":
    main()
