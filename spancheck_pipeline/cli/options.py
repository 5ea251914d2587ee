"""Options and arguments that several commands share, and where a suite's place is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spancheck_pipeline.report.visible import visible

if TYPE_CHECKING:
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.api.run import Run
    from spancheck_pipeline.decision.comparison import ComparisonDocument
    from spancheck_pipeline.grading.grader import Grader
    from spancheck_pipeline.storage.datasets import LoadedSuite
    from spancheck_pipeline.storage.store import Night, Place, Store

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON on stdout.")(command)


def date_option(command: F) -> F:
    """Add ``--date``."""
    return click.option("--date", metavar="YYYY-MM-DD", help="The partition; default: today in SPANCHECK_TIMEZONE.")(
        command
    )


def as_decided_option(command: F) -> F:
    """Add ``--as-decided``."""
    return click.option(
        "--as-decided",
        type=click.IntRange(min=1),
        is_flag=False,
        flag_value=1,
        default=None,
        metavar="[N]",
        help="Show decision number N as it was made (without N: the original one).",
    )(command)


def strict_option(command: F) -> F:
    """Add ``--strict``."""
    return click.option("--strict", is_flag=True, help="Fail on INCONCLUSIVE too.")(command)


def file_option(name: str, what: str) -> Callable[[F], F]:
    """Add ``--<name> FILE``, a file that is written beside what is printed."""

    def add(command: F) -> F:
        kind = click.Path(dir_okay=False, path_type=Path)
        return click.option(f"--{name}", f"{name}_file", type=kind, metavar="FILE", help=f"Also write {what}.")(command)

    return add


def graders_at_hand(environment: Environment, what: str, run: Run) -> tuple[Grader, ...]:
    """Return the graders that the suite of a run has now; none where the run is a file's, or the suite is not there."""
    found = suite_now(environment, what, run.suite)
    return found.graders if found else ()


def suite_now(environment: Environment, what: str, suite: str, config: str | None = None) -> LoadedSuite | None:
    """Return a run's suite as it is now; None where an argument names a file, or the suite cannot be read now."""
    from spancheck_pipeline.errors import SpancheckError

    if is_file_name(what):
        return None
    try:
        loaded = open_suite(environment, suite)
        return loaded if config is None else loaded.with_config(config)
    except SpancheckError:
        return None


def open_project() -> tuple[Environment, Store]:
    """Return the environment and the store that it names."""
    from spancheck_pipeline.api.environment import read_environment
    from spancheck_pipeline.storage.store import Store

    environment = read_environment()
    return environment, Store(environment.storage, namespace=environment.namespace)


def open_suite(environment: Environment, name: str) -> LoadedSuite:
    """Return a suite of the datasets folder, its own graders imported."""
    from spancheck_pipeline.clients.attribute import load_attribute
    from spancheck_pipeline.storage.datasets import load_suite

    return load_suite(environment.datasets, name, load_attribute)


def night(environment: Environment, suite: str, date: str | None, *, option: str = "--date") -> Night:
    """Return the partition of a suite on a date, today's where none is given; ``option`` is where it was given.

    Raises:
        UsageError: for a date that is none, lies in the future, or before the first partition.
    """
    from spancheck_pipeline.errors import UsageError
    from spancheck_pipeline.storage.store import Night

    today = environment.today()
    place = Night(suite, date or today)
    if place.date > today:
        raise UsageError(f"{option} {place.date} is in the future; today is {today} in {environment.timezone}")
    if place.date < environment.start_date:
        raise UsageError(
            f"{option} {place.date} is before the first partition {environment.start_date}; set SPANCHECK_START_DATE"
        )
    return place


def thresholds_of(items: tuple[str, ...]) -> dict[str, float]:
    """Return ``grader=rate`` arguments as thresholds.

    Raises:
        UsageError: for one that is not of this form, and for a second one of a grader.
    """
    from spancheck_pipeline.errors import UsageError

    thresholds: dict[str, float] = {}
    for item in items:
        name, _, rate = item.partition("=")
        if name in thresholds:
            raise UsageError(f"{name[:80]!r} has two thresholds; give one")
        try:
            value = float(rate)
        except ValueError:
            value = -1.0
        if not name or not 0 <= value <= 1:
            raise UsageError(f"{item[:80]!r} is not a threshold; write grader=rate with a rate from 0 to 1")
        thresholds[name] = value
    return thresholds


def load_run(environment: Environment, store: Store, what: str, date: str | None, as_decided: int | None = None) -> Run:
    """Return the run that an argument names: an audit log's file, ``run:ID``, ``SUITE`` with a date, or ``SUITE@DATE``.

    Raises:
        UsageError: for a name that is neither a file nor a suite's.
        MissingDataError: for a date that has no record.
    """
    from spancheck_pipeline.api.run import Run
    from spancheck_pipeline.api.stored import stored_run
    from spancheck_pipeline.storage.store import AdHoc

    if is_file_name(what):
        return Run.load(Path(what))
    if what.startswith("run:"):
        return stored_run(store, AdHoc("adhoc", what.removeprefix("run:")))
    suite, _, at = what.partition("@")
    return stored_run(store, night(environment, suite, at or date), as_decided=as_decided)


def note_other_suite(run: Run, baseline: Run) -> None:
    """Say so on stderr where a baseline is a run of another suite than what is compared with it."""
    if run.suite != baseline.suite:
        note = f"note: the baseline is a run of the suite {baseline.suite}, and is compared with one of {run.suite}"
        click.echo(visible(note), err=True)


def regraded(environment: Environment, what: str, *runs: Run) -> list[Run]:
    """Return runs graded again: with the graders of the first one's suite, or with the default ones for a file.

    Nothing is called and nothing is written.
    """
    from spancheck_pipeline.grading.graders import default_graders

    if is_file_name(what):
        return [run.rescore(default_graders()) for run in runs]
    first = runs[0]
    loaded = open_suite(environment, first.suite)
    if first.manifest is not None and first.manifest.config is not None:
        loaded = loaded.with_config(first.manifest.config)
    return [run.rescore(loaded.graders) for run in runs]


def compared(environment: Environment, what: str, baseline: Run, run: Run, *, as_json: bool) -> ComparisonDocument:
    """Return the comparison of two runs; where there is none and JSON is asked for, why is printed as JSON too.

    Raises:
        NotComparableError: with every reason.
    """
    from spancheck_pipeline.api.comparing import comparison, not_comparable
    from spancheck_pipeline.cli.terminal import print_json
    from spancheck_pipeline.errors import NotComparableError

    try:
        return comparison(baseline, run, graders_at_hand(environment, what, run))
    except NotComparableError as error:
        if as_json:
            print_json(not_comparable(baseline, run, error.reasons).model_dump(mode="json"))
        raise


def regrade_option(command: F) -> F:
    """Add ``--regrade``."""
    return click.option("--regrade", is_flag=True, help="Grade both runs again with today's graders first.")(command)


def is_file_name(what: str) -> bool:
    """Return whether an argument means a file rather than a suite: it exists, or looks like a path."""
    return Path(what).is_file() or "/" in what or what.endswith(".json")


def place_of(environment: Environment, what: str, date: str | None) -> Place:
    """Return the place that an argument names: ``SUITE`` with a date, ``SUITE@DATE``, or ``run:ID``."""
    from spancheck_pipeline.storage.store import AdHoc

    if what.startswith("run:"):
        return AdHoc("adhoc", what.removeprefix("run:"))
    suite, _, at = what.partition("@")
    return night(environment, suite, at or date)
