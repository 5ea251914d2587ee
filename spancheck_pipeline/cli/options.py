"""Options and arguments that several commands share, and where a suite's place is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from spancheck_pipeline.api.environment import Environment
    from spancheck_pipeline.api.run import Run
    from spancheck_pipeline.grading.grader import Grader
    from spancheck_pipeline.storage.datasets import LoadedSuite
    from spancheck_pipeline.storage.store import Night, Store

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


def graders_at_hand(environment: Environment, what: str) -> tuple[Grader, ...]:
    """Return the graders of the suite that an argument names; none for a file, or where the suite is not there now."""
    from spancheck_pipeline.errors import SpancheckError

    if is_file_name(what):
        return ()
    try:
        return tuple(open_suite(environment, what.partition("@")[0]).graders)
    except SpancheckError:
        return ()


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


def night(environment: Environment, suite: str, date: str | None) -> Night:
    """Return the partition of a suite on a date, today's where none is given.

    Raises:
        UsageError: for a date that is none, lies in the future, or before the first partition.
    """
    from spancheck_pipeline.errors import UsageError
    from spancheck_pipeline.storage.store import Night

    today = environment.today()
    place = Night(suite, date or today)
    if place.date > today:
        raise UsageError(f"--date {place.date} is in the future; today is {today} in {environment.timezone}")
    if place.date < environment.start_date:
        raise UsageError(
            f"--date {place.date} is before the first partition {environment.start_date}; set SPANCHECK_START_DATE"
        )
    return place


def thresholds_of(items: tuple[str, ...]) -> dict[str, float]:
    """Return ``grader=rate`` arguments as thresholds.

    Raises:
        UsageError: for one that is not of this form.
    """
    from spancheck_pipeline.errors import UsageError

    thresholds: dict[str, float] = {}
    for item in items:
        name, _, rate = item.partition("=")
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


def regraded(environment: Environment, what: str, *runs: Run) -> list[Run]:
    """Return runs graded again: with the graders of the suite that ``what`` names, or with the default ones.

    Nothing is called and nothing is written.
    """
    from spancheck_pipeline.grading.graders import default_graders

    graders = default_graders() if is_file_name(what) else open_suite(environment, what.partition("@")[0]).graders
    return [run.rescore(graders) for run in runs]


def regrade_option(command: F) -> F:
    """Add ``--regrade``."""
    return click.option("--regrade", is_flag=True, help="Grade both runs again with today's graders first.")(command)


def is_file_name(what: str) -> bool:
    """Return whether an argument means a file rather than a suite: it exists, or looks like a path."""
    return Path(what).is_file() or "/" in what or what.endswith(".json")
