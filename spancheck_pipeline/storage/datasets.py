"""The datasets folder: which suites there are, and reading one with every mistake at once, each with its line.

What the keys of ``suite.yaml`` mean lives in ``decision/suite.py``, what a cases file may hold in
``case_files.py``, how YAML is read in ``yaml_document.py``. Where the folder is, is said by the caller: no environment
is read here.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from spancheck_pipeline.decision.names import NAME_PATTERN, check_name
from spancheck_pipeline.decision.suite import CasesFile, Suite, apply_changes
from spancheck_pipeline.errors import ConfigError, GraderSettingsError, Problem, SpancheckError, UsageError
from spancheck_pipeline.evidence.case import Case
from spancheck_pipeline.evidence.complaints import dotted
from spancheck_pipeline.grading.grader import Grader
from spancheck_pipeline.storage.case_files import FIELDS, read_cases
from spancheck_pipeline.storage.judges_file import DeclaredJudges, load_judges
from spancheck_pipeline.storage.wording import nearest
from spancheck_pipeline.storage.yaml_document import Document, Loc, as_json, check_contract, model_problems, read_yaml

SUITE_FILE: Final = "suite.yaml"

LoadAttribute = Callable[[str, Path], Any]
"""Imports ``module:attribute`` or ``file.py:attribute`` for the suite in a folder; the caller brings it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSuite:
    """A suite that was read and found whole, with its folder and its graders."""

    suite: Suite
    folder: Path
    graders: tuple[Grader, ...]
    """As the suite names them, ``completion`` among them."""
    judges: DeclaredJudges = field(default_factory=DeclaredJudges)
    """The project's judges, where a grader of the suite names one."""
    load: LoadAttribute | None = field(default=None, repr=False, compare=False)

    def with_config(self, name: str) -> LoadedSuite:
        """Return the suite in one of its other configurations.

        Raises:
            UsageError: when it has no configuration of that name; the nearest one is named.
        """
        if name not in self.suite.configs:
            fix = nearest(name, self.suite.configs) if self.suite.configs else "it has no configs at all"
            raise UsageError(f"the suite {self.suite.name!r} has no config {name[:80]!r}; {fix}")
        suite = self.suite.with_config(name)
        judges = _judges_of(suite.graders, self.folder.parent)
        graders = _all_graders(suite, self.folder, self.load, judges)
        return LoadedSuite(suite=suite, folder=self.folder, graders=graders, judges=judges, load=self.load)


def list_suites(root: Path) -> tuple[str, ...]:
    """Return the names of the folders under ``root`` that hold a ``suite.yaml``, sorted; hidden ones are passed over.

    Raises:
        UsageError: when there is no such folder.
    """
    if not root.is_dir():
        raise UsageError(f"there is no datasets folder at {root}; create it, or set SPANCHECK_DATASETS to where it is")
    folders = (path.parent.name for path in root.glob(f"*/{SUITE_FILE}"))
    return tuple(sorted(name for name in folders if not name.startswith((".", "_"))))


def load_suite(root: Path, name: str, load: LoadAttribute | None = None) -> LoadedSuite:
    """Return the suite of a name, whole: its keys, graders, thresholds, schedule and other configurations are checked.

    ``load`` imports graders of the user's own; without it a suite that has some is refused.

    Raises:
        UsageError: for a name that cannot be one, or that no suite has.
        ContractError: for a ``suite.yaml`` of another contract.
        ConfigError: with everything else that is wrong, each with its line.
    """
    folder = _suite_folder(root, name)
    document = read_yaml(folder / SUITE_FILE)
    check_contract(document)
    suite, problems = _checked(document, document.data, folder, load)
    called = document.data.get("name")
    if isinstance(called, str) and called != name:
        what = f"the suite is called {called[:80]!r} and its folder {name!r}"
        problems.append(document.problem(("name",), what, "give both the same name"))
    if suite is not None:
        already = {problem.what for problem in problems}
        for config in suite.configs:
            problems += _config_problems(config, folder, load, document, already)
    if problems or suite is None:
        raise ConfigError(document.file, sorted(problems, key=lambda problem: problem.line or 0))
    judges = _judges_of(suite.graders, root)
    graders = _all_graders(suite, folder, load, judges)
    return LoadedSuite(suite=suite, folder=folder, graders=graders, judges=judges, load=load)


def load_cases(suite_folder: Path, cases: CasesFile) -> tuple[Case, ...]:
    """Return the cases of a suite.

    Raises:
        ConfigError: as ``read_cases``.
    """
    return read_cases(suite_folder / cases.file, cases.columns)


def _suite_folder(root: Path, name: str) -> Path:
    try:
        check_name(name)
    except ValueError as error:
        raise UsageError(f"a suite's name becomes a folder: {error}") from None
    names = list_suites(root)
    if name not in names:
        fix = nearest(name, names) if names else "`spancheck init` makes one"
        raise UsageError(f"there is no suite {name!r} in {root}; {fix}")
    return root / name


def _checked(
    document: Document, data: dict[str, Any], folder: Path, load: LoadAttribute | None, under: Loc = ()
) -> tuple[Suite | None, list[Problem]]:
    """Return the suite, None where its keys are wrong, and every problem: also those behind the first wrong key."""
    suite: Suite | None = None
    problems: list[Problem] = []
    try:
        suite = Suite.model_validate_json(as_json(data), strict=True)
    except ValidationError as error:
        problems += model_problems(error, document, Suite, under=under)
    graders = _mapping(data, "graders")
    wrong = _grader_problems(graders, folder, load, document, under)
    problems += wrong
    problems += _unknown_thresholds(data, graders, wrong, document, under)
    problems += _unknown_names(data, ("cases", "columns"), FIELDS, document, under)
    return suite, problems


def _grader_problems(
    graders: dict[str, Any], folder: Path, load: LoadAttribute | None, document: Document, under: Loc
) -> list[Problem]:
    """Build the graders one by one, so that every mistake is found."""
    from spancheck_pipeline.grading.graders import build_grader

    problems = []
    judges = _judges_of(graders, folder.parent)
    for name, settings in graders.items():
        if not NAME_PATTERN.fullmatch(name) or not isinstance(settings, dict | None):
            continue
        try:
            build_grader(name, settings or {}, load=_loader(folder, load), judges=judges.judges)
        except GraderSettingsError as error:
            for wrong in error.problems:
                loc = ("graders", name, *([wrong.setting] if wrong.setting else []))
                problems.append(document.problem(under + loc, f"{dotted(loc)}: {wrong.what}", wrong.fix))
        except SpancheckError as error:
            problems.append(document.problem((*under, "graders", name, "use"), f"graders.{name}: {error}"))
    return problems


def _unknown_thresholds(
    data: dict[str, Any], graders: dict[str, Any], wrong: list[Problem], document: Document, under: Loc
) -> list[Problem]:
    """Return a problem for each threshold on a grader that is not there.

    A grader with a problem of its own is no name to put in its place, and a threshold on it, or on what it was meant to
    be called, is right once that is mended.
    """
    said = [problem.what for problem in wrong]
    broken = [
        name for name in graders if any(what.startswith((f"graders.{name}:", f"graders.{name}.")) for what in said)
    ]
    meant = {
        name
        for name in _mapping(data, "gate", "min_pass_rate")
        if name in broken or difflib.get_close_matches(name, broken, n=1)
    }
    known = {"completion", *graders} - set(broken) | meant
    return _unknown_names(data, ("gate", "min_pass_rate"), known, document, under, offered=known - meant)


def _unknown_names(
    data: dict[str, Any],
    loc: tuple[str, str],
    known: Collection[str],
    document: Document,
    under: Loc,
    *,
    offered: Collection[str] | None = None,
) -> list[Problem]:
    """Return a problem for each key at a place that names nothing known, with the nearest that is ``offered``."""
    problems = []
    for name in _mapping(data, *loc):
        if name not in known:
            what = f"{dotted(loc)}: there is no {name[:80]!r} here"
            fix = nearest(name, known if offered is None else offered)
            problems.append(document.problem((*under, *loc, name), what, fix))
    return problems


def _mapping(data: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _all_graders(suite: Suite, folder: Path, load: LoadAttribute | None, judges: DeclaredJudges) -> tuple[Grader, ...]:
    from spancheck_pipeline.grading.graders import build_graders

    return tuple(build_graders(suite.graders, load=_loader(folder, load), prices=suite.prices, judges=judges.judges))


def _judges_of(graders: Mapping[str, Any], datasets: Path) -> DeclaredJudges:
    """Return the project's judges where a grader names one: a mistake in their file is no other suite's.

    Raises:
        ConfigError, ContractError: as ``load_judges``.
    """
    named = any(
        key in {"judge", "judges"} or (isinstance(value, str) and value.startswith("judge:"))
        for settings in graders.values()
        if isinstance(settings, dict)
        for key, value in settings.items()
    )
    return load_judges(datasets) if named else DeclaredJudges(folder=datasets)


def _loader(folder: Path, load: LoadAttribute | None) -> Callable[[str], Any]:
    def load_here(reference: str) -> Any:
        if load is None:
            raise UsageError(f"{reference[:200]!r} is a grader of your own, which cannot be imported here")
        return load(reference, folder)

    return load_here


def _config_problems(
    config: str, folder: Path, load: LoadAttribute | None, document: Document, already: set[str]
) -> list[Problem]:
    """Return what is wrong with the suite once a configuration is applied, and was not wrong without it."""
    under: Loc = ("configs", config)
    try:
        changed = apply_changes(document.data, document.data["configs"][config])
    except ValueError as error:
        return [document.problem(under, f"configs.{config}: {error}", "leave it out")]
    _, problems = _checked(document, changed, folder, load, under)
    new = (problem for problem in problems if problem.what not in already)
    return [dataclasses.replace(problem, what=f"configs.{config}: {problem.what}") for problem in new]


__all__ = ["SUITE_FILE", "LoadAttribute", "LoadedSuite", "list_suites", "load_cases", "load_suite", "read_cases"]
