"""``datasets/judges.yaml``: the project's judges, read with every mistake at once, each with its line.

What the keys mean lives in ``decision/judges.py``; what makes a judge the same judge in ``grading/judge.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spancheck_pipeline.decision.judges import GRADERS_CALIBRATED, JudgeSettings, JudgesFile, judges_of
from spancheck_pipeline.errors import ConfigError, Problem, UsageError
from spancheck_pipeline.grading.judge import PROMPTS, Judge
from spancheck_pipeline.storage.judge_code import code_of
from spancheck_pipeline.storage.wording import nearest
from spancheck_pipeline.storage.yaml_document import Document, model_of, read_yaml

JUDGES_FILE: Final = "judges.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredJudges:
    """The judges of a project, whole: settings to call them by, and the judge as graders know it."""

    settings: Mapping[str, JudgeSettings] = field(default_factory=dict)
    judges: Mapping[str, Judge] = field(default_factory=dict)
    folder: Path = Path()
    """The datasets folder: where ``callable: file.py:attribute`` is looked for."""
    code: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By judge, the digests of the files behind it as they were read with the file (``judge_code.py``)."""
    lines: Mapping[str, int | None] = field(default_factory=dict)
    """By judge, its line in the file."""

    def where(self, name: str) -> str:
        """Return the file, and the line where it is known, that declares a judge."""
        line = self.lines.get(name)
        return f"{self.folder / JUDGES_FILE}{f':{line}' if line else ''}"

    def check_code(self, name: str) -> None:
        """Refuse to ask a judge whose code was changed after the file was read: its answers would go by another name.

        Raises:
            UsageError: naming the files.
        """
        now, then = code_of(self.settings[name], self.folder), self.code.get(name)
        if then is not None and now != then:
            changed = sorted(file for file in now.keys() | then.keys() if now.get(file) != then.get(file))
            raise UsageError(
                f"{self.where(name)}: the code of the judge {name} was changed after its definitions were loaded "
                f"({', '.join(changed)[:200]}); reload them and run again"
            )

    def named(self, name: str) -> Judge:
        """Return a judge by name.

        Raises:
            UsageError: when none is called so; the nearest one is named.
        """
        if name not in self.judges:
            fix = nearest(name, self.judges) if self.judges else f"declare it in {self.folder / JUDGES_FILE}"
            raise UsageError(f"there is no judge {name[:80]!r}; {fix}")
        return self.judges[name]


def load_judges(datasets: Path) -> DeclaredJudges:
    """Return the judges that a datasets folder declares; none where it has no ``judges.yaml``.

    Raises:
        ContractError: for a file of another contract.
        ConfigError: with everything that is wrong, each with its line.
    """
    path = datasets / JUDGES_FILE
    if not path.exists():
        return DeclaredJudges(folder=datasets)
    document = read_yaml(path)
    file = model_of(document, JudgesFile)
    if problems := [*_unknown(file, document), *_misplaced(file, document, datasets)]:
        raise ConfigError(document.file, problems)
    code = {name: code_of(settings, datasets) for name, settings in file.judges.items()}
    return DeclaredJudges(
        settings=file.judges,
        judges=judges_of(file, code),
        folder=datasets,
        code=code,
        lines={name: document.line(("judges", name)) for name in file.judges},
    )


def _unknown(file: JudgesFile, document: Document) -> list[Problem]:
    """Return what names nothing that there is: prompts, and members of panels."""
    problems = []
    single = [name for name, settings in file.judges.items() if not settings.panel]
    for name, settings in file.judges.items():
        if settings.prompt not in PROMPTS:
            what = f"judges.{name}.prompt: there is no prompt {settings.prompt[:80]!r}"
            problems.append(document.problem(("judges", name, "prompt"), what, nearest(settings.prompt, PROMPTS)))
        known = [member for member in settings.panel if member in single]
        for member in settings.panel:
            if member in file.judges and member not in single:
                what = f"judges.{name}.panel: {member!r} is a panel itself"
                problems.append(document.problem(("judges", name, "panel"), what, "name its judges in its place"))
            elif member not in single:
                what = f"judges.{name}.panel: there is no judge {member[:80]!r} in this file"
                problems.append(document.problem(("judges", name, "panel"), what, nearest(member, single)))
            elif file.judges[member].prompt != (first := file.judges[known[0]].prompt):
                what = f"judges.{name}.panel: {member!r} is asked by the prompt {file.judges[member].prompt!r}"
                fix = f"a panel is asked the same, and {known[0]!r} is asked by {first!r}"
                problems.append(document.problem(("judges", name, "panel"), what, fix))
    return problems


def _misplaced(file: JudgesFile, document: Document, folder: Path) -> list[Problem]:
    """Return what stands where it cannot: a grader's name on a judge, and files that are not beside the file."""
    problems = []
    for name, settings in file.judges.items():
        if name in GRADERS_CALIBRATED:
            what = f"judges.{name}: this is the name of a grader that is calibrated under it"
            problems.append(document.problem(("judges", name), what, "call the judge something else"))
        place = (settings.callable or "").rpartition(":")[0]
        if place.endswith(".py") and not (folder / place).is_file():
            what = f"judges.{name}.callable: there is no file {place[:200]!r} in {folder}"
            fix = "put it beside judges.yaml, or name a module as 'module:attribute'"
            problems.append(document.problem(("judges", name, "callable"), what, fix))
    return problems


__all__ = ["JUDGES_FILE", "DeclaredJudges", "load_judges"]
